/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The key `secrets`. Nothing here ever holds a value: only where it comes from, to whom it may go,
 * and in which header. */
#include <string.h>
#include <strings.h>

#include "policy/endpoint.h"
#include "policy/parse.h"

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"
#define TOKEN LETTERS DIGITS "!#$%&'*+-.^_`|~"
#define PLACE "{secret}"

enum { SECRETS_MAX = 64, NAME_MAX_BYTES = 64 };

static bool name_fine(const char *name)
{
    size_t n = strlen(name);
    return n && n <= NAME_MAX_BYTES && !strchr(DIGITS, name[0]) &&
           strspn(name, LETTERS DIGITS "_") == n;
}

void tc_set_secret_from(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                        void *into)
{
    struct tc_secret *secret = into;
    if (!tc_parse_is(p, node, TC_NODE_STRING))
        return;
    if (tc_startswith(node->text, "env:") && name_fine(node->text + 4)) {
        secret->from = tc_parse_copy(p, node->text);
    } else if (tc_startswith(node->text, "file:") && node->text[5]) {
        struct tc_node path = *node;
        path.text = node->text + 5;
        path.len = node->len - 5;
        _autofree_ char *file = tc_parse_path(p, &path);
        secret->from = file ? tc_format("file:%s", file) : NULL;
        p->diag.memory |= file && !secret->from;
        if (file)
            tc_parse_path_settle(p, node, "file:");
    } else if (tc_startswith(node->text, "command:")) {
        tc_parse_bad(p, node, "use env:NAME or file:PATH",
                     "secrets from commands are not provided by this version");
    } else {
        /* what stands here may be the secret itself: it is not repeated */
        tc_parse_bad(p, node, "write from = \"env:NAME\" or from = \"file:PATH\"",
                     "from does not say where the secret comes from");
    }
}

void tc_set_secret_hosts(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                         void *into)
{
    struct tc_secret *secret = into;
    if (!tc_parse_is(p, node, TC_NODE_ARRAY))
        return;
    node->unordered = true;
    for (size_t i = 0; i < node->count; i++) {
        struct tc_node *item = &node->items[i];
        struct tc_net_entry entry = {0};
        struct tc_complaint c;
        if (!tc_parse_is(p, item, TC_NODE_STRING))
            continue;
        int rc = tc_endpoint_read(item->text, &entry, &c);
        bool every = !rc && tc_host_is_pattern(entry.host);
        if (rc == TOOLCAGE_EPOLICY)
            tc_parse_complaint(p, item, &c);
        else if (every)
            tc_parse_bad_in(p, node, item, "name each host that may have it",
                            "a secret goes to named hosts, and \"%s\" is a pattern", entry.host);
        _autofree_ char *text = rc || every ? NULL : tc_endpoint_write(entry.host, entry.port);
        if (text)
            p->diag.memory |=
                !tc_strv_add(&secret->hosts, text) || !tc_node_become_string(item, text);
        p->diag.memory |= rc == TOOLCAGE_EMEMORY || (!rc && !every && !text);
        tc_net_entry_done(&entry);
    }
}

/* Headers that say where a request goes or where it ends. */
static bool frames(const char *header, size_t len)
{
    static const char *const names[] = {"Host",    "Content-Length", "Transfer-Encoding",
                                        "Upgrade", "Connection",     "Trailer",
                                        "TE",      "Expect",         "Proxy-Connection"};
    for (size_t i = 0; i < TC_COUNT(names); i++)
        if (strlen(names[i]) == len && strncasecmp(names[i], header, len) == 0)
            return true;
    return false;
}

