/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Work on modules that is no call of a tool's: each in a cage of its own, which has the module and
 * the engine and nothing else. What comes out of it is its standard output. */
#include <string.h>

#include "base/digest.h"
#include "base/jsontext.h"
#include "base/path.h"
#include "call/call.h"
#include "call/modules.h"
#include "wasm/version.h"

enum { CODE_MAX = 256 << 20 };

#define POLICY                 \
    "[tool.module]\n"          \
    "backend = \"wasm\"\n"     \
    "command = [\"module\"]\n" \
    "filesystem = \"none\"\n"  \
    "network = \"none\"\n"     \
    "timeout = \"10m\"\n"      \
    "memory = { max = \"2GiB\", by = \"any\" }\n"

/* What it printed: what it was asked for, and its complaints. */
struct printed {
    struct tc_buf *out, complaints;
};

static void collect(void *userdata, int stream, const void *bytes, size_t length)
{
    struct printed *to = userdata;
    tc_buf_add(stream == 1 ? to->out : &to->complaints, bytes, length);
}

static int fail(const char *path, const char *words, size_t length, struct toolcage_error **err)
{
    while (length && (words[length - 1] == '\n'))
        length--;
    return tc_fail(
        err,
        TC_WHY(TOOLCAGE_EBACKEND, "wasm", path,
               "give a program of WASI preview 1, as clang --target=wasm32-wasi makes them"),
        "%.*s", (int)length, words);
}

/* The call's end; a module that lacks something is no failure of looking at it. */
static int finish(struct toolcage_call *call, const struct printed *printed,
                  struct toolcage_error **err)
{
    const struct toolcage_result *result = call->result;
    const struct tc_buf *said = &printed->complaints;
    const struct toolcage_error *why = result->error;
    if (printed->out->failed)
        return tc_fail_memory(err);
    if (why)
        return fail(call->module, tc_error_message(why), strlen(tc_error_message(why)), err);
    int64_t code = result->outcome.exit_code;
    if (code == 0 || (code == 1 && tc_streq(call->work, "inspect")))
        return 0;
    if (said->data && said->len)
        return fail(call->module, said->data, said->len, err);
    static const char limits[] = "it took too long, or too much memory";
    return fail(call->module, limits, strlen(limits), err);
}

static int run(struct toolcage_call *call, struct tc_buf *out, struct toolcage_error **err)
{
    struct printed printed = {.out = out, .complaints = TC_BUF_INIT};
    int r = tc_call_set_output(call, collect, &printed, err);
    if (r == 0)
        r = tc_call_start(call, err);
    if (r == 0 && call->state != TC_CALL_DONE)
        r = tc_call_wait(call, -1, err);
    r = r < 0 ? r : finish(call, &printed, err);
    tc_buf_done(&printed.complaints);
    return r;
}

int tc_modules_work(const char *work, const char *path, bool deterministic, struct tc_buf *out,
                    struct toolcage_error **err)
{
    const char *text = deterministic ? POLICY "deterministic = true\n" : POLICY;
    struct toolcage_policy *policy = NULL;
    struct toolcage_engine *engine = NULL;
    struct toolcage_call *call = NULL;
    int r = tc_policy_load_buffer(text, strlen(text), "module", &policy, err);
    if (r == 0)
        r = tc_engine_new(&engine, err);
    if (r == 0)
        r = tc_call_new(engine, policy, "module", &call, err);
    if (r == 0) {
        call->work = work;
        call->module = path;
        out->max = CODE_MAX;
        r = run(call, out, err);
    }
    tc_call_unref(call);
    tc_engine_unref(engine);
    tc_policy_unref(policy);
    return r;
}
