/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "adopt/remote.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <toolcage/error.h>

#include "base/display.h"
#include "base/jsontext.h"
#include "base/strv.h"

/* Has the URL a part that looks like a key, as a login that some servers have in their path? A run
 * of letters and digits, or a UUID. Too many rather than too few. */
static bool has_key(const char *url)
{
    enum { LEAST = 16 };
    for (const char *at = url; *at;) {
        size_t length = 0, run = 0, longest = 0, digits = 0, letters = 0, dashes = 0;
        for (; isalnum((unsigned char)at[length]) || at[length] == '-'; length++) {
            bool dash = at[length] == '-', digit = isdigit((unsigned char)at[length]);
            run = dash ? 0 : run + 1;
            longest = run > longest ? run : longest;
            dashes += dash;
            digits += digit;
            letters += !dash && !digit;
        }
        bool uuid = length == 36 && dashes == 4;
        if (digits && letters && (longest >= LEAST || uuid))
            return true;
        at += length ? length : 1;
    }
    return false;
}

/* The proxy masks what follows the scheme in responses. */
static size_t scheme_of(const char *value)
{
    static const char *const schemes[] = {"Bearer ", "Basic ", "token ", "Token "};
    for (size_t i = 0; i < TC_COUNT(schemes); i++)
        if (tc_startswith(value, schemes[i]))
            return strlen(schemes[i]);
    return 0;
}

/* Does toolcage take this as the value of a secret? */
static bool is_usable(const char *value)
{
    enum { LEAST = 8, MOST = 16384 };
    size_t length = strlen(value);
    for (const char *c = value; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return false;
    return length >= LEAST && length <= MOST;
}

/* Why the server stays as it is; NULL: it can be wrapped. */
static const char *refusal(const struct tc_adopt_server *server)
{
    const char *url = server->url;
    if (!url || (!tc_startswith(url, "https://") && !tc_startswith(url, "http://")))
        return "not covered: remote, and not by a URL in JSON";
    if (tc_adopt_has_variable(url))
        return "its URL has a variable that only the agent can replace";
    if (tc_adopt_is_secret("", url))
        return "its URL contains a secret, which the command line of toolcage wrap would show";
    if (has_key(strstr(url, "://") + strlen("://")))
        return "its URL may contain a key, which the command line of toolcage wrap would show";
    if (tc_startswith(url, "http://") && server->variable_count)
        return "its headers would be sent without TLS";
    for (size_t i = 0; i < server->variable_count; i++) {
        const struct tc_adopt_variable *header = &server->variables[i];
        if (tc_adopt_has_variable(header->value))
            return "a header has a variable that only the agent can replace";
        if (!tc_adopt_is_secret(header->name, header->value))
            return "a header is not a secret, and toolcage adds only secrets to requests";
        if (!is_usable(header->value + scheme_of(header->value)))
            return "a header's secret is not one line of 8 to 16384 bytes";
    }
    return NULL;
}

/* Host and port; owned. */
static char *authority_of(const char *url)
{
    const char *at = strstr(url, "://") + strlen("://");
    return strndup(at, strcspn(at, "/?#"));
}

/* The name of the secret; owned. */
static char *secret_name(const char *header)
{
    char *name = tc_adopt_slug(header);
    for (char *c = name; c && *c; c++)
        *c = *c == '-' ? '_' : *c;
    return name;
}

static bool put_secret(struct tc_buf *out, const struct tc_adopt_variable *header, const char *name,
                       const struct tc_adopt_secret *secret, const char *host)
{
    _autofree_ char *from = tc_format("file:%s", secret->file);
    _autofree_ char *line =
        tc_format("%s: %.*s{secret}", header->name, (int)secret->skip, header->value);
    if (!from || !line)
        return false;
    tc_buf_addf(out, "secrets.%s = { from = ", name);
    tc_toml_string(out, from);
    tc_buf_adds(out, ", hosts = [");
    tc_toml_string(out, host);
    tc_buf_adds(out, "], header = ");
    tc_toml_string(out, line);
    tc_buf_adds(out, " }\n");
    return true;
}

static bool move_header(const struct tc_adopt_server *server, size_t i, const char *prefix,
                        const char *host, struct tc_buf *policy, struct tc_adopt_plan *ret)
{
    _autofree_ char *name = secret_name(server->variables[i].name);
    char *file = name ? tc_format("%s%s", prefix, name) : NULL;
    struct tc_adopt_secret *secret = file ? TC_PUSH(ret->secrets, ret->secret_count) : NULL;
    if (!secret) {
        free(file);
        return false;
    }
    for (size_t k = 0; k + 1 < ret->secret_count; k++)
        if (tc_streq(ret->secrets[k].file, file))
            ret->why = "the names of two of its headers differ only in special characters";
    *secret = (struct tc_adopt_secret){i, scheme_of(server->variables[i].value), file};
    ret->moved[i] = true;
    return put_secret(policy, &server->variables[i], name, secret, host);
}

static bool write_plan(const struct tc_adopt_server *server, const char *name,
                       const struct tc_adopt_facts *facts, const char *host,
                       struct tc_adopt_plan *ret)
{
    _autobuf_ struct tc_buf policy = TC_BUF_INIT, grants = TC_BUF_INIT, left = TC_BUF_INIT;
    bool fine = true;
    tc_adopt_put_header(&policy, server, facts, name);
    tc_buf_adds(&policy, "url = ");
    tc_toml_string(&policy, server->url);
    tc_buf_addc(&policy, '\n');
    tc_buf_adds(&grants, "access none of your files\nconnect to ");
    tc_buf_add_display(&grants, host);
    for (size_t i = 0; fine && i < server->variable_count; i++) {
        fine = move_header(server, i, facts->secrets, host, &policy, ret);
        tc_buf_adds(&grants, "\nuse the header ");
        tc_buf_add_display(&grants, server->variables[i].name);
        tc_buf_adds(&grants, " there, without seeing it");
    }
    tc_buf_adds(&policy, TC_ADOPT_ALL_TOOLS);
    tc_buf_addc(&grants, '\n');
    if (!server->variable_count)
        tc_buf_adds(&left, "it has no token: if it needs a login (OAuth), name a command that "
                           "prints one in its policy\n");
    ret->policy = tc_buf_steal(&policy);
    ret->grants = tc_buf_steal(&grants);
    ret->left = left.len ? tc_buf_steal(&left) : strdup("");
    return fine && ret->policy && ret->grants && ret->left;
}

int tc_adopt_plan_remote(const struct tc_adopt_server *server, const char *name,
                         const struct tc_adopt_facts *facts, struct tc_adopt_plan *ret)
{
    *ret = (struct tc_adopt_plan){.why = refusal(server)};
    if (ret->why)
        return 0;
    _autofree_ char *host = authority_of(server->url);
    ret->moved = calloc(server->variable_count + 1, sizeof(*ret->moved));
    return host && ret->moved && write_plan(server, name, facts, host, ret) ? 0 : TOOLCAGE_EMEMORY;
}
