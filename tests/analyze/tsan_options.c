/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What ThreadSanitizer needs in the helper, which has no environment: its findings go to files
 * beside the build, and cages are forks that go on. And libc's own clone(): the sanitizer's takes
 * each for a fork, whose child no longer follows locks; ours that share the memory would make the
 * helper itself do so. */
#include <dlfcn.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/types.h>

const char *__tsan_default_options(void);

const char *__tsan_default_options(void)
{
    return "log_path=" TSAN_LOG " die_after_fork=0 history_size=4 second_deadlock_stack=1";
}

int clone(int (*fn)(void *), void *stack, int flags, void *arg, ...)
{
    static int (*libcs)(int (*)(void *), void *, int, void *, ...);
    va_list ap;
    void *more[3];
    va_start(ap, arg);
    for (int i = 0; i < 3; i++)
        more[i] = va_arg(ap, void *);
    va_end(ap);
    if (!libcs) {
        void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
        *(void **)&libcs = libc ? dlsym(libc, "clone") : NULL;
    }
    if (!libcs)
        abort();
    return libcs(fn, stack, flags, arg, more[0], more[1], more[2]);
}
