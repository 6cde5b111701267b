/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The seccomp filter: deny by default, generated at build time from the table in seccomp_profile.h.
 * Its variants have the same verdicts: one refuses every call in the kernel, the others report
 * notable refusals to a supervisor through a notification fd.
 *
 * The filter decides by registers only, and a notification decides nothing that a racing thread
 * could change. The supervisor replies to refused calls with an errno that depends on registers
 * alone. It lets only connect, execve and the calls of seccomp_watched.h continue, which other
 * isolation layers decide, and sysinfo, which it may answer itself. Where unix sockets are granted
 * no connect continues: the supervisor connects. */
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

/* Which calls are notified; each value includes those before it. */
enum tc_seccomp_watch {
    TC_WATCH_NOTHING,
    TC_WATCH_CALLS,    /* refusals, exec, connect and sysinfo */
    TC_WATCH_PATHS,    /* calls that open a path, or change what it names */
    TC_WATCH_ACCESSES, /* the same calls; what they are allowed is listed, too */
};

/* The filter program: static, read-only. */
const struct sock_fprog *tc_seccomp_program(enum tc_seccomp_watch watch, bool unix_sockets);

/* A second filter, for tools that share the host's namespaces: it refuses calls that elsewhere
 * mounts and namespaces stop and that Landlock does not cover. Of two filters the stricter
 * verdict applies. Static, for tc_seccomp_install() without notifications. */
const struct sock_fprog *tc_seccomp_shared(void);

/* Installs the filter for the calling thread; no_new_privs must be set. The result is the
 * notification fd (close-on-exec) of a program that listens, else 0; -1 with errno.
 * Async-signal-safe. */
int tc_seccomp_install(const struct sock_fprog *program, bool listens);

/* Does the kernel keep a notified call waiting through all non-fatal signals? Otherwise an
 * action of the supervisor could be done twice. */
bool tc_seccomp_waits(void);

/* Requests that the kernel wake supervisor and tool on one CPU, which makes a notification
 * cheaper. Kernels before 6.6 do not support this; nothing depends on it. */
void tc_seccomp_wake_here(int listener);

/* The reply to a notified call: 0 lets it continue, else the errno to refuse it with. A call
 * that the profile never notifies is ENOSYS. *ret_name is the call's name ("?" when unknown).
 * *ret_probe: ordinary programs try this call without needing it, so it is listed, but not
 * reported to the model. Either may be NULL. */
int tc_seccomp_answer(bool unix_sockets, int nr, const uint64_t args[6], const char **ret_name,
                      bool *ret_probe);

/* The profile's row of the call with this number on this architecture; NULL: none. Borrowed,
 * static. */
const struct tc_seccomp_row *tc_seccomp_row(int nr);

/* The number of a call of the profile on this architecture. *ret_refused: does the profile
 * refuse it by its number alone, whatever the arguments? */
enum { TC_SECCOMP_NO_NAME = -1, TC_SECCOMP_NOT_HERE = -2 };
int tc_seccomp_number(const char *name, bool *ret_refused);

/* The paths that a call names, one row each (seccomp_watched.h); NULL when the call is not
 * watched. Borrowed, static. */
const struct tc_seccomp_watched *tc_seccomp_paths(int nr, size_t *ret_count);

/* ---- a policy's changes to the profile ---- */

/* The changes are part of one program with the profile, between its architecture check and its
 * verdicts: a process can have only one notification listener, and the kernel would not notify
 * refusals of a second program. A refusal comes first. A call can be allowed only where the
 * profile refuses it by its number alone. All other calls, including foreign ABIs, reach the
 * profile unchanged. */

enum { TC_SECCOMP_CHANGES_MAX = 256, TC_SECCOMP_CODE_MAX = 2048 };

struct tc_seccomp_changes {
    int denied[TC_SECCOMP_CHANGES_MAX], allowed[TC_SECCOMP_CHANGES_MAX]; /* numbers */
    size_t denied_count, allowed_count;
    bool set_group; /* chmod and its like may set the set-group-id bit */
};

/* Names to numbers. Calls that this architecture does not have are left out. False, and *ret_bad
 * is the name (borrowed), when one is unknown or may not be allowed, or there are too many. */
bool tc_seccomp_changes(struct tc_seccomp_changes *ret, const struct tc_strv *deny,
                        const struct tc_strv *allow, const char **ret_bad);

bool tc_seccomp_denied(const struct tc_seccomp_changes *changes, int nr);

/* The profile's program with the changes, written to `code`, which has room for
 * TC_SECCOMP_CODE_MAX. 0 when they do not fit; else the length. */
size_t tc_seccomp_change(const struct sock_fprog *base, const struct tc_seccomp_changes *changes,
                         enum tc_seccomp_watch watch, struct sock_filter *code);

#endif
