/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The key `secrets`. A policy never contains a secret's value: only its source, the hosts that may
 * receive it, and the header that carries it. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "policy/endpoint.h"
#include "policy/parse/parse.h"

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"
#define TOKEN LETTERS DIGITS "!#$%&'*+-.^_`|~"

enum { SECRETS_MAX = 64, NAME_MAX_BYTES = 64 };

static bool name_fine(const char *name)
{
    size_t n = strlen(name);
    return n && n <= NAME_MAX_BYTES && !strchr(DIGITS, name[0]) &&
           strspn(name, LETTERS DIGITS "_") == n;
}

/* Why the command is refused; NULL: it is allowed. It runs without a shell, so shell syntax is an
 * error. */
static const char *command_wrong(const char *words)
{
    static const char special[] = "\"'`$\\|&;<>(){}[]*?~#!\t\n\r";
    if (!words[0] || words[0] == ' ' || words[strlen(words) - 1] == ' ' || strstr(words, "  "))
        return "is not a program and arguments with single spaces between them";
    if (words[strcspn(words, special)])
        return "holds shell syntax, and no shell reads it: put it into a script";
    size_t first = strcspn(words, " ");
    return words[0] != '/' && memchr(words, '/', first) ? "has a relative path" : NULL;
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
        const char *wrong = command_wrong(node->text + strlen("command:"));
        if (wrong)
            tc_parse_bad(p, node, "write it as in \"command:pass show example\"", "the command %s",
                         wrong);
        else
            secret->from = tc_parse_copy(p, node->text);
    } else {
        /* the value may be the secret itself, so the message does not quote it */
        tc_parse_bad(p, node, "write from = \"env:NAME\", \"file:PATH\" or \"command:WORDS\"",
                     "from does not say where the secret comes from");
    }
}

/* Does the endpoint end with a port? "http://" needs one, because the default port is that of TLS.
 */
static bool plain_port_said(const char *endpoint)
{
    const char *colon = strrchr(endpoint, ':');
    return colon && colon[1] && strspn(colon + 1, DIGITS) == strlen(colon + 1);
}

/* The host in canonical form. NULL after a finding. */
static char *read_host(struct tc_parse *p, struct tc_node *array, struct tc_node *item)
{
    struct tc_complaint c;
    bool plain;
    const char *endpoint = tc_secret_endpoint(item->text, &plain);
    _auto_(tc_net_entry_done) struct tc_net_entry entry = {0};
    int rc = tc_endpoint_read_one(endpoint, &entry, &c);
    if (rc == TOOLCAGE_EPOLICY) {
        tc_parse_complaint(p, item, &c);
    } else if (!rc && tc_host_is_pattern(entry.host)) {
        tc_parse_bad_in(p, array, item, "name each host that may receive it",
                        "a secret is sent only to named hosts, and \"%s\" is a pattern",
                        entry.host);
    } else if (plain && !plain_port_said(endpoint)) {
        tc_parse_bad_in(p, array, item, "write it as in \"http://127.0.0.1:8080\"",
                        "a host without TLS needs its port");
    } else if (!rc) {
        _autofree_ char *text = tc_endpoint_write(entry.host, entry.port);
        char *whole = text ? tc_format("%s%s", plain ? "http://" : "", text) : NULL;
        p->diag.memory |= !whole;
        return whole;
    }
    p->diag.memory |= rc == TOOLCAGE_EMEMORY;
    return NULL;
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
        if (!tc_parse_is(p, item, TC_NODE_STRING))
            continue;
        _autofree_ char *text = read_host(p, node, item);
        if (text)
            p->diag.memory |=
                !tc_strv_add(&secret->hosts, text) || !tc_node_become_string(item, text);
    }
}

/* Is it a header that controls the destination or the framing of a request? */
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

