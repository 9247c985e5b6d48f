// Tells ThreadSanitizer about Synchronization.Mutex. scripts/sanitize links it into what it builds with
// `--sanitize=thread`, and nothing else does.
//
// A Mutex that is free is taken by one atomic exchange, which the compiler puts into our own code, where the sanitizer
// sees it. One that is held is taken by `_MutexHandle._lockSlow`, with a futex, inside of libswiftSynchronization.so,
// which is not instrumented: that the one thread waited for the other stays unseen, and what the mutex guards looks like
// a race. So these two stand before the library's own, call them, and say what they did. They hide no real race: an edge
// is drawn only where a lock was really handed over. docs/decisions/thread-sanitizer.md has the story.
//
// The names are those of Swift 6.3. Should another release have others, the program ends at its start.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *self

extern void __tsan_acquire(void *address);
extern void __tsan_release(void *address);

static SWIFT void (*real_lock)(uint32_t thread, SELF);
static SWIFT void (*real_unlock)(SELF);

static void *next(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) {
        fprintf(stderr, "mutex-for-thread-sanitizer: this Swift has no %s\n", name);
        abort();
    }
    return found;
}

// Before any thread but the first.
__attribute__((constructor)) static void find_the_real_ones(void) {
    *(void **)&real_lock = next(LOCK);
    *(void **)&real_unlock = next(UNLOCK);
}

SWIFT void gryt_lock(uint32_t thread, SELF) __asm__(LOCK);
SWIFT void gryt_lock(uint32_t thread, SELF) {
    real_lock(thread, self);
    __tsan_acquire(self);
}

SWIFT void gryt_unlock(SELF) __asm__(UNLOCK);
SWIFT void gryt_unlock(SELF) {
    __tsan_release(self);
    real_unlock(self);
}
