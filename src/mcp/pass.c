/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Forwards messages. From the client: every message that all readers parse alike, except calls that
 * the policy refuses. From the server: its requests and notifications, and responses to open
 * requests. Messages are forwarded byte for byte, except that lists of tools are filtered and
 * Unicode line ends are escaped. */
#include <stdlib.h>
#include <string.h>

#include "mcp/fresh.h"
#include "mcp/memory.h"
#include "mcp/parts.h"
#include "mcp/pin.h"
#include "mcp/wrap.h"

static bool begin_text(struct tc_wrap *wrap, struct tc_text *text)
{
    bool good = tc_text_begin(text);
    wrap->failed |= !good;
    return good;
}

/* Owned; NULL: out of memory. */
static char *finish_text(struct tc_wrap *wrap, struct tc_text *text)
{
    char *bytes = tc_text_finish(text);
    wrap->failed |= !bytes;
    return bytes;
}

/* NEL, LINE SEPARATOR and PARAGRAPH SEPARATOR end a line for some readers. Returns the escape and
 * its length in bytes, or NULL. */
static const char *line_end(const char *at, size_t left, size_t *ret_bytes)
{
    static const char *const ends[][2] = {
        {"\xc2\x85", "\\u0085"}, {"\xe2\x80\xa8", "\\u2028"}, {"\xe2\x80\xa9", "\\u2029"}};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        *ret_bytes = strlen(ends[i][0]);
        if (left >= *ret_bytes && memcmp(at, ends[i][0], *ret_bytes) == 0)
            return ends[i][1];
    }
    return NULL;
}

/* In valid JSON these characters occur only in strings, where the escape is equivalent. */
static void escape_line_ends(FILE *out, const char *text, size_t length)
{
    const char *end = text + length, *from = text;
    for (const char *at = text; at < end; at++) {
        size_t bytes;
        const char *escape = *at & 0x80 ? line_end(at, (size_t)(end - at), &bytes) : NULL;
        if (!escape)
            continue;
        (void)fwrite(from, 1, (size_t)(at - from), out);
        (void)fputs(escape, out);
        from = at + bytes;
        at = from - 1;
    }
    (void)fwrite(from, 1, (size_t)(end - from), out);
}

static void send(struct tc_wrap *wrap, struct tc_outbox *box, const char *text, size_t length)
{
    struct tc_text escaped;
    if (!memmem(text, length, "\xc2\x85", 2) && !memmem(text, length, "\xe2\x80", 2)) {
        wrap->failed |= !tc_outbox_add(box, text, length);
        return;
    }
    if (!begin_text(wrap, &escaped))
        return;
    escape_line_ends(escaped.out, text, length);
    char *bytes = finish_text(wrap, &escaped);
    wrap->failed |= !bytes || !tc_outbox_add(box, bytes, escaped.length);
    free(bytes);
}

/* ---- the wrapper's own responses ---- */

char *tc_pass_refusal(struct tc_wrap *wrap, const char *id, int code, const char *why)
{
    struct tc_text text;
    if (!begin_text(wrap, &text))
        return NULL;
    tc_rpc_refuse(text.out, id, code, why);
    return finish_text(wrap, &text);
}

static char *refuse_message(struct tc_wrap *wrap, struct tc_slice id, int code, const char *why)
{
    char *copy = id.at ? strndup(id.at, id.length) : strdup("null");
    char *answer = copy ? tc_pass_refusal(wrap, copy, code, why) : NULL;
    wrap->failed |= !answer;
    free(copy);
    return answer;
}

static char *tell_model(struct tc_wrap *wrap, const char *id, bool stateless, const char *words)
{
    struct tc_text text;
    if (!begin_text(wrap, &text))
        return NULL;
    tc_rpc_tell_model(text.out, id, stateless, words);
    return finish_text(wrap, &text);
}

/* Takes ownership of `answer`. */
static void answer_client(struct tc_wrap *wrap, char *answer)
{
    if (answer)
        send(wrap, &wrap->to_client, answer, strlen(answer));
    free(answer);
}

/* ---- client messages: set *ret_pass, return a response (owned), or neither ---- */

