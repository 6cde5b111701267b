/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What the host program and the injector say to each other: prctl() with an option that no kernel
 * has. Without an injector it fails with EINVAL and means nothing. */
#ifndef TC_TORTURE_MARKS_H
#define TC_TORTURE_MARKS_H

#include <stdbool.h>

enum {
    MARK = 0x746f7274, /* the option; its second argument is one of: */
    MARK_BEGIN = 1,    /* from here on the host's own system calls count */
    MARK_END,          /* no longer */
    MARK_ALLOCATION,   /* an allocation of the host; answered 0: it has to fail */
    MARK_LIFE,         /* helpers that start from here on count */
    MARK_OVER,         /* those that start from here on do not */
};

/* allocator.c */
extern bool torture_counting; /* allocations ask */
extern long torture_live;

#endif
