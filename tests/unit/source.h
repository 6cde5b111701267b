/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A policy's file that stands nowhere, and the files that it names. */
#ifndef TC_TESTS_UNIT_SOURCE_H
#define TC_TESTS_UNIT_SOURCE_H

#include <stdint.h>
#include <string.h>
#include <toolcage/error.h>

#include "base/error.h"
#include "policy/policy.h"

static inline struct tc_policy_source source_of(const char *text, tc_policy_read *read,
                                                const void *context)
{
    return (struct tc_policy_source){.text = text,
                                     .length = strlen(text),
                                     .name = "t.toml",
                                     .path = "/srv/p/t.toml",
                                     .real = "/srv/p/t.toml",
                                     .reader = tc_document_read_toml,
                                     .read = read,
                                     .context = (void *)(uintptr_t)context};
}

static inline int found(const char *path, const char *text, struct tc_policy_found *ret)
{
    *ret = (struct tc_policy_found){.text = strdup(text),
                                    .real = strdup(path),
                                    .length = strlen(text),
                                    .reader = tc_document_read_toml};
    return ret->text && ret->real ? 0 : TOOLCAGE_EMEMORY;
}

/* One of the files that can be read; a list ends with a row without a path. */
struct file {
    const char *path, *text;
};

static inline int read_one(void *context, const char *path, struct tc_policy_found *ret,
                           struct toolcage_error **err)
{
    for (const struct file *f = context; f->path; f++)
        if (strcmp(f->path, path) == 0)
            return found(path, f->text, ret);
    return tc_fail(err, &(struct tc_why){.code = TOOLCAGE_ENOT_FOUND, .hint = "write it"},
                   "no file %s", path);
}

#endif
