/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Shared by the files of the attack program. Each file is a table of attacks by name. An attack
 * prints a line that starts with GOT for each success; the driver uses only these lines and what it
 * observes from outside. Attacks are harmless: they open files without writing, and are limited in
 * number and time. The program is used by the escape tests and `toolcage doctor --prove`. */
#ifndef TC_ATTACKS_ATTACK_H
#define TC_ATTACKS_ATTACK_H

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct attack {
    const char *name;
    int arguments; /* minimum */
    void (*run)(char **args);
};

static inline int number(const char *text)
{
    return (int)strtol(text, NULL, 10);
}

static inline void __attribute__((format(printf, 1, 2))) got(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)fputs("GOT ", stdout);
    (void)vprintf(fmt, ap);
    (void)putchar('\n');
    (void)fflush(stdout);
    va_end(ap);
}

/* Prints why an attempt failed, for the log. */
static inline void missed(const char *what)
{
    (void)printf("missed %s: %s\n", what, strerrordesc_np(errno));
    (void)fflush(stdout);
}

/* Prints GOT and the first bytes that can be read from fd. */
static inline void got_content(const char *what, int fd)
{
    char text[4096];
    ssize_t n = read(fd, text, sizeof(text) - 1);
    if (n < 0) {
        missed(what);
        return;
    }
    text[n] = '\0';
    got("%s: %s", what, text);
}

extern const struct attack tc_attacks_files[], tc_attacks_kernel[], tc_attacks_processes[],
    tc_attacks_machinery[], tc_attacks_sockets[];

#endif
