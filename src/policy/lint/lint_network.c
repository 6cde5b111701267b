/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Rules about endpoints: who controls a host, and who can read data sent to it. */
#include <stdlib.h>
#include <string.h>

#include "base/strv.h"
#include "policy/address.h"
#include "policy/endpoint.h"
#include "policy/lint/lint_rules.h"

/* ---- public suffixes ---- */

static int compare_suffixes(const void *a, const void *b)
{
    const struct tc_suffix *x = a, *y = b;
    size_t n = x->len < y->len ? x->len : y->len;
    int order = memcmp(x->rule, y->rule, n);
    return order ? order : (x->len > y->len) - (x->len < y->len);
}

bool tc_suffixes_read(struct tc_suffixes *ret, const char *text, size_t len)
{
    const char *end = text + len;
    for (const char *at = text; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end;
        size_t n = 0;
        while (at + n < stop && (unsigned char)at[n] > ' ')
            n++;
        struct tc_suffix *rule =
            n && !(n > 1 && at[0] == '/' && at[1] == '/') ? TC_PUSH(ret->rules, ret->count) : NULL;
        if (rule)
            *rule = (struct tc_suffix){at, n};
        else if (n && at[0] != '/')
            return false;
        at = newline ? newline + 1 : end;
    }
    if (ret->count)
        qsort(ret->rules, ret->count, sizeof(*ret->rules), compare_suffixes);
    return true;
}

void tc_suffixes_done(struct tc_suffixes *suffixes)
{
    free(suffixes->rules);
    *suffixes = (struct tc_suffixes){0};
}

static bool has_rule(const struct tc_suffixes *suffixes, const char *before, const char *name)
{
    char text[300];
    size_t n = strlen(before), m = strlen(name);
    if (!suffixes->count || n + m >= sizeof(text))
        return false;
    memcpy(text, before, n);
    memcpy(text + n, name, m);
    const struct tc_suffix wanted = {text, n + m};
    return bsearch(&wanted, suffixes->rules, suffixes->count, sizeof(wanted), compare_suffixes) !=
           NULL;
}

bool tc_suffixes_has(const struct tc_suffixes *suffixes, const char *host)
{
    const char *dot = strchr(host, '.');
    if (has_rule(suffixes, "!", host))
        return false;
    return has_rule(suffixes, "", host) || (dot && has_rule(suffixes, "*.", dot + 1));
}

/* ---- rules ---- */

/* Hosts where any user can publish data or collect requests: a tool that reaches such a host can
 * exchange data with all its users. Restricting `paths` to the operator's own part of the host
 * prevents this. The list is closed: it contains hosts whose name unrelated users share, not all
 * large hosts. */
static const char *const publishers[] = {
    /* code hosting, with raw files, pages and gists */
    "github.com", "raw.githubusercontent.com", "gist.github.com", "gist.githubusercontent.com",
    "api.github.com", "uploads.github.com", "gitlab.com", "bitbucket.org", "codeberg.org",
    "huggingface.co",
    /* pastes and files */
    "pastebin.com", "paste.debian.net", "dpaste.com", "0x0.st", "transfer.sh", "file.io",
    "catbox.moe", "termbin.com", "www.dropbox.com", "drive.google.com", "docs.google.com",
    /* storage with the bucket in the path */
    "s3.amazonaws.com", "storage.googleapis.com",
    /* package registries take uploads */
    "registry.npmjs.org", "upload.pypi.org", "test.pypi.org", "crates.io", "rubygems.org",
    "registry-1.docker.io", "ghcr.io",
    /* messaging and request collectors */
    "api.telegram.org", "discord.com", "hooks.slack.com", "slack.com", "webhook.site",
    "requestbin.com", "api.pushover.net", "ntfy.sh", "httpbin.org"};

void tc_lint_entries(struct tc_lint *l, const struct tc_spec *spec)
{
    tc_lint_entry *look = l->rule->entry;
    const struct tc_spec *net = tc_lint_given(l, spec, TC_KEY_NETWORK);
    for (size_t i = 0; net && i < net->net_count; i++)
        look(l, net, "network", &net->net[i], net->net[i].origin.line);
    for (size_t i = 0; i < spec->argument_count; i++)
        for (size_t b = 0; b < spec->arguments[i].bound_count; b++) {
            const struct tc_bound *bound = &spec->arguments[i].bounds[b];
            if (!bound->path)
                look(l, spec, "arguments", &bound->host, bound->line);
        }
}

