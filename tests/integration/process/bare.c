/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A program that needs two system calls: it says "bare" and exits; with an argument it stays. What
 * else a cage needs with it in it is the cage's own need. */
#include <sys/syscall.h>

static long call(long nr, long a, long b, long c)
{
#if defined(__x86_64__)
    long ret;
    __asm__ volatile("syscall"
                     : "=a"(ret)
                     : "a"(nr), "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return ret;
#else
    register long x8 __asm__("x8") = nr, x0 __asm__("x0") = a, x1 __asm__("x1") = b,
                     x2 __asm__("x2") = c;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
#endif
}

/* reached from _start with the number of arguments */
void begin(long count);
__attribute__((used)) void begin(long count)
{
    static const char text[] = "bare\n";
    (void)call(SYS_write, 1, (long)text, sizeof(text) - 1);
    while (count > 1)
        continue;
    (void)call(SYS_exit_group, 0, 0, 0);
}

#if defined(__x86_64__)
__asm__(".globl _start\n_start: mov (%rsp), %rdi\n and $-16, %rsp\n call begin\n");
#else
__asm__(".globl _start\n_start: ldr x0, [sp]\n bl begin\n");
#endif
