/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The configuration that a container runtime is given, in the words of the OCI runtime
 * specification. Pure: the plan alone says what stands in it, and every name in it is one of a
 * bundle that the executors build (executor.c) or of the container itself. Granted paths are not in
 * it for runtimes that share our kernel: they are attached to the root by descriptor before the
 * runtime starts, so that it resolves no path of the host. */
#ifndef TC_OCI_CONFIG_H
#define TC_OCI_CONFIG_H

#include "base/strv.h"
#include "linux/bpf.h"
#include "plan/plan.h"

/* Where the bundle stands for the runtime, in a mount namespace of its own; and what is in it. */
#define TC_OCI_BUNDLE "/tmp"
#define TC_OCI_ROOT TC_OCI_BUNDLE "/rootfs"
/* With an image: what lies over it, and itself. */
#define TC_OCI_BASE TC_OCI_BUNDLE "/base"
#define TC_OCI_IMAGE TC_OCI_BUNDLE "/image"
#define TC_OCI_STATE TC_OCI_BUNDLE "/state"
#define TC_OCI_LOG TC_OCI_BUNDLE "/log"
/* Not empty: the first platform failed, and another was taken; how it failed. */
#define TC_OCI_FAILED TC_OCI_BUNDLE "/failed"
enum { TC_OCI_BROKEN = 'b', TC_OCI_SILENT = 's' };
#define TC_OCI_HEARD "heard"   /* in the bundle: which options runsc was heard to know */
#define TC_OCI_LACKED "lacked" /* in the bundle: the calls that a kernel of its own lacks */
/* In the container: our program, and for gVisor the directory of its report socket. */
#define TC_OCI_OURS "/.toolcage"
#define TC_OCI_INIT TC_OCI_OURS "/init"
#define TC_OCI_TALK TC_OCI_OURS "/talk"
/* The process around runsc: the file of our PID 1 by its other name. */
#define TC_OCI_KEEPER TC_OCI_ROOT TC_OCI_INIT

enum tc_oci_kind {
    TC_OCI_KERNEL, /* crun, runc: namespaces of this kernel */
    TC_OCI_SENTRY, /* runsc: a kernel of its own, which gets files through mounts alone */
};

/* Of a backend, by its name. */
enum tc_oci_kind tc_oci_kind_of(const char *backend);
/* Owned text, NULL when out of memory. */
char *tc_oci_config(const struct tc_plan *plan, enum tc_oci_kind kind);
/* The member "seccomp" of it: the profile's table by names. Arguments are left to the exact filter
 * that our PID 1 puts on before the tool, as are the calls that the policy denies; those that it
 * allows must be allowed here too. */
void tc_oci_seccomp(struct tc_buf *out, const struct tc_strv *allowed);
struct tc_seccomp_row;
/* What a row comes to there: 0 lets the call through. */
int tc_oci_seccomp_answer(const struct tc_seccomp_row *row, const struct tc_strv *allowed);

/* ---- filter.c ---- */

/* The answers of tc_oci_seccomp(), by number; of a call that has none here, the list's own. */
void tc_oci_filter(struct tc_bpf *ret, const struct tc_strv *allowed);
/* The configuration with that program in it, in the annotation that crun takes one from; the list
 * stays there for versions that do not know it. Owned; NULL: out of memory. */
char *tc_oci_with_filter(const char *config, const struct tc_strv *allowed);

/* PID 1 of a container: the helper's file under the name TC_OCI_INIT. It is told an init config
 * (cage/init_config.h) by the report socket; in gVisor, which passes no descriptor on, the command
 * and its variables come from the runtime. Never returns. */
_Noreturn void tc_inner_main(int argc, char **argv);

#endif
