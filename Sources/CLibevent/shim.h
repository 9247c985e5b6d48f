#ifndef GRYT_LIBEVENT_SHIM_H
#define GRYT_LIBEVENT_SHIM_H

// event-config.h defines _GNU_SOURCE, which would change the layout names of fd_set after Swift's Glibc module has
// been built without it; the C library's features are therefore settled first.
#include <sys/select.h>

#include <event2/event.h>
#include <event2/util.h>
#include <sys/eventfd.h>

// libevent spells its constants as casts and enums that Swift imports under awkward names; nothing else lives here.
static const short gryt_ev_timeout = EV_TIMEOUT;
static const short gryt_ev_read = EV_READ;
static const short gryt_ev_write = EV_WRITE;
static const short gryt_ev_persist = EV_PERSIST;

#endif
