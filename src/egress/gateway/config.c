/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The proxy's configuration as fields of a task message, and the limits of its fields. */
#include "egress/egress.h"

#include <string.h>

#include "policy/endpoint.h"

enum { ENTRIES_MAX = 4096, WORDS_MAX = 1024, SECRETS_MAX = 64, HOST_MAX = 254 };

#define TC_STRUCT struct tc_egress_config
#define EGRESS_CONFIG(F)                                                                      \
    F(ARRAY, net, TC_COUNTED(net_count), TC_OF(tc_net_entry_fields), .most = ENTRIES_MAX)     \
    F(ARRAY, secrets, TC_COUNTED(secret_count), TC_OF(tc_secret_fields), .most = SECRETS_MAX) \
    F(FD, values_file)                                                                        \
    F(LIST, values)                                                                           \
    F(LIST, lines)                                                                            \
    F(STRUCT, upstream, TC_OF(tc_upstream_fields))                                            \
    F(ONE, tool)                                                                              \
    F(ONE, ipv6)                                                                              \
    F(ONE, connections)                                                                       \
    F(ONE, transfer)                                                                          \
    F(ONE, bandwidth)                                                                         \
    F(FD, exchanges)                                                                          \
    F(ONE, replays)                                                                           \
    F(LIST, published)                                                                        \
    F(FD, sockets)
TC_FIELDS(tc_egress_config_fields, EGRESS_CONFIG);
#undef TC_STRUCT

static bool entry_fine(const struct tc_net_entry *entry)
{
    return entry->host && entry->host[0] && strlen(entry->host) < HOST_MAX &&
           entry->port <= (TC_PORT_UDP | TC_PORT_NUMBER) && entry->port != TC_PORT_UDP &&
           entry->methods.count <= WORDS_MAX && entry->paths.count <= WORDS_MAX;
}

/* The header is later split at its colon and at its placeholder. */
static bool secret_fine(const struct tc_secret *secret)
{
    return secret->name && secret->header && strchr(secret->header, ':') &&
           strstr(secret->header, TC_SECRET_PLACE);
}

static bool published_fine(const struct tc_egress_config *config)
{
    struct tc_publish publish;
    struct tc_complaint c;
    bool fine = config->published.count <= TC_PUBLISH_MAX &&
                (!config->published.count || config->sockets >= 0);
    for (size_t i = 0; fine && i < config->published.count; i++)
        fine = strlen(config->published.items[i]) < TC_EGRESS_TARGET_MAX &&
               tc_publish_read(config->published.items[i], &publish, &c);
    return fine;
}

bool tc_egress_config_fine(const struct tc_egress_config *config)
{
    const struct tc_upstream *up = &config->upstream;
    bool fine = !config->values.count && !config->lines.count && config->connections >= 1 &&
                (!config->replays || config->exchanges >= 0) && config->transfer >= 0 &&
                config->bandwidth >= 0 && config->bandwidth <= TC_BANDWIDTH_MAX &&
                (!up->host || (up->host[0] && strlen(up->host) < HOST_MAX && up->port));
    fine = fine && published_fine(config);
    for (size_t i = 0; fine && i < config->net_count; i++) /* an upstream proxy cannot carry UDP */
        fine = entry_fine(&config->net[i]) && !(up->host && config->net[i].port & TC_PORT_UDP);
    for (size_t i = 0; fine && i < config->secret_count; i++)
        fine = secret_fine(&config->secrets[i]);
    return fine;
}

/* Debian, Arch, Alpine; Fedora; openSUSE; older ones. */
const char *const tc_bundle_places[] = {"/etc/ssl/certs/ca-certificates.crt",
                                        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
                                        "/etc/ssl/ca-bundle.pem",
                                        "/etc/pki/tls/certs/ca-bundle.crt",
                                        "/etc/pki/tls/cert.pem",
                                        "/etc/ssl/cert.pem",
                                        NULL};
