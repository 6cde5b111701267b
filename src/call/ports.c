/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "call/ports.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/jsontext.h"
#include "egress/egress.h"
#include "policy/publish.h"

void tc_ports_take(struct toolcage_call *session, int fd)
{
    struct stat st;
    const size_t size = sizeof(struct tc_egress_stats);
    if (session->ports || fstat(fd, &st) < 0 || st.st_size != (off_t)size)
        return;
    void *at = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    session->ports = at == MAP_FAILED ? NULL : at;
}

void tc_ports_done(struct toolcage_call *session)
{
    if (session->ports)
        (void)munmap(session->ports, sizeof(struct tc_egress_stats));
    session->ports = NULL;
}

static void add_count(struct tc_buf *out, const char *name, uint64_t number)
{
    tc_json_number(out, name, number < INT64_MAX ? (int64_t)number : INT64_MAX);
}

static void add_port(struct tc_buf *out, const struct tc_egress_destination *d)
{
    char text[TC_EGRESS_TARGET_MAX];
    struct tc_publish publish;
    struct tc_complaint c;
    memcpy(text, d->target, sizeof(text));
    text[sizeof(text) - 1] = '\0';
    if (!tc_utf8_valid(text, strlen(text)) || !tc_publish_read(text, &publish, &c))
        return;
    tc_buf_adds(out, out->data[out->len - 1] == '[' ? "{" : ",{");
    tc_json_number(out, "port", publish.port);
    tc_json_member(out, "address", strchr(text, ':') ? strchr(text, ':') + 1 : "");
    tc_json_number(out, "connections", atomic_load(&d->connections));
    add_count(out, "sent", atomic_load(&d->sent));
    add_count(out, "received", atomic_load(&d->received));
    tc_buf_addc(out, '}');
}

int tc_ports_json(const struct toolcage_call *session, char **ret, struct toolcage_error **err)
{
    const struct tc_egress_stats *stats = session->ports;
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    int r = tc_engine_check(session->engine, err);
    if (r == 0 && !session->ready)
        r = tc_fail(
            err,
            TC_WHY(TOOLCAGE_EUSAGE, "session", session->id, "call toolcage_session_wait() first"),
            "this call is not a live session that accepts commands");
    if (r < 0)
        return r;
    tc_buf_adds(&out, "{\"ports\":[");
    uint32_t count = stats ? atomic_load(&stats->published_count) : 0;
    for (uint32_t i = 0; !out.failed && i < count && i < TC_PUBLISH_MAX; i++)
        add_port(&out, &stats->published[i]);
    tc_buf_adds(&out, "]}");
    *ret = tc_buf_steal(&out);
    return *ret ? 0 : tc_fail_memory(err);
}
