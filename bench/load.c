// Load for the benchmarks: HTTP/1.1 requests over connections that are kept, one at a time on each.
//
//   load PORT REQUESTS [-c CONNECTIONS] [-d SECONDS | -n REQUESTS] [-r RATE] [-b BODIES] [-k]
//
// REQUESTS is a file of requests, each after its length (four bytes, little end first); they are sent in turn, again from
// the first after the last. Without -r every connection sends its next request as soon as the last one is answered. With
// -r a request becomes due each 1/RATE seconds whatever the answers do, and its latency counts from then, whether or not
// a connection was free: a server that stands still for a while is charged with everything that had to wait
// (no coordinated omission). h2load counts from the moment of sending, and wrk knows no rate.
//
// -b writes each answer's body as a line. -k prints the result, then keeps the connections until standard input ends.
// Prints one line of JSON: answers by status, requests that got none, requests a second, latencies in microseconds, and
// by how much the load itself was late at sending what was due.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// Requests that wait for an answer at the end are waited for so long.
#define PATIENCE 10e9
#define SUB_BITS 7
#define BUCKETS ((64 - SUB_BITS) << SUB_BITS)

struct connection {
    int socket;
    int is_connected;
    int64_t due; // when the request under way was due, -1 with none
    int used;
    char answer[4096];
};

struct bytes {
    const char *at;
    uint32_t length;
};

static uint64_t latencies[BUCKETS], lateness[BUCKETS];
static long statuses[1000], sent, answered, broken, lost, answered_in_time;
static struct connection *connections;
static int *idle; // a ring of the connections that have nothing to do
static long idle_first, idle_count, connection_count = 64;
static struct bytes *requests;
static long request_count;
static FILE *bodies;
static int poller;
static struct sockaddr_in server = {.sin_family = AF_INET};

static void stop(const char *what) {
    fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

// Buckets are a 128th of their size wide.
static void note(uint64_t *histogram, int64_t nanoseconds) {
    uint64_t value = nanoseconds < 0 ? 0 : nanoseconds;
    int shift = value >> SUB_BITS ? 63 - __builtin_clzll(value) - SUB_BITS : 0;
    histogram[((uint64_t)shift << SUB_BITS) + (value >> shift)]++;
}

static double quantile(const uint64_t *histogram, double share) {
    uint64_t total = 0, seen = 0;
    for (long i = 0; i < BUCKETS; i++) total += histogram[i];
    if (total == 0) return 0;
    uint64_t wanted = share * total;
    if (wanted >= total) wanted = total - 1;
    for (uint64_t i = 0; i < BUCKETS; i++) {
        seen += histogram[i];
        if (seen > wanted) {
            uint64_t shift = i >> SUB_BITS ? (i >> SUB_BITS) - 1 : 0;
            uint64_t least = i - (shift << SUB_BITS);
            return (((least << shift) + ((least + 1) << shift)) / 2) / 1000.0;
        }
    }
    return 0;
}

static void open_connection(long number) {
    struct connection *it = &connections[number];
    int yes = 1;
    it->socket = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (it->socket < 0) stop("socket");
    setsockopt(it->socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    // Each 20,000 connections come from an address of their own, or the ports would not do.
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK + number / 20000)};
    setsockopt(it->socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof yes);
    if (bind(it->socket, (struct sockaddr *)&own, sizeof own) != 0) stop("bind");
    if (connect(it->socket, (struct sockaddr *)&server, sizeof server) != 0 && errno != EINPROGRESS) stop("connect");
    it->is_connected = 0;
    it->due = -1;
    it->used = 0;
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.u64 = number};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, it->socket, &event) != 0) stop("epoll_ctl");
}

static void rest(long number) {
    idle[(idle_first + idle_count++) % connection_count] = number;
}

