/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * toolcage-bridge URL PLACE [SECRET]...: started by toolcage wrap, in its cage. */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bridge/bridge.h"

enum { IDLE_MS = 60000, END_MS = 2000, USAGE = 2, AHEAD_MAX = 1 << 20 };

static void take_lines(struct tc_bridge *bridge)
{
    const char *line = NULL;
    size_t length = 0;
    while (!bridge->failed && tc_relay_is_open(bridge)) {
        enum tc_line kind = tc_lines_next(&bridge->lines, &line, &length);
        if (kind == TC_LINE_NONE)
            return;
        if (kind == TC_LINE_WHOLE)
            tc_relay_line(bridge, line, length);
    }
}

static void take_input(struct tc_bridge *bridge)
{
    int rc = tc_lines_read(&bridge->lines, STDIN_FILENO);
    bridge->ended = rc <= 0;
}

/* Ends transfers whose connections have ended. */
static void take_ends(struct tc_bridge *bridge)
{
    int left = 0;
    CURLMsg *message;
    while (!bridge->failed && (message = curl_multi_info_read(bridge->multi, &left))) {
        struct tc_transfer *t = NULL;
        CURLcode rc = message->data.result;
        if (message->msg == CURLMSG_DONE &&
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&t) == CURLE_OK)
            tc_outcome_take(t, rc);
    }
}

static int wait_ms(const struct tc_bridge *bridge, int64_t end_ms)
{
    int64_t now = tc_bridge_now_ms(), next = now + IDLE_MS;
    if (end_ms && end_ms < next)
        next = end_ms;
    for (size_t i = 0; i < bridge->count; i++)
        if (bridge->transfers[i]->at_ms && bridge->transfers[i]->at_ms < next)
            next = bridge->transfers[i]->at_ms;
    return next > now ? (int)(next - now) : 0;
}

/* Does what can be done without waiting. */
static void advance(struct tc_bridge *bridge)
{
    int running = 0;
    tc_outcome_tick(bridge);
    bridge->failed |= curl_multi_perform(bridge->multi, &running) != CURLM_OK;
    take_ends(bridge);
    take_lines(bridge);
}

static void await(struct tc_bridge *bridge, int64_t end_ms)
{
    struct curl_waitfd in = {.fd = STDIN_FILENO, .events = CURL_WAIT_POLLIN};
    /* reads ahead, so that the end of the input is noticed at any time */
    bool takes = !bridge->ended && (tc_relay_is_open(bridge) || bridge->lines.length < AHEAD_MAX);
    bridge->failed |= curl_multi_poll(bridge->multi, takes ? &in : NULL, takes,
                                      wait_ms(bridge, end_ms), NULL) != CURLM_OK;
    if (!takes || !in.revents || bridge->failed)
        return;
    take_input(bridge);
    take_lines(bridge);
}

/* Requests that wait for their response. */
static bool is_busy(const struct tc_bridge *bridge)
{
    for (size_t i = 0; i < bridge->count; i++)
        if (bridge->transfers[i]->kind != TC_TRANSFER_LISTEN && !bridge->transfers[i]->answered)
            return true;
    return false;
}

static void leave_server(struct tc_bridge *bridge)
{
    while (bridge->count)
        tc_transfer_free(bridge->transfers[0]);
    struct tc_transfer *t =
        bridge->session[0] ? tc_transfer_new(bridge, TC_TRANSFER_LEAVE, NULL, 0) : NULL;
    if (t)
        tc_transfer_begin(t);
    for (advance(bridge); bridge->count && !bridge->failed; advance(bridge))
        await(bridge, 0);
}

static void run(struct tc_bridge *bridge)
{
    int64_t end_ms = 0;
    for (;;) {
        advance(bridge);
        if (bridge->ended && !end_ms)
            end_ms = tc_bridge_now_ms() + END_MS;
        if (bridge->failed || (bridge->ended && (!is_busy(bridge) || tc_bridge_now_ms() >= end_ms)))
            break;
        await(bridge, end_ms);
    }
    if (!bridge->failed)
        leave_server(bridge);
}

int main(int argc, char **argv)
{
    struct tc_bridge bridge = {0};
    if (argc < 3 || curl_global_init(CURL_GLOBAL_DEFAULT)) {
        tc_bridge_note("toolcage-bridge is started by toolcage wrap");
        return USAGE;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    bridge.url = argv[1];
    bridge.server = argv[2];
    bridge.secrets = argv + 3;
    bridge.take = tc_relay_message;
    bridge.multi = curl_multi_init();
    bridge.shown = strndup(argv[1], strcspn(argv[1], "?"));
    bridge.failed = !bridge.multi || !bridge.shown;
    run(&bridge);
    while (bridge.count)
        tc_transfer_free(bridge.transfers[0]);
    tc_lines_done(&bridge.lines);
    free(bridge.shown);
    free(bridge.hello);
    free(bridge.greeting);
    (void)curl_multi_cleanup(bridge.multi);
    curl_global_cleanup();
    return bridge.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
