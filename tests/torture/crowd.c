/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A host with many calls at once, for the killing of processes around it. When its standard input
 * ends it cancels what still runs. Then it says how each call ended, one word a line, and "left"
 * with the descriptors that it did not have before. Whatever happens to its helper, it ends.
 *
 *     crowd POLICY COUNT TOOL… */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <toolcage/toolcage.h>
#include <unistd.h>

#include "descriptors.h"

enum { MOST = 256 };

static struct toolcage_call *calls[MOST];
static struct pollfd ready[MOST + 1];
static int started;

static void begin(struct toolcage_engine *engine, struct toolcage_policy *policy, const char *tool)
{
    struct toolcage_error *err = NULL;
    struct toolcage_call *call = NULL;
    if (toolcage_call_new(engine, policy, tool, &call, &err) < 0 ||
        toolcage_call_start(call, &err) < 0) {
        printf("refused\n");
        toolcage_error_free(err);
        (void)toolcage_call_unref(call);
        return;
    }
    calls[started] = call;
    ready[started + 1] = (struct pollfd){.fd = toolcage_call_fd(call), .events = POLLIN};
    started++;
}

static void finish(int i)
{
    const struct toolcage_result *result = toolcage_call_result(calls[i]);
    printf("%s\n", result ? toolcage_result_status_word(result) : "error");
    calls[i] = toolcage_call_unref(calls[i]);
    ready[i + 1].fd = -1;
}

static void serve(void)
{
    int left = started;
    ready[0] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    while (left > 0 && poll(ready, (nfds_t)started + 1, -1) >= 0) {
        if (ready[0].fd >= 0 && ready[0].revents) {
            ready[0].fd = -1;
            for (int i = 0; i < started; i++)
                if (calls[i])
                    (void)toolcage_call_cancel(calls[i]);
        }
        for (int i = 0; i < started; i++) {
            struct toolcage_error *err = NULL;
            if (!calls[i] || !ready[i + 1].revents || toolcage_call_dispatch(calls[i], &err) == 0)
                continue;
            toolcage_error_free(err);
            finish(i);
            left--;
        }
    }
}

int main(int argc, char **argv)
{
    struct toolcage_engine *engine = NULL;
    struct toolcage_policy *policy = NULL;
    struct toolcage_error *err = NULL;
    int count = argc > 3 ? (int)strtol(argv[2], NULL, 10) : 0;
    static char room[1 << 14];
    (void)setvbuf(stdout, room, _IOFBF, sizeof(room));
    if (count < 1 || count > MOST)
        return 2;
    int before = descriptors();
    if (toolcage_policy_load_file(argv[1], &policy, &err) < 0 ||
        toolcage_engine_new(&engine, &err) < 0) {
        (void)fprintf(stderr, "crowd: %s\n", toolcage_error_message(err));
        return 125;
    }
    for (int i = 0; i < count; i++)
        begin(engine, policy, argv[3 + i % (argc - 3)]);
    serve();
    (void)toolcage_engine_unref(engine);
    (void)toolcage_policy_unref(policy);
    printf("left %d\n", descriptors() - before);
    return 0;
}
