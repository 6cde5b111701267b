/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The public suffix list, in its own text form: names under which everybody can get a name. Who
 * asks brings the text; names beyond ASCII in it match nothing, because hosts are written in ASCII.
 */
#ifndef TC_POLICY_NAMES_SUFFIXES_H
#define TC_POLICY_NAMES_SUFFIXES_H

#include <stdbool.h>
#include <stddef.h>

struct tc_suffix {
    const char *rule; /* borrowed from the text, not terminated */
    size_t len;
};

struct tc_suffixes {
    struct tc_suffix *rules; /* sorted */
    size_t count;
};

/* Borrows the text. False: out of memory. */
bool tc_suffixes_read(struct tc_suffixes *ret, const char *text, size_t len);
void tc_suffixes_done(struct tc_suffixes *suffixes);
/* Is the host itself a public suffix: "co.uk", "github.io"? A name of one label that the list does
 * not know is none. */
bool tc_suffixes_has(const struct tc_suffixes *suffixes, const char *host);

#endif
