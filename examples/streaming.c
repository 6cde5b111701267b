/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A conversation: the tool's output arrives as it comes, and each line of it is answered on its
 * standard input. */
#include <string.h>
#include <unistd.h>

#include "common.h"

struct talk {
    int input;
    int lines;
};

static void on_output(void *userdata, int stream, const void *bytes, size_t length)
{
    struct talk *talk = userdata;
    printf("stream %d: %.*s", stream, (int)length, (const char *)bytes);
    if (stream != 1)
        return;
    talk->lines++;
    if (write(talk->input, "next\n", 5) != 5)
        perror("write");
}

int main(void)
{
    struct toolcage_engine *engine = make_engine();
    struct toolcage_policy *policy = make_policy();
    struct toolcage_error *err = NULL;
    struct talk talk = {.input = -1};
    struct toolcage_call *call = make_call(
        engine, policy,
        "for i in 1 2 3; do echo line $i; read answer; done; echo heard $answer >&2", "10s");
    check(toolcage_call_open_stdin(call, &talk.input, &err), err);
    check(toolcage_call_set_output_callback(call, on_output, &talk, &err), err);
    check(toolcage_call_run(call, &err), err);
    const struct toolcage_result *result = toolcage_call_result(call);
    expect(result, TOOLCAGE_STATUS_OK);

    size_t length;
    const char *said = toolcage_result_output(result, 2, &length);
    int heard = length == strlen("heard next\n") && memcmp(said, "heard next\n", length) == 0;
    close(talk.input);
    toolcage_call_unref(call);
    toolcage_policy_unref(policy);
    toolcage_engine_unref(engine);
    return talk.lines == 3 && heard ? 0 : 1;
}
