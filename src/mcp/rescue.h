/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What can be read of a message that a strict parser refuses: the id, so that the sender's request
 * gets its error; and strings that were cut between the halves of a character. */
#ifndef TC_MCP_RESCUE_H
#define TC_MCP_RESCUE_H

#include <stdbool.h>
#include <stddef.h>

enum { TC_RESCUE_ID_MAX = 256 };

/* Finds the members "id" and "method" of a message, in any number of pieces. */
struct tc_rescue {
    int depth;
    bool string, escaped; /* inside a string; after a backslash */
    bool naming;          /* at a key of the message */
    bool taking, taken;   /* at the id; at a blank after it */
    bool closed;          /* after the message */
    bool doubtful;        /* readers may disagree about the members */
    char key[8];          /* of the member */
    size_t key_length;
    unsigned ids, methods;
    char id[TC_RESCUE_ID_MAX]; /* as JSON */
    size_t id_length;
};

void tc_rescue_add(struct tc_rescue *rescue, const char *text, size_t length);

enum tc_rescued { TC_RESCUED_NOTHING, TC_RESCUED_REQUEST, TC_RESCUED_RESPONSE };

/* The kind of the message, if it has one id, a string or an integer; *ret_id is the id as JSON. */
enum tc_rescued tc_rescue_end(struct tc_rescue *rescue, const char **ret_id);

/* Replaces each unpaired surrogate of a string by U+FFFD, in place: both escapes have six bytes.
 * Returns their number; -1 if there is one in a key, where the replacement could make two keys
 * equal. The text need not be valid. */
long tc_rescue_surrogates(char *text, size_t length);
/* The same for a copy of the text. NULL: nothing to replace, one in a key, or out of memory. */
char *tc_rescue_text(const char *text, size_t length);

#endif
