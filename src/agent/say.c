/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Input from and output to the operator: plain text, or lines of JSON in both directions, and the
 * reason why a run ended. Text chosen by a model or a server is escaped for the terminal. */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "cli/show/clean.h"

enum { SHOWN = 200 };

void tc_agent_say_event(const struct tc_agent *agent, json_t *event)
{
    if (agent->config.jsonl && event && json_dumpf(event, stdout, JSON_COMPACT) == 0) {
        (void)fputc('\n', stdout);
        (void)fflush(stdout);
    }
    json_decref(event);
}

/* On a terminal toolcage's lines start in bold; a model's lines cannot. */
static void put_prefix(const char *prefix)
{
    bool marked = tc_cli_draws(STDERR_FILENO);
    (void)fprintf(stderr, "%s%s:%s ", marked ? "\x1b[1m" : "", prefix, marked ? "\x1b[0m" : "");
}

void tc_agent_say_begin(const char *fmt, ...)
{
    va_list ap;
    put_prefix("toolcage");
    va_start(ap, fmt);
    (void)vfprintf(stderr, fmt, ap);
    va_end(ap);
}

/* Prints one line, shortened. */
static void put_line(const char *begin, const char *tool, const char *text)
{
    size_t length = strlen(text), shown = length < SHOWN ? length : SHOWN;
    char *name = tc_clean(TC_CLEAN_LINE, tool, strlen(tool), NULL);
    char *clean = tc_clean(TC_CLEAN_LINE, text, shown, NULL);
    tc_agent_say_begin("%s%s%s%s%s\n", begin, name ? name : "?", shown ? " " : "",
                       clean ? clean : "?", shown < length ? " ..." : "");
    free(name);
    free(clean);
}

/* Prints the status, and for a denied call the reason that the model got. */
static void put_result(const char *tool, const char *status, const char *text)
{
    char *line = NULL;
    bool known = strncmp(text, "denied: ", strlen("denied: ")) == 0;
    if (strcmp(status, "denied") == 0 &&
        asprintf(&line, "%s%.*s", known ? "" : "denied: ", (int)strcspn(text, "\n"), text) < 0)
        line = NULL;
    put_line("", tool, line ? line : status);
    free(line);
}

void tc_agent_say_call(const struct tc_agent *agent, const char *id, const char *tool,
                       const char *arguments)
{
    tc_agent_say_event(agent, json_pack("{s:s, s:I, s:s, s:s, s:s}", "type", "call", "turn",
                                        (json_int_t)agent->turns, "id", id, "tool", tool,
                                        "arguments", arguments));
    if (!agent->config.jsonl) /* with --approve, the approval displays all arguments */
        put_line("call ", tool, agent->config.approve ? "" : arguments);
}

void tc_agent_say_result(const struct tc_agent *agent, const char *id, const char *tool,
                         const char *status, const char *text)
{
    tc_agent_say_event(agent, json_pack("{s:s, s:I, s:s, s:s, s:s, s:s}", "type", "result", "turn",
                                        (json_int_t)agent->turns, "id", id, "tool", tool, "status",
                                        status, "message", text));
    if (!agent->config.jsonl)
        put_result(tool, status, text);
}

/* Escapes the text. On a terminal, a line that starts like the agent's own lines is marked as the
 * model's. Owned. */
static char *harmless(const char *text, int fd)
{
    struct tc_origin_prefix mark = {.by = "model", .plain = !tc_cli_draws(fd)};
    size_t length = 0;
    char *clean = tc_clean(TC_CLEAN_TEXT, text, strlen(text), &length);
    if (!clean || !isatty(fd))
        return clean;
    char *marked = tc_origin_prefix_lines(&mark, clean, length, &length);
    free(clean);
    return marked;
}

void tc_agent_say_text(const struct tc_agent *agent, const char *text, bool last)
{
    tc_agent_say_event(agent, json_pack("{s:s, s:I, s:s, s:b}", "type", "text", "turn",
                                        (json_int_t)agent->turns, "text", text, "last", last));
    if (agent->config.jsonl)
        return;
    FILE *out = last ? stdout : stderr;
    char *shown = harmless(text, fileno(out));
    (void)fprintf(out, "%s\n", shown ? shown : "");
    (void)fflush(stdout);
    free(shown);
}

