#ifndef GRYT_FUZZING_H
#define GRYT_FUZZING_H

#include <stddef.h>
#include <stdint.h>

// libFuzzer's entry for programs with a main of their own (https://llvm.org/docs/LibFuzzer.html, "Using libFuzzer as a
// library").
int LLVMFuzzerRunDriver(int *count, char ***arguments, int (*take)(const uint8_t *bytes, size_t count));

#endif
