/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Scope-bound ownership. A variable marked _auto…_ is released when it leaves its scope; TAKE() and
 * TAKE_FD() hand the value over to another owner. Always initialise such a variable.
 */
#ifndef TC_BASE_CLEANUP_H
#define TC_BASE_CLEANUP_H

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

static inline void tc_cleanup_free(void *p)
{
    free(*(void **)p);
}

static inline void tc_cleanup_fd(const int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}

static inline void tc_cleanup_dir(DIR **dir)
{
    if (*dir)
        (void)closedir(*dir);
}

#define _autofree_ __attribute__((cleanup(tc_cleanup_free)))
#define _autofd_ __attribute__((cleanup(tc_cleanup_fd)))
#define _autodir_ __attribute__((cleanup(tc_cleanup_dir)))
#define _auto_(fn) __attribute__((cleanup(fn)))

/* Hands the pointer over and leaves NULL behind. */
#define TAKE(p)                        \
    ({                                 \
        __typeof__(p) tc_taken_ = (p); \
        (p) = NULL;                    \
        tc_taken_;                     \
    })

/* Hands the descriptor over and leaves -1 behind. */
#define TAKE_FD(fd)           \
    ({                        \
        int tc_taken_ = (fd); \
        (fd) = -1;            \
        tc_taken_;            \
    })

#define TC_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define TC_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
