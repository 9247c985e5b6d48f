#ifndef GRYT_MICROHTTPD_SHIM_H
#define GRYT_MICROHTTPD_SHIM_H

#include <sys/types.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <microhttpd.h>

// Variadic functions, which Swift cannot call, and unions that are nicer as one value.

// What a daemon is started with. `context` comes back as the first argument of every callback.
struct gryt_mhd_settings {
    int listener;
    size_t connection_memory;
    unsigned int connection_limit;
    unsigned int idle_seconds;
    void *context;
    MHD_AccessHandlerCallback handle;
    void *(*target)(void *context, const char *target, struct MHD_Connection *connection);
    MHD_RequestCompletedCallback completed;
    MHD_NotifyConnectionCallback connection;
};

// A daemon without threads of its own, to be run whenever its epoll descriptor is readable. NULL with errno set.
static inline struct MHD_Daemon *gryt_mhd_start(const struct gryt_mhd_settings *s) {
    return MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, s->handle, s->context,
                            MHD_OPTION_LISTEN_SOCKET, s->listener,
                            MHD_OPTION_CONNECTION_MEMORY_LIMIT, s->connection_memory,
                            MHD_OPTION_CONNECTION_LIMIT, s->connection_limit,
                            MHD_OPTION_CONNECTION_TIMEOUT, s->idle_seconds,
                            MHD_OPTION_URI_LOG_CALLBACK, s->target, s->context,
                            MHD_OPTION_NOTIFY_COMPLETED, s->completed, s->context,
                            MHD_OPTION_NOTIFY_CONNECTION, s->connection, s->context,
                            MHD_OPTION_END);
}

// The descriptor that is readable whenever the daemon has something to do; -1 when it has none.
static inline int gryt_mhd_epoll_descriptor(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    return info == NULL ? -1 : info->epoll_fd;
}

static inline int gryt_mhd_descriptor(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info == NULL ? -1 : info->connect_fd;
}

static inline const struct sockaddr *gryt_mhd_peer(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info == NULL ? NULL : info->client_addr;
}

// What the connection callback stored for this connection.
static inline void *gryt_mhd_socket_context(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info == NULL ? NULL : info->socket_context;
}

// Bytes from the method to the end of the empty line; 0 before the head is complete.
static inline size_t gryt_mhd_head_size(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info == NULL ? 0 : info->header_size;
}

// Shows the head's fields, the cookies and the target's arguments, which all take room in the connection's memory.
static inline int gryt_mhd_visit(struct MHD_Connection *connection, MHD_KeyValueIteratorN visit, void *context) {
    return MHD_get_connection_values_n(
        connection, (enum MHD_ValueKind)(MHD_HEADER_KIND | MHD_COOKIE_KIND | MHD_GET_ARGUMENT_KIND), visit, context);
}

#endif
