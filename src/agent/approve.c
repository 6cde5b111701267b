/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The operator's approval of one call. An approval is valid for the displayed arguments only, and
 * for no other call, unless the operator has extended it to the same call later in the run. */
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "agent/agent.h"

/* ---- at a terminal ---- */

enum { LINES = 40, ROWS_LEAST = 14, COLUMNS = 80 };

static struct winsize look_at_terminal(void)
{
    struct winsize size = {0};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0)
        size = (struct winsize){0};
    if (!size.ws_col)
        size.ws_col = COLUMNS;
    return size;
}

/* The start of the line after the first `count` lines. */
static const char *skip_lines(const char *text, size_t count)
{
    for (; count && *text; count--)
        text = strchrnul(text, '\n') + 1;
    return text;
}

static size_t count_lines(const char *text)
{
    size_t count = 0;
    for (; (text = strchr(text, '\n')); text++)
        count++;
    return count;
}

/* Discards input typed before the question. */
static bool ask_approval(struct tc_agent *agent, size_t left, char **ret)
{
    (void)tcflush(STDIN_FILENO, TCIFLUSH);
    if (left)
        tc_agent_say_begin("%zu more lines; v: view them, else it is refused [v/N] ", left);
    else
        tc_agent_say_begin("run it? a: yes, and again with the same arguments [y/a/N] ");
    if (!tc_agent_say_read(agent, ret))
        return false;
    return *ret || tc_agent_fail(agent, TC_AGENT_INPUT, "answer every pending call",
                                 "standard input ended while an approval was pending");
}

static bool is_yes(const char *line)
{
    return strcasecmp(line, "y") == 0 || strcasecmp(line, "yes") == 0;
}

enum answer { ANSWER_NO, ANSWER_YES, ANSWER_AGAIN };

static enum answer read_answer(const char *line)
{
    return is_yes(line) ? ANSWER_YES : strcasecmp(line, "a") == 0 ? ANSWER_AGAIN : ANSWER_NO;
}

/* A "yes" before all lines were displayed only displays the rest. */
static bool ask_person(struct tc_agent *agent, const char *text, enum answer *ret)
{
    struct winsize size = look_at_terminal();
    size_t first = size.ws_row >= ROWS_LEAST && size.ws_row < LINES + 4 ? size.ws_row - 4U : LINES;
    const char *rest = skip_lines(text, first);
    (void)fwrite(text, 1, (size_t)(rest - text), stderr);
    for (;;) {
        char *line = NULL;
        if (!ask_approval(agent, count_lines(rest), &line))
            return false;
        enum answer answer = read_answer(line);
        bool view = *rest && (answer != ANSWER_NO || strcmp(line, "v") == 0);
        free(line);
        if (!view)
            return *ret = answer, true;
        (void)fputs(rest, stderr);
        rest = "";
    }
}

static bool ask_at_terminal(struct tc_agent *agent, const char *tool, const char *arguments,
                            bool *ret)
{
    enum answer answer = ANSWER_NO;
    int64_t count = tc_agent_again_count(agent, tool, arguments);
    if (count) {
        tc_agent_say_begin(
            "approved before with the same arguments: call %lld without a question\n",
            (long long)count);
        return *ret = true;
    }
    json_t *object = json_loads(arguments, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    char *text = object ? tc_agent_display_arguments(object, look_at_terminal().ws_col) : NULL;
    bool good = text ? ask_person(agent, text, &answer)
                     : tc_agent_fail(agent, TC_AGENT_MEMORY, "free memory on this machine",
                                     "out of memory");
    json_decref(object);
    free(text);
    *ret = answer != ANSWER_NO;
    return good && (answer != ANSWER_AGAIN || tc_agent_again_keep(agent, tool, arguments));
}

/* ---- as lines of JSON ---- */

/* The model chooses the ids of its calls. An answer for an earlier call with this id must not
 * approve the new call. */
static bool remember(struct tc_agent *agent, const char *id, bool *ret_again)
{
    *ret_again = json_object_get(agent->asked, id) != NULL;
    agent->approvals++;
    return json_object_set_new(agent->asked, id, json_true()) == 0 ||
           tc_agent_fail(agent, TC_AGENT_MEMORY, "free memory on this machine", "out of memory");
}

struct question {
    const char *id, *digest;
    json_int_t number;
    bool again; /* the answer must contain the number */
};

static bool is_number(const json_t *said, const struct question *q)
{
    return said ? json_is_integer(said) && json_integer_value(said) == q->number : !q->again;
}

static bool is_text(const json_t *said, const char *wanted)
{
    const char *text = json_string_value(said);
    return text && strcmp(text, wanted) == 0;
}

/* {"type": "approve", "id": "...", "approval": 1, "digest": "...", "allow": true} */
static bool judge_line(struct tc_agent *agent, const char *line, const struct question *q,
                       bool *ret)
{
    json_t *said = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
    const json_t *allow = json_object_get(said, "allow"), *digest = json_object_get(said, "digest");
    bool good = is_text(json_object_get(said, "type"), "approve") &&
                is_text(json_object_get(said, "id"), q->id) &&
                is_number(json_object_get(said, "approval"), q) &&
                (!digest || is_text(digest, q->digest)) && json_is_boolean(allow);
    *ret = good && json_is_true(allow);
    json_decref(said);
    return good || tc_agent_fail(agent, TC_AGENT_INPUT,
                                 "answer {\"type\": \"approve\", \"id\": ID, \"approval\": NUMBER, "
                                 "\"allow\": true or false}",
                                 "standard input did not answer the pending call");
}

static bool ask_by_lines(struct tc_agent *agent, const char *id, const char *tool,
                         const char *arguments, bool *ret)
{
    static const char prefix[] = "sha256:";
    char digest[sizeof(prefix) + SHA256_DIGEST_STRING_LENGTH], *line = NULL;
    struct question q = {.id = id, .digest = digest};
    if (!remember(agent, id, &q.again))
        return false;
    q.number = agent->approvals;
    memcpy(digest, prefix, sizeof(prefix));
    (void)SHA256Data((const uint8_t *)arguments, strlen(arguments), digest + sizeof(prefix) - 1);
    tc_agent_say_event(agent,
                       json_pack("{s:s, s:I, s:s, s:s, s:I, s:s, s:s}", "type", "approve", "turn",
                                 (json_int_t)agent->turns, "id", id, "tool", tool, "approval",
                                 q.number, "arguments", arguments, "digest", digest));
    if (!tc_agent_say_read(agent, &line))
        return false;
    bool good = line ? judge_line(agent, line, &q, ret)
                     : tc_agent_fail(agent, TC_AGENT_INPUT, "answer every pending call",
                                     "standard input ended while an approval was pending");
    free(line);
    return good;
}

bool tc_agent_approved(struct tc_agent *agent, const char *id, const char *tool,
                       const char *arguments, bool *ret)
{
    *ret = false;
    return agent->config.jsonl ? ask_by_lines(agent, id, tool, arguments, ret)
                               : ask_at_terminal(agent, tool, arguments, ret);
}
