/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The compiled policy: its text, checked, with locations. src/policy makes no system call;
 * information about the host comes in as facts. */
#ifndef TC_POLICY_POLICY_H
#define TC_POLICY_POLICY_H

#include <toolcage/policy.h>

#include "base/error.h"
#include "document/document.h"
#include "policy/grant.h"

struct tc_verdict;

/* The caller's environment, for one resolution. All borrowed. */
struct tc_facts {
    const char *cwd;       /* the caller's working directory: clean, absolute */
    const char *home;      /* the caller's home directory, or NULL */
    const char *workspace; /* host path of /workspace; NULL: cwd */
    /* toolcage's own directories, masked in every grant; may be NULL */
    const char *state, *config, *images;
    struct {
        const char *home, *state, *config,
            *images; /* with symbolic links resolved; NULL: the same paths */
    } real;
    const char *const *environ;
    /* Home directories whose credentials are masked wherever they are granted; NULL: only
     * `home`. */
    const struct tc_strv *homes;
    bool homeless; /* no home is known to be the caller's */
    /* Appends the host paths in a home that are denied in addition to the built-in list. False: the
     * home cannot be listed, or out of memory. NULL: no such paths. */
    bool (*closed)(const char *home, struct tc_strv *ret);
    /* Fills `real`, `homes` and `homeless` of these facts before their first use: a grant without
     * paths needs none of them. False: out of memory. NULL: already filled. */
    bool (*look)(void *context);
    void *context;
};

static inline bool tc_facts_look(const struct tc_facts *facts)
{
    return !facts->look || facts->look(facts->context);
}

/* The table [audit]. */
struct tc_audit_rules {
    bool on;
    int arguments; /* index into tc_values_recorded: 1: as digests */
    int sync;      /* index into tc_values_sync, an enum tc_audit_sync */
    int record;    /* index into tc_values_record: 1: also what is needed to replay the calls */
    int64_t keep;  /* bytes; 0: everything is kept */
    int64_t keep_inputs; /* bytes; 0: a GiB */
    char *anchor;        /* host path; NULL: none */
    uint32_t line;
};

/* A narrowing flag of a call: key and value as on the command line. */
struct tc_narrowing {
    char *key, *value;
};

/* The call's part of a request. All borrowed. */
struct tc_request {
    const char *tool;           /* NULL: a bare command under [defaults] */
    const struct tc_strv *argv; /* a command that replaces the tool's; NULL or empty: none */
    const char *arguments;      /* JSON object text, or NULL */
    const struct tc_narrowing *narrow;
    size_t narrow_count;
    /* Explain only, do not run: a missing command is accepted, and without arguments their
     * placeholders stay as written. */
    bool explain;
    /* Explain only: a clean path or HOST:PORT. Without arguments, each argument whose bounds
     * include it is taken to name it. NULL: none. */
    const char *supposed;
    /* For a person at a terminal: argv, which is required, replaces the tool's command; arguments
     * are optional, and without them nothing is granted for them. */
    bool terminal;
    /* Its changes are seen while it runs: without a mode in the policy it writes in place. */
    bool watched;
    /* The caller changes the grant and then digests it (tc_grant_digest). */
    bool open;
};

/* Parses and compiles. `name` is the file's name for messages; relative paths start at `dir`
 * (clean, absolute); `home` replaces "~/" (NULL: then "~/" is an error). On failure the error's
 * report has every finding (at most 20, then the count). */
int tc_policy_compile(const char *text, size_t length, const char *name, const char *dir,
                      const char *home, struct toolcage_policy **ret, struct toolcage_error **err);

/* Like tc_policy_compile(), with another reader than TOML's. */
int tc_policy_compile_by(tc_document_reader *reader, const char *text, size_t length,
                         const char *name, const char *dir, const char *home,
                         struct toolcage_policy **ret, struct toolcage_error **err);

/* A further file, for `extends`. The receiver owns the members. */
struct tc_policy_found {
    char *text, *real; /* `real`: its path with symbolic links resolved */
    size_t length;
    tc_document_reader *reader;
};
typedef int tc_policy_read(void *context, const char *path, struct tc_policy_found *ret,
                           struct toolcage_error **err);
/* The text of a policy. */
struct tc_policy_source {
    const char *text;
    size_t length;
    const char *name; /* of the file, for messages */
    const char *path; /* of the file, absolute; NULL: no file, and it cannot extend files */
    const char *real; /* the same path with symbolic links resolved */
    const char *said; /* its directory in the digest; NULL: "" */
    tc_document_reader *reader;
    tc_policy_read *read; /* reads the files that it extends; NULL: only profiles */
    void *context;
    const char
        *beside;    /* real path of the file that the user named, "" for none; NULL: this file */
    unsigned depth; /* number of policies whose `within` leads to this one */
};
/* Like tc_policy_compile(), for a source that may extend files. */
int tc_policy_compile_source(const struct tc_policy_source *source, const char *dir,
                             const char *home, struct toolcage_policy **ret,
                             struct toolcage_error **err);

/* The rules for the audit log, or those of the ceiling if it has any; borrowed. NULL: calls are not
 * recorded. */
const struct tc_audit_rules *tc_policy_audit(const struct toolcage_policy *policy);
/* Has the policy's own table a say, because no ceiling is above it, or are the rules the ceiling's?
 */
bool tc_policy_audit_own(const struct toolcage_policy *policy);

/* The file (borrowed) of a line in the policy, and the line number in that file. */
const char *tc_policy_file(const struct toolcage_policy *policy, uint32_t line);
uint32_t tc_policy_number(uint32_t line);

