/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/diff.h"

#include <inttypes.h>
#include <string.h>

#include "cli/say.h"

/* The file's new text among the answer's files; NULL: none, or too large to be there. */
static char *text_of(struct tc_slice answer, const char *path)
{
    struct tc_scan_each each = tc_scan_walk(tc_json_get(answer, "files"));
    while (tc_scan_next(&each)) {
        _autofree_ char *name = tc_json_text(tc_json_get(each.value, "path"));
        if (name && !strcmp(name, path))
            return tc_json_text(tc_json_get(each.value, "text"));
    }
    return NULL;
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

void tc_diff_put(FILE *out, struct toolcage_engine *engine, struct tc_slice answer)
{
    struct tc_scan_each each = tc_scan_walk(tc_json_get(answer, "changes"));
    enum { COMPARED = 200 };
    int64_t skipped = 0, compared = 0;
    while (tc_scan_next(&each)) {
        _autofree_ char *path = tc_json_text(tc_json_get(each.value, "path"));
        _autofree_ char *host = tc_json_text(tc_json_get(each.value, "host"));
        _autofree_ char *kind = tc_json_text(tc_json_get(each.value, "kind"));
        bool deleted = kind && !strcmp(kind, "deleted");
        _autofree_ char *text = deleted ? strdup("") : path ? text_of(answer, path) : NULL;
        const struct pair pair = {path, host, kind, text};
        bool fine = path && host && kind && text && compared < COMPARED;
        compared += fine;
        if (!fine || !put_one(out, engine, &pair))
            skipped++;
    }
    if (skipped)
        (void)fprintf(out, "(not compared, as no small text: %" PRId64 ")\n", skipped);
}
