/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/live/detached.h"

#include <stdlib.h>
#include <string.h>

#include "cli/show/say.h"

enum { COMMAND_MAX = 40, HEAD = sizeof(uint32_t) + 1 };

/* ---- output ---- */

static size_t read_length(const char *piece)
{
    uint32_t length;
    memcpy(&length, piece, sizeof(length));
    return length;
}

/* Drops the oldest pieces, at least half of all, so that this is rare. */
static void drop_oldest(struct tc_detached *d)
{
    size_t at = 0;
    while (at < d->length && d->length - at > TC_DETACHED_OUTPUT_MAX / 2)
        at += HEAD + read_length(d->output + at);
    memmove(d->output, d->output + at, d->length - at);
    d->length -= at;
    d->dropped += at;
}

static void keep_output(void *userdata, int stream, const void *bytes, size_t length)
{
    struct tc_detached *d = userdata;
    uint32_t size = (uint32_t)length;
    size_t need = HEAD + length;
    if (d->length + need > TC_DETACHED_OUTPUT_MAX)
        drop_oldest(d);
    if (d->length + need > d->room) {
        size_t room = 2 * (d->length + need);
        char *more = realloc(d->output, room);
        if (!more) { /* as if it was dropped */
            d->dropped += d->length + need;
            d->length = 0;
            return;
        }
        d->output = more;
        d->room = room;
    }
    memcpy(d->output + d->length, &size, sizeof(size));
    d->output[d->length + sizeof(size)] = (char)stream;
    memcpy(d->output + d->length + HEAD, bytes, length);
    d->length += need;
}

bool tc_detached_read(const struct tc_detached *d, uint64_t *at, int *ret_stream,
                      const char **ret_bytes, size_t *ret_length, bool *ret_lost)
{
    *ret_lost = *at < d->dropped;
    if (*ret_lost)
        *at = d->dropped;
    if (*at >= d->dropped + d->length)
        return false;
    const char *piece = d->output + (*at - d->dropped);
    *ret_length = read_length(piece);
    *ret_stream = piece[sizeof(uint32_t)];
    *ret_bytes = piece + HEAD;
    *at += HEAD + *ret_length;
    return true;
}

/* ---- the list ---- */

/* The first bytes of the command, cut between characters. */
static char *describe_words(char *const *words)
{
    char text[COMMAND_MAX + 1] = "";
    size_t length = 0;
    for (size_t i = 0; words[i] && length < COMMAND_MAX; i++) {
        int n = snprintf(text + length, sizeof(text) - length, "%s%s", i ? " " : "", words[i]);
        length += n < 0 ? 0 : (size_t)n;
    }
    length = strlen(text);
    for (bool cut = length == COMMAND_MAX; cut && length && (text[length - 1] & 0x80); length--)
        text[length - 1] = '\0';
    return strdup(text);
}

static void release(struct tc_detached *d)
{
    (void)toolcage_call_unref(d->call);
    free(d->command);
    free(d->output);
    free(d);
}

static size_t count_of(const struct tc_detached_list *list)
{
    size_t n = 0;
    while (n < TC_DETACHED_MAX && list->all[n])
        n++;
    return n;
}

static int code_of(const struct tc_detached *d)
{
    const struct toolcage_result *result = toolcage_call_result(d->call);
    return result ? toolcage_result_shell_code(result) : TC_EXIT_FAILURE;
}

static void forget(struct tc_detached_list *list, struct tc_detached *d)
{
    int code = code_of(d);
    if (code && !list->failed) {
        list->failed = d->id;
        list->failed_code = code;
    }
    tc_detached_remove(list, d);
}

static void forget_oldest(struct tc_detached_list *list)
{
    size_t ended = count_of(list) - tc_detached_running(list), i = 0;
    while (ended > TC_DETACHED_ENDED_MAX && i < TC_DETACHED_MAX && list->all[i])
        if (list->all[i]->done && !list->all[i]->watchers) {
            forget(list, list->all[i]);
            ended--;
        } else {
            i++;
        }
}