/* Takes ownership of `words`. */
static char *tell_asker(struct tc_wrap *wrap, const struct tc_rpc *rpc, char *words)
{
    char *id = strndup(rpc->id.at, rpc->id.length);
    char *answer =
        id && words ? tell_model(wrap, id, tc_rpc_is_stateless(rpc->params), words) : NULL;
    wrap->failed |= !answer;
    free(id);
    free(words);
    return answer;
}

/* NULL: the call is allowed, and *ret_rule is its tool's rule. */
static char *check_call(struct tc_wrap *wrap, const struct tc_rpc *rpc,
                        const struct tc_wrap_tool **ret_rule)
{
    struct tc_slice name, arguments, task;
    char *refusal = NULL;
    if (!tc_scan_member(rpc->params, "name", &name) ||
        !tc_scan_member(rpc->params, "arguments", &arguments) ||
        !tc_scan_member(rpc->params, "task", &task))
        return refuse_message(wrap, rpc->id, TC_WRAP_PARAMS,
                              "name, arguments or task is repeated, or differs only in case");
    if (tc_scan_is_null(arguments)) /* some clients write it for none */
        arguments = (struct tc_slice){0};
    if (arguments.at && !tc_scan_is_object(arguments))
        return refuse_message(wrap, rpc->id, TC_WRAP_PARAMS, "arguments must be an object");
    *ret_rule = tc_rules_find(wrap, name);
    if (!*ret_rule)
        return refuse_message(
            wrap, rpc->id, TC_WRAP_PARAMS,
            "the policy has no tool of this name for this server; tools/list names them");
    if (task.at && !tc_part_passes(wrap, TC_PART_TASKS))
        return refuse_message(wrap, rpc->id, TC_WRAP_PARAMS,
                              "the policy passes no tasks of this server; call it without `task`");
    /* a task's result arrives in a later response, where these limits would not apply */
    if (task.at && ((*ret_rule)->timeout_ms || (*ret_rule)->output))
        return refuse_message(wrap, rpc->id, TC_WRAP_PARAMS,
                              "the policy limits the time or the output of this tool, which a task "
                              "would exceed; call it without `task`");
    refusal = tc_pin_refusal(wrap, *ret_rule);
    if (!refusal && tc_rules_check(wrap, *ret_rule, arguments, &refusal) < 0)
        return refuse_message(wrap, rpc->id, TC_WRAP_INTERNAL, "the call could not be checked");
    return refusal ? tell_asker(wrap, rpc, refusal) : NULL;
}

/* The words of a refusal, without the client's id; owned. NULL: out of memory. */
static char *words_of(const char *answer)
{
    struct tc_slice whole = tc_scan_whole(answer, strlen(answer)), error, text = {0};
    size_t length;
    if (tc_scan_member(whole, "error", &error) && error.at)
        (void)tc_scan_member(error, "message", &text);
    else if (tc_scan_member(whole, "result", &error))
        (void)tc_scan_member(error, "content", &text);
    return tc_scan_is_string(text) ? tc_scan_text(text, &length)
           : text.at               ? strndup(text.at, text.length)
                                   : strdup("refused");
}

static int record_words(struct tc_wrap *wrap, const struct tc_rpc *rpc, const char *refusal,
                        struct toolcage_error **err)
{
    struct tc_slice name = {0}, arguments = {0};
    size_t length;
    (void)tc_scan_member(rpc->params, "name", &name);
    (void)tc_scan_member(rpc->params, "arguments", &arguments);
    char *tool = tc_scan_is_string(name) ? tc_scan_text(name, &length) : strdup("");
    char *text = arguments.at ? strndup(arguments.at, arguments.length) : NULL;
    int rc = tool && (text || !arguments.at)
                 ? toolcage_call_record_request(wrap->call, tool, text, refusal, err)
                 : TOOLCAGE_EMEMORY;
    free(tool);
    free(text);
    return rc;
}

/* Records the request of a tool; `answer` is its refusal, NULL: it is passed on. Returns the
 * refusal of a request that cannot be recorded, owned; NULL: it was, or is refused anyway. */
