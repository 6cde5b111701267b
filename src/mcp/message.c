/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * One JSON-RPC message: parsed completely, or refused with the protocol's error code. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/wrap.h"

static bool is_integer(struct tc_slice id)
{
    return id.at && (*id.at == '-' || (*id.at >= '0' && *id.at <= '9')) &&
           !memchr(id.at, '.', id.length) && !memchr(id.at, 'e', id.length) &&
           !memchr(id.at, 'E', id.length);
}

/* All readers must see the same members: a member that one reader takes for the method must not be
 * invisible to another. */
static const char *read_members(struct tc_slice message, struct tc_slice *version,
                                struct tc_rpc *rpc)
{
    const struct {
        const char *key;
        struct tc_slice *value;
    } members[] = {{"jsonrpc", version},     {"id", &rpc->id},         {"method", &rpc->method},
                   {"params", &rpc->params}, {"result", &rpc->result}, {"error", &rpc->error}};
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        if (!tc_scan_member(message, members[i].key, members[i].value))
            return "a key is repeated, or differs only in case";
    return NULL;
}

static const char *judge_message(struct tc_slice version, const struct tc_rpc *rpc)
{
    bool answer = rpc->result.at || rpc->error.at;
    if (!tc_scan_is(version, "2.0"))
        return "jsonrpc must be \"2.0\"";
    if (rpc->id.at && !tc_scan_is_string(rpc->id) && !is_integer(rpc->id))
        return "an id is a string or an integer";
    if (rpc->method.at ? answer || !tc_scan_is_string(rpc->method)
                       : !rpc->id.at || !!rpc->result.at == !!rpc->error.at)
        return "a message has a method, or an id with one of result and error";
    return NULL;
}

struct tc_rpc tc_rpc_read(struct tc_slice message)
{
    struct tc_rpc rpc = {0};
    struct tc_slice version = {0};
    if (!tc_scan_is_object(message)) {
        rpc.fault = tc_scan_is_array(message) ? "send one message per line, not an array"
                                              : "a message is an object";
        return rpc;
    }
    rpc.fault = read_members(message, &version, &rpc);
    if (!rpc.fault)
        rpc.fault = judge_message(version, &rpc);
    if (!rpc.fault)
        rpc.shape = !rpc.method.at ? TC_SHAPE_RESPONSE
                    : rpc.id.at    ? TC_SHAPE_REQUEST
                                   : TC_SHAPE_NOTIFICATION;
    return rpc;
}

char *tc_rpc_key(struct tc_slice id)
{
    size_t length = 0;
    if (!tc_scan_is_string(id)) {
        bool zero = id.length == 2 && memcmp(id.at, "-0", 2) == 0;
        return zero ? strdup("0") : strndup(id.at, id.length);
    }
    /* quotes keep "1" different from 1; bytes after a NUL count */
    char *text = tc_scan_text(id, &length);
    json_t *string = text ? json_stringn(text, length) : NULL;
    char *key = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
    json_decref(string);
    free(text);
    return key;
}

bool tc_rpc_is_stateless(struct tc_slice params)
{
    struct tc_slice meta, version;
    return tc_scan_member(params, "_meta", &meta) &&
           tc_scan_member(meta, "io.modelcontextprotocol/protocolVersion", &version) && version.at;
}

/* The text may contain strings of models and policies, cut inside a UTF-8 character. */
static void put_text(FILE *out, const char *text)
{
    char *copy = strdup(text);
    json_t *string = copy ? json_string(copy) : NULL;
    for (char *c = copy; c && *c && !string; c++)
        *c = (unsigned char)*c < 0x80 ? *c : '?';
    if (copy && !string)
        string = json_string(copy);
    char *quoted = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
    (void)fputs(quoted ? quoted : "\"\"", out);
    free(quoted);
    json_decref(string);
    free(copy);
}

void tc_rpc_refuse(FILE *out, const char *id, int code, const char *text)
{
    (void)fprintf(out, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":%d,\"message\":", id,
                  code);
    put_text(out, text);
    (void)fputs("}}", out);
}

void tc_rpc_tell_model(FILE *out, const char *id, bool stateless, const char *text)
{
    (void)fprintf(out,
                  "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{%s\"content\":[{\"type\":"
                  "\"text\",\"text\":",
                  id, stateless ? "\"resultType\":\"complete\"," : "");
    put_text(out, text);
    (void)fputs("}],\"isError\":true}}", out);
}