static const char *header_wrong(const char *header)
{
    size_t name = strspn(header, TOKEN);
    const char *place = strstr(header, PLACE);
    for (const char *c = header; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return "holds a line break or another control character";
    if (!name || header[name] != ':')
        return "is not NAME: VALUE";
    if (frames(header, name))
        return "is one that steers the request itself";
    if (!place || place < header + name)
        return "has no " PLACE " in its value";
    return strstr(place + 1, PLACE) ? "has " PLACE " twice" : NULL;
}

void tc_set_secret_header(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                          void *into)
{
    struct tc_secret *secret = into;
    if (!tc_parse_is(p, node, TC_NODE_STRING))
        return;
    const char *wrong = header_wrong(node->text);
    if (wrong)
        tc_parse_bad(p, node, "write it as in \"Authorization: Bearer " PLACE "\"", "the header %s",
                     wrong);
    else
        secret->header = tc_parse_copy(p, node->text);
}

static void read_secret(struct tc_parse *p, struct tc_node *node, struct tc_spec *spec)
{
    static const char *const wanted[] = {"from", "hosts", "header"};
    if (!name_fine(node->key)) {
        tc_parse_bad_key(p, node, "names are letters, digits and _, at most 64",
                         "\"%.80s\" is not the name of a secret", node->key);
        return;
    }
    if (!tc_parse_is(p, node, TC_NODE_TABLE))
        return;
    struct tc_secret *secret = TC_PUSH(spec->secrets, spec->secret_count);
    if (!secret) {
        p->diag.memory = true;
        return;
    }
    secret->name = tc_parse_copy(p, node->key);
    secret->line = node->key_at.line;
    size_t before = p->diag.count + p->diag.more;
    size_t mark = tc_parse_enter(p, node->key);
    tc_parse_table(p, TC_SCOPE_SECRET, node, secret);
    tc_parse_leave(p, mark);
    bool whole = p->diag.count + p->diag.more == before;
    for (size_t i = 0; whole && i < TC_COUNT(wanted); i++) {
        const struct tc_node *said = tc_node_get(node, wanted[i]);
        if (!said || (said->kind == TC_NODE_ARRAY && !said->count))
            tc_parse_bad_key(p, node, "a secret has from, hosts and header",
                             "the secret says no %s", wanted[i]);
    }
}

void tc_set_secrets(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    if (!tc_parse_is(p, node, TC_NODE_TABLE))
        return;
    if (node->count > SECRETS_MAX) {
        tc_parse_bad_key(p, node, "name those that the tool needs", "more than %d secrets",
                         SECRETS_MAX);
        return;
    }
    size_t mark = tc_parse_enter(p, "secrets");
    for (size_t i = 0; i < node->count; i++)
        read_secret(p, &node->items[i], into);
    tc_parse_leave(p, mark);
}

bool tc_secret_reaches(const struct tc_net_entry *net, size_t count, const char *host)
{
    struct tc_complaint c;
    _auto_(tc_net_entry_done) struct tc_net_entry entry = {0};
    return tc_endpoint_read(host, &entry, &c) == 0 &&
           tc_endpoint_find(net, count, entry.host, entry.port);
}

/* The defaults are whole only at the end of the file. */
static void check_spec(struct tc_parse *p, const struct tc_spec *tool)
{
    const struct tc_spec *said = tc_policy_said(p->policy, tool, TC_KEY_SECRETS);
    const struct tc_spec *net = tc_policy_said(p->policy, tool, TC_KEY_NETWORK);
    for (size_t i = 0; said && i < said->secret_count; i++) {
        const struct tc_secret *secret = &said->secrets[i];
        for (size_t h = 0; h < secret->hosts.count; h++) {
            if (tc_secret_reaches(net ? net->net : NULL, net ? net->net_count : 0,
                                  secret->hosts.items[h]))
                continue;
            _autofree_ char *subject = tc_format("%s.secrets.%s", said->prefix, secret->name);
            if (!subject) {
                p->diag.memory = true;
                return;
            }
            tc_diag_add(&p->diag, (struct tc_place){secret->line, 1, 1}, subject,
                        "add the host to network, or take it out of hosts",
                        "the network of %s does not reach %s, where the secret would go",
                        tool->prefix, secret->hosts.items[h]);
        }
    }
}

void tc_parse_secrets_check(struct tc_parse *p)
{
    if (p->diag.count)
        return;
    for (size_t i = 0; !p->diag.memory && i < p->policy->tool_count; i++)
        check_spec(p, &p->policy->tools[i]);
    for (size_t i = 0; !p->diag.memory && i < p->policy->server_count; i++)
        check_spec(p, &p->policy->servers[i].spec);
}
