/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "egress/read/secrets.h"

#include <string.h>

#include "policy/endpoint.h"

/* "Authorization: Bearer {secret}" with the value in place of the placeholder. */
static char *make_line(const char *header, const char *value)
{
    const char *place = strstr(header, TC_SECRET_PLACE);
    return tc_format("%.*s%s%s", (int)(place - header), header, value,
                     place + strlen(TC_SECRET_PLACE));
}

bool tc_egress_secrets_read(struct tc_egress_config *config, const char *bytes, size_t len)
{
    struct tc_wire w = TC_WIRE_GET_INIT(bytes, len);
    tc_secret_values_visit(&w, &config->values);
    if (w.failed || w.left || config->values.count != config->secret_count)
        return false;
    for (size_t i = 0; i < config->secret_count; i++) {
        const char *value = config->values.items[i];
        if (!value[0] || value[strcspn(value, "\r\n")])
            return false;
        if (!tc_strv_take(&config->lines, make_line(config->secrets[i].header, value)))
            return false;
    }
    return true;
}

static bool goes_to(const struct tc_secret *secret, const char *host, unsigned port, bool tls)
{
    const struct tc_net_entry to = {.host = (char *)(uintptr_t)host, .port = (uint16_t)port};
    for (size_t i = 0; i < secret->hosts.count; i++) {
        bool plain;
        (void)tc_secret_endpoint(secret->hosts.items[i], &plain);
        if ((tls || plain) && tc_secret_goes_to(secret->hosts.items[i], &to))
            return true;
    }
    return false;
}

bool tc_egress_secrets_go(const struct tc_egress_config *config, const char *host, unsigned port)
{
    for (size_t i = 0; i < config->secret_count; i++)
        if (goes_to(&config->secrets[i], host, port, true))
            return true;
    return false;
}

size_t tc_egress_secrets_for(const struct tc_egress_config *config, const char *host, unsigned port,
                             bool tls, struct tc_egress_http_line *lines)
{
    static const char as_it_is[] = "Accept-Encoding: identity";
    size_t count = 0;
    for (size_t i = 0; i < config->secret_count && count < TC_EGRESS_SECRETS_MAX; i++)
        if (goes_to(&config->secrets[i], host, port, tls))
            lines[count++] = tc_egress_http_line(config->lines.items[i]);
    if (count)
        lines[count++] = tc_egress_http_line(as_it_is);
    return count;
}

static void mask(struct tc_buf *text, const char *value, size_t len)
{
    char *at = text->data, *end = text->data + text->len;
    while ((at = memmem(at, (size_t)(end - at), value, len))) {
        memset(at, '*', len);
        at += len;
    }
}

/* The length of the longest suffix that is a prefix of the value. */
static size_t begun(const struct tc_buf *text, const char *value, size_t len)
{
    size_t n = len - 1 < text->len ? len - 1 : text->len;
    while (n && memcmp(text->data + text->len - n, value, n) != 0)
        n--;
    return n;
}

size_t tc_egress_secrets_mask(const struct tc_strv *values, struct tc_buf *text)
{
    size_t held = 0;
    for (size_t i = 0; i < values->count && text->len; i++)
        mask(text, values->items[i], strlen(values->items[i]));
    for (size_t i = 0; i < values->count && text->len; i++) {
        size_t n = begun(text, values->items[i], strlen(values->items[i]));
        held = n > held ? n : held;
    }
    return text->len - held;
}
