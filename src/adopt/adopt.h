/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Puts the MCP servers in an agent's settings behind `toolcage wrap`: finds them with their
 * positions in the text, derives a policy for each, and edits the text in place, so that comments
 * and formatting stay. Text in, text out; the settings are untrusted, and nothing is run. */
#ifndef TC_ADOPT_ADOPT_H
#define TC_ADOPT_ADOPT_H

#include <stdbool.h>
#include <stddef.h>

enum {
    TC_ADOPT_BYTES_MAX = 32 << 20,
    TC_ADOPT_SERVERS_MAX = 256,
    TC_ADOPT_ITEMS_MAX = 1024, /* arguments, and variables, of one server */
};

/* ---- reading ---- */

enum tc_adopt_format { TC_ADOPT_JSON, TC_ADOPT_TOML };

enum tc_adopt_kind {
    TC_ADOPT_STDIO,   /* the agent starts a program */
    TC_ADOPT_REMOTE,  /* the agent connects to a URL */
    TC_ADOPT_WRAPPED, /* `toolcage wrap` */
    TC_ADOPT_CAGED,   /* `toolcage mcp`, whose tools are caged anyway */
    TC_ADOPT_UNCLEAR, /* left alone: `why` */
};

/* A part of the text; end 0: absent. */
struct tc_adopt_range {
    size_t at, end;
};

struct tc_adopt_words {
    char **items;
    size_t count;
};

struct tc_adopt_variable {
    char *name, *value;
    struct tc_adopt_range member; /* key and value */
};

struct tc_adopt_server {
    char *where, *name; /* the keys above the server's, joined by dots; the server's key */
    size_t line;
    enum tc_adopt_kind kind;
    const char *why;            /* of UNCLEAR; static */
    struct tc_adopt_words argv; /* decoded: program and arguments */
    bool joined;                /* `command` is an array that holds the arguments, too */
    bool inside;                /* members are in one line, between braces (TOML) */
    bool env_inside;            /* the same for the variables */
    struct tc_adopt_range command, args, env; /* values; of a TOML table or array only `at` */
    struct tc_adopt_range args_member;
    struct tc_adopt_range *items; /* elements of `args`, or of `command` if joined */
    size_t item_count;
    struct tc_adopt_variable *variables; /* of REMOTE: its headers */
    size_t variable_count;
    struct tc_adopt_range body; /* the whole object; only in JSON */
    char *url;                  /* of REMOTE; NULL: not one that can be wrapped */
    struct tc_adopt_range url_member, headers_member, type; /* `type`: the value */
    struct tc_adopt_range *members;                         /* of REMOTE */
    size_t member_count;
};

struct tc_adopt_settings {
    enum tc_adopt_format format;
    const char *text; /* borrowed */
    size_t length;
    char *plain; /* the text with blanks for comments */
    struct tc_adopt_server *servers;
    size_t server_count;
};

struct tc_adopt_fault {
    char text[256]; /* "": out of memory */
    size_t line;    /* 0: unknown */
};

/* Finds the servers in a text that stays valid meanwhile. 0, TOOLCAGE_EPOLICY with the fault, or
 * TOOLCAGE_EMEMORY. Call tc_adopt_settings_done() also on failure. */
int tc_adopt_read(enum tc_adopt_format format, const char *text, size_t length,
                  struct tc_adopt_settings *ret, struct tc_adopt_fault *fault);
void tc_adopt_settings_done(struct tc_adopt_settings *settings);
/* The server with the same keys; NULL: none. */
const struct tc_adopt_server *tc_adopt_find(const struct tc_adopt_settings *settings,
                                            const struct tc_adopt_server *like);
/* How many policies the options of toolcage name, and the last one. Borrows; NULL: none. */
size_t tc_adopt_policies_of(const struct tc_adopt_server *server, const char **ret);
/* May this variable stay in the settings, where toolcage itself gets it? */
bool tc_adopt_is_harmless(const char *name);
/* May the agent replace a part of this text: ${NAME}, $NAME, {env:NAME}? */
bool tc_adopt_has_variable(const char *text);

/* ---- the policy of a server ---- */

struct tc_adopt_facts {
    const char *home;       /* absolute, without links; NULL: unknown */
    const char *agent_home; /* as agents pass it; NULL: its variable is not replaced */
    const char *project; /* the settings are a project's: its absolute path. Only files below it are
                            granted. NULL: the user's own settings */
    bool part;           /* of a repository, which can replace the project's directory by a link */
    const char *origin;  /* the settings file, for a comment in the policy */
    const char *secrets; /* prefix of the paths of secret files */
    /* 'f' for a regular file, 'd' for a directory, 0 for anything else. */
    char (*kind)(void *userdata, const char *path);
    /* Is any part of the path a link, or unknown? */
    bool (*linked)(void *userdata, const char *path);
    void *userdata;
};

