/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The system call wall: a deny-by-default filter, made at build time from the table in
 * seccomp_profile.h. Two forms with the same verdicts: one answers every refusal by itself, the
 * other reports what is worth listing to a supervisor through a notification descriptor.
 *
 * The filter decides by registers only. A notification decides nothing that a racing thread could
 * change: the supervisor's answer for refused calls is an errno that depends on registers alone,
 * and only connect and execve are told to go on (other walls decide those). */
#ifndef TC_LINUX_SECCOMP_FILTER_H
#define TC_LINUX_SECCOMP_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sock_fprog;

/* The program: static, read-only. With `notify`, refusals and exec and connect are notified. */
const struct sock_fprog *tc_seccomp_program(bool notify);

/* Puts the calling thread under the program; no_new_privs must be set. With `notify` the result is
 * the notification descriptor (close-on-exec), else 0; -1 with errno. Async-signal-safe. */
int tc_seccomp_install(const struct sock_fprog *program, bool notify);

/* Asks the kernel to wake supervisor and tool on one processor, which makes a notification cheaper.
 * Kernels before 6.6 do not know this; nothing depends on it. */
void tc_seccomp_wake_here(int listener);

/* What to answer for a notified call: 0 to let it go on, else the errno to refuse it with. A call
 * that the profile never notifies is ENOSYS. *ret_name is the call's name ("?" when unknown),
 * *ret_probe says that ordinary programs try this in passing: list it, but do not trouble the model
 * with it. Either may be NULL. */
int tc_seccomp_answer(int nr, const uint64_t args[6], const char **ret_name, bool *ret_probe);

#endif
