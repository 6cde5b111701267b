/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The grant: the resolved, immutable set of capabilities for one call. Pure data, made by the
 * policy from tool, call and facts; read by the backends. It depends on nothing specific to
 * Linux. */
#ifndef TC_POLICY_GRANT_H
#define TC_POLICY_GRANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/field.h"
#include "base/strv.h"
#include "policy/clauses.h"
#include "policy/names/steering.h"
#include "policy/parse/limit_rows.h"
#include "policy/plain_rows.h"

/* The location of a setting in the policy: "tool.x.filesystem.readable", line 12. Line 0: built
 * in. */
struct tc_origin {
    char *key;
    uint32_t line;
};

enum tc_access {
    TC_ACCESS_READ = 1,
    TC_ACCESS_WRITE = 2,
    TC_ACCESS_DENY = 3,
    TC_ACCESS_CONNECT = 4, /* to a unix socket; only in the list of sockets */
};

struct tc_fs_entry {
    char *path; /* as the tool sees it: clean, absolute */
    char *from; /* on the host: clean, absolute; NULL for denied names */
    enum tc_access access;
    bool optional; /* skipped when missing */
    bool
        argument; /* comes from a {path} argument: resolved beneath `bound`, never through a link */
    char *bound;  /* host path of the bound, for argument entries */
    bool built_in; /* toolcage's own rule (credentials, its state), not the operator's */
    bool own;      /* denied name that belongs to toolcage: must not be created either */
    bool found;    /* found on the host by a built-in rule; not in the digest */
    bool setup;    /* `from` belongs to toolcage: an install, or the directory that an install phase
                      writes */
    struct tc_origin origin;
};

struct tc_net_entry {
    char *host;    /* lower case; "*" for all public addresses */
    uint32_t port; /* with its transport bit: policy/endpoint.h */
    struct tc_strv methods, paths;
    bool secret; /* a secret is injected into its requests */
    struct tc_origin origin;
};

/* Placeholder for the value in a secret's header. */
#define TC_SECRET_PLACE "{secret}"
/* The site's proxy, through which the egress proxy connects. */
struct tc_upstream {
    char *host; /* as in a network entry; NULL: no upstream */
    uint16_t port;
    bool socks; /* SOCKS5; else HTTP CONNECT */
    bool names; /* it receives host names and resolves them itself */
    uint32_t line;
};

/* Name of the secret that authenticates to the upstream. It is injected into no request. */
#define TC_UPSTREAM_SECRET "egress.credentials"

/* Bytes per second. The proxy multiplies it by microseconds. */
#define TC_BANDWIDTH_MAX (1LL << 40)

/* A credential that the tool never sees. */
struct tc_secret {
    char *name, *from, *header; /* from: "env:NAME", "file:/path", "command:a b" */
    struct tc_strv hosts;       /* "host:port"; a scheme before it permits sending without TLS */
    uint32_t line;
};

/* In the order of the policy's lists of values. */
enum tc_denials { TC_DENIALS_CALLS, TC_DENIALS_PATHS, TC_DENIALS_ACCESSES, TC_DENIALS_OFF };
/* AUTO: an overlay, or what comes closest where the host cannot make one. */
enum tc_workspace_mode {
    TC_WORKSPACE_BIND,
    TC_WORKSPACE_COPY,
    TC_WORKSPACE_OVERLAY,
    TC_WORKSPACE_AUTO
};
enum tc_commit { TC_COMMIT_SUCCESS, TC_COMMIT_ALWAYS, TC_COMMIT_ASK, TC_COMMIT_NEVER };
/* The rank of denials from nothing watched to everything; of commit from all changes written to the
 * host to none. */
int tc_denials_rank(enum tc_denials denials);
int tc_commit_rank(enum tc_commit commit);

