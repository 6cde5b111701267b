/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The key `url` of a server: its cage runs toolcage-bridge, and its network is the URL's host, with
 * the methods of MCP's Streamable HTTP at the URL's path and below it. */
#include <stdio.h>
#include <string.h>

#include "policy/endpoint.h"
#include "policy/http_path.h"
#include "policy/parse/parse.h"

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"
#define HOST LETTERS DIGITS "-.:[]"
/* RFC 3986, without the fragment and the user */
#define REST LETTERS DIGITS "-._~:/?[]!$&'()*+,;=%@"

enum { URL_MAX = 2048 };

/* The parts of a URL, in its text. */
struct url {
    bool plain;
    const char *host, *path; /* host: with the port */
    size_t host_length, path_length;
};

/* Why the text is not a URL of a server; NULL: it is one. */
static const char *split_url(const char *text, struct url *ret)
{
    *ret = (struct url){.plain = tc_startswith(text, "http://")};
    if (strlen(text) > URL_MAX)
        return "is longer than 2048 bytes";
    if (!ret->plain && !tc_startswith(text, "https://"))
        return "does not begin with https:// or http://";
    ret->host = strstr(text, "://") + 3;
    ret->host_length = strcspn(ret->host, "/?#");
    ret->path = ret->host + ret->host_length;
    ret->path_length = strcspn(ret->path, "?#");
    if (memchr(ret->host, '@', ret->host_length))
        return "has a user name; a token belongs in secrets";
    if (!ret->host_length || strspn(ret->host, HOST) < ret->host_length)
        return "has no host that can be read";
    if (strchr(ret->path, '#'))
        return "has a fragment, which is never sent";
    return ret->path[strspn(ret->path, REST)] ? "has a character that URLs do not have" : NULL;
}

static void refuse_url(struct tc_parse *p, const struct tc_node *node, const char *why)
{
    tc_parse_bad(p, node, "write it as in \"https://mcp.example.com/mcp\"", "the URL %s", why);
}

/* The entry's host and port. False after a finding. */
static bool read_host(struct tc_parse *p, const struct tc_node *node, const struct url *url,
                      struct tc_net_entry *entry)
{
    struct tc_complaint c;
    const char *last = memrchr(url->host, ']', url->host_length);
    const char *from = last ? last : url->host;
    bool port = memchr(from, ':', (size_t)(url->path - from));
    _autofree_ char *text = tc_format("%.*s%s", (int)url->host_length, url->host,
                                      port         ? ""
                                      : url->plain ? ":80"
                                                   : ":443");
    int rc = text ? tc_endpoint_read_one(text, entry, &c) : TOOLCAGE_EMEMORY;
    p->diag.memory |= rc == TOOLCAGE_EMEMORY;
    if (rc == TOOLCAGE_EPOLICY)
        tc_parse_complaint(p, node, &c);
    if (rc)
        return false;
    if (!url->plain || tc_host_is_local(entry->host) || tc_host_is_local_name(entry->host))
        return true;
    tc_parse_bad(p, node, "use https://, or a server on this host's loopback",
                 "%.80s would be reached without TLS", entry->host);
    return false;
}

/* The path, for the entry's rule. NULL after a finding. */
static char *read_path(struct tc_parse *p, const struct tc_node *node, const struct url *url)
{
    _autobuf_ struct tc_buf normal = TC_BUF_INIT;
    const char *path = url->path_length ? url->path : "/";
    size_t length = url->path_length ? url->path_length : 1;
    const char *why = tc_http_path_read(path, length, &normal);
    char *text = why || normal.failed ? NULL : tc_buf_steal(&normal);
    if (why)
        refuse_url(p, node, "has a path that servers may read in two ways");
    else
        p->diag.memory |= !text;
    return text;
}

static bool fill_entry(struct tc_net_entry *entry, char *path)
{
    static const char *const methods[] = {"DELETE", "GET", "POST"};
    bool fine = tc_strv_take(&entry->paths, path);
    for (size_t i = 0; i < TC_COUNT(methods); i++)
        fine = fine && tc_strv_add(&entry->methods, methods[i]);
    return fine;
}

void tc_set_url(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    struct tc_spec *spec = into;
    struct url url;
    if (!tc_parse_is(p, node, TC_NODE_STRING))
        return;
    const char *why = split_url(node->text, &url);
    if (why) {
        refuse_url(p, node, why);
        return;
    }
    _auto_(tc_net_entry_done) struct tc_net_entry entry = {.origin.line = node->at.line};
    char *path = read_host(p, node, &url, &entry) ? read_path(p, node, &url) : NULL;
    if (!path)
        return;
    struct tc_net_entry *to =
        fill_entry(&entry, path) ? TC_PARSE_PUSH(p, spec->net, spec->net_count) : NULL;
    free(spec->url);
    spec->url = tc_parse_copy(p, node->text);
    spec->url_line = node->key_at.line;
    p->diag.memory |= !to;
    if (to) {
        *to = entry;
        entry = (struct tc_net_entry){0};
    }
}

/* The keys that another program than toolcage-bridge would need. */
void tc_parse_url_finish(struct tc_parse *p, struct tc_spec *spec, const struct tc_node *table)
{
    static const char *const others[] = {"command", "stdin",    "image",    "module",
                                         "layers",  "fallback", "programs", "setup"};
    if (!spec->url)
        return;
    for (size_t i = 0; i < TC_COUNT(others); i++) {
        const struct tc_node *other = tc_node_get(table, others[i]);
        if (other)
            tc_parse_bad_key(p, other, "keep one of the two",
                             "a server with a url has no %s: toolcage's own program connects to it",
                             others[i]);
    }
    /* the host of the URL replaces a network of [defaults] */
    spec->said[TC_KEY_COMMAND] = spec->url_line;
    if (!spec->said[TC_KEY_NETWORK])
        spec->said[TC_KEY_NETWORK] = spec->url_line;
    p->diag.memory |=
        !tc_strv_add(&spec->command, TC_BRIDGE) || !tc_strv_add(&spec->command, spec->url);
}