static char *record_request(struct tc_wrap *wrap, const struct tc_rpc *rpc, const char *answer)
{
    struct toolcage_error *err = NULL;
    char *words = answer ? words_of(answer) : NULL;
    int rc = answer && !words ? TOOLCAGE_EMEMORY : record_words(wrap, rpc, words, &err);
    if (rc != 0)
        tc_wrap_note(wrap, err ? toolcage_error_message(err) : "out of memory");
    toolcage_error_free(err);
    free(words);
    return rc == 0 || answer ? NULL
                             : refuse_message(wrap, rpc->id, TC_WRAP_INTERNAL,
                                              "the audit log cannot be written, and without a "
                                              "record nothing is passed on");
}

/* May the request be passed on? NULL: yes, and *ret_asked is its place; else the refusal. *ret_rule
 * is the rule of its tool; NULL: it is no call of a tool. */
static char *judge_request(struct tc_wrap *wrap, const struct tc_rpc *rpc, bool call,
                           const struct tc_wrap_tool **ret_rule, struct tc_asked **ret_asked)
{
    if (tc_asked_find(wrap, rpc->id))
        return refuse_message(wrap, rpc->id, TC_WRAP_REQUEST, "a request with this id still runs");
    char *answer = call ? check_call(wrap, rpc, ret_rule) : NULL;
    if (answer || wrap->failed)
        return answer;
    if (tc_tasks_concern(wrap, rpc->method) && !tc_tasks_know(wrap, rpc->params))
        return refuse_message(
            wrap, rpc->id, TC_WRAP_PARAMS,
            "no call of this client began a task of this id, or its tool has limits that "
            "a task would exceed");
    const char *full = call && wrap->per_call ? tc_fresh_refusal(wrap, rpc) : NULL;
    if (full)
        return tell_asker(wrap, rpc, strdup(full));
    *ret_asked = tc_asked_add(wrap, rpc->id);
    return *ret_asked ? NULL
                      : refuse_message(wrap, rpc->id, TC_WRAP_INTERNAL,
                                       "too many requests wait for the server (1024)");
}

static char *refuse_part(struct tc_wrap *wrap, enum tc_part part, const struct tc_rpc *rpc)
{
    char *why = tc_part_refusal(wrap, part, rpc->method);
    char *answer = why ? refuse_message(wrap, rpc->id, TC_WRAP_METHOD, why) : NULL;
    wrap->failed |= !answer;
    free(why);
    return answer;
}

static bool is_first_page(const struct tc_rpc *rpc)
{
    struct tc_slice cursor;
    return tc_scan_folds(rpc->method, "tools/list") &&
           tc_scan_member(rpc->params, "cursor", &cursor) &&
           (!cursor.at || tc_scan_is_null(cursor));
}

/* What the answer is checked against. `rule` NULL: it is no call. */
static void describe(const struct tc_wrap *wrap, const struct tc_rpc *rpc,
                     const struct tc_wrap_tool *rule, struct tc_asked *asked)
{
    asked->stateless = tc_rpc_is_stateless(rpc->params);
    asked->call = rule != NULL;
    asked->first = is_first_page(rpc);
    asked->hello =
        tc_scan_folds(rpc->method, "initialize") || tc_scan_folds(rpc->method, "server/discover");
    asked->task = rule && !rule->output && !rule->timeout_ms;
    asked->output = rule && rule->output ? rule->output : wrap->output;
    asked->end_at_ms = rule && rule->timeout_ms ? tc_mcp_now_ms() + rule->timeout_ms : 0;
}

/* The call goes to a server of its own. NULL, or the refusal. */
static char *begin_fresh(struct tc_wrap *wrap, struct tc_slice message, const struct tc_rpc *rpc,
                         struct tc_asked *asked)
{
    char *why = tc_fresh_begin(wrap, rpc, message);
    if (why)
        tc_asked_remove(wrap, asked);
    return why ? tell_asker(wrap, rpc, why) : NULL;
}

