// Overwrites every block of memory when it is freed, whoever frees it. docs/decisions/wiped-memory.md says why, and why in C.
//
// A program may define the functions of malloc(3) anew, and they then serve its shared libraries too; glibc keeps its own
// under the names below. The sanitizers bring theirs, so they are left alone.

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define GRYT_LEAVES_MEMORY_ALONE
#endif
#endif

#ifndef GRYT_LEAVES_MEMORY_ALONE

#include <malloc.h>
#include <stddef.h>
#include <string.h>

void __libc_free(void *block);

void free(void *block) {
    if (!block) return;
    // `free` must leave errno as it was; neither call touches it.
    explicit_bzero(block, malloc_usable_size(block));
    __libc_free(block);
}

void *realloc(void *block, size_t size) {
    if (!block) return malloc(size);
    if (size == 0) {
        free(block);
        return NULL;
    }
    size_t present = malloc_usable_size(block);
    // It stays where it is as long as it fits and is not much too large.
    if (size <= present && size >= present / 2) return block;
    void *moved = malloc(size);
    if (!moved) return NULL;
    memcpy(moved, block, size < present ? size : present);
    free(block);
    return moved;
}

#endif
