/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/diff.h"

#include <inttypes.h>
#include <string.h>

#include "cli/say.h"

/* The change's row among the answer's files; NULL at: it is no file, or is gone. */
static struct tc_slice file_of(struct tc_slice answer, const char *path)
{
    struct tc_scan_each each = tc_scan_walk(tc_json_get(answer, "files"));
    while (tc_scan_next(&each)) {
        _autofree_ char *name = tc_json_path(each.value);
        if (name && !strcmp(name, path))
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

/* Why the file has no text to be compared; NULL: it has. */
static const char *why_not(struct tc_slice file, const char *text)
{
    if (text)
        return NULL;
    return tc_json_get(file, "base64").at ? "no text" : "too large";
}

/* One change of a file, or why its content is not shown; NULL: it is, or there is none. */
static const char *put_change(FILE *out, struct toolcage_engine *engine, struct tc_slice answer,
                              struct tc_slice row, const char *shown)
{
    _autofree_ char *path = tc_json_text(tc_json_get(row, "path"));
    _autofree_ char *host = tc_json_text(tc_json_get(row, "host"));
    _autofree_ char *kind = tc_json_text(tc_json_get(row, "kind"));
    struct tc_slice file = file_of(answer, shown);
    bool deleted = kind && !strcmp(kind, "deleted");
    if (!deleted && !file.at)
        return NULL; /* a link or a directory: its line says all */
    _autofree_ char *text = deleted ? strdup("") : tc_json_text(tc_json_get(file, "text"));
    const struct pair pair = {path, host, kind, text};
    const char *why = why_not(file, text);
    if (!why && (!path || !host || !kind))
        why = "its name is no text";
    if (!why && !put_one(out, engine, &pair))
        why = deleted ? "what goes is no text" : "diff cannot show it";
    return why;
}

void tc_diff_put(FILE *out, struct toolcage_engine *engine, struct tc_slice answer)
{
    enum { COMPARED = 200 };
    struct tc_scan_each each = tc_scan_walk(tc_json_get(answer, "changes"));
    _autofree_ char *names = NULL;
    size_t size = 0;
    FILE *left = open_memstream(&names, &size);
    for (int64_t i = 0; left && tc_scan_next(&each); i++) {
        _autofree_ char *shown = tc_json_path(each.value);
        const char *why = i >= COMPARED ? "one of too many"
                          : shown       ? put_change(out, engine, answer, each.value, shown)
                                        : NULL;
        if (why)
            (void)fprintf(left, "not compared  %s  (%s)\n", shown, why);
    }
    if (left && !fclose(left))
        (void)fputs(names, out);
}
