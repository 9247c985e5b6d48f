#ifndef GRYT_WIPED_MEMORY_H
#define GRYT_WIPED_MEMORY_H

// Nothing to call: whoever links this target has the `free` and `realloc` of wiped_memory.c.

#endif
