#ifndef GRYT_SYSTEM_SHIM_H
#define GRYT_SYSTEM_SHIM_H

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

// The version where PUSH_VERSION does not name one. A program that is handed out by itself is built with its own, by
// scripts/release/static-program.
#ifndef GRYT_PUSH_VERSION
#define GRYT_PUSH_VERSION "dev"
#endif
static inline const char *gryt_built_version(void) { return GRYT_PUSH_VERSION; }

// prctl is variadic, which Swift cannot call.

// Of the name, at most 15 bytes are kept.
static inline void gryt_name_this_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

// No core file, not even through a pipe of core_pattern, for which a core size of 0 does not count; and no other process
// of the same user may attach.
static inline int gryt_forbid_dumps(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

// accept4 is declared for GNU sources only, which the headers that Swift imports are not.
extern int accept4(int socket, struct sockaddr *address, socklen_t *size, int flags);
static inline int gryt_accept(int socket, struct sockaddr *address, socklen_t *size) {
    return accept4(socket, address, size, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

// The CMSG_ macros and SO_PEERCRED's struct are not seen by Swift.

// How many descriptors go with one message. The kernel takes 253 (SCM_MAX_FD).
#define GRYT_MOST_DESCRIPTORS 64

// Sends one message with so many descriptors beside it (unix(7)). Returns what sendmsg does.
static inline ssize_t gryt_send_descriptors(
    int socket, const void *bytes, size_t length, const int *descriptors, size_t count)
{
    char room[CMSG_SPACE(sizeof(int) * GRYT_MOST_DESCRIPTORS)];
    struct iovec part = {(void *)bytes, length};
    struct msghdr message;
    if (count > GRYT_MOST_DESCRIPTORS) {
        errno = E2BIG;
        return -1;
    }
    memset(&message, 0, sizeof message);
    memset(room, 0, sizeof room);
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (count > 0) {
        struct cmsghdr *header;
        message.msg_control = room;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(header), descriptors, sizeof(int) * count);
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL);
}

// Receives one message, and up to GRYT_MOST_DESCRIPTORS descriptors that came with it, closed on exec. Returns what
// recvmsg does; EMSGSIZE when there was more than there was room for.
static inline ssize_t gryt_receive_descriptors(
    int socket, void *bytes, size_t length, int *descriptors, size_t *count)
{
    char room[CMSG_SPACE(sizeof(int) * GRYT_MOST_DESCRIPTORS)];
    struct iovec part = {bytes, length};
    struct msghdr message;
    struct cmsghdr *header;
    ssize_t received;
    memset(&message, 0, sizeof message);
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = room;
    message.msg_controllen = sizeof room;
    *count = 0;
    received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (received < 0) return received;
    for (header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        size_t here = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(descriptors + *count, CMSG_DATA(header), here * sizeof(int));
        *count += here;
    }
    if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
        errno = EMSGSIZE;
        return -1;
    }
    return received;
}

// The process at the other end of a connected unix socket, and its user.
static inline int gryt_peer_of(int socket, pid_t *process, uid_t *user)
{
    struct { pid_t pid; uid_t uid; gid_t gid; } peer;  // struct ucred, which is there with _GNU_SOURCE only
    socklen_t size = sizeof peer;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return -1;
    *process = peer.pid;
    *user = peer.uid;
    return 0;
}

#endif
