/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The key `publish`. Each entry is stored as the text of policy/publish.h. */
#include "policy/publish.h"

#include <string.h>

#include "policy/backends.h"
#include "policy/endpoint.h"
#include "policy/parse/parse.h"

/* The entry's address as absolute text. NULL after a finding. */
static char *read_entry(struct tc_parse *p, uint16_t port, struct tc_node *to)
{
    struct tc_publish said;
    struct tc_complaint c;
    _autofree_ char *text = tc_format("%u:%s", (unsigned)port, to ? to->text : TC_PUBLISH_ANYWHERE),
                    *path = NULL;
    p->diag.memory |= !text;
    if (!text)
        return NULL;
    if (!tc_publish_read(text, &said, &c)) {
        tc_parse_complaint(p, to, &c);
        return NULL;
    }
    if (said.path) {
        struct tc_node place = *to;
        place.text = to->text + strlen(TC_PUBLISH_UNIX);
        path = tc_parse_path(p, &place);
        if (!path)
            return NULL;
        tc_parse_path_settle(p, to, TC_PUBLISH_UNIX);
    }
    char *whole = tc_publish_write(&said, path);
    p->diag.memory |= !whole;
    return whole;
}

/* Two entries cannot listen at one address. */
static bool is_taken(const struct tc_strv *list, const char *text)
{
    const char *at = strchr(text, ':');
    for (size_t i = 0; i < list->count; i++)
        if (tc_streq(strchr(list->items[i], ':'), at) &&
            (strstr(at, TC_PUBLISH_UNIX) || !tc_endswith(at, ":0")))
            return true;
    return tc_strv_has(list, text);
}

static void add_entry(struct tc_parse *p, struct tc_spec *spec, struct tc_node *node)
{
    size_t before = p->diag.count + p->diag.more;
    _auto_(tc_net_entry_done) struct tc_net_entry said = {0};
    if (!tc_parse_is(p, node, TC_NODE_TABLE))
        return;
    struct tc_node *to = tc_node_get(node, "to");
    tc_parse_table(p, TC_SCOPE_PUBLISH, node, &said);
    if (!tc_node_get(node, "port"))
        tc_parse_bad(p, node, "add port = 3000", "the entry has no port");
    if (p->diag.count + p->diag.more != before || p->diag.memory)
        return;
    char *text = read_entry(p, (uint16_t)said.port, to);
    if (text && is_taken(&spec->publish, text)) {
        tc_parse_bad(p, to ? to : node, "give each entry its own address",
                     "two entries publish at this address");
        free(text);
    } else if (text) {
        p->diag.memory |= !tc_strv_take(&spec->publish, text);
    }
}

void tc_set_publish(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    struct tc_spec *spec = into;
    if (!tc_parse_is(p, node, TC_NODE_ARRAY))
        return;
    if (node->count > TC_PUBLISH_MAX) {
        tc_parse_bad(p, node, "publish the ports that a person opens", "more than %d ports",
                     TC_PUBLISH_MAX);
        return;
    }
    size_t mark = tc_parse_enter(p, "publish");
    for (size_t i = 0; i < node->count; i++)
        add_entry(p, spec, &node->items[i]);
    tc_parse_leave(p, mark);
    tc_strv_sort(&spec->publish);
}

/* ---- the whole policy ---- */

/* The backend that the tool names, if it is not the one that has live sessions; NULL: none. */
static const char *other_backend(const struct tc_parse *p, const struct tc_spec *spec)
{
    const struct tc_spec *said = tc_policy_given(p->policy, spec, TC_KEY_BACKEND);
    const struct tc_spec *layers = tc_policy_given(p->policy, spec, TC_KEY_LAYERS);
    if (layers && layers->layers.count)
        return layers->layers.items[0];
    return said && !tc_streq(said->backend, TC_BACKEND_DEFAULT) ? said->backend : NULL;
}

/* Judges what the tool sets itself; what it inherits is judged where it is set. */
static void check_spec(struct tc_parse *p, const struct tc_spec *spec)
{
    const char *backend = other_backend(p, spec);
    uint32_t line = spec->said[TC_KEY_PUBLISH];
    if (!line || !spec->publish.count)
        return;
    if (!tc_policy_given(p->policy, spec, TC_KEY_SESSION_LIFETIME))
        tc_parse_bad_line(p, line, tc_format("%s.publish", spec->prefix),
                          "add session_lifetime = \"8h\", or remove publish",
                          "only live sessions publish ports, and there are none without "
                          "session_lifetime");
    else if (backend)
        tc_parse_bad_line(p, line, tc_format("%s.publish", spec->prefix),
                          "use backend = \"process\", or remove publish",
                          "backend %s publishes no ports", backend);
}

void tc_parse_publish_check(struct tc_parse *p)
{
    if (p->diag.count)
        return;
    check_spec(p, &p->policy->defaults);
    for (size_t i = 0; !p->diag.memory && i < p->policy->tool_count; i++)
        check_spec(p, &p->policy->tools[i]);
    for (size_t i = 0; !p->diag.memory && i < p->policy->server_count; i++)
        check_spec(p, &p->policy->servers[i].spec);
}