// A request under way is lost with its connection. The servers here have no reason to close one that is idle.
static void lose(long number) {
    if (connections[number].due < 0) stop("a connection was closed or spoke between two requests");
    broken++;
    if (++lost > 1000 + connection_count) stop("connections are closed again and again");
    close(connections[number].socket);
    open_connection(number);
}

static void send_next(int64_t due) {
    long number = idle[idle_first];
    idle_first = (idle_first + 1) % connection_count;
    idle_count--;
    struct connection *it = &connections[number];
    struct bytes request = requests[sent++ % request_count];
    it->due = due;
    note(lateness, now() - due);
    // A request fits into the socket's buffer.
    if (send(it->socket, request.at, request.length, MSG_NOSIGNAL) != (ssize_t)request.length) lose(number);
}

// Whether the answer is whole. Sets where its body is.
static int whole(struct connection *it, char **body, long *length) {
    char *end = memmem(it->answer, it->used, "\r\n\r\n", 4);
    if (!end) return 0;
    *body = end + 4;
    *length = 0;
    for (char *line = it->answer; line < end; line = (char *)memmem(line, end + 2 - line, "\r\n", 2) + 2)
        if (end - line > 15 && strncasecmp(line, "content-length:", 15) == 0) *length = atol(line + 15);
    return *body + *length <= it->answer + it->used;
}

static void receive(long number) {
    struct connection *it = &connections[number];
    for (;;) {
        ssize_t got = recv(it->socket, it->answer + it->used, sizeof it->answer - 1 - it->used, 0);
        if (got < 0 && errno == EAGAIN) return;
        if (got <= 0) return lose(number);
        it->used += got;
        it->answer[it->used] = 0;
        char *body;
        long length;
        if (!whole(it, &body, &length)) {
            if (it->used >= (int)sizeof it->answer - 1) return lose(number);
            continue;
        }
        int status = it->used > 12 ? atoi(it->answer + 9) : 0;
        if (it->due < 0 || status < 100 || status > 999) return lose(number);
        statuses[status]++;
        answered++;
        note(latencies, now() - it->due);
        if (bodies) fprintf(bodies, "%.*s\n", (int)length, body);
        it->due = -1;
        it->used = 0;
        rest(number);
        return;
    }
}

static void read_requests(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) stop(path);
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char *all = malloc(size);
    if (fread(all, 1, size, file) != (size_t)size) stop(path);
    fclose(file);
    for (int filling = 0; filling < 2; filling++) {
        request_count = 0;
        for (long at = 0; at + 4 <= size;) {
            uint32_t length;
            memcpy(&length, all + at, 4);
            if (at + 4 + length > size) stop("the file of requests is cut short");
            if (filling) requests[request_count] = (struct bytes){all + at + 4, length};
            request_count++;
            at += 4 + length;
        }
        if (!filling) requests = calloc(request_count + 1, sizeof *requests);
    }
    if (request_count == 0) stop("no requests");
}

