/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "egress/egress.h"

#include <stdlib.h>
#include <string.h>

#include "policy/endpoint.h"

enum { ENTRIES_MAX = 4096, WORDS_MAX = 1024 };

static void visit_entry(struct tc_wire *w, struct tc_net_entry *entry)
{
    tc_net_entry_visit(w, entry);
    if (w->failed || !entry->host[0] || strlen(entry->host) > 253 || !entry->port ||
        entry->methods.count > WORDS_MAX || entry->paths.count > WORDS_MAX)
        w->failed = true;
}

void tc_egress_config_visit(struct tc_wire *w, struct tc_egress_config *config)
{
    tc_wire_format(w, "toolcage-egress-config-1");
    TC_WIRE_EACH(w, config->net, config->net_count, ENTRIES_MAX, visit_entry);
    tc_wire_str(w, &config->tool);
    TC_WIRE_INT(w, config->ipv6);
    tc_wire_i64(w, &config->connections);
    if (config->connections < 1)
        w->failed = true;
}

void tc_egress_config_done(struct tc_egress_config *config)
{
    for (size_t i = 0; i < config->net_count; i++)
        tc_net_entry_done(&config->net[i]);
    free(config->net);
    free(config->tool);
    memset(config, 0, sizeof(*config));
}
