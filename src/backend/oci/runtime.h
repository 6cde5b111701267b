/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#ifndef TC_OCI_RUNTIME_H
#define TC_OCI_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "backend/oci/config.h"

/* A container runtime. */
struct tc_oci_runtime {
    const char *name;
    enum tc_oci_kind kind;
    const char *const *words; /* arguments before the container's name, NULL-terminated */
    bool hides_groups;        /* fails if it sees cgroups of both versions */
    bool takes_filter;        /* accepts the seccomp filter as a program, in an annotation */
    int64_t memory, pids;     /* its own memory, and its processes in the cgroup */
};

/* The first installed runtime in order of preference, or the one with this name or path (NULL:
 * any). Its path is stored in *ret_path (owned). NULL with errno: ENOENT, or ENOMEM. */
const struct tc_oci_runtime *tc_oci_find(enum tc_oci_kind kind, const char *wish, char **ret_path);
/* The complete command, NULL-terminated. */
enum { TC_OCI_WORDS = 24 };
void tc_oci_command(const struct tc_oci_runtime *runtime, const char *path, const char **ret);
/* "crun, runc" */
const char *tc_oci_names(enum tc_oci_kind kind);

/* A query for the runtime's version, for the doctor. It runs during the probe container, so that
 * the doctor does not wait for it. */
struct tc_oci_asked {
    pid_t pid; /* 0: no query was started */
    int pidfd, out;
};
#define TC_OCI_NOT_ASKED ((struct tc_oci_asked){0, -1, -1})

void tc_oci_ask(struct tc_oci_asked *asked, const char *path);
/* "crun 1.8.1", owned; NULL: no reply. The query's process has ended afterwards. */
char *tc_oci_version(struct tc_oci_asked *asked, const char *name);

#endif
