/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The policy, compiled: what the text says, checked and with places. Nothing in src/policy makes a
 * system call; what it must know of the machine comes as facts. */
#ifndef TC_POLICY_POLICY_H
#define TC_POLICY_POLICY_H

#include <toolcage/policy.h>

#include "base/error.h"
#include "document/document.h"
#include "policy/grant.h"

/* What the caller's surroundings are, for one resolution. All borrowed. */
struct tc_facts {
    const char *cwd;       /* the caller's working directory: clean, absolute */
    const char *home;      /* the caller's home directory, or NULL */
    const char *workspace; /* host path that /workspace stands for; NULL: cwd */
    /* toolcage's own directories, masked in every grant; may be NULL */
    const char *state, *config, *images;
    struct {
        const char *home, *state, *config,
            *images; /* without the links on their way; NULL: the same */
    } real;
    const char *const *environ;
    /* Directories whose credentials are masked wherever they are granted; NULL: `home` alone. */
    const struct tc_strv *homes;
    bool homeless; /* none of them is known to be the caller's */
    /* The places in one of them that are closed beside those of the list, by their paths on the
     * host, appended. False: the home cannot be listed, or no memory. NULL: none are. */
    bool (*closed)(const char *home, struct tc_strv *ret);
    /* Fills `real`, `homes` and `homeless` in these very facts, before they are first read: a grant
     * without paths needs none of them. False: no memory. NULL: they are filled. */
    bool (*look)(void *context);
    void *context;
};

static inline bool tc_facts_look(const struct tc_facts *facts)
{
    return !facts->look || facts->look(facts->context);
}

/* One narrowing of a call: key and text as the command line spells them. */
struct tc_narrowing {
    char *key, *value;
};

/* What the call asks for, beside the policy. All borrowed. */
struct tc_request {
    const char *tool; /* NULL: a bare command under [defaults] */
    const struct tc_strv
        *argv;             /* a command in place of the tool's own; NULL or empty: the tool's */
    const char *arguments; /* JSON object text, or NULL */
    const struct tc_narrowing *narrow;
    size_t narrow_count;
    /* Only to be looked at, never run: a missing command is fine, and with no arguments given the
     * places for them stay as written. */
    bool explain;
    /* For a person at a terminal: the command, which must be given, stands in place of the tool's
     * own, and arguments may be left out; then nothing is granted for them. */
    bool terminal;
    /* The caller goes on with the grant, and digests it then (tc_grant_digest). */
    bool open;
};

/* Parses and compiles. `name` is the file's name for messages, `dir` (clean, absolute) where
 * relative paths start, `home` what "~/" stands for (may be NULL: then "~/" is an error). On
 * failure the error's report has every finding (at most 20, then the count). */
int tc_policy_compile(const char *text, size_t length, const char *name, const char *dir,
                      const char *home, struct toolcage_policy **ret, struct toolcage_error **err);

/* The same of a text in another form than TOML. */
int tc_policy_compile_by(tc_document_reader *reader, const char *text, size_t length,
                         const char *name, const char *dir, const char *home,
                         struct toolcage_policy **ret, struct toolcage_error **err);

/* One more file for `extends`; all owned by whom it is given to. */
struct tc_policy_found {
    char *text, *real; /* and its path with links resolved */
    size_t length;
    tc_document_reader *reader;
};
typedef int tc_policy_read(void *context, const char *path, struct tc_policy_found *ret,
                           struct toolcage_error **err);
/* A text of a policy. */
struct tc_policy_source {
    const char *text;
    size_t length;
    const char *name; /* of the file, for messages */
    const char *path; /* the file itself, absolute; NULL: none, and it extends no files */
    const char *real; /* the same with links resolved */
    const char *said; /* its directory for the digest; NULL: "" */
    tc_document_reader *reader;
    tc_policy_read *read; /* what it extends; NULL: profiles only */
    void *context;
    const char *beside; /* the real path of the file that began it all, "" for none; NULL: this */
    unsigned depth;     /* how many policies are within one another above this one */
};
/* The same, with files that it extends. */
int tc_policy_compile_source(const struct tc_policy_source *source, const char *dir,
                             const char *home, struct toolcage_policy **ret,
                             struct toolcage_error **err);

/* The file in which a line of the policy stands (borrows), and its number there. */
const char *tc_policy_file(const struct toolcage_policy *policy, uint32_t line);
uint32_t tc_policy_number(uint32_t line);

/* Resolves the grant of one call. A refusal by policy is TOOLCAGE_EDENIED, bad arguments
 * TOOLCAGE_EARGUMENTS, a missing tool TOOLCAGE_ENOT_FOUND, each with key and line. */
