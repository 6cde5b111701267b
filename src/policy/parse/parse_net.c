/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The key `network`. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "policy/endpoint.h"
#include "policy/http_path.h"
#include "policy/parse/parse.h"

static bool read_endpoint(struct tc_parse *p, const struct tc_node *node, const char *text,
                          struct tc_net_entry *ret)
{
    struct tc_complaint c;
    int rc = tc_endpoint_read(text, ret, &c);
    if (rc == TOOLCAGE_EMEMORY)
        p->diag.memory = true;
    else if (rc)
        tc_parse_complaint(p, node, &c);
    return rc == 0;
}

/* Replaces the node by the endpoint's canonical string, for the policy's digest. */
static void become_endpoint(struct tc_parse *p, struct tc_node *node,
                            const struct tc_net_entry *entry)
{
    _autofree_ char *text = tc_endpoint_write(entry->host, entry->port);
    if (!text || !tc_node_become_string(node, text))
        p->diag.memory = true;
}

/* Checks the methods and paths of an entry. */
static void check_words(struct tc_parse *p, const struct tc_node *table,
                        const struct tc_net_entry *entry)
{
    const struct tc_node *methods = tc_node_get(table, "methods"),
                         *paths = tc_node_get(table, "paths");
    const struct tc_node *both[] = {methods, paths};
    for (size_t i = 0; i < TC_COUNT(both); i++)
        if (both[i] && both[i]->kind == TC_NODE_ARRAY && !both[i]->count)
            tc_parse_bad(p, both[i], "remove it to allow all of them, or name some",
                         "the list is empty");
    for (size_t i = 0; i < entry->methods.count && methods && i < methods->count; i++)
        if (strspn(entry->methods.items[i], "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") !=
            strlen(entry->methods.items[i]))
            tc_parse_bad(p, &methods->items[i], "write it as in \"GET\"",
                         "\"%.40s\" is not an HTTP method", entry->methods.items[i]);
    for (size_t i = 0; i < entry->paths.count && paths && i < paths->count; i++) {
        const char *path = entry->paths.items[i];
        _autobuf_ struct tc_buf text = TC_BUF_INIT;
        bool clear = !strpbrk(path, "*?[") && !tc_http_path_read(path, strlen(path), &text);
        if (text.failed)
            p->diag.memory = true;
        else if (!clear)
            tc_parse_bad(p, &paths->items[i],
                         "write it as in \"/v1/items\"; everything below a path is allowed "
                         "with it",
                         "\"%.60s\" is not a plain HTTP path", path);
    }
}

/* An entry with methods or paths needs a single port, on which the proxy inspects HTTP requests. */
static void check_ports(struct tc_parse *p, const struct tc_node *table,
                        const struct tc_net_entry *entry)
{
    const struct tc_node *ports = tc_node_get(table, "ports");
    if (ports && tc_node_get(table, "port"))
        tc_parse_bad_key(p, ports, "take one of them out", "the entry has port and ports");
    else if (ports && tc_net_entry_rules(entry))
        tc_parse_bad_key(p, ports, "name the port where HTTP is spoken: port = 443",
                         "methods and paths need one port");
}

/* Reads { host, port, methods, paths }. A table without methods and paths means the same as the
 * string "host:port", and becomes that string. False after a finding. */
static bool read_table(struct tc_parse *p, struct tc_node *node, struct tc_net_entry *ret)
{
    struct tc_complaint c;
    size_t before = p->diag.count + p->diag.more;
    struct tc_net_entry said = {.port = TC_PORT_DEFAULT};
    tc_parse_table(p, TC_SCOPE_NET_ENTRY, node, &said);
    check_words(p, node, &said);
    check_ports(p, node, &said);
    *ret = said;
    ret->host = NULL;
    _autofree_ char *host = said.host;
    if (!host) {
        if (!tc_node_get(node, "host"))
            tc_parse_bad(p, node, "add host = \"api.example.com\"", "the endpoint has no host");
        return false;
    }
    struct tc_node *host_node = tc_node_get(node, "host");
    int rc = tc_host_pattern_read(host, strlen(host), &ret->host, &c);
    if (rc == TOOLCAGE_EMEMORY)
        p->diag.memory = true;
    else if (rc)
        tc_parse_complaint(p, host_node, &c);
    else if ((rc = tc_endpoint_check(ret, ret->host, &c)))
        tc_parse_complaint(p, host_node, &c);
    if (rc || p->diag.count + p->diag.more != before)
        return false;
    if (!ret->methods.count && !ret->paths.count)
        become_endpoint(p, node, ret);
    else if (!tc_node_become_string(host_node, ret->host))
        p->diag.memory = true;
    return true;
}

