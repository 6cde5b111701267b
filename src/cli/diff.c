/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/diff.h"

#include <string.h>

#include "cli/say.h"

/* The member with the row's path, as it is written. */
static struct tc_slice name_of(struct tc_slice row)
{
    struct tc_slice text = tc_json_get(row, "path");
    return text.at ? text : tc_json_get(row, "path_base64");
}

/* The change's row among the answer's files, absent where it is no file, or is gone. What is
 * compared are the names themselves: two may be shown alike. */
static struct tc_slice file_of(struct tc_slice answer, struct tc_slice change)
{
    struct tc_slice name = name_of(change);
    struct tc_scan_each each = tc_scan_walk(tc_json_get(answer, "files"));
    while (tc_scan_next(&each)) {
        struct tc_slice other = name_of(each.value);
        if (name.at && other.at && name.length == other.length &&
            !memcmp(name.at, other.at, name.length))
            return each.value;
    }
    return (struct tc_slice){0};
}

/* A policy that grants the one file. */
static struct toolcage_policy *grant(const char *host)
{
    struct toolcage_policy *policy = NULL;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    (void)fputs("[defaults]\nnetwork = \"none\"\ntimeout = \"10s\"\n"
                "memory = { max = \"512MiB\", by = \"any\" }\nfilesystem.readable = [{ path = ",
                out);
    tc_cli_json_string(out, host);
    (void)fputs(", optional = true }]\n", out);
    if (!fclose(out) && toolcage_policy_load_buffer(text, size, "/diff.toml", &policy, NULL))
        policy = NULL;
    free(text);
    return policy;
}

/* One change, with its texts. */
struct pair {
    const char *path, *host, *kind, *text;
};

static struct toolcage_call *compare(struct toolcage_engine *engine, const struct pair *p)
{
    static const char none[] = "/dev/null";
    struct toolcage_policy *policy = grant(p->host);
    struct toolcage_call *call = NULL;
    bool added = !strcmp(p->kind, "added"), deleted = !strcmp(p->kind, "deleted");
    const char *const command[] = {"diff",    "-u",
                                   "--label", added ? none : p->path,
                                   "--label", deleted ? none : p->path,
                                   "--",      added ? none : p->host,
                                   "-"};
    bool fine = policy && !toolcage_call_new(engine, policy, NULL, &call, NULL) &&
                !toolcage_call_set_command(call, TC_COUNT(command), command, NULL) &&
                !toolcage_call_set_stdin(call, p->text, strlen(p->text), NULL) &&
                !toolcage_call_run(call, NULL);
    (void)toolcage_policy_unref(policy);
    return fine ? call : toolcage_call_unref(call);
}

/* diff(1) ends with 0 or 1 when it could compare. */
static bool put_one(FILE *out, struct toolcage_engine *engine, const struct pair *pair)
{
    struct toolcage_call *call = compare(engine, pair);
    const struct toolcage_result *result = call ? toolcage_call_result(call) : NULL;
    int32_t code = result ? toolcage_result_exit_code(result) : -1;
    size_t length = 0;
    const char *bytes = code == 0 || code == 1 ? toolcage_result_output(result, 1, &length) : "";
    (void)fwrite(bytes, 1, length, out);
    (void)toolcage_call_unref(call);
    return code == 0 || code == 1;
}

/* One change of a file, or why its content is not shown; NULL: it is, or there is none. `room` is
 * how many more are compared. */
static const char *put_change(FILE *out, struct toolcage_engine *engine, struct tc_slice answer,
                              struct tc_slice row, int *room)
{
    _autofree_ char *path = tc_json_text(tc_json_get(row, "path"));
    _autofree_ char *host = tc_json_text(tc_json_get(row, "host"));
    _autofree_ char *kind = tc_json_text(tc_json_get(row, "kind"));
    struct tc_slice file = file_of(answer, row);
    bool deleted = kind && !strcmp(kind, "deleted");
    if (!deleted && !file.at)
        return NULL; /* a link or a directory: its line says all */
    _autofree_ char *text = deleted ? strdup("") : tc_json_text(tc_json_get(file, "text"));
    const struct pair pair = {path, host, kind, text};
    if (!text)
        return tc_json_get(file, "base64").at ? "no text" : "too large";
    if (!path || !host || !kind)
        return "its name is no text";
    if (--*room < 0)
        return "one of too many";
    if (put_one(out, engine, &pair))
        return NULL;
    return deleted ? "what goes is no text" : "diff cannot show it";
}

void tc_diff_put(FILE *out, struct toolcage_engine *engine, struct tc_slice answer)
{
    int room = 200;
    struct tc_scan_each each = tc_scan_walk(tc_json_get(answer, "changes"));
    _autofree_ char *names = NULL;
    size_t size = 0;
    FILE *left = open_memstream(&names, &size);
    while (left && tc_scan_next(&each)) {
        const char *why = put_change(out, engine, answer, each.value, &room);
        _autofree_ char *shown = why ? tc_json_path(each.value) : NULL;
        if (why)
            (void)fprintf(left, "not compared  %s  (%s)\n", shown ? shown : "?", why);
    }
    if (left && !fclose(left))
        (void)fputs(names, out);
}
