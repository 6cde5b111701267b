/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The grant: the resolved, immutable set of capabilities for one call. Pure data, made by the
 * policy from tool, call and facts; read by the backends. Knows nothing of Linux. */
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

/* Where in the policy something was said: "tool.x.filesystem.readable", line 12. Line 0: built in.
 */
struct tc_origin {
    char *key;
    uint32_t line;
};

enum tc_access {
    TC_ACCESS_READ = 1,
    TC_ACCESS_WRITE = 2,
    TC_ACCESS_DENY = 3,
    TC_ACCESS_CONNECT = 4, /* of a unix socket, in a list of their own */
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
    bool own;      /* denied name of toolcage's own: it must not come into being either */
    bool found; /* a place of the host that a rule of ours closes: the rule counts, not the place */
    bool setup; /* `from` is toolcage's own: what an install phase left, or its place to do so */
    struct tc_origin origin;
};

struct tc_net_entry {
    char *host;    /* lower case; "*" for all public addresses */
    uint32_t port; /* with its transport: policy/endpoint.h */
    struct tc_strv methods, paths;
    bool secret; /* a secret goes into its requests */
    struct tc_origin origin;
};

/* Where the value stands in a secret's header. */
#define TC_SECRET_PLACE "{secret}"
/* The proxy of the site, that this one goes through. */
struct tc_upstream {
    char *host; /* as in an entry; NULL: none */
    uint16_t port;
    bool socks; /* SOCKS5; else HTTP, by CONNECT */
    bool names; /* it is given names, and looks them up itself */
    uint32_t line;
};

/* The name of the secret that is said to the upstream, and put into no request. */
#define TC_UPSTREAM_SECRET "egress.credentials"

/* Bytes a second; the proxy multiplies it by microseconds. */
#define TC_BANDWIDTH_MAX (1LL << 40)

/* A value that the tool never sees. */
struct tc_secret {
    char *name, *from, *header; /* from: "env:NAME", "file:/path", "command:a b" */
    struct tc_strv hosts;       /* "host:port"; a scheme before it: also without TLS */
    uint32_t line;
};

/* In the order of the policy's words. */
enum tc_denials { TC_DENIALS_CALLS, TC_DENIALS_PATHS, TC_DENIALS_ACCESSES, TC_DENIALS_OFF };
enum tc_workspace_mode { TC_WORKSPACE_BIND, TC_WORKSPACE_COPY, TC_WORKSPACE_OVERLAY };
enum tc_commit { TC_COMMIT_SUCCESS, TC_COMMIT_ALWAYS, TC_COMMIT_ASK, TC_COMMIT_NEVER };
/* From nothing watched to all; from all that a tool did reaching the host to nothing. */
int tc_denials_rank(enum tc_denials denials);
int tc_commit_rank(enum tc_commit commit);

