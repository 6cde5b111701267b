/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The plan: a grant lowered for one backend. Pure data that crosses to the helper in a sealed
 * memory file; the helper executes it and decides nothing. */
#ifndef TC_PLAN_PLAN_H
#define TC_PLAN_PLAN_H

#include "policy/grant.h"

enum tc_mount_kind {
    TC_MOUNT_READ,   /* host path, read-only */
    TC_MOUNT_WRITE,  /* host path, writable */
    TC_MOUNT_SYSTEM, /* system path: read-only, as it is (directory, file or link), skipped when
                        missing */
    TC_MOUNT_FILE,   /* a small file with `content` */
    TC_MOUNT_COPY,   /* a small file of the host, copied, skipped when missing */
    TC_MOUNT_SOCKET, /* a unix socket of the host */
    TC_MOUNT_DEVICE, /* a device of the host, for a program of ours: no policy names one */
};

/* Whether the host wants output as it comes: what the limit keeps, or all of it. */
enum tc_stream_mode { TC_STREAM_NONE, TC_STREAM_KEPT, TC_STREAM_ALL };

struct tc_mount {
    enum tc_mount_kind kind;
    char *path;    /* in the cage */
    char *from;    /* on the host */
    char *content; /* TC_MOUNT_FILE */
    char *bound;   /* resolve beneath this host path, never through a link */
    bool optional;
    bool workspace; /* subject to the workspace mode */
    char *key;      /* the policy's words for it, for messages */
    int64_t line;
};

/* Where a cage keeps what is no part of its grant. */
#define TC_PLACE_OWN "/etc/toolcage"

struct tc_deny {
    char *path; /* as the tool sees it */
    char *key;
    int64_t line;
    bool own; /* toolcage's: it must not come into being either */
};

struct tc_plan {
    char *call, *tool, *backend, *grant;
    tc_clauses clauses;
    tc_clauses without; /* of these, what may be missing where there are no namespaces */
    struct tc_strv argv, env;
    /* Where the command is a program of ours, what it is told (base/task.h): what is the same for
     * all its calls, and what this call is. */
    char *program;
    size_t program_len;
    char *program_call;
    size_t program_call_len;
    bool ahead;         /* it can be started before its call comes */
    int64_t calls;      /* that one such program serves at most, of the same bounds; 0: one */
    int64_t fuel;       /* what a deterministic program of ours may use up; 0: it is none */
    struct tc_strv cwd; /* the first that exists inside; a single one must */
    struct tc_mount *mounts;
    size_t mount_count;
    struct tc_deny *denies;
    size_t deny_count;
    struct tc_strv tool_writable;
    struct tc_strv records; /* directories with records of places that tools could write */
    /* what the policy was made from, never writable: the file, NULL where its own word frees it or
     * there is none, and those that it extends; and toolcage's own programs, where a tool could
     * write */
    char *policy_file;
    struct tc_strv extended;
    struct tc_strv collect;
    struct tc_strv caches;    /* names that a review sums up */
    struct tc_net_entry *net; /* where its network leads; none: nowhere */
    size_t net_count;
    struct tc_secret
        *secrets; /* what the proxy puts into requests; the values come beside the plan */
    size_t secret_count;
    struct tc_upstream upstream;
    bool asks_network; /* without one: a proxy that refuses all tells what the tool asked for */
    struct tc_strv syscalls_allow, syscalls_deny; /* beside the default profile */
    struct tc_steering steering;                  /* beside what steers the host anyway */
    struct tc_limits limits;
    int64_t denials;   /* enum tc_denials */
    int64_t workspace; /* enum tc_workspace_mode */
    int64_t commit;    /* enum tc_commit */
    bool overlay_or_copy;
    bool unix_sockets; /* the tool's own; and those of its mounts */
    int64_t stream;    /* enum tc_stream_mode */
    /* the tool has a terminal of the cage's own, of this size, in place of three pipes */
    bool terminal;
    uint16_t rows, columns;
    /* the id that everything granted to it belongs to already, on a machine that is its alone; 0:
     * one is leased, and others may work there */
    int64_t uid;
    char *session; /* whose state the call goes on with, by name; NULL: none */
    char *bounds;  /* what every call of that session, or of such a program, may do, as a digest */
    char *payload; /* a backend's own text */
    char *image;   /* a root file system on the host; NULL: its system directories */
    struct tc_strv settings; /* of the backend, "key=value" */
};

/* May a session have this name? One that may is a single name of a directory, too. */
bool tc_session_name(const char *name);

extern const struct tc_fields tc_plan_fields;
void tc_plan_visit(struct tc_wire *w, struct tc_plan *plan);
void tc_plan_done(struct tc_plan *plan);
/* What the plan's program is told: the fields of `it` with the flag as its call, and those without.
 * False: out of memory. */
bool tc_plan_tell(struct tc_plan *plan, const struct tc_fields *fields, const void *it,
                  unsigned of_call);

#endif
