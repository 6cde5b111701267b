/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What the proxy is told of its call, over the wire. */
#include "egress/egress.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "policy/endpoint.h"

enum { ENTRIES_MAX = 4096, WORDS_MAX = 1024, SECRETS_MAX = 64, HOST_MAX = 254 };

static void visit_entry(struct tc_wire *w, struct tc_net_entry *entry)
{
    tc_net_entry_visit(w, entry);
    if (w->failed || !entry->host[0] || strlen(entry->host) > 253 ||
        entry->port > (TC_PORT_UDP | TC_PORT_NUMBER) || entry->port == TC_PORT_UDP ||
        entry->methods.count > WORDS_MAX || entry->paths.count > WORDS_MAX)
        w->failed = true;
}

/* What is put into a header is split at its colon and at its place. */
static void visit_secret(struct tc_wire *w, struct tc_secret *secret)
{
    tc_fields_visit(w, &tc_secret_fields, secret, 0, 0);
    if (w->failed || !secret->name || !secret->header || !strchr(secret->header, ':') ||
        !strstr(secret->header, TC_SECRET_PLACE))
        w->failed = true;
}

/* None carries UDP. */
static bool upstream_fine(const struct tc_egress_config *config)
{
    const struct tc_upstream *up = &config->upstream;
    for (size_t i = 0; up->host && i < config->net_count; i++)
        if (config->net[i].port & TC_PORT_UDP)
            return false;
    return !up->host || (up->host[0] && strlen(up->host) < HOST_MAX && up->port);
}

void tc_egress_config_visit(struct tc_wire *w, struct tc_egress_config *config)
{
    tc_wire_format(w, "toolcage-egress-config-4");
    TC_WIRE_EACH(w, config->net, config->net_count, ENTRIES_MAX, visit_entry);
    TC_WIRE_EACH(w, config->secrets, config->secret_count, SECRETS_MAX, visit_secret);
    tc_fields_visit(w, &tc_upstream_fields, &config->upstream, 0, 0);
    tc_wire_str(w, &config->tool);
    TC_WIRE_INT(w, config->ipv6);
    tc_wire_i64(w, &config->connections);
    tc_wire_i64(w, &config->transfer);
    tc_wire_i64(w, &config->bandwidth);
    if (config->connections < 1 || config->transfer < 0 || config->bandwidth < 0 ||
        config->bandwidth > TC_BANDWIDTH_MAX || !upstream_fine(config))
        w->failed = true;
}

void tc_egress_config_done(struct tc_egress_config *config)
{
    for (size_t i = 0; i < config->net_count; i++)
        tc_net_entry_done(&config->net[i]);
    free(config->net);
    for (size_t i = 0; i < config->secret_count; i++)
        tc_fields_done(&tc_secret_fields, &config->secrets[i]);
    free(config->secrets);
    tc_secret_values_done(&config->values);
    tc_secret_values_done(&config->lines);
    tc_fields_done(&tc_upstream_fields, &config->upstream);
    free(config->tool);
    memset(config, 0, sizeof(*config));
}

/* Debian, Arch, Alpine; Fedora; openSUSE; older ones. */
const char *const tc_bundle_places[] = {"/etc/ssl/certs/ca-certificates.crt",
                                        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
                                        "/etc/ssl/ca-bundle.pem",
                                        "/etc/pki/tls/certs/ca-bundle.crt",
                                        "/etc/pki/tls/cert.pem",
                                        "/etc/ssl/cert.pem",
                                        NULL};
