/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What every fuzz target has: the entry that libFuzzer and the replay call, and a check that ends
 * the program when an invariant does not hold. */
#ifndef TC_TESTS_FUZZ_FUZZ_H
#define TC_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INVARIANT(condition)                                                               \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                       \
        }                                                                                  \
    } while (0)

/* The same before and after a run: no descriptor was left. */
static inline int lowest_free(void)
{
    int fd = dup(STDERR_FILENO);
    INVARIANT(fd >= 0);
    (void)close(fd);
    return fd;
}

#endif