int tc_policy_resolve(const struct toolcage_policy *policy, const struct tc_request *request,
                      const struct tc_facts *facts, struct tc_grant *ret,
                      struct toolcage_error **err);

/* For the call layer, which adds entries after the resolution: masks, clauses and order of the
 * grant once more. */
int tc_grant_complete(const struct toolcage_policy *policy, const struct tc_facts *facts,
                      struct tc_grant *grant, struct toolcage_error **err);
/* Seals it: nothing of what is digested changes from here on but the place of a module. */
int tc_grant_digest(struct tc_grant *grant, struct toolcage_error **err);
/* Puts a copy of the text in the place of a member; NULL: none. */
int tc_grant_set(char **member, const char *text, struct toolcage_error **err);

/* Is the host's path among those that every grant masks (credentials, toolcage's state), or below
 * one? */
int tc_policy_masks(const struct toolcage_policy *policy, const struct tc_facts *facts,
                    const char *path, bool *ret, struct toolcage_error **err);

/* The line where a key ("network") was said for a tool (NULL: a bare command), and by whom
 * ("tool.x", "defaults"; borrows). 0 when nobody said it. */
uint32_t tc_policy_line(const struct toolcage_policy *policy, const char *tool, const char *key,
                        const char **ret_prefix);

/* Checks one narrowing before the call starts: unknown key TOOLCAGE_EUSAGE, bad value
 * TOOLCAGE_EPOLICY. */
int tc_policy_check_narrowing(const char *key, const char *value, struct toolcage_error **err);

/* The grant as JSON text: everything that it grants, with keys and lines. *ret is owned. With
 * `access` ("read P", "write P", "exec P", "connect H:P") it has the verdict of that access too;
 * `here` (may be NULL) is one more member, as JSON text: what the machine has to say. */
int tc_policy_explain(const struct toolcage_policy *policy, const struct tc_grant *grant,
                      const char *access, const char *here, char **ret,
                      struct toolcage_error **err);

/* Can a tool be called so? */
bool tc_policy_tool_name(const char *name);

/* The policy that holds where there is none. */
int tc_policy_new_default(struct toolcage_policy **ret, struct toolcage_error **err);
struct toolcage_policy *tc_policy_ref(struct toolcage_policy *policy);
struct toolcage_policy *
tc_policy_unref(struct toolcage_policy *policy);                    /* returns NULL; NULL is fine */
const char *tc_policy_digest(const struct toolcage_policy *policy); /* borrows */
/* As toolcage_policy_tools_json: "openai", "mcp", "toolcage" or "servers"; *ret is owned. */
int tc_policy_tools_json(const struct toolcage_policy *policy, const char *format, char **ret,
                         struct toolcage_error **err);

/* An install phase. All borrowed from the policy. */
struct tc_install {
    const char *tool;             /* whose: "x", "server.y" */
    const char *name;             /* "x.setup" */
    const char *into;             /* as the tool sees it */
    const char *prefix;           /* "tool.x.setup" */
    const char *clause;           /* digest of what the policy says of it, defaults included */
    const char *directory;        /* of the file where it is said; NULL: a profile has none */
    const struct tc_strv *inputs; /* relative to that */
    uint32_t line;
};
/* Where the install's inputs lie in its cage. */
#define TC_SETUP_PLACE "/setup"

/* That of a tool (or server, or server's tool) by its name, or of "x.setup" itself. False: it has
 * none. */
bool tc_policy_setup(const struct toolcage_policy *policy, const char *name,
                     struct tc_install *ret);
/* Each in turn, from *place 0 on. False: no more. */
bool tc_policy_next_setup(const struct toolcage_policy *policy, size_t *place,
                          struct tc_install *ret);
/* Is it the name of an install phase? No call of a model's can have it. */
bool tc_policy_names_setup(const struct toolcage_policy *policy, const char *name);

/* For the call layer: one more entry of a grant, which tc_grant_complete() must follow. */
int tc_grant_put(struct tc_grant *grant, const struct tc_fs_entry *entry,
                 struct toolcage_error **err);

bool tc_policy_has_tool(const struct toolcage_policy *policy, const char *tool);
bool tc_policy_is_default(
    const struct toolcage_policy *policy); /* made by toolcage_policy_new_default */
const char *tc_policy_name(const struct toolcage_policy *policy); /* the file's name for messages */

/* The policy file as a JSON Schema, for editors (parse/key_schema.c): 2020-12, of words that mean
 * the same in draft-07. What the compiler accepts is valid by it; the other way round it is weaker.
 * *ret is owned. Pure. */
int tc_policy_schema_json(char **ret, struct toolcage_error **err);

#endif