void tc_lint_publisher(struct tc_lint *l, const struct tc_spec *says, const char *key,
                       const struct tc_net_entry *entry, uint32_t line)
{
    if (!entry->paths.count && TC_AMONG(publishers, entry->host))
        tc_lint_add(l, says, key, line, entry->host,
                    "restrict it to your part with { host, paths = [\"/…\"] }, and with methods",
                    "anyone can publish or receive at %s: the tool can send its data there, and "
                    "its downloads may come from any author",
                    entry->host);
}

void tc_lint_suffix(struct tc_lint *l, const struct tc_spec *says, const char *key,
                    const struct tc_net_entry *entry, uint32_t line)
{
    const char *host = tc_startswith(entry->host, "*.") ? entry->host + 2 : entry->host;
    if (tc_streq(host, "*") || tc_host_is_address(host))
        return;
    if (!l->facts->suffixes)
        l->unchecked = true;
    else if (!l->suffixes.count) /* the first host of the run */
        l->memory |= !tc_suffixes_read(&l->suffixes, l->facts->suffixes, l->facts->suffixes_len);
    if (tc_suffixes_has(&l->suffixes, host))
        tc_lint_add(l, says, key, line, entry->host, "name the hosts that the tool needs",
                    "%s is a public suffix: anyone can register names below it%s", host,
                    host == entry->host ? ", and this grants none of them" : "");
}

/* ---- addresses ---- */

enum kind { KIND_NAME, KIND_PUBLIC, KIND_PRIVATE, KIND_METADATA };

static enum kind kind_of(const char *host)
{
    static const char *const metadata[] = {"metadata.google.internal", "metadata.goog"};
    enum tc_address_class class;
    _autofree_ char *address = strndup(host, strcspn(host, "/")); /* a range's first address */
    if (TC_AMONG(metadata, host))
        return KIND_METADATA;
    if (!address || !tc_address_class_of(address, &class))
        return tc_streq(host, "localhost") || tc_endswith(host, ".localhost") ? KIND_PRIVATE
                                                                              : KIND_NAME;
    if (class == TC_ADDRESS_METADATA)
        return KIND_METADATA;
    /* a documentation address needs the same hint as a public one: name the host */
    return class == TC_ADDRESS_PUBLIC || class == TC_ADDRESS_DOCUMENTATION ? KIND_PUBLIC
                                                                           : KIND_PRIVATE;
}

void tc_lint_address(struct tc_lint *l, const struct tc_spec *says, const char *key,
                     const struct tc_net_entry *entry, uint32_t line)
{
    static const struct {
        const char *rule, *hint, *what;
    } rows[] = {
        [KIND_METADATA] = {"metadata-address",
                           "remove it; give the tool a separate credential if it needs one",
                           "gives this host's credentials to every client"},
        [KIND_PRIVATE] =
            {"private-address",
             "give the tool access to that service over a unix socket, or write the reason: # "
             "toolcage: allow(private-address) …",
             "is in your own network or on this host, where services often trust every client"},
        [KIND_PUBLIC] = {"address-literal", "name the host",
                         "does not say who uses it, and addresses change owners"},
    };
    enum kind kind = kind_of(entry->host);
    if (tc_streq(rows[kind].rule, l->rule->id))
        tc_lint_add(l, says, key, line, entry->host, rows[kind].hint, "%s %s", entry->host,
                    rows[kind].what);
}

/* A path on the host that the tool can read; NULL: none. */
static const char *data_of(const struct tc_spec *spec, const struct tc_spec *fs)
{
    for (size_t i = 0; fs && i < fs->fs_count; i++)
        if (fs->fs[i].access != TC_ACCESS_DENY)
            return fs->fs[i].path;
    for (size_t i = 0; i < spec->argument_count; i++)
        for (size_t b = 0; b < spec->arguments[i].bound_count; b++)
            if (spec->arguments[i].bounds[b].path)
                return spec->arguments[i].bounds[b].path;
    return NULL;
}

void tc_lint_any_host(struct tc_lint *l, const struct tc_spec *spec)
{
    const struct tc_spec *net = tc_lint_given(l, spec, TC_KEY_NETWORK);
    const char *data = data_of(spec, tc_lint_given(l, spec, TC_KEY_FILESYSTEM));
    for (size_t i = 0; net && data && i < net->net_count; i++)
        if (tc_streq(net->net[i].host, "*"))
            tc_lint_add(
                l, net, "network", net->net[i].origin.line, "\"*",
                "name the hosts that the tool needs, or let another tool do the fetching",
                "%s is readable for a tool that reaches every public address: it can send it "
                "anywhere",
                data);
}
