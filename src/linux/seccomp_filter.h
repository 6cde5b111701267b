/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The system call wall: a deny-by-default filter, made at build time from the table in
 * seccomp_profile.h. Its forms have the same verdicts: one answers every refusal by itself, the
 * others report what is worth listing to a supervisor through a notification descriptor.
 *
 * The filter decides by registers only. A notification decides nothing that a racing thread could
 * change: the supervisor's answer for refused calls is an errno that depends on registers alone,
 * and only connect, execve and the calls of seccomp_watched.h are told to go on (other walls decide
 * those). Where unix sockets are granted no connect is told to go on: the supervisor connects. */
#ifndef TC_LINUX_SECCOMP_FILTER_H
#define TC_LINUX_SECCOMP_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strv.h"

struct sock_fprog;
struct tc_seccomp_row;
struct tc_seccomp_watched;

/* What is notified; each word includes those before it. */
enum tc_seccomp_watch {
    TC_WATCH_NOTHING,
    TC_WATCH_CALLS,    /* refusals, exec and connect */
    TC_WATCH_PATHS,    /* calls that open a path, or change what it names */
    TC_WATCH_ACCESSES, /* those that only look */
};

/* The program: static, read-only. */
const struct sock_fprog *tc_seccomp_program(enum tc_seccomp_watch watch, bool unix_sockets);

/* A second filter, for tools that share the machine's namespaces: it refuses what mounts and
 * namespaces stop elsewhere and Landlock does not know. Of two filters the stricter answer counts.
 * As above, for tc_seccomp_install() without notifications. */
const struct sock_fprog *tc_seccomp_shared(void);

/* Puts the calling thread under the program; no_new_privs must be set. The result is the
 * notification descriptor (close-on-exec) of one that listens, else 0; -1 with errno.
 * Async-signal-safe. */
int tc_seccomp_install(const struct sock_fprog *program, bool listens);

/* Does the kernel keep a notified call waiting whatever signal comes, short of one that kills? Else
 * what is done in its place could be done twice. */
bool tc_seccomp_waits(void);

/* Asks the kernel to wake supervisor and tool on one processor, which makes a notification cheaper.
 * Kernels before 6.6 do not know this; nothing depends on it. */
void tc_seccomp_wake_here(int listener);

/* What to answer for a notified call: 0 to let it go on, else the errno to refuse it with. A call
 * that the profile never notifies is ENOSYS. *ret_name is the call's name ("?" when unknown),
 * *ret_probe says that ordinary programs try this in passing: list it, but do not trouble the model
 * with it. Either may be NULL. */
int tc_seccomp_answer(bool unix_sockets, int nr, const uint64_t args[6], const char **ret_name,
                      bool *ret_probe);

/* What the profile says of the call with this number here; NULL: nothing. Borrowed, static. */
const struct tc_seccomp_row *tc_seccomp_row(int nr);

/* The number of a call of the profile here. *ret_refused: is it one that the profile refuses by its
 * number alone, whatever the arguments? */
enum { TC_SECCOMP_NO_NAME = -1, TC_SECCOMP_NOT_HERE = -2 };
int tc_seccomp_number(const char *name, bool *ret_refused);

/* The paths that a call names, a row each (seccomp_watched.h); NULL when it is not among those
 * watched. Borrowed, static. */
const struct tc_seccomp_watched *tc_seccomp_paths(int nr, size_t *ret_count);

/* ---- a policy's changes to the profile ---- */

/* They stand in one program with it, before it and behind its look at the architecture: a process
 * can have one notification listener only, and what a second program refuses would be answered by
 * the kernel and listed by nobody. A refusal comes first; a call is let through only where the
 * profile refuses it by its number alone; everything else goes on into the profile as it is,
 * foreign ABIs too. */

enum { TC_SECCOMP_CHANGES_MAX = 256, TC_SECCOMP_CODE_MAX = 2048 };

struct tc_seccomp_changes {
    int denied[TC_SECCOMP_CHANGES_MAX], allowed[TC_SECCOMP_CHANGES_MAX]; /* numbers */
    size_t denied_count, allowed_count;
};

/* Names to numbers. Calls that this processor does not have are left out. False, and *ret_bad is
 * the name (borrowed), when one is unknown, may not be let through, or there are too many. */
bool tc_seccomp_changes(struct tc_seccomp_changes *ret, const struct tc_strv *deny,
                        const struct tc_strv *allow, const char **ret_bad);

bool tc_seccomp_denied(const struct tc_seccomp_changes *changes, int nr);

/* The profile's program with the changes, written to `code`, which has room for
 * TC_SECCOMP_CODE_MAX. 0 when they do not fit; else the length. */
size_t tc_seccomp_change(const struct sock_fprog *base, const struct tc_seccomp_changes *changes,
                         enum tc_seccomp_watch watch, struct sock_filter *code);

#endif
