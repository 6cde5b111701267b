/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The outcome: what the helper saw of a call. It crosses to the library in a memory file, and the
 * library makes the result from it. */
#ifndef TC_PLAN_OUTCOME_H
#define TC_PLAN_OUTCOME_H

#include <stddef.h>
#include <stdint.h>

#include "base/field.h"
#include "policy/clauses.h"

/* The closed list of what a tool can be refused, or seen doing. X(enumerator, word, key, verb,
 * hint): what a result calls it; the key of the policy that it is about, where that is always the
 * same; the verb of the policy that its target is asked for by; what to tell where nobody knows
 * better. */
#define TC_DENIAL_MAP(X)                                                                     \
    X(READ, "read", NULL, "read", NULL)                                                      \
    X(LOOK, "look", NULL, "read", NULL)                                                      \
    X(WRITE, "write", NULL, "write", NULL)                                                   \
    X(EXEC, "exec", NULL, "exec", NULL)                                                      \
    X(UNSHOWN, "exec", NULL, "exec", "the cage does not show this path")                     \
    X(CONNECT, "connect", "network", NULL, NULL)                                             \
    X(NOWHERE, "connect", "network", NULL, "the tool has no network")                        \
    X(UNRESOLVED, "connect", "network", NULL,                                                \
      "the tool has no network, so no host name can be resolved")                            \
    X(LOOPBACK, "connect", "network", NULL,                                                  \
      "this is the cage's own loopback; the host's is not reachable")                        \
    X(SOCKET, "connect", "unix_sockets", NULL, NULL)                                         \
    X(SYSCALL, "syscall", NULL, NULL, NULL)                                                  \
    X(TAKEN, "syscall", NULL, NULL, "syscalls.deny of the policy takes it away")             \
    X(LACKED, "syscall", NULL, NULL,                                                         \
      "gVisor does not have this call, or not with these arguments; backend \"oci\" has it") \
    X(UNIX, "syscall", NULL, NULL,                                                           \
      "unix sockets are not granted; unix_sockets = \"own\" grants the tool's own")

#define TC_DENIAL_ENUM_(id, ...) TC_DENIAL_##id,
enum tc_denial_kind { TC_DENIAL_MAP(TC_DENIAL_ENUM_) TC_DENIAL_COUNT };
#undef TC_DENIAL_ENUM_

struct tc_denial_row {
    const char *word, *key, *verb, *hint;
};
/* Of any number: one that is no kind has a row of its own, which says nothing. */
const struct tc_denial_row *tc_denial_row(int64_t kind);

struct tc_outcome_failure {
    int64_t code; /* TOOLCAGE_E…; 0: none */
    char *stage, *subject, *message, *hint;
    int64_t errnum;
    char *key; /* the policy key concerned, and its line */
    int64_t line;
    int64_t clause; /* enum tc_clause, or -1 */
};

struct tc_denial {
    int64_t kind; /* enum tc_denial_kind */
    char *target;
    int64_t count;
    char *key;
    int64_t line;
    char *hint;
    bool probe; /* a harmless probe that programs make: listed, but not told to the model */
};

/* Where the tool's connections went, by the egress proxy. */
struct tc_destination {
    char *target; /* "host:port" */
    int64_t connections, sent, received;
};

/* A path that the tool touched, and nothing refused. */
struct tc_access_seen {
    int64_t kind; /* enum tc_denial_kind: READ, WRITE, EXEC or LOOK */
    char *target;
    int64_t count;
};

struct tc_change {
    char *path; /* as the tool sees it */
    char *kind; /* "added", "modified", "deleted" */
    char *held; /* why it did not reach the host; NULL: it did */
    int64_t bytes;
    char *sha256;      /* hex; NULL when not a regular file or too large */
    char *attribution; /* "time" for binds; NULL when exact */
    bool steers_host;
    int64_t cache; /* how much of the name below its grant makes it a cache; 0: it is none */
    bool verified; /* git trusts a file of this name, and its content was checked */
    int64_t links; /* link count, when over 1 */
    char *host;    /* where it would come back to; of a change that is shown later, else NULL */
    char *target;  /* of a link */
    /* type and rights, of a change in a private workspace: what it is, and what stood on the host
     * when the call began; 0: nothing, or not known */
    int64_t mode, was_mode;
};

/* A changed file that `collect` names. */
struct tc_file {
    char *path;    /* as the tool sees it */
    int64_t bytes; /* of the file, also when its content was left out */
    char *sha256;  /* hex; NULL when it was not read */
    char *content; /* what the digest is of; NULL: left out, "" is an empty file */
    size_t content_len;
    bool steers_host; /* a program of the user would run or obey it unasked */
};

struct tc_enforced {
    int64_t clause;
    char *mechanism;
};

struct tc_timing {
    char *step;
    int64_t us;
};

struct tc_stream {
    char *head; /* what was kept, the marker included when truncated */
    size_t head_len;
    int64_t bytes; /* all that the tool wrote */
    bool truncated;
};

/* One row of the doctor's table. */
struct tc_probe {
    char *backend;
    bool whole;     /* all of it, and the clause that fails in it; else one clause */
    int64_t clause; /* 0 where a whole backend works */
    bool works;
    char *mechanism; /* how it would be enforced */
    char *reason, *fix;
};

/* A call whose changes wait for a person. */
struct tc_waiting {
    char *call, *tool;
    int64_t at, changes; /* seconds of real time; how many */
    int64_t caches;      /* how many of them are caches */
};

/* What is kept of a session: of this call's, or in a list of all. */
struct tc_session_row {
    char *name, *tool, *bounds;
    int64_t calls, bytes, made, used; /* times in seconds of real time */
};

struct tc_outcome {
    int64_t status; /* TOOLCAGE_STATUS_… */
    int64_t exit_code, signal;
    char *limit;
    char *notice; /* one line about earlier calls; NULL: none */
    char *note;   /* what else there is to say of this end; NULL: nothing */
    struct tc_outcome_failure failure;
    int64_t wall_us, cpu_us, memory_peak, pids_peak;
    int64_t fuel; /* that a deterministic call took; -1: it was ended from outside; 0: it is none */
    struct tc_stream out, err;
    struct tc_denial *denials;
    size_t denial_count;
    int64_t sent, received; /* bytes over the network, as the tool sees it */
    struct tc_destination *destinations;
    size_t destination_count;
    struct tc_access_seen *accesses;
    size_t access_count;
    struct tc_change *changes;
    size_t change_count;
    struct tc_file *files;
    size_t file_count;
    int64_t omitted_changes, omitted_files, omitted_denials, omitted_accesses;
    struct tc_enforced *enforced;
    size_t enforced_count;
    struct tc_timing *timings;
    size_t timing_count;
    struct tc_probe *probes;
    size_t probe_count;
    struct tc_waiting *waiting;
    size_t waiting_count;
    struct tc_session_row *sessions;
    size_t session_count;
};

extern const struct tc_fields tc_outcome_fields;
void tc_outcome_visit(struct tc_wire *w, struct tc_outcome *outcome);
void tc_outcome_done(struct tc_outcome *outcome);
/* What else there is to say of its end, unless something is said already; in the notice, too, if
 * there is none. The text is taken; NULL: there was no memory for it. */
void tc_outcome_note(struct tc_outcome *outcome, char *text);
/* As if nothing had failed. */
void tc_failure_clear(struct tc_outcome_failure *failure);

#endif
