/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The key `extends`: the texts that a policy file builds on, merged into one tree before anything
 * is checked. A line of the merged tree says its file, too. And `within`: another policy whose
 * grants are a ceiling, which is no part of that tree. */
#ifndef TC_POLICY_PARSE_EXTENDS_H
#define TC_POLICY_PARSE_EXTENDS_H

#include "document/document.h"
#include "policy/policy.h"

enum { TC_FILES_MAX = 32, TC_EXTENDS_DEPTH_MAX = 8, TC_WITHIN_DEPTH_MAX = 8, TC_LINE_BITS = 24 };
#define TC_LINE_NUMBER(line) ((uint32_t)(line) & ((1u << TC_LINE_BITS) - 1))
#define TC_LINE_FILE(line) ((size_t)((uint32_t)(line) >> TC_LINE_BITS))

/* "3", or "3 of base.toml" for a line of another file than the first. */
#define TC_LINE_FORM "%u%s%s"
#define TC_LINE_SHOWN(policy, line)                         \
    TC_LINE_NUMBER(line), TC_LINE_FILE(line) ? " of " : "", \
        TC_LINE_FILE(line) ? tc_policy_file(policy, line) : ""

struct tc_diag;

/* One text of the policy; the first is the file itself. */
struct tc_policy_file {
    char *name; /* for messages */
    char *path; /* on the host, as it was named; NULL: it is no file */
    char *real; /* the same with links resolved */
    char *dir;  /* where its relative paths start; NULL: they do nowhere */
    char *said; /* the same from the first file's, as the texts spell it; it enters the digest */
    char *text; /* of all but the first */
    size_t len;
    tc_document_reader *reader;
    uint32_t by; /* the line that names it */
    size_t depth;
};

/* Reads the other files that the tree of the first one names and merges them below it. The tree is
 * then without `extends`. 0 or the error. */
int tc_extends_merge(struct toolcage_policy *policy, struct tc_document *document,
                     struct tc_diag *diag, const struct tc_policy_source *source,
                     struct toolcage_error **err);
/* policy.c */
void tc_policy_files_done(struct toolcage_policy *policy);
void tc_policy_file_done(struct tc_policy_file *file);
/* Reads what the line `by` of the policy names: a file or a profile. The caller frees the file also
 * on failure. */
int tc_extends_read(struct toolcage_policy *policy, struct tc_diag *diag,
                    const struct tc_policy_source *source, const char *text, uint32_t by,
                    struct tc_policy_file *ret, struct toolcage_error **err);

/* Compiles the ceiling that the merged tree names, and puts its digest in place of the name. 0 or
 * the error. */
int tc_within_compile(struct toolcage_policy *policy, struct tc_document *document,
                      struct tc_diag *diag, const struct tc_policy_source *source,
                      struct toolcage_error **err);

/* A member "line" (or `key`) of an object, and the same with "file" where the line is of another
 * file than the first. */
void tc_line_json(struct tc_buf *out, const struct toolcage_policy *policy, const char *key,
                  uint32_t line);

/* A text that is shipped in the library. */
struct tc_profile {
    const char *name, *text;
};
/* Those of profiles/. Ends with a row whose name is NULL. */
extern const struct tc_profile tc_profiles[];
/* A profile's text, or NULL. Static. */
const char *tc_profile_text(const char *name);

#endif