struct tc_adopt_secret {
    size_t variable; /* index */
    size_t skip;     /* bytes of its value before the secret */
    char *file;
};

struct tc_adopt_plan {
    const char *why; /* static; the server cannot be wrapped, and nothing else is set */
    char *policy;    /* TOML */
    char *grants;    /* lines for a person, escaped: what the server may do */
    char *left;      /* the same: what it does not get, and how to grant it */
    bool *moved;     /* for each variable: it is removed from the settings */
    struct tc_adopt_secret *secrets; /* values to store */
    size_t secret_count;
    bool setup; /* `toolcage setup` must install the server first */
};

/* `name` is the server's name in the policy. 0 or TOOLCAGE_EMEMORY. The policy is not compiled: the
 * caller must check that it is valid. */
int tc_adopt_plan(const struct tc_adopt_server *server, const char *name,
                  const struct tc_adopt_facts *facts, struct tc_adopt_plan *ret);
void tc_adopt_plan_done(struct tc_adopt_plan *plan);
/* The arguments as the agent will pass them, with ${workspaceFolder} and the like replaced. False:
 * another variable, or out of memory. */
bool tc_adopt_expand(const char *text, const struct tc_adopt_facts *facts, char **ret);
/* A server's name for a policy, and for a file: letters, digits, _ and -. Owned. */
char *tc_adopt_slug(const char *name);
/* Must the value not be shown, by the variable's name or by its own form? */
bool tc_adopt_is_secret(const char *name, const char *value);
/* Is the value only a variable of the agent: ${NAME}, Bearer $NAME? Then it can be shown. */
bool tc_adopt_is_reference(const char *value);
/* Does a word in the value look like the name of a secret: ${GITHUB_TOKEN}? */
bool tc_adopt_names_secret(const char *value);
/* The first value in the text that a name before it makes a secret: password=…; NULL: none. */
const char *tc_adopt_named_secret(const char *text);

/* ---- editing ---- */

struct tc_adopt_edit {
    struct tc_adopt_range range;
    char *text; /* owned */
};

struct tc_adopt_edits {
    struct tc_adopt_edit *items;
    size_t count;
    bool failed; /* out of memory */
};

/* Adds the edits that put `words` (toolcage, "wrap", …, "--") before the server's command, and
 * remove the variables in `moved`. */
void tc_adopt_wrap(const struct tc_adopt_settings *settings, const struct tc_adopt_server *server,
                   const struct tc_adopt_words *words, const bool *moved,
                   struct tc_adopt_edits *edits);
/* Adds the edits that restore `old` of the settings `before` where its wrapped form stands. False:
 * it does not stand as it was written. */
bool tc_adopt_unwrap(const struct tc_adopt_settings *settings, const struct tc_adopt_server *server,
                     const struct tc_adopt_settings *before, const struct tc_adopt_server *old,
                     size_t words, struct tc_adopt_edits *edits);
/* Adds the edit that puts the object of the server `old` back where `now` is. */
void tc_adopt_restore(const struct tc_adopt_settings *settings, const struct tc_adopt_server *now,
                      const struct tc_adopt_settings *before, const struct tc_adopt_server *old,
                      struct tc_adopt_edits *edits);
/* The edited text, owned, with a NUL; NULL: out of memory, or two edits overlap. */
char *tc_adopt_apply(const char *text, size_t length, struct tc_adopt_edits *edits,
                     size_t *ret_length);
void tc_adopt_edits_done(struct tc_adopt_edits *edits);

/* ---- members of JSON settings ---- */

/* A copy as strict JSON with the same positions, owned, for mcp/scan.h; NULL: it is not an object,
 * or out of memory. */
char *tc_adopt_strict(const char *text, size_t length);
/* The text with `value` (JSON) at the member below the root that `keys` name, NULL-terminated; with
 * `append` as a new last element of the list there. Missing objects and the list are added. Owned;
 * NULL: the text is not such JSON, or out of memory. */
char *tc_adopt_put(const char *text, size_t length, const char *const *keys, const char *value,
                   bool append, size_t *ret_length);
/* The text without this element of a list, or this member. Owned; NULL as before. */
char *tc_adopt_take(const char *text, size_t length, struct tc_adopt_range element,
                    size_t *ret_length);

/* A copy for display, owned: values that must not be shown become "…"; long lines are cut to the
 * surroundings of the edits (ranges in this text). NULL: out of memory. */
char *tc_adopt_mask(enum tc_adopt_format format, const char *text, size_t length,
                    const struct tc_adopt_range *ranges, size_t count);

#endif
