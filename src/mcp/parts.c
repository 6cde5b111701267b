/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "mcp/parts.h"

#include <stdlib.h>
#include <string.h>

#include "mcp/memory.h"
#include "mcp/pin.h"

static const char *const names[] = {
    [TC_PART_BASE] = "",
    [TC_PART_RESOURCES] = "resources",
    [TC_PART_PROMPTS] = "prompts",
    [TC_PART_COMPLETIONS] = "completions",
    [TC_PART_LOGGING] = "logging",
    [TC_PART_TASKS] = "tasks",
    [TC_PART_INSTRUCTIONS] = "instructions",
    [TC_PART_SAMPLING] = "sampling",
    [TC_PART_ELICITATION] = "elicitation",
    [TC_PART_ROOTS] = "roots",
    [TC_PART_OTHER] = "other",
};

const char *tc_part_name(enum tc_part part)
{
    return names[part];
}

bool tc_part_passes(const struct tc_wrap *wrap, enum tc_part part)
{
    return part == TC_PART_BASE || (wrap->pass & 1U << part);
}

/* ---- methods ---- */

/* A method that begins with a prefix, in either case: a reader may ignore case. */
static const struct {
    const char *prefix;
    enum tc_part part;
} prefixes[] = {
    {"resources/", TC_PART_RESOURCES},
    {"notifications/resources/", TC_PART_RESOURCES},
    {"prompts/", TC_PART_PROMPTS},
    {"notifications/prompts/", TC_PART_PROMPTS},
    {"completion/", TC_PART_COMPLETIONS},
    {"logging/", TC_PART_LOGGING},
    {"notifications/message", TC_PART_LOGGING},
    {"tasks/", TC_PART_TASKS},
    {"notifications/tasks", TC_PART_TASKS},
    {"sampling/", TC_PART_SAMPLING},
    {"elicitation/", TC_PART_ELICITATION},
    {"notifications/elicitation/", TC_PART_ELICITATION},
    {"roots/", TC_PART_ROOTS},
    {"notifications/roots/", TC_PART_ROOTS},
};

static const char *const base[] = {
    "initialize",
    "ping",
    "server/discover",
    "subscriptions/listen",
    "tools/list",
    "tools/call",
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
    "notifications/subscriptions/acknowledged",
    "notifications/tools/list_changed",
};

enum tc_part tc_part_of(struct tc_slice method, bool from_server, bool request)
{
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (tc_scan_begins(method, prefixes[i].prefix))
            return prefixes[i].part;
    if (from_server && request) /* a client has no tools */
        return tc_scan_folds(method, "ping") ? TC_PART_BASE : TC_PART_OTHER;
    for (size_t i = 0; i < sizeof(base) / sizeof(base[0]); i++)
        if (tc_scan_folds(method, base[i]))
            return TC_PART_BASE;
    return TC_PART_OTHER;
}

char *tc_part_refusal(const struct tc_wrap *wrap, enum tc_part part, struct tc_slice method)
{
    enum { SHOWN_MAX = 80 };
    char *text = NULL;
    size_t length = 0;
    char *name = tc_scan_text(method, &length);
    if (!name || asprintf(&text,
                          "%.*s: the policy passes no %s between the server %s and its client; "
                          "pass = [\"%s\"] would",
                          SHOWN_MAX, name, part == TC_PART_OTHER ? "other methods" : names[part],
                          wrap->options->server, names[part]) < 0)
        text = NULL;
    free(name);
    return text;
}

/* ---- capabilities ---- */

static enum tc_part part_of_capability(struct tc_slice key)
{
    if (tc_scan_folds(key, "tools"))
        return TC_PART_BASE;
    for (enum tc_part part = TC_PART_RESOURCES; part < TC_PART_OTHER; part++)
        if (tc_scan_folds(key, names[part]))
            return part;
    return TC_PART_OTHER;
}

static void put(struct tc_slice slice, FILE *out)
{
    (void)fwrite(slice.at, 1, slice.length, out);
}

/* Is it the capability of tools, of a server whose tools are pinned? Its list changes when a person
 * approves one. */
static bool is_announced(const struct tc_wrap *wrap, struct tc_slice key)
{
    return wrap->pin && wrap->pin->notify && tc_scan_is(key, "tools");
}

/* Writes the capabilities that pass. */
static void put_capabilities(const struct tc_wrap *wrap, struct tc_slice object, FILE *out)
{
    struct tc_scan_each each = tc_scan_walk(object);
    bool first = true;
    (void)fputc('{', out);
    while (tc_scan_next(&each)) {
        if (!tc_part_passes(wrap, part_of_capability(each.key)))
            continue;
        (void)fputs(first ? "" : ",", out);
        put(each.key, out);
        (void)fputc(':', out);
        if (is_announced(wrap, each.key))
            (void)fputs("{\"listChanged\":true}", out);
        else
            put(each.value, out);
        first = false;
    }
    (void)fputc('}', out);
}