void tc_set_port(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    struct tc_net_entry *entry = into;
    struct tc_complaint c;
    if (!tc_parse_is(p, node, TC_NODE_INTEGER))
        return;
    if (!tc_value_check(TC_UNIT_COUNT, node->integer, key->min, key->max, &c))
        tc_parse_complaint(p, node, &c);
    else
        entry->port = (uint16_t)node->integer;
}

void tc_set_ports(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    struct tc_net_entry *entry = into;
    if (node->kind == TC_NODE_STRING && tc_streq(node->text, "any"))
        entry->port = TC_PORT_ANY;
    else
        tc_parse_bad_key(p, node,
                         "write ports = \"any\", or name each port in a separate entry, as in "
                         "\"example.com:8080\"",
                         "an entry of network has one port or \"any\"");
}

static void add_entry(struct tc_parse *p, struct tc_spec *spec, struct tc_node *node)
{
    struct tc_net_entry entry = {0};
    bool fine = false;
    if (node->kind == TC_NODE_TABLE)
        fine = read_table(p, node, &entry);
    else if (tc_parse_is(p, node, TC_NODE_STRING)) {
        if (tc_streq(node->text, "none"))
            tc_parse_bad(p, node, "write network = \"none\", without an array",
                         "\"none\" is not an endpoint");
        else
            fine = read_endpoint(p, node, node->text, &entry);
        if (fine)
            become_endpoint(p, node, &entry);
    }
    struct tc_net_entry *to = fine ? TC_PUSH(spec->net, spec->net_count) : NULL;
    entry.origin.line = node->at.line;
    if (to)
        *to = entry;
    else
        tc_net_entry_done(&entry);
    p->diag.memory |= fine && !to;
}

/* Words that people write for all or nothing, and not the name of a host. */
static const char *switch_hint(const char *text)
{
    static const char *const none[] = {"no", "off", "false", "none", "deny", "disabled"};
    static const char *const all[] = {"all", "any", "yes", "on", "true", "full", "host", "bridge"};
    for (size_t i = 0; i < TC_COUNT(none); i++)
        if (strcasecmp(text, none[i]) == 0)
            return "write network = \"none\"";
    for (size_t i = 0; i < TC_COUNT(all); i++)
        if (strcasecmp(text, all[i]) == 0)
            return "name each endpoint, as in network = [\"api.example.com:443\"]";
    return NULL;
}

/* Refuses a string instead of an array; often it is a URL. The hint has its host and port. */
static void refuse_bare(struct tc_parse *p, const struct tc_node *node)
{
    char hint[200];
    const char *meant = switch_hint(node->text);
    const char *scheme = strstr(node->text, "://"), *host = scheme ? scheme + 3 : node->text;
    int len = (int)strcspn(host, scheme ? "/?#" : "");
    bool unsaid = tc_startswith(node->text, "http://") && !memchr(host, ':', (size_t)len);
    (void)snprintf(hint, sizeof(hint), "write network = [\"%.*s%s\"]", len < 100 ? len : 100, host,
                   unsaid ? ":80" : "");
    tc_parse_bad(p, node, meant ? meant : hint,
                 "network must be \"none\" or an array of endpoints");
}

void tc_set_network(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    struct tc_spec *spec = into;
    if (node->kind == TC_NODE_STRING) {
        if (tc_streq(node->text, "none"))
            tc_node_become_empty(node, TC_NODE_ARRAY);
        else
            refuse_bare(p, node);
        return;
    }
    if (!tc_parse_is(p, node, TC_NODE_ARRAY))
        return;
    size_t mark = tc_parse_enter(p, "network");
    for (size_t i = 0; i < node->count; i++)
        add_entry(p, spec, &node->items[i]);
    tc_parse_leave(p, mark);
    node->unordered = true;
}
