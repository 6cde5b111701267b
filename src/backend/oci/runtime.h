/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#ifndef TC_OCI_RUNTIME_H
#define TC_OCI_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "backend/oci/config.h"

/* A program that makes containers. */
struct tc_oci_runtime {
    const char *name;
    enum tc_oci_kind kind;
    const char *const *words; /* between path or option and the container's name, NULL-terminated */
    bool hides_groups;        /* it fails where it sees control groups of both versions */
    bool takes_filter;        /* as a program, in an annotation */
    int64_t memory, pids;     /* what it uses itself, and what it counts among a cage's */
};

/* The first that is there, in the order of our preference, or the one of this name or path (NULL:
 * any); its path goes to *ret_path (owned). NULL with errno: ENOENT, or ENOMEM. */
const struct tc_oci_runtime *tc_oci_find(enum tc_oci_kind kind, const char *wish, char **ret_path);
/* Its whole command, NULL-terminated. */
enum { TC_OCI_WORDS = 24 };
void tc_oci_command(const struct tc_oci_runtime *runtime, const char *path, const char **ret);
/* "crun, runc" */
const char *tc_oci_names(enum tc_oci_kind kind);

/* What it says of its version, for the doctor: asked while the probe container runs, so that nobody
 * waits for it. */
struct tc_oci_asked {
    pid_t pid; /* 0: nobody was asked */
    int pidfd, out;
};
#define TC_OCI_NOT_ASKED ((struct tc_oci_asked){0, -1, -1})

void tc_oci_ask(struct tc_oci_asked *asked, const char *path);
/* "crun 1.8.1", owned; NULL: it has not said. Whoever was asked is gone then. */
char *tc_oci_version(struct tc_oci_asked *asked, const char *name);

#endif
