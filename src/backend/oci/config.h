/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The configuration of a container runtime, as defined by the OCI runtime specification. It depends
 * only on the plan. Every path in it is inside the container or inside a bundle that the executor
 * builds (executor.c). For crun and runc it names no granted path: these are attached to the root
 * by fd before the runtime starts, so that the runtime resolves no host path. */
#ifndef TC_OCI_CONFIG_H
#define TC_OCI_CONFIG_H

#include "base/strv.h"
#include "linux/bpf.h"
#include "plan/plan.h"

/* The bundle's mount point in the runtime's private mount namespace, and the files in the bundle.
 */
#define TC_OCI_BUNDLE "/tmp"
#define TC_OCI_ROOT TC_OCI_BUNDLE "/rootfs"
/* With an image the container's root is an overlay: the prepared root (BASE) above the image. */
#define TC_OCI_BASE TC_OCI_BUNDLE "/base"
#define TC_OCI_IMAGE TC_OCI_BUNDLE "/image"
#define TC_OCI_STATE TC_OCI_BUNDLE "/state"
#define TC_OCI_LOG TC_OCI_BUNDLE "/log"
/* If not empty, the first gVisor platform failed and another one was used; the content is how it
 * failed. */
#define TC_OCI_FAILED TC_OCI_BUNDLE "/failed"
enum { TC_OCI_BROKEN = 'b', TC_OCI_SILENT = 's' };
#define TC_OCI_HEARD "heard"   /* in the bundle: options of runsc known to exist or not */
#define TC_OCI_LACKED "lacked" /* in the bundle: system calls that gVisor does not implement */
/* In the container: toolcage's program and, in gVisor, the directory of its report socket. */
#define TC_OCI_OURS "/.toolcage"
#define TC_OCI_INIT TC_OCI_OURS "/init"
#define TC_OCI_TALK TC_OCI_OURS "/talk"
/* The shim around runsc: the same file as PID 1, by this path. */
#define TC_OCI_KEEPER TC_OCI_ROOT TC_OCI_INIT

enum tc_oci_kind {
    TC_OCI_KERNEL, /* crun, runc: namespaces of the host's kernel */
    TC_OCI_SENTRY, /* runsc: a separate kernel, which gets host files only through mounts */
};

/* By the name of the backend. */
enum tc_oci_kind tc_oci_kind_of(const char *backend);
/* Owned text, NULL when out of memory. */
char *tc_oci_config(const struct tc_plan *plan, enum tc_oci_kind kind);
/* Writes the configuration's "seccomp" member: the runtime's list of system calls, which decides by
 * name alone. Before PID 1 starts the tool, PID 1 adds toolcage's own filter, which also checks
 * arguments and refuses the calls that the policy denies. Both filters apply, so the calls that the
 * policy allows in addition (`allowed`) must be allowed in the runtime's list, too. */
void tc_oci_seccomp(struct tc_buf *out, const struct tc_strv *allowed);
struct tc_seccomp_row;
/* The errno that the runtime's list gives the row's system call; 0: the call is allowed. */
int tc_oci_seccomp_answer(const struct tc_seccomp_row *row, const struct tc_strv *allowed);

/* ---- filter.c ---- */

/* The list of tc_oci_seccomp() as a BPF program, which compares system call numbers. */
void tc_oci_filter(struct tc_bpf *ret, const struct tc_strv *allowed);
/* Copies the configuration and adds the BPF program as an annotation, which crun reads. The list
 * stays in the copy for versions of crun that ignore the annotation. Owned; NULL: out of memory. */
char *tc_oci_with_filter(const char *config, const struct tc_strv *allowed);

/* PID 1 of a container: the helper's executable under the name TC_OCI_INIT. It receives an init
 * config (cage/init_config.h) over the report socket. gVisor passes no fds, so there the command
 * and variables come from the runtime. Never returns. */
_Noreturn void tc_inner_main(int argc, char **argv);

#endif