static char *take_request(struct tc_wrap *wrap, struct tc_slice message, const struct tc_rpc *rpc,
                          bool *ret_pass)
{
    const struct tc_wrap_tool *rule = NULL;
    struct tc_asked *asked = NULL;
    const char *full;
    bool call = tc_scan_folds(rpc->method, "tools/call");
    enum tc_part part = tc_part_of(rpc->method, false, true);
    if (!tc_part_passes(wrap, part))
        return refuse_part(wrap, part, rpc);
    if (call && tc_pin_waits(wrap, message, rpc, &full)) {
        char *refusal = full ? refuse_message(wrap, rpc->id, TC_WRAP_INTERNAL, full) : NULL;
        if (refusal)
            (void)record_request(wrap, rpc, refusal);
        return refusal;
    }
    char *answer = judge_request(wrap, rpc, call, &rule, &asked);
    char *unrecorded = call && !wrap->failed ? record_request(wrap, rpc, answer) : NULL;
    if (unrecorded && asked)
        tc_asked_remove(wrap, asked);
    if (answer || unrecorded || wrap->failed)
        return answer ? answer : unrecorded;
    describe(wrap, rpc, rule, asked);
    tc_fresh_hello(wrap, rpc, message);
    if (call && wrap->per_call)
        return begin_fresh(wrap, message, rpc, asked);
    if (!wrap->unheard_since_ms)
        wrap->unheard_since_ms = tc_mcp_now_ms();
    *ret_pass = true;
    return NULL;
}

static void take_notification(struct tc_wrap *wrap, const struct tc_rpc *rpc, bool *ret_pass)
{
    struct tc_slice id;
    /* a notification cannot get a refusal */
    *ret_pass = !tc_scan_folds(rpc->method, "tools/call") &&
                tc_part_passes(wrap, tc_part_of(rpc->method, false, false));
    if (!tc_scan_is(rpc->method, "notifications/cancelled") ||
        !tc_scan_member(rpc->params, "requestId", &id) || !id.at)
        return;
    struct tc_asked *asked = tc_asked_find(wrap, id);
    if (!asked || asked->own)
        return;
    tc_fresh_end(wrap, asked->key);
    tc_asked_remove(wrap, asked); /* a client that cancels expects no response */
}

static char *take_from_client(struct tc_wrap *wrap, struct tc_slice message, bool *ret_pass)
{
    struct tc_rpc rpc = tc_rpc_read(message);
    *ret_pass = rpc.shape == TC_SHAPE_RESPONSE;
    if (rpc.shape == TC_SHAPE_NONE)
        return refuse_message(wrap, (struct tc_slice){0}, TC_WRAP_REQUEST, rpc.fault);
    if (rpc.shape == TC_SHAPE_REQUEST)
        return take_request(wrap, message, &rpc, ret_pass);
    if (rpc.shape == TC_SHAPE_NOTIFICATION)
        take_notification(wrap, &rpc, ret_pass);
    return NULL;
}

static void decide_waiting(struct tc_wrap *wrap);

/* ---- server messages: set *ret_pass, return a replacement (owned), or neither ---- */

static void complain(struct tc_wrap *wrap, const char *fault)
{
    char note[160];
    (void)snprintf(note, sizeof(note), "dropped what the server wrote: %s", fault);
    tc_wrap_note(wrap, note);
}

static char *filtered(struct tc_wrap *wrap, struct tc_slice message, struct tc_slice tools)
{
    struct tc_text text;
    const char *after = tools.at + tools.length;
    if (!begin_text(wrap, &text))
        return NULL;
    (void)fwrite(message.at, 1, (size_t)(tools.at - message.at), text.out);
    wrap->failed |= !tc_rules_filter(wrap, tools, text.out);
    (void)fwrite(after, 1, message.length - (size_t)(after - message.at), text.out);
    return finish_text(wrap, &text);
}

/* The answer that tells the client what the server has. */
static char *take_hello(struct tc_wrap *wrap, const struct tc_asked *asked, struct tc_slice message,
                        const struct tc_rpc *rpc, bool *ret_pass)
{
    bool ambiguous;
    struct tc_slice tools;
    if (wrap->pin && !asked->stateless)
        wrap->pin->notify = true;
    char *trimmed = tc_parts_trim_hello(wrap, message, rpc->result, &ambiguous);
    ambiguous |= !tc_scan_member(rpc->result, "tools", &tools) || tools.at;
    if (!ambiguous) {
        *ret_pass = !trimmed && !wrap->failed;
        return trimmed;
    }
    free(trimmed);
    return tc_pass_refusal(wrap, asked->id, TC_WRAP_INTERNAL,
                           "the server's answer is ambiguous and was dropped");
}