struct tc_grant {
    char *tool;    /* NULL: a bare command */
    char *backend; /* by name; the first of those that may run it, until the router has chosen */
    struct tc_strv fallback; /* the others, in order */
    struct tc_strv layers;   /* of a cage in a cage, outermost first; else empty */
    TC_PLAIN_MAP(TC_PLAIN_MEMBER_, )
    char *module;        /* a WebAssembly module on the host; NULL: the command's first word */
    char *module_digest; /* "sha256:…" that it must have; NULL: any */
    /* What this host has for the backend that runs it, as that backend's locator found it:
     * "worker=/path", and the like. Empty until then. */
    struct tc_strv located;
    struct tc_strv settings; /* of the backends that may run it, "backend.key=value" */
    char *tier;              /* "Auto", … or NULL */
    bool approval;           /* a person must say yes */
    struct tc_fs_entry *fs;
    size_t fs_count;
    struct tc_net_entry *net;
    size_t net_count;
    struct tc_upstream upstream; /* how it gets there; none where there is no net */
    struct tc_secret *secrets;   /* each for hosts that net reaches */
    size_t secret_count;
    bool unix_sockets;           /* of the cage's own; and these of the host */
    struct tc_fs_entry *sockets; /* exact paths */
    size_t socket_count;
    struct tc_strv argv;
    char *stdin_bytes; /* made from the policy's `stdin`; NULL: the caller's */
    size_t stdin_len;
    struct tc_strv env;                           /* NAME=value, PATH and HOME included */
    struct tc_strv syscalls_allow, syscalls_deny; /* beside the default profile */
    struct tc_strv caches;       /* names that a review sums up; none where nothing can be staged */
    struct tc_steering steering; /* beside what steers the host anyway */
    char *caller_cwd;            /* where it starts without a cwd, if that is granted */
    struct tc_limits limits;
    enum tc_workspace_mode workspace;
    enum tc_commit commit; /* nothing is held back of a bind */
    bool overlay_or_copy;  /* an overlay in place of a bind, for the call; a copy will do */
    /* Host paths that any tool of the policy can write, links are not followed from there on: those
     * that this call adds, and the policy's own (a reference; NULL: none). */
    struct tc_strv tool_writable;
    struct toolcage_policy *policy;
    tc_clauses clauses;
    tc_clauses without; /* may be missing where no namespaces can be made: the operator's word */
    char *setup;        /* cache key of what is installed for it; NULL: nothing is */
    bool setup_ready;   /* it is there */
    char digest[TC_DIGEST_SIZE];
    char bounds[TC_DIGEST_SIZE]; /* the same without the command's words and its input */
};

/* What the rows of the tables say beside where a field is. */
enum {
    TC_FIELD_UNDIGESTED = 1, /* stands in no digest */
    TC_FIELD_WORDS = 2,      /* what is run: in the digest, and not in the bounds */
    TC_FIELD_UNSET = 4,      /* of a limit: 0 is none */
};
/* The values of a grant's secrets, in its order: from the library to the proxy, past all that is
 * written down of a call. */
void tc_secret_values_visit(struct tc_wire *w, struct tc_strv *values);
/* Overwrites them before they are freed. */
void tc_secret_values_done(struct tc_strv *values);
/* Into a zeroed one, which is to be freed also when it fails; false: out of memory. */
bool tc_secret_copy(struct tc_secret *to, const struct tc_secret *from);

extern const struct tc_fields tc_limits_fields, tc_fs_entry_fields, tc_net_entry_fields,
    tc_upstream_fields, tc_secret_fields, tc_steering_fields, tc_grant_fields;

void tc_grant_done(struct tc_grant *grant);

/* Can any tool write there, a path of the host? */
bool tc_grant_tool_writes(const struct tc_grant *grant, const char *path);
/* All those paths; appends copies. False: out of memory. */
/* Where any tool of the policy can write, beside the workspace: host paths, the policy's. NULL:
 * there is no policy. */
const struct tc_strv *tc_policy_writable(const struct toolcage_policy *policy);
bool tc_grant_tool_writable(const struct tc_grant *grant, struct tc_strv *to);
/* The files on the host that the policy was made from, absolute, as they were named; the first is
 * "" where the text was none. Borrows; NULL: no more. */
const char *tc_grant_policy_path(const struct tc_grant *grant, size_t index);

/* Adds or raises an entry; copies the texts. False: out of memory. */
bool tc_grant_add(struct tc_grant *grant, const struct tc_fs_entry *entry);
/* What the most specific rule says of a path as the tool sees it: the entry, or NULL when nothing
 * grants it (system directories are not entries). `denied` wins over all; borrows. */
const struct tc_fs_entry *tc_grant_find(const struct tc_grant *grant, const char *path);

/* The granted unix socket of exactly this path, or NULL; borrows. */
const struct tc_fs_entry *tc_grant_socket(const struct tc_grant *grant, const char *path);
/* What this socket of the host is known to give away; NULL: nothing is known. Static. */
const char *tc_socket_risk(const char *from);

#endif
