// Overwrites every block of memory when it is freed, whoever frees it; but for objects of C++, which jemalloc takes back by
// a way of its own, and of which only Swift's runtime has any. docs/decisions/wiped-memory.md says why, and why in C;
// docs/decisions/jemalloc.md why it is jemalloc that gives the memory and takes it back.
//
// jemalloc serves the program and its shared libraries by the names of malloc(3). A program may define some of these anew,
// which then count for all; jemalloc does the same work under the names below. The sanitizers bring a malloc of their own,
// so they are left alone.

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define GRYT_LEAVES_MEMORY_ALONE
#endif
#endif

#ifndef GRYT_LEAVES_MEMORY_ALONE

#include <errno.h>
#include <jemalloc/jemalloc.h>
#include <stddef.h>
#include <string.h>

void free(void *block) {
    if (!block) return;
    // `free` must leave errno as it was.
    int before = errno;
    explicit_bzero(block, sallocx(block, 0));
    dallocx(block, 0);
    errno = before;
}

void *realloc(void *block, size_t size) {
    if (!block) return malloc(size);
    if (size == 0) {
        free(block);
        return NULL;
    }
    size_t present = sallocx(block, 0);
    // It stays where it is as long as it fits and is not much too large.
    if (size <= present && size >= present / 2) return block;
    void *moved = malloc(size);
    if (!moved) return NULL;
    memcpy(moved, block, size < present ? size : present);
    free(block);
    return moved;
}

#endif
