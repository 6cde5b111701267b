/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reads the host name (SNI) from a TLS ClientHello. Pure.
 *
 * Encrypted client hellos (extension 0xfe0d) are ignored: browsers send a fake one to every server,
 * and a server without the keys uses the outer name, which is read here. The keys are published in
 * DNS record types that the cage's resolver never returns. */
#include "egress/read/sniff.h"

#include <string.h>

#include "base/cleanup.h"

struct cursor {
    const unsigned char *at;
    size_t left;
    bool failed;
};

static const unsigned char *take_field(struct cursor *c, size_t len)
{
    if (c->failed || len > c->left) {
        c->failed = true;
        return NULL;
    }
    const unsigned char *at = c->at;
    c->at += len;
    c->left -= len;
    return at;
}

static size_t take_number(struct cursor *c, size_t bytes)
{
    const unsigned char *at = take_field(c, bytes);
    size_t value = 0;
    for (size_t i = 0; at && i < bytes; i++)
        value = value << 8 | at[i];
    return value;
}

/* Reads a vector with a length prefix. */
static struct cursor take_vector(struct cursor *c, size_t bytes)
{
    size_t len = take_number(c, bytes);
    const unsigned char *at = take_field(c, len);
    return (struct cursor){at, at ? len : 0, !at};
}

/* ---- the records ---- */

enum { RECORD_HEAD = 5, MESSAGE_HEAD = 4, RECORD_MAX = 16384 };

struct message {
    unsigned char bytes[TC_HELLO_MAX];
    size_t len;
};

static size_t message_size(const struct message *m)
{
    if (m->len < MESSAGE_HEAD)
        return MESSAGE_HEAD;
    return MESSAGE_HEAD + ((size_t)m->bytes[1] << 16 | (size_t)m->bytes[2] << 8 | m->bytes[3]);
}

/* Assembles the one handshake message, which may span records. Each record is checked as far as it
 * has arrived, so that other protocols are rejected without waiting. */
static enum tc_egress_hello gather(const unsigned char *bytes, size_t len, struct message *m)
{
    for (;;) {
        static const unsigned char start[] = {0x16, 0x03};
        if (memcmp(bytes, start, len < 2 ? len : 2) != 0)
            return TC_HELLO_UNCLEAR;
        if (len < RECORD_HEAD)
            return TC_HELLO_MORE;
        size_t size = (size_t)bytes[3] << 8 | bytes[4], there = len - RECORD_HEAD;
        if (!size || size > RECORD_MAX || bytes[2] > 4)
            return TC_HELLO_UNCLEAR;
        size_t n = there < size ? there : size;
        if (n > sizeof(m->bytes) - m->len)
            return TC_HELLO_UNCLEAR;
        memcpy(m->bytes + m->len, bytes + RECORD_HEAD, n);
        m->len += n;
        if ((m->len && m->bytes[0] != 1) || message_size(m) > sizeof(m->bytes))
            return TC_HELLO_UNCLEAR;
        if (m->len >= MESSAGE_HEAD && m->len >= message_size(m))
            return m->len == message_size(m) ? TC_HELLO_DONE : TC_HELLO_UNCLEAR;
        if (n < size)
            return TC_HELLO_MORE;
        bytes += RECORD_HEAD + size;
        len -= RECORD_HEAD + size;
    }
}

/* ---- the message ---- */

enum { EXTENSION_NAME = 0, NAME_HOST = 0 };

/* Exactly one name, of type host_name. */
static bool read_name(struct cursor data, struct tc_egress_host *ret)
{
    struct cursor list = take_vector(&data, 2);
    size_t kind = take_number(&list, 1);
    struct cursor name = take_vector(&list, 2);
    if (data.failed || data.left || list.failed || list.left || name.failed || kind != NAME_HOST)
        return false;
    return name.left && tc_egress_host_read((const char *)name.at, name.left, ret);
}

static bool read_extensions(struct cursor all, struct tc_egress_host *ret)
{
    bool named = false;
    while (all.left && !all.failed) {
        size_t type = take_number(&all, 2);
        struct cursor data = take_vector(&all, 2);
        if (all.failed || (type == EXTENSION_NAME && (named || !read_name(data, ret))))
            return false;
        named |= type == EXTENSION_NAME;
    }
    return !all.failed;
}

static bool read_message(const struct message *m, struct tc_egress_host *ret)
{
    struct cursor c = {m->bytes + MESSAGE_HEAD, m->len - MESSAGE_HEAD, false};
    enum { VERSION_AND_RANDOM = 34, SESSION_MAX = 32 };
    (void)take_field(&c, VERSION_AND_RANDOM);
    struct cursor session = take_vector(&c, 1);
    struct cursor suites = take_vector(&c, 2);
    struct cursor compressions = take_vector(&c, 1);
    if (c.failed || session.left > SESSION_MAX || suites.left < 2 || suites.left % 2 ||
        !compressions.left)
        return false;
    if (!c.left)
        return true;
    struct cursor extensions = take_vector(&c, 2);
    return !c.failed && !c.left && read_extensions(extensions, ret);
}

enum tc_egress_hello tc_egress_hello_read(const unsigned char *bytes, size_t len,
                                          struct tc_egress_host *ret)
{
    struct message m;
    m.len = 0;
    memset(ret, 0, sizeof(*ret));
    enum tc_egress_hello got = gather(bytes, len, &m);
    if (got != TC_HELLO_DONE)
        return got;
    return read_message(&m, ret) ? TC_HELLO_DONE : TC_HELLO_UNCLEAR;
}