static bool all_pass(const struct tc_wrap *wrap, struct tc_slice object)
{
    struct tc_scan_each each = tc_scan_walk(object);
    while (tc_scan_next(&each))
        if (!tc_part_passes(wrap, part_of_capability(each.key)) || is_announced(wrap, each.key))
            return false;
    return true;
}

/* The message with two values replaced: the capabilities by those that pass, and a text by an empty
 * one. Either may be absent. Owned; NULL: out of memory. */
static char *replace(struct tc_wrap *wrap, struct tc_slice message, struct tc_slice capabilities,
                     struct tc_slice words)
{
    struct tc_text text;
    const char *at = message.at, *end = message.at + message.length;
    if (!tc_text_begin(&text)) {
        wrap->failed = true;
        return NULL;
    }
    while (at < end) {
        bool first = !words.at || (capabilities.at && capabilities.at < words.at);
        struct tc_slice next = first ? capabilities : words;
        const char *stop = next.at ? next.at : end;
        (void)fwrite(at, 1, (size_t)(stop - at), text.out);
        at = stop + next.length;
        if (next.at && first)
            put_capabilities(wrap, next, text.out);
        else if (next.at)
            (void)fputs("\"\"", text.out);
        *(first ? &capabilities : &words) = (struct tc_slice){0};
    }
    char *whole = tc_text_finish(&text);
    wrap->failed |= !whole;
    return whole;
}

char *tc_parts_trim_request(struct tc_wrap *wrap, struct tc_slice message, const struct tc_rpc *rpc,
                            bool *ret_ambiguous)
{
    struct tc_slice holder = rpc->params, capabilities = {0};
    bool hello = tc_scan_folds(rpc->method, "initialize");
    const char *key = hello ? "capabilities" : "io.modelcontextprotocol/clientCapabilities";
    *ret_ambiguous = (!hello && !tc_scan_member(rpc->params, "_meta", &holder)) ||
                     !tc_scan_member(holder, key, &capabilities);
    if (*ret_ambiguous || !tc_scan_is_object(capabilities) || all_pass(wrap, capabilities))
        return NULL;
    return replace(wrap, message, capabilities, (struct tc_slice){0});
}

char *tc_parts_trim_hello(struct tc_wrap *wrap, struct tc_slice message, struct tc_slice result,
                          bool *ret_ambiguous)
{
    struct tc_slice capabilities = {0}, words = {0};
    *ret_ambiguous = !tc_scan_member(result, "capabilities", &capabilities) ||
                     !tc_scan_member(result, "instructions", &words);
    if (*ret_ambiguous)
        return NULL;
    if (!tc_scan_is_object(capabilities) || all_pass(wrap, capabilities))
        capabilities = (struct tc_slice){0};
    if (tc_part_passes(wrap, TC_PART_INSTRUCTIONS))
        words = (struct tc_slice){0};
    return capabilities.at || words.at ? replace(wrap, message, capabilities, words) : NULL;
}

/* The error by which a server asks for the visit of a page. */
static bool is_elicitation(struct tc_slice code)
{
    enum { ELICITATION_REQUIRED = -32042 };
    char text[32];
    if (!code.at || code.length >= sizeof(text))
        return code.at;
    memcpy(text, code.at, code.length);
    text[code.length] = '\0';
    return (long long)strtod(text, NULL) == ELICITATION_REQUIRED;
}

enum tc_part tc_parts_asked_by(const struct tc_wrap *wrap, struct tc_slice error)
{
    struct tc_slice code, data, pages = {0};
    if (!tc_scan_member(error, "code", &code) || !tc_scan_member(error, "data", &data) ||
        (tc_scan_is_object(data) && !tc_scan_member(data, "elicitations", &pages)))
        return TC_PART_OTHER;
    if ((is_elicitation(code) || pages.at) && !tc_part_passes(wrap, TC_PART_ELICITATION))
        return TC_PART_ELICITATION;
    return tc_scan_is_object(data) ? tc_parts_asked(wrap, data) : TC_PART_BASE;
}

enum tc_part tc_parts_asked(const struct tc_wrap *wrap, struct tc_slice result)
{
    struct tc_slice requests, method;
    if (!tc_scan_member(result, "inputRequests", &requests))
        return TC_PART_OTHER;
    struct tc_scan_each each = tc_scan_walk(requests);
    while (requests.at && tc_scan_next(&each)) {
        if (!tc_scan_member(each.value, "method", &method) || !tc_scan_is_string(method))
            return TC_PART_OTHER;
        enum tc_part part = tc_part_of(method, true, true);
        if (!tc_part_passes(wrap, part))
            return part;
    }
    return TC_PART_BASE;
}