int main(int argc, char **argv) {
    double seconds = 0, rate = 0;
    long most = -1;
    int keeps = 0, option;
    while ((option = getopt(argc, argv, "c:d:n:r:b:k")) != -1) switch (option) {
            case 'c': connection_count = atol(optarg); break;
            case 'd': seconds = atof(optarg); break;
            case 'n': most = atol(optarg); break;
            case 'r': rate = atof(optarg); break;
            case 'b': if (!(bodies = fopen(optarg, "w"))) stop(optarg); break;
            case 'k': keeps = 1; break;
            default: return 64;
        }
    if (argc - optind != 2 || connection_count < 1 || (seconds <= 0 && most < 0)) {
        fprintf(stderr, "usage: load PORT REQUESTS [-c CONNECTIONS] [-d SECONDS | -n REQUESTS] [-r RATE] [-b BODIES] [-k]\n");
        return 64;
    }
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    // Timers to the microsecond; the kernel would otherwise be up to 50 late.
    prctl(PR_SET_TIMERSLACK, 1);
    server.sin_port = htons(atoi(argv[optind]));
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    read_requests(argv[optind + 1]);
    if ((poller = epoll_create1(EPOLL_CLOEXEC)) < 0) stop("epoll_create1");
    connections = calloc(connection_count, sizeof *connections);
    idle = calloc(connection_count, sizeof *idle);
    struct epoll_event events[512];
    // Connections are made a hundred at a time and all there before the first request: making them is not what is measured.
    long opened = 0;
    while (idle_count < connection_count) {
        while (opened < connection_count && opened - idle_count < 100) open_connection(opened++);
        int count = epoll_wait(poller, events, 512, 10000);
        if (count <= 0) stop("the connections could not be made");
        for (int i = 0; i < count; i++) {
            struct connection *it = &connections[events[i].data.u64];
            if (events[i].events & (EPOLLERR | EPOLLHUP)) stop("a connection was refused");
            if (it->is_connected) continue;
            it->is_connected = 1;
            rest(events[i].data.u64);
        }
    }
    int64_t began = now(), end = seconds > 0 ? began + (int64_t)(seconds * 1e9) : INT64_MAX, measured = 0;
    for (;;) {
        int64_t time = now(), wait = (int64_t)PATIENCE;
        int is_over = time >= end || (most >= 0 && sent >= most);
        if (is_over && !measured) {
            measured = time;
            answered_in_time = answered;
        }
        while (idle_count > 0 && (most < 0 || sent < most)) {
            int64_t due = rate > 0 ? began + (int64_t)(sent * (1e9 / rate)) : now();
            if (due >= end) break;
            if (due > time && (time = now()) < due) {
                wait = due - time;
                break;
            }
            send_next(due);
        }
        // With a rate, what was due before the end is sent, however late.
        int all_sent = rate > 0 && most < 0 ? began + (int64_t)(sent * (1e9 / rate)) >= end : is_over;
        if (is_over && all_sent && answered + broken == sent) break;
        if (measured && time - measured > PATIENCE) break;
        if (!measured && end - time < wait) wait = end - time > 0 ? end - time : 0;
        struct timespec timeout = {wait / 1000000000, wait % 1000000000};
        int count = epoll_pwait2(poller, events, 512, &timeout, NULL);
        if (count < 0 && errno != EINTR) stop("epoll_pwait2");
        for (int i = 0; i < count; i++) {
            struct connection *it = &connections[events[i].data.u64];
            if (!it->is_connected && (events[i].events & EPOLLOUT)) {
                it->is_connected = 1;
                rest(events[i].data.u64);
            }
            if (events[i].events & (EPOLLIN | EPOLLERR | EPOLLHUP | EPOLLRDHUP)) receive(events[i].data.u64);
        }
    }
    double took = (now() - began) / 1e9, measured_seconds = (measured - began) / 1e9;
    // Of a number of requests all count, up to the last answer.
    double speed = most >= 0 ? answered / took : answered_in_time / measured_seconds;
    printf("{\"answers\": {");
    for (int status = 0, first = 1; status < 1000; status++)
        if (statuses[status]) printf("%s\"%d\": %ld", first ? "" : ", ", status, statuses[status]), first = 0;
    printf("}, \"sent\": %ld, \"answered\": %ld, \"unanswered\": %ld, \"seconds\": %.3f, \"rate\": %.1f", sent, answered,
           sent - answered, took, speed);
    const double shares[] = {0.5, 0.9, 0.99, 0.999, 1};
    const char *names[] = {"p50", "p90", "p99", "p999", "longest"};
    for (int i = 0; i < 5; i++) printf(", \"%s\": %.1f", names[i], quantile(latencies, shares[i]));
    printf(", \"late_p50\": %.1f, \"late_p99\": %.1f}\n", quantile(lateness, 0.5), quantile(lateness, 0.99));
    fflush(stdout);
    if (bodies) fclose(bodies);
    if (keeps) {
        char byte;
        while (read(0, &byte, 1) > 0) {}
    }
    return 0;
}
