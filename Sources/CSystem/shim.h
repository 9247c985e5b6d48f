#ifndef GRYT_SYSTEM_SHIM_H
#define GRYT_SYSTEM_SHIM_H

#include <sys/prctl.h>
#include <sys/socket.h>

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

#endif
