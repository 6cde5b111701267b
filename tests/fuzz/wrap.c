/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reaches src/mcp/message.c, pass.c, asked.c and rules.c: lines of a client and of a server in
 * turn. What passes is JSON. However a reader takes case and doubles, no call of a tool that the
 * rules do not name reaches the server, and no such tool the client. */
#include <jansson.h>
#include <string.h>
#include <strings.h>

#include "fuzz.h"
#include "mcp/wrap.h"

static void tell(void *userdata, enum tc_wrap_message kind, const char *text, size_t length)
{
    (void)userdata;
    (void)kind;
    (void)text;
    (void)length;
}

static bool is_known(const json_t *name)
{
    return json_is_string(name) && json_string_length(name) == 1 &&
           strchr("ab", json_string_value(name)[0]);
}

static void check_names(const json_t *object)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
        INVARIANT(strcasecmp(key, "name") != 0 || is_known(value));
    INVARIANT(json_object_get(object, "name"));
}

static bool calls(const json_t *message)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)message, key,
                        value) if (strcasecmp(key, "method") == 0 && json_is_string(value) &&
                                   strcasecmp(json_string_value(value), "tools/call") ==
                                       0) return true;
    return false;
}

static void check_to_server(const json_t *message)
{
    const char *key;
    json_t *value;
    INVARIANT(json_is_object(message));
    if (!calls(message))
        return;
    INVARIANT(json_object_get(message, "id") && json_object_get(message, "params"));
    json_object_foreach((json_t *)(uintptr_t)message, key,
                        value) if (strcasecmp(key, "params") == 0) check_names(value);
}

static void check_to_client(const json_t *message)
{
    const char *key;
    size_t i;
    json_t *value, *tool;
    const json_t *result = json_object_get(message, "result");
    INVARIANT(json_is_object(message));
    json_object_foreach((json_t *)(uintptr_t)result, key, value) if (strcasecmp(key, "tools") == 0)
        json_array_foreach(value, i, tool) check_names(tool);
}

/* Everything that waits in the box, and then nothing does. */
static void check(struct tc_outbox *box, void (*one)(const json_t *message))
{
    for (char *line = box->text, *end; box->length && line < box->text + box->length;
         line = end + 1) {
        end = memchr(line, '\n', (size_t)(box->text + box->length - line));
        INVARIANT(end && tc_scan_valid(line, (size_t)(end - line)));
        json_t *message =
            json_loadb(line, (size_t)(end - line), JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
        if (message) /* else a number that the other reader cannot hold */
            one(message);
        json_decref(message);
    }
    tc_outbox_done(box);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct tc_wrap_options options = {.server = "s", .tell = tell};
    struct tc_wrap_tool tools[] = {{.name = (char *)"a", .description = (char *)"ours"},
                                   {.name = (char *)"b", .output = 60, .timeout_ms = 1}};
    struct tc_wrap *wrap = calloc(1, sizeof(*wrap));
    const char *text = (const char *)data, *end = text + size;
    INVARIANT(wrap);
    wrap->options = &options;
    wrap->tools = tools;
    wrap->tool_count = 2;
    for (bool client = true; text < end; client = !client) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((stop ? stop : end) - text);
        (client ? tc_pass_client : tc_pass_server)(wrap, text, length);
        text += length + 1;
    }
    tc_pass_tick(wrap, INT64_MAX);
    tc_pass_lost(wrap, "over");
    INVARIANT(!wrap->failed && !wrap->asked_count);
    check(&wrap->to_server, check_to_server);
    check(&wrap->to_client, check_to_client);
    free(wrap);
    return 0;
}
