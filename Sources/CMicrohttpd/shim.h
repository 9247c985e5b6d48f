#ifndef GRYT_MICROHTTPD_SHIM_H
#define GRYT_MICROHTTPD_SHIM_H

#include <sys/types.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <microhttpd.h>

// MHD_start_daemon is variadic, which Swift cannot call. The options go in as an array instead.
static inline struct MHD_Daemon *gryt_mhd_start(unsigned int flags, MHD_AccessHandlerCallback handler,
                                                void *context, struct MHD_OptionItem *options) {
    return MHD_start_daemon(flags, 0, NULL, NULL, handler, context, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}

#endif
