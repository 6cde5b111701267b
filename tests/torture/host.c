/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A host whose life the injector watches: an engine, one call of each named tool, the end; then,
 * when the fault is over, the first tool once more with a new engine. One JSON line for each call,
 * and a last one about what is left in the process.
 *
 *     host POLICY TOOL… */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <toolcage/toolcage.h>

#include "descriptors.h"
#include "marks.h"

static void mark(unsigned long what)
{
    (void)prctl(MARK, what, 0, 0, 0);
}

/* Only what the library does counts, not what this program says about it. */
static void library(bool begins)
{
    torture_counting = begins;
    mark(begins ? MARK_BEGIN : MARK_END);
}

static void print_error(const struct toolcage_error *err)
{
    if (!err) {
        printf("null");
        return;
    }
    /* texts of the library have neither quotes nor control characters that matter here */
    const char *texts[] = {toolcage_error_message(err), toolcage_error_stage(err)};
    printf("{\"code\":%d", toolcage_error_code(err));
    for (int i = 0; i < 2; i++) {
        printf(",\"%s\":\"", i ? "stage" : "message");
        for (const char *c = texts[i]; c && *c; c++)
            (void)putchar(*c == '"' || *c == '\\' || *c < ' ' ? '\'' : *c);
        printf("\"");
    }
    printf("}");
}

static void say(const char *what, int rc, const struct toolcage_error *err, const char *result)
{
    printf("{\"step\":\"%s\",\"rc\":%d,\"error\":", what, rc);
    print_error(err);
    printf(",\"result\":%s}\n", result ? result : "null");
    (void)fflush(stdout);
}

static void run_tool(struct toolcage_engine *engine, struct toolcage_policy *policy,
                     const char *tool, bool tortured)
{
    struct toolcage_call *call = NULL;
    struct toolcage_error *err = NULL;
    library(tortured);
    int rc = toolcage_call_new(engine, policy, tool, &call, &err);
    if (rc >= 0)
        rc = toolcage_call_run(call, &err);
    library(false);
    const struct toolcage_result *result = rc >= 0 ? toolcage_call_result(call) : NULL;
    say(tool, rc, err, result ? toolcage_result_json(result) : NULL);
    library(tortured);
    (void)toolcage_call_unref(call);
    (void)toolcage_error_free(err);
    library(false);
}

static void live_once(const char *file, char **tools, bool tortured)
{
    struct toolcage_engine *engine = NULL;
    struct toolcage_policy *policy = NULL;
    struct toolcage_error *err = NULL;
    library(tortured);
    int rc = toolcage_policy_load_file(file, &policy, &err);
    if (rc >= 0)
        rc = toolcage_engine_new(&engine, &err);
    library(false);
    if (rc < 0)
        say("engine", rc, err, NULL);
    for (; rc >= 0 && *tools; tools++)
        run_tool(engine, policy, *tools, tortured);
    library(tortured);
    (void)toolcage_engine_unref(engine);
    (void)toolcage_policy_unref(policy);
    (void)toolcage_error_free(err);
    library(false);
}

int main(int argc, char **argv)
{
    static char room[1 << 16];
    if (argc < 3)
        return 2;
    (void)setvbuf(stdout, room, _IOFBF, sizeof(room));
    char *one[] = {argv[2], NULL};
    live_once(argv[1], one + 1, false); /* what is made once a process is made now */
    int before = descriptors();
    long held = torture_live;
    mark(MARK_LIFE);
    live_once(argv[1], argv + 2, true);
    mark(MARK_OVER);
    printf("{\"step\":\"left\",\"descriptors\":%d,\"allocations\":%ld}\n", descriptors() - before,
           torture_live - held);
    live_once(argv[1], one, false);
    (void)fflush(stdout);
    return 0;
}
