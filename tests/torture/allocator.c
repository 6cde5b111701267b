/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * An allocator that asks the injector whether an allocation has to fail, and counts what lives. */
#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "marks.h"

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void __libc_free(void *old);

bool torture_counting;
long torture_live;

static bool refused(void)
{
    if (!torture_counting)
        return false;
    int saved = errno;
    bool fails = prctl(MARK, MARK_ALLOCATION, 0, 0, 0) == 0;
    errno = fails ? ENOMEM : saved;
    return fails;
}

void *malloc(size_t size)
{
    void *made = refused() ? NULL : __libc_malloc(size);
    torture_live += made != NULL;
    return made;
}

void *calloc(size_t count, size_t size)
{
    void *made = refused() ? NULL : __libc_calloc(count, size);
    torture_live += made != NULL;
    return made;
}

void *realloc(void *old, size_t size)
{
    void *made = refused() ? NULL : __libc_realloc(old, size);
    torture_live += !old && made;
    return made;
}

void free(void *old)
{
    torture_live -= old != NULL;
    __libc_free(old);
}
