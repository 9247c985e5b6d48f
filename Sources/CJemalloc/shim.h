#ifndef GRYT_JEMALLOC_SHIM_H
#define GRYT_JEMALLOC_SHIM_H

#include <jemalloc/jemalloc.h>

#endif
