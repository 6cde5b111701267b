/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Refusals of a resolution, with the policy location that decides. */
#include <string.h>

#include "policy/resolve/resolve.h"

/* Messages contain text from models and are printed on terminals, so control characters are
 * replaced. */
static void make_harmless(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = '?';
}

int tc_resolve_refuse(struct tc_resolve *r, int code, const char *subject, uint32_t line,
                      const char *hint, const char *fmt, ...)
{
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    tc_buf_vaddf(&buf, fmt, ap);
    va_end(ap);
    _autofree_ char *about = strdup(subject ? subject : "");
    if (buf.failed || !buf.data || !about)
        return tc_resolve_memory(r);
    make_harmless(buf.data);
    make_harmless(about);
    return tc_fail(r->err,
                   &(struct tc_why){.code = code,
                                    .stage = "policy",
                                    .subject = about,
                                    .hint = hint,
                                    .file = line ? tc_policy_file(r->policy, line) : NULL,
                                    .line = TC_LINE_NUMBER(line),
                                    .column = line ? 1 : 0},
                   "%s", buf.data);
}

int tc_resolve_memory(struct tc_resolve *r)
{
    return tc_fail_memory(r->err);
}

char *tc_resolve_change_hint(const struct tc_resolve *r, const struct tc_origin *origin,
                             const char *name)
{
    size_t file = TC_LINE_FILE(origin->line);
    bool profile = file && !r->policy->files[file].path;
    return profile ? tc_format("leave the option out, or set %s in the policy file, which replaces "
                               "the profile's",
                               name)
                   : tc_format("leave the option out, or let the operator change %s", origin->key);
}

bool tc_resolve_origin(const struct tc_resolve *r, enum tc_key_id id, const char *key,
                       struct tc_origin *ret)
{
    const struct tc_spec *said = tc_policy_given(r->policy, r->tool, id);
    const struct tc_spec *owner = said ? said : r->tool ? r->tool : &r->policy->defaults;
    ret->key = tc_spec_key(owner, key);
    ret->line = said ? said->said[id] : 0;
    return ret->key != NULL;
}