struct tc_detached *tc_detached_add(struct tc_detached_list *list, struct toolcage_call *call,
                                    char *const *words)
{
    size_t count = count_of(list);
    struct tc_detached *d = count < TC_DETACHED_MAX ? calloc(1, sizeof(*d)) : NULL;
    char *command = d ? describe_words(words) : NULL;
    if (!command || toolcage_call_set_output_callback(call, keep_output, d, NULL)) {
        free(command);
        free(d);
        return NULL;
    }
    *d = (struct tc_detached){.id = ++list->last_id, .command = command};
    d->call = call;
    list->all[count] = d;
    return d;
}

void tc_detached_remove(struct tc_detached_list *list, struct tc_detached *d)
{
    size_t count = count_of(list), at = 0;
    while (at < count && list->all[at] != d)
        at++;
    if (at == count)
        return;
    memmove(list->all + at, list->all + at + 1, (count - at - 1) * sizeof(struct tc_detached *));
    list->all[count - 1] = NULL;
    release(d);
}

void tc_detached_clear(struct tc_detached_list *list)
{
    for (size_t i = 0; i < TC_DETACHED_MAX && list->all[i]; i++)
        release(list->all[i]);
    *list = (struct tc_detached_list){0};
}

struct tc_detached *tc_detached_find(const struct tc_detached_list *list, const char *name,
                                     const char *id, struct tc_failure *failure)
{
    char *end;
    unsigned long number = strtoul(id, &end, 10);
    bool whole = id[0] >= '0' && id[0] <= '9' && !*end;
    for (size_t i = 0; whole && i < TC_DETACHED_MAX && list->all[i]; i++)
        if (list->all[i]->id == number)
            return list->all[i];
    _autofree_ char *hint = tc_cli_format("toolcage session logs %s lists them", name);
    (void)tc_failure_set(failure, TOOLCAGE_ENOT_FOUND, hint,
                         "the session has no detached command with this id");
    return NULL;
}

int tc_detached_signal(const struct tc_detached_list *list, const char *name, const char *text,
                       struct tc_failure *failure)
{
    size_t length = strcspn(text, " ");
    int number = text[length] ? (int)strtol(text + length, NULL, 10) : 0;
    _autofree_ char *id = strndup(text, length);
    const struct tc_detached *d = tc_detached_find(list, name, id ? id : "", failure);
    if (!d)
        return -1;
    if (d->done)
        return tc_failure_set(failure, TOOLCAGE_ENOT_FOUND, NULL, "the command has ended");
    return toolcage_session_signal(d->call, number, tc_failure_error(failure)) ? -1 : 0;
}

int tc_detached_codes(struct tc_detached_list *list, FILE *out)
{
    int first = list->failed ? list->failed_code : 0;
    if (list->failed)
        (void)fprintf(out, "%u %d\n", list->failed, first);
    list->failed = 0;
    for (size_t i = 0; i < TC_DETACHED_MAX && list->all[i]; i++) {
        int code = code_of(list->all[i]);
        (void)fprintf(out, "%u %d\n", list->all[i]->id, code);
        first = first ? first : code;
    }
    return first;
}

size_t tc_detached_running(const struct tc_detached_list *list)
{
    size_t running = 0;
    for (size_t i = 0; i < TC_DETACHED_MAX && list->all[i]; i++)
        running += !list->all[i]->done;
    return running;
}

void tc_detached_dispatch(struct tc_detached_list *list)
{
    bool ended = false;
    for (size_t i = 0; i < TC_DETACHED_MAX && list->all[i] && !ended; i++)
        if (!list->all[i]->done)
            ended = list->all[i]->done = toolcage_call_dispatch(list->all[i]->call, NULL) != 0;
    forget_oldest(list);
}

void tc_detached_describe(const struct tc_detached_list *list, FILE *out)
{
    (void)fputc('[', out);
    for (size_t i = 0; i < TC_DETACHED_MAX && list->all[i]; i++) {
        const struct tc_detached *d = list->all[i];
        (void)fprintf(out, "%s{\"id\":%u,\"running\":%s,\"exit_code\":", i ? "," : "", d->id,
                      d->done ? "false" : "true");
        if (d->done)
            (void)fprintf(out, "%d", code_of(d));
        else
            (void)fputs("null", out);
        (void)fputs(",\"command\":", out);
        tc_cli_json_string(out, d->command);
        (void)fputc('}', out);
    }
    (void)fputc(']', out);
}