static char *take_answer(struct tc_wrap *wrap, const struct tc_asked *asked,
                         struct tc_slice message, const struct tc_rpc *rpc, bool *ret_pass)
{
    struct tc_slice tools;
    char words[160];
    if (asked->output && message.length > (size_t)asked->output) {
        (void)snprintf(words, sizeof(words),
                       "limit: the answer has %zu bytes, the policy allows %lld; ask for less",
                       message.length, (long long)asked->output);
        return asked->call ? tell_model(wrap, asked->id, asked->stateless, words)
                           : tc_pass_refusal(wrap, asked->id, TC_WRAP_INTERNAL, words);
    }
    enum tc_part part =
        rpc->error.at ? tc_parts_asked_by(wrap, rpc->error) : tc_parts_asked(wrap, rpc->result);
    if (part != TC_PART_BASE) {
        (void)snprintf(words, sizeof(words),
                       "denied: the server asked the client for %s, which the policy does not pass",
                       tc_part_name(part));
        return asked->call ? tell_model(wrap, asked->id, asked->stateless, words)
                           : tc_pass_refusal(wrap, asked->id, TC_WRAP_INTERNAL, words);
    }
    if (asked->hello && rpc->result.at)
        tc_fresh_greeting(wrap, rpc->result);
    if (asked->hello && rpc->result.at)
        return take_hello(wrap, asked, message, rpc, ret_pass);
    if (asked->task && rpc->result.at)
        tc_tasks_begin(wrap, rpc->result);
    if (rpc->result.at && !tc_scan_member(rpc->result, "tools", &tools))
        return tc_pass_refusal(wrap, asked->id, TC_WRAP_INTERNAL,
                               "the server's answer is ambiguous and was dropped");
    /* for any request: a client may take an array "tools" in the result for a list of tools */
    if (rpc->result.at && tc_scan_is_array(tools)) {
        if (wrap->pin)
            tc_pin_page(wrap, asked->first, rpc->result, tools);
        return filtered(wrap, message, tools);
    }
    *ret_pass = true;
    return NULL;
}

static char *take_response(struct tc_wrap *wrap, struct tc_slice message, const struct tc_rpc *rpc,
                           bool *ret_pass)
{
    struct tc_asked *asked = rpc->id.at ? tc_asked_find(wrap, rpc->id) : NULL;
    char *instead;
    bool elsewhere = asked && asked->call && wrap->per_call && !wrap->from_fresh;
    if (!asked || asked->waiting || elsewhere) {
        complain(wrap, rpc->fault ? rpc->fault : "an answer without a request");
        return NULL;
    }
    if (asked->own) {
        tc_asked_remove(wrap, asked);
        if (tc_pin_answer(wrap, rpc))
            decide_waiting(wrap);
        return NULL;
    }
    if (rpc->fault)
        instead = tc_pass_refusal(wrap, asked->id, TC_WRAP_INTERNAL,
                                  "the server's answer is not a JSON-RPC message and was dropped");
    else
        instead = take_answer(wrap, asked, message, rpc, ret_pass);
    wrap->heard = true;
    tc_asked_remove(wrap, asked);
    return instead;
}

enum { ID_MAX = 1024, UNREAD_MAX = 1 << 20 };

/* Does the message stay here? A request is answered. */
static bool deny_server(struct tc_wrap *wrap, const struct tc_rpc *rpc)
{
    bool request = rpc->shape == TC_SHAPE_REQUEST;
    enum tc_part part = tc_part_of(rpc->method, true, request);
    if (tc_part_passes(wrap, part))
        return false;
    char *why = tc_part_refusal(wrap, part, rpc->method);
    /* a server that does not read its answers, or has long ids, gets none */
    bool answers =
        request && rpc->id.length <= ID_MAX && tc_outbox_pending(&wrap->to_server) < UNREAD_MAX;
    char *answer = why && answers ? refuse_message(wrap, rpc->id, TC_WRAP_METHOD, why) : NULL;
    wrap->failed |= !why || (answers && !answer);
    if (answer)
        send(wrap, &wrap->to_server, answer, strlen(answer));
    if (why && !(wrap->noted & 1U << part))
        tc_wrap_note(wrap, why);
    wrap->noted |= 1U << part;
    free(answer);
    free(why);
    return true;
}

