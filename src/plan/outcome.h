/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The outcome: the helper's record of a call. The helper sends it to the library, and the library
 * builds the result from it. */
#ifndef TC_PLAN_OUTCOME_H
#define TC_PLAN_OUTCOME_H

#include <stddef.h>
#include <stdint.h>

#include "base/field.h"
#include "policy/clauses.h"

/* The closed list of denials and accesses. X(enumerator, word, key, verb, hint): the name in the
 * result; the policy key concerned, if all denials of this kind have the same; the policy verb that
 * grants the target; the hint used when no better one is known. */
#define TC_DENIAL_MAP(X)                                                                     \
    X(READ, "read", NULL, "read", NULL)                                                      \
    X(LOOK, "look", NULL, "read", NULL)                                                      \
    X(WRITE, "write", NULL, "write", NULL)                                                   \
    X(CREATE, "write", NULL, "write", NULL)                                                  \
    X(HELD, "write", "filesystem.steering", NULL,                                            \
      "host programs load such files, so this one stays read-only; --dry-run or --commit "   \
      "ask write it to a private layer, filesystem.steering.remove makes the name content")  \
    X(MOVED, "write", "workspace", NULL,                                                     \
      "an overlay can copy a directory that was there, but not rename it (EXDEV): mv does "  \
      "that; --in-place, or workspace.mode = \"bind\", renames it")                          \
    X(FOREIGN, "write", "workspace", NULL,                                                   \
      "an overlay cannot copy a file of another user or group (EOVERFLOW); --in-place, or "  \
      "workspace.mode = \"bind\", writes it")                                                \
    X(EXEC, "exec", NULL, "exec", NULL)                                                      \
    X(UNSHOWN, "exec", NULL, "exec", "the cage does not show this path")                     \
    X(CONNECT, "connect", "network", NULL, NULL)                                             \
    X(PRIVATE, "connect", "network", NULL,                                                   \
      "the name resolves to a private or local address; only an entry for exactly that "     \
      "address allows it")                                                                   \
    X(REPLAYED, "request", NULL, NULL, "the recorded call made no such request")             \
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
/* Accepts any number: one that is not a kind gets a row with the word "?". */
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
    char *endpoint; /* the network entry that would allow a connect; NULL: no entry would */
    bool probe; /* a harmless probe that many programs make: listed, but not shown to the model */
};

/* A destination of the tool's connections, reported by the egress proxy. */
struct tc_destination {
    char *target; /* "host:port" */
    int64_t connections, sent, received;
};

/* A path that the tool accessed without a denial. */
struct tc_access_seen {
    int64_t kind; /* enum tc_denial_kind: READ, WRITE, EXEC or LOOK */
    char *target;
    int64_t count;
};

struct tc_change {
    char *path; /* as the tool sees it */
    char *kind; /* "added", "modified", "deleted" */
    char *held; /* why the change was not applied on the host; NULL: it was */
    int64_t bytes;
    char *sha256;      /* hex; NULL when not a regular file or too large */
    char *attribution; /* "time" for binds; NULL when exact */
    bool steers_host;
    int64_t cache; /* length of the part of the path that makes it a cache; 0: not a cache */
    bool verified; /* a name that git loads, with content that was checked */
    int64_t links; /* link count, when over 1 */
    char *host;    /* the host path to apply the change to, only for changes that are shown later;
                      else NULL */
    char *target;  /* of a link */
    /* type and permissions of a change in a private workspace: now, and of the host's file when
     * the call began; 0: none, or not known */
    int64_t mode, was_mode;
};

/* A changed file that matches `collect`. */
struct tc_file {
    char *path;    /* as the tool sees it */
    int64_t bytes; /* of the file, even if its content was left out */
    char *sha256;  /* hex; NULL when it was not read */
    char *content; /* the content that sha256 covers; NULL: left out, "": an empty file */
    size_t content_len;
    bool steers_host; /* a steering file: host programs load or run it automatically */
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
    char *head; /* the stored output, including the marker if truncated */
    size_t head_len;
    int64_t bytes; /* total that the tool wrote */
    bool truncated;
};

/* One row of the doctor's table. */
struct tc_probe {
    char *backend;
    bool whole; /* the row is for the whole backend; else for one clause */
    int64_t
        clause; /* that clause; for a backend that does not work the clause that failed; else 0 */
    bool works;
    char *mechanism; /* how the clause or the grant would be enforced */
    char *reason, *fix;
};

/* A call whose changes wait for approval. */
struct tc_waiting {
    char *call, *tool;
    int64_t at, changes; /* Unix time in seconds; number of changes */
    int64_t caches;      /* number of changes that are caches */
};

/* A stored session: of this call, or a row in the list of all. */
struct tc_session_row {
    char *name, *tool, *bounds;
    int64_t calls, bytes, made, used; /* `made` and `used` are Unix times in seconds */
};

struct tc_outcome {
    int64_t status; /* TOOLCAGE_STATUS_… */
    int64_t exit_code, signal;
    char *limit;
    char *notice; /* one line about earlier calls; NULL: none */
    char *note;   /* extra information about how the call ended; NULL: none */
    char *seen;   /* the digest of staged changes that are shown; NULL: none are, or only some */
    char *audit;  /* of staged changes: that of the plan of their call */
    struct tc_outcome_failure failure;
    int64_t wall_us, cpu_us, memory_peak, pids_peak;
    int64_t fuel; /* fuel used by a deterministic call; -1: it was killed; 0: not deterministic */
    struct tc_stream out, err;
    struct tc_denial *denials;
    size_t denial_count;
    int64_t sent, received; /* bytes over the network, seen from the tool */
    struct tc_destination *destinations;
    size_t destination_count;
    struct tc_destination *published; /* ports of a live session; targets: policy/publish.h */
    size_t published_count;
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
/* Sets the note, and also the notice, each only if it is not set yet. Takes ownership of the
 * text; NULL: out of memory. */
void tc_outcome_note(struct tc_outcome *outcome, char *text);
/* Resets the failure to none. */
void tc_failure_clear(struct tc_outcome_failure *failure);

#endif
