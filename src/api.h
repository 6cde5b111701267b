/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * For the files of exported functions: each function checks its arguments and calls the internal
 * function. A host's mistake is TOOLCAGE_EUSAGE, never a crash. */
#ifndef TC_API_H
#define TC_API_H

#include <string.h>

#include "base/error.h"

#define EXPORT __attribute__((visibility("default")))

static inline int fail_usage(struct toolcage_error **err, const char *function, const char *what)
{
    return tc_fail(err, TC_WHY(TOOLCAGE_EUSAGE, "api", function, "see libtoolcage(3)"), "%s: %s",
                   function, what);
}

/* Refuses NULL for a required argument. */
#define NEED(argument)                                                       \
    do {                                                                     \
        if (!(argument))                                                     \
            return fail_usage(err, __func__, #argument " must not be NULL"); \
    } while (0)

/* The list of codes is closed: any other code is a bug in the library, and is reported as one. */
static inline int closed(int code, struct toolcage_error **err)
{
    if (code >= 0 || strcmp(tc_error_word(code), "unknown") != 0)
        return code;
    return tc_fail(err, &(struct tc_why){.code = TOOLCAGE_ESYSTEM, .stage = "api"},
                   "internal code %d", code);
}

#endif