struct tc_grant {
    char *tool;              /* NULL: a bare command */
    char *backend;           /* by name; until the router has chosen, the first candidate */
    struct tc_strv fallback; /* the other candidates, in order */
    struct tc_strv layers;   /* nested backends, outermost first; empty: one backend */
    TC_PLAIN_MAP(TC_PLAIN_MEMBER_, )
    char *module;        /* WebAssembly module on the host; NULL: argv[0] */
    char *module_digest; /* "sha256:…" that the module must have; NULL: any */
    /* What the backend's locator found on this host: "worker=/path" and the like. Empty before
     * routing. */
    struct tc_strv located;
    struct tc_strv settings; /* of the candidate backends, "backend.key=value" */
    char *tier;              /* "Auto", … or NULL */
    bool approval;           /* a person must approve the call */
    struct tc_fs_entry *fs;
    size_t fs_count;
    char *system; /* host paths that every cage shows in addition to its system directories, one a
                     line (system/system.h); NULL: none */
    struct tc_net_entry *net;
    size_t net_count;
    struct tc_upstream upstream; /* the proxy behind the egress proxy; none where `net` is empty */
    struct tc_secret *secrets;   /* each for hosts in `net` */
    size_t secret_count;
    bool unix_sockets;           /* the tool may create unix sockets; and these of the host */
    struct tc_fs_entry *sockets; /* exact paths */
    size_t socket_count;
    struct tc_strv argv;
    char *stdin_bytes; /* expanded from the policy's `stdin`; NULL: the caller's stdin */
    size_t stdin_len;
    struct tc_strv env;                           /* NAME=value, PATH and HOME included */
    struct tc_strv syscalls_allow, syscalls_deny; /* changes to the default profile */
    struct tc_strv caches; /* names that a review summarises; empty where nothing can be staged */
    struct tc_steering steering; /* changes to the built-in list of steering files */
    char *caller_cwd;            /* starting directory without `cwd`, if it is granted */
    int64_t umask;               /* of the tool: the caller's */
    struct tc_limits limits;
    enum tc_workspace_mode workspace;
    enum tc_commit commit; /* how changes are committed; a bind workspace stages nothing */
    /* Host paths that any tool of the policy can write; symbolic links in or below them are not
     * followed. tool_writable has those that this call adds, `policy` has the rest (a reference;
     * NULL: no policy). */
    struct tc_strv tool_writable;
    struct toolcage_policy *policy;
    tc_clauses clauses;
    tc_clauses
        without; /* may be missing where namespaces cannot be created: the operator permits it */
    char *setup; /* cache key of its install; NULL: no install */
    bool setup_ready; /* the install exists */
    char digest[TC_DIGEST_SIZE];
    char bounds[TC_DIGEST_SIZE]; /* digest without the command's arguments and input */
};

/* Flags of rows in the field tables. */
enum {
    TC_FIELD_UNDIGESTED = 1, /* in no digest */
    TC_FIELD_WORDS = 2,      /* the command: in the digest, not in `bounds` */
    TC_FIELD_UNSET = 4,      /* of a limit: 0 means unlimited */
};
/* The values of a grant's secrets, in the grant's order. They pass from the library to the proxy
 * and are in no record of a call. */
void tc_secret_values_visit(struct tc_wire *w, struct tc_strv *values);
/* Overwrites the values and frees them. */
void tc_secret_values_done(struct tc_strv *values);
/* Copies into a zeroed secret. The caller frees it, also after a failure. False: out of memory. */
bool tc_secret_copy(struct tc_secret *to, const struct tc_secret *from);

extern const struct tc_fields tc_limits_fields, tc_fs_entry_fields, tc_net_entry_fields,
    tc_upstream_fields, tc_secret_fields, tc_steering_fields, tc_grant_fields;

void tc_grant_done(struct tc_grant *grant);
/* Writes members of a JSON object: "network" (host:port), and the names of "secrets" and of the
 * "environment", whose values may be secret. */
void tc_grant_write_reach(const struct tc_grant *grant, struct tc_buf *out);

/* Can any tool write to this host path? */
bool tc_grant_tool_writes(const struct tc_grant *grant, const char *path);
/* Host paths outside the workspace that any tool of the policy can write, owned by the policy
 * (NULL: no policy); and the same for a grant, with the paths that its call adds: appends copies,
 * false: out of memory. */
const struct tc_strv *tc_policy_writable(const struct toolcage_policy *policy);
bool tc_grant_tool_writable(const struct tc_grant *grant, struct tc_strv *to);
/* Host path of the policy's file number `index`, absolute, as it was named; "" for a first text
 * without a file. Borrows; NULL: no more files. */
const char *tc_grant_policy_path(const struct tc_grant *grant, size_t index);

/* Adds an entry, or raises the access of an existing one; copies the strings. False: out of
 * memory. */
bool tc_grant_add(struct tc_grant *grant, const struct tc_fs_entry *entry);
/* A path that the tool may write, as the tool sees it. Borrows; NULL: it may write none. */
const char *tc_grant_writes(const struct tc_grant *grant);
/* The most specific entry for a path as the tool sees it, or NULL where no entry grants it (system
 * directories have no entries). `denied` takes precedence; borrows. */
const struct tc_fs_entry *tc_grant_find(const struct tc_grant *grant, const char *path);
/* The same, and NULL where the entry denies the path. */
const struct tc_fs_entry *tc_grant_shows(const struct tc_grant *grant, const char *path);
/* The tool's working directory is the first of these that it can enter. Borrows; the number of
 * them. */
size_t tc_grant_starts(const struct tc_grant *grant, const char *ret[static 3]);

/* The granted unix socket of exactly this path, or NULL; borrows. */
const struct tc_fs_entry *tc_grant_socket(const struct tc_grant *grant, const char *path);
/* A warning about what access to this host socket exposes; NULL: none known. Static. */
const char *tc_socket_risk(const char *from);

#endif
