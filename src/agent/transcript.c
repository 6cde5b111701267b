/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The conversation as a file with one message a line, so that a later run can continue it. A line
 * is written before anything depends on it. An incomplete last line is dropped. A call without a
 * result is reported to the model as possibly run; it is not repeated automatically. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "cli/show/io.h"

enum { FILE_MAX = 64 << 20 };

static bool fail_transcript(struct tc_agent *agent, const char *what)
{
    return tc_agent_fail(agent, TC_AGENT_TRANSCRIPT, "name another file with --transcript",
                         "the transcript %s %s", agent->config.transcript, what);
}

/* Takes ownership of `message`. */
static bool remember(struct tc_agent *agent, json_t *message)
{
    return json_array_append_new(agent->messages, message) == 0 ||
           tc_agent_fail(agent, TC_AGENT_MEMORY, "free memory on this machine", "out of memory");
}

bool tc_agent_transcript_add(struct tc_agent *agent, json_t *message)
{
    char *text = json_dumps(message, JSON_COMPACT);
    size_t length = text ? strlen(text) : 0;
    bool good = text != NULL;
    if (good)
        text[length] = '\n'; /* instead of the NUL */
    good =
        good && (agent->transcript < 0 || tc_cli_write(agent->transcript, text, length + 1) == 0);
    if (text && !good)
        (void)fail_transcript(agent, strerror(errno));
    free(text);
    if (!text)
        (void)tc_agent_fail(agent, TC_AGENT_MEMORY, "free memory on this machine", "out of memory");
    if (good)
        return remember(agent, message);
    json_decref(message);
    return false;
}

/* ---- continuing a transcript ---- */

static bool is_message(const json_t *message)
{
    static const char *const roles[] = {"user", "assistant", "tool"};
    const char *role = json_string_value(json_object_get(message, "role"));
    for (size_t i = 0; role && i < sizeof(roles) / sizeof(roles[0]); i++)
        if (strcmp(roles[i], role) == 0)
            return true;
    return false;
}

/* Reads the complete lines; *ret_used is the end of the last one. */
static bool read_lines(struct tc_agent *agent, const char *text, size_t length, size_t *ret_used)
{
    size_t at = 0;
    const char *end;
    while ((end = memchr(text + at, '\n', length - at))) {
        size_t line = (size_t)(end - text) - at;
        json_t *message =
            json_loadb(text + at, line, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
        if (!is_message(message)) {
            json_decref(message);
            return fail_transcript(agent, "has a line that is not a message");
        }
        if (!remember(agent, message))
            return false;
        at += line + 1;
    }
    *ret_used = at;
    return true;
}

static bool is_answered(const struct tc_agent *agent, size_t from, const json_t *id)
{
    for (size_t i = from; i < json_array_size(agent->messages); i++)
        if (json_equal(json_object_get(json_array_get(agent->messages, i), "tool_call_id"), id))
            return true;
    return false;
}

static bool answer_open_calls(struct tc_agent *agent)
{
    size_t last = json_array_size(agent->messages), i;
    const json_t *call;
    while (last && json_object_get(json_array_get(agent->messages, last - 1), "tool_call_id"))
        last--;
    const json_t *calls =
        last ? json_object_get(json_array_get(agent->messages, last - 1), "tool_calls") : NULL;
    json_array_foreach(calls, i, call)
    {
        json_t *id = json_object_get(call, "id");
        if (is_answered(agent, last, id))
            continue;
        json_t *message =
            json_pack("{s:s, s:O, s:s}", "role", "tool", "tool_call_id", id, "content",
                      "interrupted: it is not known whether this call ran");
        if (!message || !tc_agent_transcript_add(agent, message))
            return message ? false : fail_transcript(agent, "holds a call without an id");
    }
    return true;
}

/* Reads the whole file, owned; NULL with the failure. */
static char *read_file(struct tc_agent *agent, size_t *ret_length)
{
    struct stat st;
    if (fstat(agent->transcript, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > FILE_MAX) {
        (void)fail_transcript(agent, "is not a regular file, or is larger than 64 MiB");
        return NULL;
    }
    char *text = malloc((size_t)st.st_size + 1);
    ssize_t n = text ? pread(agent->transcript, text, (size_t)st.st_size, 0) : -1;
    if (n != st.st_size) {
        (void)fail_transcript(agent, "cannot be read");
        free(text);
        return NULL;
    }
    *ret_length = (size_t)n;
    return text;
}

/* ---- who may have written the file ---- */

static bool refuse_transcript(struct tc_agent *agent, const char *why, const char *hint)
{
    return tc_agent_fail(agent, TC_AGENT_TRANSCRIPT, hint, "the transcript %s %s",
                         agent->config.transcript, why);
}

/* The file's content is sent as the operator's words, so no other user and no tool may have been
 * able to write it. Every check of that is in this function. */
static bool is_ours(struct tc_agent *agent, const struct stat *file, const struct stat *directory)
{
    if (file->st_uid != geteuid())
        return refuse_transcript(agent, "belongs to another user", "name a file that you own");
    if (file->st_mode & (S_IWGRP | S_IWOTH))
        return refuse_transcript(agent, "can be written by other users",
                                 "read it, then: chmod go-w FILE");
    if (file->st_nlink > 1)
        return refuse_transcript(agent,
                                 "has another name (hard link) through which it may be written",
                                 "read it, copy it, and name the copy");
    if (toolcage_policy_written(agent->policy, agent->config.transcript, agent->config.workspace,
                                NULL))
        return refuse_transcript(agent, "may have been written by a tool",
                                 "name a file outside the workspace, where no tool can write");
    if (directory->st_mode & S_IWOTH)
        return refuse_transcript(agent, "is in a directory that every user can write",
                                 "name a file in a directory that only you can write");
    return true;
}

/* Opens the file and checks its stat and its directory's, both taken from open fds. */
static bool open_file(struct tc_agent *agent)
{
    const char *path = agent->config.transcript, *slash = strrchr(path, '/');
    char *above = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    int directory = above ? open(above, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    struct stat file, place;
    free(above);
    if (directory >= 0)
        agent->transcript = openat(
            directory, slash ? slash + 1 : path,
            O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0600);
    bool good = agent->transcript >= 0 && fstat(agent->transcript, &file) == 0 &&
                fstat(directory, &place) == 0;
    int saved = errno;
    if (directory >= 0)
        (void)close(directory);
    return good ? is_ours(agent, &file, &place) : fail_transcript(agent, strerror(saved));
}

bool tc_agent_transcript_open(struct tc_agent *agent)
{
    size_t length = 0, used = 0;
    agent->transcript = -1;
    if (!agent->config.transcript)
        return true;
    if (!open_file(agent))
        return false;
    if (flock(agent->transcript, LOCK_EX | LOCK_NB) < 0)
        return fail_transcript(agent, "is in use by another run");
    char *text = read_file(agent, &length);
    bool good = text && read_lines(agent, text, length, &used);
    free(text);
    if (good && used < length && ftruncate(agent->transcript, (off_t)used) < 0)
        good = fail_transcript(agent, strerror(errno));
    return good && answer_open_calls(agent);
}
