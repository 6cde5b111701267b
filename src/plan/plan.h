/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The plan: a grant lowered for one backend. Pure data, which the library sends to the helper; the
 * helper executes it and decides nothing. */
#ifndef TC_PLAN_PLAN_H
#define TC_PLAN_PLAN_H

#include "policy/grant.h"

enum tc_mount_kind {
    TC_MOUNT_READ,   /* host path, read-only */
    TC_MOUNT_WRITE,  /* host path, writable */
    TC_MOUNT_SYSTEM, /* read-only system path as on the host (directory, file or link); a small file
                        is copied; skipped if missing */
    TC_MOUNT_FILE,   /* a small file with `content` */
    TC_MOUNT_SOCKET, /* a unix socket of the host */
    TC_MOUNT_DEVICE, /* a host device for one of toolcage's programs; no policy key creates one */
};

/* Output that the host receives while the tool runs: none, the part within the limit, or all. */
enum tc_stream_mode { TC_STREAM_NONE, TC_STREAM_KEPT, TC_STREAM_ALL };

struct tc_mount {
    enum tc_mount_kind kind;
    char *path;    /* in the cage */
    char *from;    /* on the host */
    char *content; /* TC_MOUNT_FILE */
    char *bound;   /* resolve beneath this host path, never through a link */
    bool optional;
    bool workspace; /* subject to the workspace mode */
    char *key;      /* the policy key that granted it, for messages */
    int64_t line;
};

/* Directory in the cage for toolcage's own files, which are not part of the grant. */
#define TC_PLACE_OWN "/etc/toolcage"

struct tc_deny {
    char *path; /* as the tool sees it */
    char *key;
    int64_t line;
    bool own; /* a path that only toolcage writes: the tool must not be able to create it either */
};

/* What the plan accepts where an overlay cannot be made. */
enum tc_instead { TC_INSTEAD_NOTHING, TC_INSTEAD_BIND, TC_INSTEAD_COPY };

struct tc_plan {
    char *call, *tool, *backend, *grant;
    tc_clauses clauses;
    tc_clauses without; /* those of `clauses` that may be missing without namespaces */
    struct tc_strv argv, env;
    /* Input of a command that is one of toolcage's programs (base/task.h): the part common to all
     * its calls, and the part for this call. */
    char *program;
    size_t program_len;
    char *program_call;
    size_t program_call_len;
    bool ahead;         /* the program may be started before its call arrives */
    int64_t calls;      /* maximum of calls with the same bounds that one program serves; 0: one */
    int64_t fuel;       /* fuel limit of a deterministic program; 0: not deterministic */
    struct tc_strv cwd; /* the first that exists in the cage is used; a single one must */
    int64_t umask;      /* of the tool */
    struct tc_mount *mounts;
    size_t mount_count;
    char *system; /* further read-only system paths, one a line, as TC_MOUNT_SYSTEM; NULL: none */
    struct tc_deny *denies;
    size_t deny_count;
    struct tc_strv tool_writable;
    struct tc_strv records; /* directories with the records of paths that tools could write */
    /* The files that the policy was read from, which the tool must not write: the policy file
     * (NULL: there is none, or the policy allows writing it), the files that it extends, and
     * toolcage's own programs where the tool could write them. */
    char *policy_file;
    struct tc_strv extended;
    struct tc_strv collect;
    struct tc_strv caches;    /* names of caches, which a review summarises */
    struct tc_net_entry *net; /* granted destinations; none: no network */
    size_t net_count;
    struct tc_secret *secrets; /* secrets that the proxy injects into requests; their values are
                                  sent separately */
    size_t secret_count;
    struct tc_upstream upstream;
    bool replays;      /* the proxy answers from the job's record alone (egress/exchanges.h) */
    bool asks_network; /* without a network: a proxy that refuses every request, so that requested
                          hosts are reported */
    struct tc_strv syscalls_allow, syscalls_deny; /* changes to the default profile */
    struct tc_steering steering;                  /* in addition to the default steering files */
    struct tc_limits limits;
    int64_t denials;   /* enum tc_denials */
    int64_t workspace; /* enum tc_workspace_mode */
    int64_t commit;    /* enum tc_commit */
    int64_t instead;   /* enum tc_instead */
    bool unix_sockets; /* allow the tool's own unix sockets; granted ones are mounts */
    int64_t stream;    /* enum tc_stream_mode */
    /* the tool has a private terminal of this size instead of three pipes */
    bool terminal;
    uint16_t rows, columns;
    /* in a VM without other tools: the fixed id that already owns everything granted; 0: lease an
     * id */
    int64_t uid;
    char *session; /* the session to continue, by name; NULL: none */
    /* A live session: commands come later. It ends after idle_ms without a command, and after
     * lifetime_ms. 0: not a session. */
    int64_t idle_ms, lifetime_ms;
    struct tc_strv publish; /* the ports that it publishes (policy/publish.h) */
    char *live_in;   /* the live session (the id of its call) that runs the command; NULL: none */
    bool live_shell; /* it is `sh -c TEXT` and continues where the last such command ended */
    bool live_file;  /* `argv` is a file action in that session (live/files), not a command */
    char *bounds;    /* digest of the rights that all calls of that session, or of a reused program,
                        must share */
    char *payload;   /* free text for the backend or job */
    char *audit;     /* how the library records what becomes of staged changes; NULL: it does not */
    char *image;     /* the root file system on the host; NULL: the host's system directories */
    struct tc_strv settings; /* the backend's settings, "key=value" */
};

/* Whether a session may have this name. A valid name is also a valid name of a directory. */
bool tc_session_name(const char *name);

extern const struct tc_fields tc_plan_fields;
void tc_plan_visit(struct tc_wire *w, struct tc_plan *plan);
void tc_plan_done(struct tc_plan *plan);
/* Replaces a bind by an overlay with the same effect: every change is committed, however the tool
 * ends. Its storage may use all of the memory, which `disk` does not limit in a bind. False: the
 * plan has no bind, or a VM depends on it. */
bool tc_plan_overlay(struct tc_plan *plan);
/* Replaces an overlay by the bind that the plan accepts instead. False: it accepts none. */
bool tc_plan_bind(struct tc_plan *plan);
/* Is something granted below /dev/shm? Then that is a directory of the cage, with a mount of the
 * private /tmp; else a link to /tmp. */
bool tc_plan_shares_memory(const struct tc_plan *plan);
/* Encodes the input of the plan's program from `it`: fields with the flag `of_call` as this call's
 * part, the others as the common part. False: out of memory. */
bool tc_plan_tell(struct tc_plan *plan, const struct tc_fields *fields, const void *it,
                  unsigned of_call);

#endif
