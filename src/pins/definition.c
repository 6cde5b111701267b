/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The canonical form of definitions, and their lines for a person. */
#include <jansson.h>
#include <string.h>

#include "base/digest.h"
#include "base/jsontext.h"
#include "pins/store.h"
#include "schema/schema.h"

_Static_assert((int)TC_PINS_DIGEST_SIZE == (int)TC_DIGEST_SIZE, "a digest is one of digest.h");

/* Integers of more than 64 bits are read as RFC 8785 does: as a double. */
static json_t *read_value(const char *text, size_t length)
{
    const size_t flags = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY;
    json_t *value = json_loadb(text, length, flags, NULL);
    return value ? value : json_loadb(text, length, flags | JSON_DECODE_INT_AS_REAL, NULL);
}

char *tc_pins_canonical(const char *text, size_t length, const char **ret_why)
{
    _autobuf_ struct tc_buf out = {.max = TC_PINS_DEFINITION_MAX};
    *ret_why = "it is larger than 256 KiB";
    if (length > 8 * (size_t)TC_PINS_DEFINITION_MAX)
        return NULL;
    json_t *value = read_value(text, length);
    *ret_why = "it repeats a member, or has a number that no double can hold";
    if (!value)
        return NULL;
    tc_json_canonical(value, &out);
    json_decref(value);
    *ret_why = "it is larger than 256 KiB";
    return tc_buf_steal(&out);
}

/* ---- lines ---- */

/* A member's name as it is, if nothing in it could look like another path. */
static void add_name(struct tc_buf *path, const char *name)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-$";
    json_t *string = *name && strspn(name, plain) == strlen(name) ? NULL : json_string(name);
    char *quoted = string ? json_dumps(string, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;
    tc_buf_adds(path, path->len ? "." : "");
    tc_buf_adds(path, quoted ? quoted : string ? "?" : name);
    free(quoted);
    json_decref(string);
}

static void add_line(struct tc_buf *out, const struct tc_buf *path, const json_t *value, bool ascii)
{
    char *text =
        json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | (ascii ? JSON_ENSURE_ASCII : 0));
    out->failed |= !text;
    tc_buf_add(out, path->data, path->len);
    tc_buf_adds(out, ": ");
    tc_buf_adds(out, text ? text : "");
    tc_buf_addc(out, '\n');
    free(text);
}

/* A text of several lines is easier to compare line by line. */
static void add_text(struct tc_buf *out, const struct tc_buf *path, const json_t *value, bool ascii)
{
    const char *at = json_string_value(value), *end = at + json_string_length(value);
    do {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((stop ? stop + 1 : end) - at);
        json_t *piece = json_stringn(at, length);
        out->failed |= !piece;
        if (piece)
            add_line(out, path, piece, ascii);
        json_decref(piece);
        at += length;
    } while (at < end);
}

static void add_value(struct tc_buf *out, struct tc_buf *path, const json_t *value, bool ascii);

static void add_container(struct tc_buf *out, struct tc_buf *path, const json_t *value, bool ascii)
{
    size_t mark = path->len, i;
    json_t *inner;
    const char *name;
    json_array_foreach(value, i, inner)
    {
        tc_buf_addf(path, "[%zu]", i);
        add_value(out, path, inner, ascii);
        path->len = mark;
    }
    json_object_foreach((json_t *)(uintptr_t)value, name, inner)
    {
        add_name(path, name);
        add_value(out, path, inner, ascii);
        path->len = mark;
    }
}

static void add_value(struct tc_buf *out, struct tc_buf *path, const json_t *value, bool ascii)
{
    if (json_object_size(value) || json_array_size(value))
        add_container(out, path, value, ascii);
    else if (json_is_string(value))
        add_text(out, path, value, ascii);
    else
        add_line(out, path, value, ascii);
}

/* Canonical JSON is sorted, and jansson keeps the order. */
char *tc_pins_lines(const char *definition, bool ascii)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT, path = TC_BUF_INIT;
    json_t *value = read_value(definition, strlen(definition));
    tc_buf_adds(&out, "");
    out.failed |= !value;
    if (value)
        add_value(&out, &path, value, ascii);
    json_decref(value);
    out.failed |= path.failed;
    return tc_buf_steal(&out);
}

/* ---- digests ---- */

bool tc_pins_digest(const struct tc_pins *pins, char *const names[], size_t count,
                    char ret[TC_PINS_DIGEST_SIZE])
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    tc_buf_addc(&out, '{');
    tc_json_member(&out, "server", pins->id);
    for (size_t i = 0; i < count; i++) {
        const struct tc_pinned *tool = tc_pins_tool(pins, names[i]);
        tc_json_member(&out, "tool", names[i]);
        tc_json_optional(&out, "approved", tool ? tool->approved : NULL);
        tc_json_optional(&out, "offered", tool ? tool->offered : NULL);
    }
    tc_buf_addc(&out, '}');
    if (out.failed)
        return false;
    tc_digest(out.data, out.len, ret);
    return true;
}

bool tc_pins_id(const struct tc_pins_key *key, char ret[TC_PINS_ID_SIZE])
{
    char digest[TC_DIGEST_SIZE];
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    tc_buf_addc(&out, '{');
    tc_json_member(&out, "command", key->command);
    tc_json_member(&out, "policy", key->policy);
    tc_json_member(&out, "server", key->server);
    tc_buf_addc(&out, '}');
    if (out.failed)
        return false;
    tc_digest(out.data, out.len, digest);
    tc_strcopy(ret, TC_PINS_ID_SIZE, digest + strlen("sha256:"));
    return true;
}