/* Why the header is refused; NULL: it is allowed. */
static const char *header_wrong(const char *header)
{
    size_t name = strspn(header, TOKEN);
    const char *place = strstr(header, TC_SECRET_PLACE);
    for (const char *c = header; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return "holds a line break or another control character";
    if (!name || header[name] != ':')
        return "is not NAME: VALUE";
    if (frames(header, name))
        return "is one that controls the request itself";
    if (!place || place < header + name)
        return "has no " TC_SECRET_PLACE " in its value";
    return strstr(place + 1, TC_SECRET_PLACE) ? "has " TC_SECRET_PLACE " twice" : NULL;
}

void tc_set_secret_header(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                          void *into)
{
    struct tc_secret *secret = into;
    if (!tc_parse_is(p, node, TC_NODE_STRING))
        return;
    const char *wrong = header_wrong(node->text);
    if (wrong)
        tc_parse_bad(p, node, "write it as in \"Authorization: Bearer " TC_SECRET_PLACE "\"",
                     "the header %s", wrong);
    else
        secret->header = tc_parse_copy(p, node->text);
}

/* A string could be the secret itself, which no policy may contain. False after a finding. */
static bool is_table(struct tc_parse *p, const struct tc_node *node)
{
    char hint[256];
    if (node->kind != TC_NODE_STRING)
        return tc_parse_is(p, node, TC_NODE_TABLE);
    (void)snprintf(hint, sizeof(hint),
                   "write { from = \"env:%.64s\", hosts = [\"api.example.com\"], header = "
                   "\"Authorization: Bearer " TC_SECRET_PLACE "\" }; its value stays in %.64s",
                   node->key, node->key);
    tc_parse_bad(p, node, hint, "%s must be a table, not a string", node->key);
    return false;
}

static void read_secret(struct tc_parse *p, struct tc_node *node, struct tc_spec *spec)
{
    static const char *const wanted[] = {"from", "hosts", "header"};
    if (!name_fine(node->key)) {
        tc_parse_bad_key(p, node, "names are letters, digits and _, at most 64",
                         "\"%.80s\" is not the name of a secret", node->key);
        return;
    }
    if (!is_table(p, node))
        return;
    struct tc_secret *secret = TC_PARSE_PUSH(p, spec->secrets, spec->secret_count);
    if (!secret)
        return;
    secret->name = tc_parse_copy(p, node->key);
    secret->line = node->key_at.line;
    size_t before = p->diag.count + p->diag.more;
    (void)tc_parse_inner(p, TC_SCOPE_SECRET, node, secret);
    bool whole = p->diag.count + p->diag.more == before;
    for (size_t i = 0; whole && i < TC_COUNT(wanted); i++) {
        const struct tc_node *said = tc_node_get(node, wanted[i]);
        if (!said || (said->kind == TC_NODE_ARRAY && !said->count))
            tc_parse_bad_key(p, node, "a secret has from, hosts and header", "the secret has no %s",
                             wanted[i]);
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

/* The secret's key in messages; owned. */
static char *key_of(const struct tc_spec *said, const struct tc_secret *secret)
{
    return tc_format("%s.secrets.%s", said->prefix, secret->name);
}

static void check_hosts(struct tc_parse *p, const struct tc_spec *tool, const struct tc_spec *said,
                        const struct tc_secret *secret)
{
    const struct tc_spec *net = tc_policy_given(p->policy, tool, TC_KEY_NETWORK);
    for (size_t i = 0; i < secret->hosts.count; i++) {
        const char *host = secret->hosts.items[i];
        if (tc_secret_reaches(net ? net->net : NULL, net ? net->net_count : 0, host))
            continue;
        tc_parse_bad_line(p, secret->line, key_of(said, secret),
                          "add the host to network, or remove it from hosts",
                          "the network of %s does not name %s, to which the secret would be sent",
                          tool->prefix, host);
    }
}

/* Passing the variable would expose the secret to the tool, or to its install phase. */
static void check_passed(struct tc_parse *p, const struct tc_spec *tool, const struct tc_spec *said,
                         const struct tc_secret *secret)
{
    const struct tc_spec *env = tc_policy_given(p->policy, tool, TC_KEY_ENV);
    if (!env || !tc_startswith(secret->from, "env:") ||
        !tc_strv_has(&env->env_pass, secret->from + 4))
        return;
    tc_parse_bad_line(p, secret->line, key_of(said, secret),
                      "remove it from env.pass: the proxy injects it into the requests",
                      "env.pass of %s passes %s to %s", tool->prefix, secret->from + 4,
                      tc_spec_is_setup(tool) ? "the install" : "the tool");
}

static bool same_header(const struct tc_secret *a, const struct tc_secret *b)
{
    size_t len = strcspn(a->header, ":");
    return strcspn(b->header, ":") == len && strncasecmp(a->header, b->header, len) == 0;
}

static bool share_host(const struct tc_secret *a, const struct tc_secret *b)
{
    bool plain;
    for (size_t i = 0; i < a->hosts.count; i++)
        for (size_t j = 0; j < b->hosts.count; j++)
            if (tc_streq(tc_secret_endpoint(a->hosts.items[i], &plain),
                         tc_secret_endpoint(b->hosts.items[j], &plain)))
                return true;
    return false;
}

/* Two secrets cannot use the same header for one host. */
static void check_alone(struct tc_parse *p, const struct tc_spec *said, size_t at)
{
    const struct tc_secret *secret = &said->secrets[at];
    for (size_t i = 0; i < at; i++) {
        const struct tc_secret *other = &said->secrets[i];
        if (same_header(secret, other) && share_host(secret, other))
            tc_parse_bad_line(p, secret->line, key_of(said, secret),
                              "one tool for each of them, or another header",
                              "%s is sent in the same header to the same host", other->name);
    }
}

/* Called after the whole file was read, because only then is [defaults] complete. */
static void check_spec(struct tc_parse *p, const struct tc_spec *tool)
{
    const struct tc_spec *said = tc_policy_given(p->policy, tool, TC_KEY_SECRETS);
    for (size_t i = 0; said && i < said->secret_count; i++) {
        check_hosts(p, tool, said, &said->secrets[i]);
        check_passed(p, tool, said, &said->secrets[i]);
        if (tool->setup)
            check_passed(p, tool->setup, said, &said->secrets[i]);
        check_alone(p, said, i);
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