/* Resolves the grant of one call. TOOLCAGE_EDENIED: refused by the policy; TOOLCAGE_EARGUMENTS:
 * invalid arguments; TOOLCAGE_ENOT_FOUND: unknown tool; each with key and line. */
int tc_policy_resolve(const struct toolcage_policy *policy, const struct tc_request *request,
                      const struct tc_facts *facts, struct tc_grant *ret,
                      struct toolcage_error **err);

/* For the call layer, which adds entries after the resolution: computes masks, clauses and order of
 * the grant again. */
int tc_grant_complete(const struct toolcage_policy *policy, const struct tc_facts *facts,
                      struct tc_grant *grant, struct toolcage_error **err);
/* Digests the grant. Digested members must not change afterwards, except the module's path. */
int tc_grant_digest(struct tc_grant *grant, struct toolcage_error **err);
/* Replaces a member by a copy of the text; NULL: clears it. */
int tc_grant_set(char **member, const char *text, struct toolcage_error **err);

/* Is the host path at or below one that every grant masks (credentials, toolcage's state)? */
int tc_policy_masks(const struct toolcage_policy *policy, const struct tc_facts *facts,
                    const char *path, bool *ret, struct toolcage_error **err);

/* The line that sets a key ("network") for a tool (NULL: a bare command). *ret_prefix: its table
 * ("tool.x", "defaults"; borrowed). 0: not set. */
uint32_t tc_policy_line(const struct toolcage_policy *policy, const char *tool, const char *key,
                        const char **ret_prefix);

/* Checks a narrowing flag before the call starts. TOOLCAGE_EUSAGE: unknown key; TOOLCAGE_EPOLICY:
 * bad value. */
int tc_policy_check_narrowing(const char *key, const char *value, struct toolcage_error **err);

/* The grant as JSON: everything that it grants, with keys and lines. *ret is owned. `verdict` (may
 * be NULL) is added, and `here` (JSON; may be NULL): a member with facts about this host. */
int tc_policy_explain(const struct toolcage_policy *policy, const struct tc_grant *grant,
                      const struct tc_verdict *verdict, const char *here, char **ret,
                      struct toolcage_error **err);

/* Is it a valid name of a tool? */
bool tc_policy_tool_name(const char *name);

/* The policy that applies without a policy file. */
int tc_policy_new_default(struct toolcage_policy **ret, struct toolcage_error **err);
struct toolcage_policy *tc_policy_ref(struct toolcage_policy *policy);
struct toolcage_policy *
tc_policy_unref(struct toolcage_policy *policy);                    /* returns NULL; NULL is fine */
const char *tc_policy_digest(const struct toolcage_policy *policy); /* borrows */
/* Like toolcage_policy_files_json. */
int tc_policy_files_json(const struct toolcage_policy *policy, char **ret,
                         struct toolcage_error **err);
/* Like toolcage_policy_tools_json: "openai", "anthropic", "mcp", "toolcage" or "servers"; *ret is
 * owned. */
int tc_policy_tools_json(const struct toolcage_policy *policy, const char *format, char **ret,
                         struct toolcage_error **err);

/* An install phase. All borrowed from the policy. */
struct tc_install {
    const char *tool;             /* its owner: "x", "server.y" */
    const char *name;             /* "x.setup" */
    const char *into;             /* as the tool sees it */
    const char *prefix;           /* "tool.x.setup" */
    const char *clause;           /* digest of its settings, including defaults */
    const char *directory;        /* of the file that defines it; NULL: a profile */
    const struct tc_strv *inputs; /* relative to `directory` */
    uint32_t line;
};
/* Directory of the install's inputs, in its cage. */
#define TC_SETUP_PLACE "/setup"

/* The install phase of a tool, a server or a server's tool, or "x.setup" itself. False: none. */
bool tc_policy_setup(const struct toolcage_policy *policy, const char *name,
                     struct tc_install *ret);
/* The next install phase; *place starts at 0. False: no more. */
bool tc_policy_next_setup(const struct toolcage_policy *policy, size_t *place,
                          struct tc_install *ret);
/* Is it the name of an install phase? A model cannot call one. */
bool tc_policy_names_setup(const struct toolcage_policy *policy, const char *name);

/* For the call layer: adds an entry to a grant; tc_grant_complete() must follow. */
int tc_grant_put(struct tc_grant *grant, const struct tc_fs_entry *entry,
                 struct toolcage_error **err);

/* The URL of a server that runs elsewhere; borrowed. NULL: none. */
const char *tc_policy_url(const struct toolcage_policy *policy, const char *tool);
/* The program that connects to it; such a server's command begins with it. */
#define TC_BRIDGE "toolcage-bridge"

bool tc_policy_has_tool(const struct toolcage_policy *policy, const char *tool);
/* Without a policy file, so the options and the command of a call are the operator's. */
bool tc_policy_is_callers(const struct toolcage_policy *policy);
/* For an unknown tool: the nearest name, and the policy's tools. Owned; NULL: out of memory. */
char *tc_policy_name_hint(const struct toolcage_policy *policy, const char *name);
bool tc_policy_is_default(const struct toolcage_policy *policy);  /* from tc_policy_new_default */
const char *tc_policy_name(const struct toolcage_policy *policy); /* the file's name for messages */

/* The JSON Schema of policy files, for editors (parse/key_schema.c): 2020-12, restricted to
 * keywords that mean the same in draft-07. It accepts every valid policy and some invalid ones.
 * *ret is owned. Pure. */
int tc_policy_schema_json(char **ret, struct toolcage_error **err);

#endif