/* A notification can have the questions of a task. */
static bool asks_client(struct tc_wrap *wrap, const struct tc_rpc *rpc)
{
    bool asks =
        rpc->shape == TC_SHAPE_NOTIFICATION && tc_parts_asked(wrap, rpc->params) != TC_PART_BASE;
    if (asks)
        complain(wrap, "a notification with questions to the client that the policy does not pass");
    return asks;
}

static char *take_from_server(struct tc_wrap *wrap, struct tc_slice message, bool *ret_pass)
{
    struct tc_rpc rpc = tc_rpc_read(message);
    *ret_pass = rpc.shape == TC_SHAPE_REQUEST || rpc.shape == TC_SHAPE_NOTIFICATION;
    if (*ret_pass && (deny_server(wrap, &rpc) || asks_client(wrap, &rpc))) {
        *ret_pass = false;
        return NULL;
    }
    if (rpc.shape == TC_SHAPE_NOTIFICATION &&
        tc_scan_folds(rpc.method, "notifications/tools/list_changed"))
        tc_pin_outdate(wrap);
    return *ret_pass ? NULL : take_response(wrap, message, &rpc, ret_pass);
}

/* ---- lines ---- */

typedef char *taker(struct tc_wrap *wrap, struct tc_slice message, bool *ret_pass);

static bool is_blank(const char *text, size_t length)
{
    size_t blank = 0;
    while (blank < length && strchr(" \t\r", text[blank]) && text[blank])
        blank++;
    return blank == length;
}

static void note_pins(struct tc_wrap *wrap)
{
    char *note = wrap->pin ? wrap->pin->note : NULL;
    if (!note)
        return;
    wrap->pin->note = NULL;
    tc_wrap_note(wrap, note);
    free(note);
}

static void take_line(struct tc_wrap *wrap, struct tc_slice line, taker *take, struct tc_outbox *to)
{
    bool pass = false;
    char *instead = take(wrap, line, &pass);
    if (pass)
        send(wrap, to, line.at, line.length);
    answer_client(wrap, instead);
    note_pins(wrap);
}

/* The calls that waited for a list of tools. */
static void decide_waiting(struct tc_wrap *wrap)
{
    char *message;
    wrap->pin->deciding = true;
    while (!wrap->failed && (message = tc_pin_next(wrap))) {
        take_line(wrap, (struct tc_slice){message, strlen(message)}, take_from_client,
                  &wrap->to_server);
        free(message);
    }
    wrap->pin->deciding = false;
}

/* Exactly one message for every reader of lines: a CR is a blank in JSON, but ends a line in
 * Python. Absent, with the reason, if the line is invalid. */
static struct tc_slice read_line(const char *text, size_t length, const char **ret_fault)
{
    struct tc_slice line = tc_scan_whole(text, length);
    bool broken = line.at && memchr(line.at, '\r', line.length);
    *ret_fault = broken ? "there is a carriage return within the message" : "the line is not JSON";
    return broken ? (struct tc_slice){0} : line;
}

/* What is still readable of a line: with unpaired surrogates replaced it may be a message. The
 * replaced text is checked and forwarded, so all readers see the same. Owned; NULL: nothing. */
static char *repair_line(struct tc_wrap *wrap, const char *text, size_t length, const char *from)
{
    char note[128];
    char *copy = tc_rescue_text(text, length);
    if (!copy || !tc_scan_valid(copy, length)) {
        free(copy);
        return NULL;
    }
    (void)snprintf(note, sizeof(note),
                   "a message of the %s had unpaired surrogates; each was replaced by U+FFFD",
                   from);
    tc_wrap_note(wrap, note);
    return copy;
}

static void refuse_unread(struct tc_wrap *wrap, struct tc_rescue *rescue, const char *why)
{
    const char *id;
    bool known = tc_rescue_end(rescue, &id) == TC_RESCUED_REQUEST;
    answer_client(wrap, tc_pass_refusal(wrap, known ? id : "null", TC_WRAP_PARSE, why));
}

