/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What the files of the attack program share. Each is a table of attacks by name; an attack prints
 * a line that starts with GOT for what it got, and its text is all that the driver believes beside
 * what it sees from outside. Attacks stop short of harm: they open, they do not write; they are
 * bounded in number and time. The program serves the escape tests and `toolcage doctor --prove`. */
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
    int arguments; /* at least */
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

/* Why an attempt failed, for the log. */
static inline void missed(const char *what)
{
    (void)printf("missed %s: %s\n", what, strerrordesc_np(errno));
    (void)fflush(stdout);
}

/* Prints what can be read from fd, each line after GOT. */
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
