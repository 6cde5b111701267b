/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The definitions of the tools of wrapped MCP servers that a person has approved: a file for each
 * server in the user's state directory. The wrapper adds what the server offers instead, for
 * `toolcage pins`, which shows both and moves the offer to the approved ones. For the command line
 * and the wrapper; not part of the library.
 *
 * A definition is the canonical JSON (RFC 8785) of the whole object in a list of tools, so two
 * definitions are the same if their texts are. Other users cannot enter the directory, and no tool
 * in a cage can. Any program of the same user can approve, as it could also change that user's
 * policies. */
#ifndef TC_PINS_PINS_H
#define TC_PINS_PINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "state/fault.h"

enum {
    TC_PINS_ID_SIZE = 32 + 1,
    TC_PINS_DIGEST_SIZE = 72,
    TC_PINS_STAMP_SIZE = 128,
    TC_PINS_DEFINITION_MAX = 256 << 10, /* bytes of a definition; a larger one is never approved */
};

/* Which server: another policy file, name or command is another server. */
struct tc_pins_key {
    const char *policy;  /* the policy file's path */
    const char *server;  /* its name in the policy */
    const char *command; /* a JSON array of strings */
};

struct tc_pinned {
    char *name;
    char *approved; /* its definition; NULL: nobody has approved one */
    char *offered;  /* a different definition, which waits for approval; NULL: none */
    bool missing;   /* approved, but not in the server's last list */
};

struct tc_pins {
    char id[TC_PINS_ID_SIZE];
    char stamp[TC_PINS_STAMP_SIZE]; /* of the file; "": there is none */
    char *policy, *server, *command;
    struct tc_pinned *tools; /* sorted by name */
    size_t count;
};

void tc_pins_done(struct tc_pins *pins);
/* By name; NULL: unknown. Borrows. */
const struct tc_pinned *tc_pins_tool(const struct tc_pins *pins, const char *name);

/* ---- pins.c; all of them return 0, or a negative code with *fault ---- */

/* The file of this server; no tools if there is no file. */
int tc_pins_load(const struct tc_pins_key *key, struct tc_pins *ret, struct tc_fault *fault);
/* Has the file changed since it was loaded? True also if that cannot be determined. */
bool tc_pins_stale(const struct tc_pins *pins);
/* All files; owned. */
int tc_pins_list(struct tc_pins **ret, size_t *ret_count, struct tc_fault *fault);
void tc_pins_free(struct tc_pins *list, size_t count);
/* The server with this name, or whose id begins with `word`. TOOLCAGE_ENOT_FOUND: none;
 * TOOLCAGE_EUSAGE: several. */
int tc_pins_find(const char *word, struct tc_pins *ret, struct tc_fault *fault);
/* Records what the server offers for these tools: `offered` (NULL: the approved definition) and
 * `missing`. Other tools keep their record. */
int tc_pins_offer(const struct tc_pins_key *key, const struct tc_pinned *seen, size_t count,
                  struct tc_fault *fault);
/* Approves the offered definitions of these tools, exactly as `shown` has them. TOOLCAGE_EDENIED:
 * the server offers others by now. */
int tc_pins_accept(const struct tc_pins *shown, char *const names[], size_t count,
                   struct tc_fault *fault);
/* Removes the file, so nothing of this server is approved. */
int tc_pins_remove(const struct tc_pins *pins, struct tc_fault *fault);

/* ---- definition.c ---- */

/* The canonical form of one JSON value; owned. NULL with *ret_why (static; NULL: out of memory). */
char *tc_pins_canonical(const char *text, size_t length, const char **ret_why);
/* The value as lines "member.member: value", a long text at its line breaks; owned, NULL: out of
 * memory. `ascii`: characters beyond ASCII are escaped, so that lookalikes differ; otherwise the
 * caller escapes for the terminal. */
char *tc_pins_lines(const char *definition, bool ascii);
/* The digest of the offered definitions of these tools. False: out of memory. */
bool tc_pins_digest(const struct tc_pins *pins, char *const names[], size_t count,
                    char ret[TC_PINS_DIGEST_SIZE]);

#endif