void tc_agent_say_end(const struct tc_agent *agent)
{
    json_t *error = agent->code == TC_AGENT_ANSWERED
                        ? json_null()
                        : json_pack("{s:s, s:s, s:s}", "code", tc_agent_code_name(agent->code),
                                    "message", agent->message, "hint", agent->hint);
    tc_agent_say_event(agent,
                       json_pack("{s:s, s:o, s:I, s:I, s:I}", "type", "end", "error", error,
                                 "turns", (json_int_t)agent->turns, "calls",
                                 (json_int_t)agent->calls, "tokens", (json_int_t)agent->tokens));
    if (agent->config.jsonl || agent->code == TC_AGENT_ANSWERED)
        return;
    char *clean = tc_clean(TC_CLEAN_LINE, agent->message, strlen(agent->message), NULL);
    tc_agent_say_begin("%s (%s)\n", clean ? clean : "?", tc_agent_code_name(agent->code));
    put_prefix("hint");
    (void)fprintf(stderr, "%s\n", agent->hint);
    free(clean);
}

/* ---- input ---- */

/* 1; 0 at the end; -1: the time limit was reached or reading failed. Reads byte by byte, because
 * the bytes after this line belong to the next reader. */
static int read_byte(struct tc_agent *agent, char *ret)
{
    for (;;) {
        struct pollfd fd = {.fd = STDIN_FILENO, .events = POLLIN};
        int64_t left = tc_agent_left_ms(agent);
        if (left <= 0)
            return -1;
        int ready = poll(&fd, 1, left > 60000 ? 60000 : (int)left);
        if (ready < 0 && errno != EINTR)
            return -1;
        if (ready <= 0)
            continue;
        ssize_t n = read(STDIN_FILENO, ret, 1);
        if (n >= 0 || (errno != EINTR && errno != EAGAIN))
            return (int)n;
    }
}

bool tc_agent_say_read(struct tc_agent *agent, char **ret)
{
    char *text = NULL, byte = 0;
    size_t size = 0, length = 0;
    int n;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return tc_agent_fail(agent, TC_AGENT_MEMORY, "free memory on this machine",
                             "out of memory");
    while ((n = read_byte(agent, &byte)) > 0 && byte != '\n' && length < TC_AGENT_LINE_MAX) {
        (void)fputc(byte, out);
        length++;
    }
    bool whole = fclose(out) == 0;
    if (n < 0 || !whole || length == TC_AGENT_LINE_MAX) {
        free(text);
        if (tc_agent_left_ms(agent) <= 0)
            return tc_agent_fail(agent, TC_AGENT_TIME, "allow more with --max-time",
                                 "the time limit was reached before the operator answered");
        return tc_agent_fail(agent, TC_AGENT_INPUT, "write one line of at most 1 MiB",
                             "standard input cannot be read, or a line is too long");
    }
    if (n == 0 && !length) {
        free(text);
        text = NULL;
    }
    *ret = text;
    return true;
}

/* ---- end of a run ---- */

int64_t tc_agent_now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t tc_agent_left_ms(const struct tc_agent *agent)
{
    return agent->deadline_ms - tc_agent_now_ms();
}

const char *tc_agent_code_name(enum tc_agent_code code)
{
    static const char *const words[] = {
        [TC_AGENT_ANSWERED] = "answered",
        [TC_AGENT_TURNS] = "limit.turns",
        [TC_AGENT_TOKENS] = "limit.tokens",
        [TC_AGENT_TIME] = "limit.time",
        [TC_AGENT_CALLS] = "limit.calls",
        [TC_AGENT_CONNECT] = "upstream.unreachable",
        [TC_AGENT_STATUS] = "upstream.status",
        [TC_AGENT_CUT] = "upstream.cut",
        [TC_AGENT_LARGE] = "upstream.too_large",
        [TC_AGENT_MALFORMED] = "upstream.malformed",
        [TC_AGENT_INPUT] = "input",
        [TC_AGENT_TRANSCRIPT] = "transcript",
        [TC_AGENT_ENGINE] = "engine",
        [TC_AGENT_MEMORY] = "memory",
    };
    return words[code];
}

bool tc_agent_fail(struct tc_agent *agent, enum tc_agent_code code, const char *hint,
                   const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    agent->code = code;
    (void)vsnprintf(agent->message, sizeof(agent->message), fmt, ap);
    (void)snprintf(agent->hint, sizeof(agent->hint), "%s", hint ? hint : "");
    va_end(ap);
    return false;
}
