/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The smallest program: no libc, no start-up, exits 0. What is measured around it is the cage. */
#include <sys/syscall.h>

__attribute__((noreturn)) void _start(void);

void _start(void)
{
    for (;;)
        __asm__ volatile("syscall" : : "a"(SYS_exit_group), "D"(0) : "rcx", "r11", "memory");
}