/* A request is passed on without the client's capabilities that the policy does not pass. */
static void take_client_line(struct tc_wrap *wrap, struct tc_slice line)
{
    struct tc_rpc rpc = tc_rpc_read(line);
    bool ambiguous = false;
    char *trimmed =
        rpc.shape == TC_SHAPE_REQUEST ? tc_parts_trim_request(wrap, line, &rpc, &ambiguous) : NULL;
    if (trimmed)
        line = tc_scan_whole(trimmed, strlen(trimmed));
    if (ambiguous)
        answer_client(wrap, refuse_message(wrap, rpc.id, TC_WRAP_PARAMS,
                                           "the client's capabilities are repeated, or differ only "
                                           "in case"));
    else if (!wrap->failed)
        take_line(wrap, line, take_from_client, &wrap->to_server);
    free(trimmed);
}

void tc_pass_client(struct tc_wrap *wrap, const char *text, size_t length)
{
    const char *fault;
    if (is_blank(text, length))
        return;
    char *copy = repair_line(wrap, text, length, "client");
    struct tc_slice line = read_line(copy ? copy : text, length, &fault);
    if (line.at) {
        take_client_line(wrap, line);
    } else {
        struct tc_rescue rescue = {0};
        tc_rescue_add(&rescue, text, length);
        refuse_unread(wrap, &rescue, fault);
    }
    free(copy);
}

void tc_pass_skipped(struct tc_wrap *wrap, struct tc_rescue *rescue)
{
    refuse_unread(wrap, rescue, "a message has at most 8 MiB");
}

void tc_pass_server(struct tc_wrap *wrap, const char *text, size_t length)
{
    const char *fault;
    if (is_blank(text, length))
        return;
    char *copy = repair_line(wrap, text, length, "server");
    struct tc_slice line = read_line(copy ? copy : text, length, &fault);
    if (line.at)
        take_line(wrap, line, take_from_server, &wrap->to_client);
    else
        complain(wrap, fault);
    free(copy);
}

void tc_pass_lost(struct tc_wrap *wrap, const char *why)
{
    tc_fresh_end(wrap, NULL);
    while (wrap->asked_count && !wrap->failed) {
        struct tc_asked *asked = &wrap->asked[wrap->asked_count - 1];
        if (!asked->own)
            answer_client(wrap, tc_pass_refusal(wrap, asked->id, TC_WRAP_INTERNAL, why));
        tc_asked_remove(wrap, asked);
    }
    if (wrap->pin)
        wrap->pin->listing = false;
}

void tc_pass_fail(struct tc_wrap *wrap, const char *key, const char *why)
{
    struct tc_asked *asked = tc_asked_of(wrap, key);
    if (!asked || asked->own)
        return;
    answer_client(wrap, tell_model(wrap, asked->id, asked->stateless, why));
    tc_asked_remove(wrap, asked);
}

/* Sends the server the cancellation that a client would send. */
static void cancel(struct tc_wrap *wrap, const char *id)
{
    struct tc_text text;
    if (!begin_text(wrap, &text))
        return;
    (void)fprintf(text.out,
                  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                  "\"requestId\":%s,\"reason\":\"timeout\"}}",
                  id);
    char *bytes = finish_text(wrap, &text);
    if (bytes)
        send(wrap, &wrap->to_server, bytes, text.length);
    free(bytes);
}

static const char list_changed[] =
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}";

void tc_pass_tick(struct tc_wrap *wrap, int64_t now_ms)
{
    for (size_t i = wrap->asked_count; i-- > 0 && !wrap->failed;) {
        struct tc_asked *asked = &wrap->asked[i];
        if (!asked->end_at_ms || asked->own || now_ms < asked->end_at_ms)
            continue;
        if (asked->call && wrap->per_call)
            tc_fresh_end(wrap, asked->key);
        else
            cancel(wrap, asked->id);
        answer_client(wrap, tell_model(wrap, asked->id, asked->stateless,
                                       "timeout: the server did not answer within the time that "
                                       "the policy gives to this call"));
        tc_asked_remove(wrap, asked);
    }
    if (tc_pin_late(wrap, now_ms))
        decide_waiting(wrap);
    if (tc_pin_look(wrap, now_ms))
        send(wrap, &wrap->to_client, list_changed, strlen(list_changed));
    note_pins(wrap);
}
