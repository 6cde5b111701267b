/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The wrapper's own list of tools. A client may call a tool without listing, or after the server
 * said that its tools changed: such a call waits until the wrapper has listed them itself. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "mcp/memory.h"
#include "mcp/pin.h"

enum { LIST_MS = 10000, PAGES_MAX = 1000, WAITING_MAX = 16 };

/* The members of `_meta` that a request of 2026-07-28 must have. A progress token must not be used
 * twice. Owned; NULL: none, or out of memory, which wrap->failed says. */
static char *copy_meta(struct tc_wrap *wrap, struct tc_slice params)
{
    static const char *const names[] = {"io.modelcontextprotocol/protocolVersion",
                                        "io.modelcontextprotocol/clientInfo",
                                        "io.modelcontextprotocol/clientCapabilities"};
    struct tc_slice meta, value;
    struct tc_text text;
    bool any = false;
    if (!tc_scan_member(params, "_meta", &meta) || !tc_rpc_is_stateless(params))
        return NULL;
    if (!tc_text_begin(&text)) {
        wrap->failed = true;
        return NULL;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (tc_scan_member(meta, names[i], &value) && value.at) {
            (void)fprintf(text.out, "%s\"%s\":", any ? "," : "", names[i]);
            (void)fwrite(value.at, 1, value.length, text.out);
            any = true;
        }
    char *members = tc_text_finish(&text);
    wrap->failed |= !members;
    return members;
}

/* Sends the request of a page. `cursor` is absent for the first one. False: it cannot be sent. */
static bool request_page(struct tc_wrap *wrap, struct tc_slice cursor)
{
    struct tc_pin *pin = wrap->pin;
    struct tc_text text;
    uint64_t number;
    if (getrandom(&number, sizeof(number), 0) != sizeof(number) || pin->pages++ == PAGES_MAX)
        return false;
    (void)snprintf(pin->id, sizeof(pin->id), "\"toolcage-pins-%016llx\"",
                   (unsigned long long)number);
    struct tc_asked *asked = tc_asked_add(wrap, (struct tc_slice){pin->id, strlen(pin->id)});
    if (!asked || !tc_text_begin(&text))
        return false;
    asked->own = true;
    asked->end_at_ms = pin->end_at_ms;
    (void)fprintf(text.out, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/list\",\"params\":{",
                  pin->id);
    if (cursor.at)
        (void)fprintf(text.out, "\"cursor\":%.*s", (int)cursor.length, cursor.at);
    if (pin->meta)
        (void)fprintf(text.out, "%s\"_meta\":{%s}", cursor.at ? "," : "", pin->meta);
    (void)fputs("}}", text.out);
    size_t length = text.length;
    char *bytes = tc_text_finish(&text);
    wrap->failed |= !bytes || !tc_outbox_add(&wrap->to_server, bytes, length);
    free(bytes);
    return !wrap->failed;
}

static bool begin(struct tc_wrap *wrap, const struct tc_rpc *rpc)
{
    struct tc_pin *pin = wrap->pin;
    if (pin->listing)
        return true;
    free(pin->meta);
    pin->meta = copy_meta(wrap, rpc->params);
    pin->pages = 0;
    pin->end_at_ms = tc_mcp_now_ms() + LIST_MS;
    pin->listing = request_page(wrap, (struct tc_slice){0});
    return pin->listing;
}

static size_t count_waiting(const struct tc_wrap *wrap)
{
    size_t count = 0;
    for (size_t i = 0; i < wrap->asked_count; i++)
        count += wrap->asked[i].waiting != NULL;
    return count;
}

bool tc_pin_waits(struct tc_wrap *wrap, struct tc_slice message, const struct tc_rpc *rpc,
                  const char **ret_refusal)
{
    struct tc_pin *pin = wrap->pin;
    struct tc_slice name;
    *ret_refusal = NULL;
    if (!pin || pin->deciding || tc_asked_find(wrap, rpc->id) ||
        !tc_scan_member(rpc->params, "name", &name))
        return false;
    const struct tc_wrap_tool *rule = tc_rules_find(wrap, name);
    if (!rule || pin->listed)
        return false;
    struct tc_asked *asked = count_waiting(wrap) < WAITING_MAX ? tc_asked_add(wrap, rpc->id) : NULL;
    if (!asked) {
        *ret_refusal = "too many calls wait for the server's list of tools (16); try again";
        return true;
    }
    asked->waiting = strndup(message.at, message.length);
    wrap->failed |= !asked->waiting;
    if (!begin(wrap, rpc)) {
        tc_asked_remove(wrap, tc_asked_find(wrap, rpc->id));
        *ret_refusal = "the server's tools could not be listed; try again";
    }
    return true;
}

/* The next page, or the end. */
static bool go_on(struct tc_wrap *wrap, struct tc_slice result)
{
    struct tc_slice cursor;
    bool more = tc_scan_member(result, "nextCursor", &cursor) && tc_scan_is_string(cursor);
    wrap->pin->listing = more && request_page(wrap, cursor);
    return !wrap->pin->listing;
}

bool tc_pin_answer(struct tc_wrap *wrap, const struct tc_rpc *rpc)
{
    struct tc_slice tools;
    bool first = wrap->pin->pages == 1;
    wrap->pin->listing = false;
    if (rpc->fault || !rpc->result.at || !tc_scan_member(rpc->result, "tools", &tools) ||
        !tc_scan_is_array(tools))
        return true;
    tc_pin_page(wrap, first, rpc->result, tools);
    return go_on(wrap, rpc->result);
}

bool tc_pin_late(struct tc_wrap *wrap, int64_t now)
{
    struct tc_pin *pin = wrap->pin;
    if (!pin || !pin->listing || now < pin->end_at_ms)
        return false;
    struct tc_asked *asked = tc_asked_find(wrap, (struct tc_slice){pin->id, strlen(pin->id)});
    if (asked)
        tc_asked_remove(wrap, asked);
    pin->listing = false;
    return true;
}

char *tc_pin_next(struct tc_wrap *wrap)
{
    for (size_t i = 0; wrap->pin && i < wrap->asked_count; i++) {
        char *message = wrap->asked[i].waiting;
        if (!message)
            continue;
        wrap->asked[i].waiting = NULL;
        tc_asked_remove(wrap, &wrap->asked[i]);
        return message;
    }
    return NULL;
}
