/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "state/fault.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <toolcage/error.h>

#include "base/cleanup.h"
#include "state/store.h"

enum { LOCK_US = 2000000 };

int tc_fault_set(struct tc_fault *fault, int code, const char *hint, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(fault->text, sizeof(fault->text), fmt, ap);
    va_end(ap);
    fault->code = code;
    fault->hint = hint;
    return code;
}

int tc_fault_no_memory(struct tc_fault *fault)
{
    return tc_fault_set(fault, TOOLCAGE_EMEMORY, NULL, "out of memory");
}

static int fail_unsafe(const char *path, const char *what, int errnum, struct tc_fault *fault)
{
    bool link = errnum == ELOOP || errnum == ENOTDIR, open = errnum == EPERM;
    return tc_fault_set(fault, TOOLCAGE_ESYSTEM,
                        link || open ? "make it a directory that only you can write: mode 0700"
                                     : "make room there, or set XDG_STATE_HOME",
                        "%s cannot be in %s: %s", what, path,
                        link   ? "it is not a directory, or it is a link"
                        : open ? "another user owns it or can write it"
                               : strerror(errnum));
}

int tc_fault_open(const char *name, const char *what, struct tc_fault *fault)
{
    _autofree_ char *path = NULL;
    int dir = tc_store_open(name, true, &path);
    if (dir >= 0)
        return dir;
    if (path)
        return fail_unsafe(path, what, errno, fault);
    return errno == ENXIO ? tc_fault_set(fault, TOOLCAGE_ESYSTEM, "set HOME to an absolute path",
                                         "there is no directory for %s: HOME is not set", what)
                          : tc_fault_no_memory(fault);
}

int tc_fault_lock(int dir, const char *what, struct tc_fault *fault)
{
    int lock = tc_store_hold(dir, LOCK_US);
    if (lock >= 0)
        return lock;
    return tc_fault_set(fault, TOOLCAGE_ESYSTEM, "try again", "%s cannot be locked: %s", what,
                        strerror(errno));
}
