/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The key `extends`: files and profiles on which a policy file builds, merged into one tree before
 * any check. A line number in the merged tree includes its file's number. And `within`: another
 * policy whose grants are a ceiling; it is not part of that tree. */
#ifndef TC_POLICY_PARSE_EXTENDS_H
#define TC_POLICY_PARSE_EXTENDS_H

#include "document/document.h"
#include "policy/policy.h"

enum { TC_FILES_MAX = 32, TC_EXTENDS_DEPTH_MAX = 8, TC_WITHIN_DEPTH_MAX = 8, TC_LINE_BITS = 24 };
#define TC_LINE_NUMBER(line) ((uint32_t)(line) & ((1u << TC_LINE_BITS) - 1))
#define TC_LINE_FILE(line) ((size_t)((uint32_t)(line) >> TC_LINE_BITS))

/* "3", or "3 of base.toml" for a line of a file other than the first. */
#define TC_LINE_FORM "%u%s%s"
#define TC_LINE_SHOWN(policy, line)                         \
    TC_LINE_NUMBER(line), TC_LINE_FILE(line) ? " of " : "", \
        TC_LINE_FILE(line) ? tc_policy_file(policy, line) : ""

struct tc_diag;

/* A text of the policy; the first is the file itself. */
struct tc_policy_file {
    char *name; /* for messages */
    char *path; /* on the host, as it was named; NULL: not a file */
    char *real; /* the same path with symbolic links resolved */
    char *dir;  /* base of its relative paths; NULL: relative paths are errors */
    char *said; /* the directory relative to the first file's, as the policy spells it; part of
                   the digest */
    char *text; /* NULL in the first */
    size_t len;
    tc_document_reader *reader;
    uint32_t by; /* the line that names it */
    size_t depth;
};

/* Reads the files that the first file's tree names and merges them into it. Removes `extends` from
 * the tree. 0 or the error. */
int tc_extends_merge(struct toolcage_policy *policy, struct tc_document *document,
                     struct tc_diag *diag, const struct tc_policy_source *source,
                     struct toolcage_error **err);
/* Both are in policy/policy.c. */
void tc_policy_files_done(struct toolcage_policy *policy);
void tc_policy_file_done(struct tc_policy_file *file);
/* Reads the file or profile that line `by` of the policy names. The caller frees *ret, also after a
 * failure. */
int tc_extends_read(struct toolcage_policy *policy, struct tc_diag *diag,
                    const struct tc_policy_source *source, const char *text, uint32_t by,
                    struct tc_policy_file *ret, struct toolcage_error **err);

/* Compiles the ceiling that the merged tree names, and replaces the name by the ceiling's digest. 0
 * or the error. */
int tc_within_compile(struct toolcage_policy *policy, struct tc_document *document,
                      struct tc_diag *diag, const struct tc_policy_source *source,
                      struct toolcage_error **err);

/* Adds a member "line" (or `key`) to an object, and "file" if the line is in a file other than the
 * first. */
void tc_line_json(struct tc_buf *out, const struct toolcage_policy *policy, const char *key,
                  uint32_t line);

/* A text that ships with the library. */
struct tc_profile {
    const char *name, *text;
};
/* The profiles of profiles/. Ends with a row whose name is NULL. */
extern const struct tc_profile tc_profiles[];
/* A profile's text, or NULL. Static. */
const char *tc_profile_text(const char *name);

#endif
