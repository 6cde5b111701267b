/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Several calls at once in one poll loop. The descriptors need no timeout: the helper keeps the
 * deadlines. */
#include <poll.h>
#include <string.h>

#include "common.h"

enum { CALLS = 4 };

int main(void)
{
    static const char *const lines[CALLS] = {"sleep 0.3; echo third", "sleep 0.1; echo first",
                                             "sleep 0.2; echo second", "sleep 60"};
    struct toolcage_engine *engine = make_engine();
    struct toolcage_policy *policy = make_policy();
    struct toolcage_call *calls[CALLS];
    struct toolcage_error *err = NULL;
    struct pollfd fds[CALLS];
    int running = CALLS;

    for (int i = 0; i < CALLS; i++) {
        calls[i] = make_call(engine, policy, lines[i], i == 3 ? "1s" : "30s");
        check(toolcage_call_start(calls[i], &err), err);
        fds[i] = (struct pollfd){.fd = toolcage_call_fd(calls[i]), .events = POLLIN};
    }
    while (running) {
        if (poll(fds, CALLS, -1) < 0)
            return 125;
        for (int i = 0; i < CALLS; i++) {
            if (fds[i].fd < 0 || !fds[i].revents)
                continue;
            int done = toolcage_call_dispatch(calls[i], &err);
            check(done, err);
            if (!done)
                continue;
            const struct toolcage_result *result = toolcage_call_result(calls[i]);
            expect(result, i == 3 ? TOOLCAGE_STATUS_TIMEOUT : TOOLCAGE_STATUS_OK);
            printf("call %d: %s", i, toolcage_result_message(result));
            fds[i].fd = -1; /* poll() ignores negative ones */
            running--;
        }
    }
    for (int i = 0; i < CALLS; i++)
        toolcage_call_unref(calls[i]);
    toolcage_policy_unref(policy);
    toolcage_engine_unref(engine);
    return 0;
}
