/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Connections of a guest at the host's end: each is made where the guest says, every byte and every
 * end goes through, and what cannot be made, or breaks off, breaks off. A guest that breaks the
 * rules ends its call by a failure that says which. The tool's end and the guest's stand in for the
 * relay. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <toolcage/error.h>
#include <toolcage/result.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "plan/protocol.h"
#include "test.h"
#include "version.h"
#include "vm/vm.h"

enum { PATIENCE_US = 20000000, MANY = 20, LARGE = 4 << 20 };

/* ---- both ends of a port ---- */

struct ends {
    struct tc_mux_endpoints *guest;
    struct tc_vm_net *net;
    int ports[2];
    const char *fault;
};

static char authority_text[600000];

static void came(struct tc_mux_endpoints *l, uint32_t id)
{
    size_t len;
    const char *bytes = tc_mux_heard(&l->mux, id, &len);
    assert_true(strlen(authority_text) + len < sizeof(authority_text));
    strncat(authority_text, bytes, len);
    tc_mux_taken(&l->mux, id, len);
    if (l->mux.streams[id].heard_end)
        tc_mux_endpoints_close(l, id, false);
}

static void open_ends(struct ends *e, char *authority)
{
    const struct tc_vm_options options = {.net = true, .authority = authority};
    *e = (struct ends){.guest = calloc(1, sizeof(*e->guest))};
    assert_non_null(e->guest);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, e->ports), 0);
    assert_true(tc_mux_endpoints_init(e->guest, e->ports[0], true));
    e->guest->came = came;
    e->net = tc_vm_net_open(&options, e->ports[1]);
    assert_non_null(e->net);
}

static void close_ends(struct ends *e)
{
    tc_mux_endpoints_done(e->guest);
    free(e->guest);
    tc_vm_net_close(e->net);
    (void)close(e->ports[0]);
    (void)close(e->ports[1]);
}

static void turn_one(struct ends *e, struct tc_mux_endpoints *l)
{
    static struct pollfd polls[TC_MUX_ENDPOINTS_WAITS];
    size_t count = tc_mux_endpoints_ask(l, polls);
    if (poll(polls, count, 1) <= 0)
        return;
    const char *fault = tc_mux_endpoints_answer(l, polls, count);
    e->fault = e->fault ? e->fault : fault;
}

static void turn(struct ends *e)
{
    tc_mux_endpoints_push(e->guest);
    turn_one(e, e->guest);
    turn_one(e, &e->net->lines);
}

/* ---- the world, and the tool ---- */

static int listen_here(int type, struct tc_mux_to *ret)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0);
    assert_true(type == SOCK_DGRAM || listen(fd, MANY) == 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    *ret = (struct tc_mux_to){.what = type == SOCK_DGRAM ? TC_MUX_DATAGRAMS : TC_MUX_STREAM};
    memcpy(ret->port, &at.sin_port, sizeof(ret->port));
    memcpy(ret->address, &at.sin_addr, sizeof(at.sin_addr));
    return fd;
}

/* The tool's own end of a connection of the guest. */
static int open_tool(struct ends *e, const struct tc_mux_to *to, uint32_t *ret_id)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    assert_true(tc_mux_open(&e->guest->mux, to, ret_id));
    tc_mux_endpoints_attach(e->guest, *ret_id, pair[1], false);
    return pair[0];
}

static int await_server(struct ends *e, int listener)
{
    int64_t until = tc_now_us() + PATIENCE_US;
    int fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) < 0) {
        assert_true(tc_now_us() < until);
        turn(e);
    }
    return fd;
}

/* So many bytes of a pattern, or the end (0); -1: it broke off. */
static ssize_t await_bytes(struct ends *e, int fd, char *to, size_t len)
{
    int64_t until = tc_now_us() + PATIENCE_US;
    ssize_t n;
    while ((n = read(fd, to, len)) < 0 && errno == EAGAIN) {
        assert_true(tc_now_us() < until);
        turn(e);
    }
    return n;
}

static void await_unused(struct ends *e)
{
    int64_t until = tc_now_us() + PATIENCE_US;
    while (e->guest->mux.used || e->net->lines.mux.used) {
        assert_true(tc_now_us() < until);
        turn(e);
    }
    assert_null(e->fault);
}

/* Nothing is left at either end; what is -1 the case has not. */
static void end(struct ends *e, int tool, int server, int listener)
{
    const int fds[] = {tool, server, listener};
    await_unused(e);
    tc_close_all(fds, TC_COUNT(fds));
    close_ends(e);
}

static char byte_at(size_t at)
{
    return (char)(at * 7 + (at >> 9) * 13);
}

/* From one end to the other, at the pace of both, and then the end. */
static void pass(struct ends *e, int from, int to, size_t all)
{
    char bytes[40000];
    size_t said = 0, heard = 0;
    while (heard < all) {
        size_t len = all - said < sizeof(bytes) ? all - said : sizeof(bytes);
        for (size_t i = 0; i < len; i++)
            bytes[i] = byte_at(said + i);
        ssize_t n = len ? write(from, bytes, len) : 0;
        said += n > 0 ? (size_t)n : 0;
        n = await_bytes(e, to, bytes, sizeof(bytes));
        assert_true(n > 0);
        for (ssize_t i = 0; i < n; i++)
            assert_int_equal(bytes[i], byte_at(heard + (size_t)i));
        heard += (size_t)n;
    }
    assert_int_equal(shutdown(from, SHUT_WR), 0);
    assert_int_equal(await_bytes(e, to, bytes, sizeof(bytes)), 0);
}

/* ---- honest ---- */

static void megabytes_go_both_ways_and_ends_are_ends(void **state)
{
    struct ends e;
    struct tc_mux_to to;
    uint32_t id;
    (void)state;
    open_ends(&e, NULL);
    int listener = listen_here(SOCK_STREAM, &to);
    int tool = open_tool(&e, &to, &id);
    int server = await_server(&e, listener);
    pass(&e, tool, server, LARGE);
    /* half of it has ended */
    pass(&e, server, tool, LARGE);
    end(&e, tool, server, listener);
}

static void many_at_once_are_not_mixed(void **state)
{
    struct ends e;
    struct tc_mux_to to;
    int tools[MANY], server;
    uint32_t id;
    char said[16], heard[16];
    (void)state;
    open_ends(&e, NULL);
    int listener = listen_here(SOCK_STREAM, &to);
    for (int i = 0; i < MANY; i++)
        tools[i] = open_tool(&e, &to, &id);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(said, sizeof(said), "tool %9d", i);
        assert_int_equal(write(tools[i], said, 14), 14);
    }
    for (int i = 0; i < MANY; i++) {
        server = await_server(&e, listener);
        assert_int_equal(await_bytes(&e, server, heard, 14), 14);
        assert_int_equal(write(server, heard, 14), 14);
        (void)close(server);
    }
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(said, sizeof(said), "tool %9d", i);
        assert_int_equal(await_bytes(&e, tools[i], heard, 14), 14);
        assert_memory_equal(said, heard, 14);
        assert_int_equal(await_bytes(&e, tools[i], heard, 14), 0);
        (void)close(tools[i]);
    }
    end(&e, -1, -1, listener);
}

/* Who does not read is waited for, and is no matter of the others'. */
static void unread_connection_blocks_only_itself(void **state)
{
    struct ends e;
    struct tc_mux_to to;
    uint32_t stuck, id;
    char bytes[4096] = {0};
    (void)state;
    open_ends(&e, NULL);
    int listener = listen_here(SOCK_STREAM, &to);
    int tool = open_tool(&e, &to, &stuck);
    int server = await_server(&e, listener);
    int64_t until = tc_now_us() + 300000;
    while (tc_now_us() < until) {
        (void)!write(tool, bytes, sizeof(bytes));
        turn(&e);
        const struct tc_mux_stream *s = &e.net->lines.mux.streams[stuck];
        assert_true(s->in.len <= 2 * TC_MUX_WINDOW);
    }
    int other = open_tool(&e, &to, &id), served = await_server(&e, listener);
    pass(&e, other, served, LARGE / 8);
    assert_int_equal(write(server, "x", 1), 1);
    assert_int_equal(await_bytes(&e, tool, bytes, 1), 1);
    (void)close(tool);
    (void)close(server);
    (void)close(other);
    (void)close(served);
    (void)close(listener);
    close_ends(&e);
}

static void connection_to_nowhere_is_closed(void **state)
{
    struct ends e;
    struct tc_mux_to to;
    uint32_t id;
    char byte;
    (void)state;
    open_ends(&e, NULL);
    (void)close(listen_here(SOCK_STREAM, &to));
    int tool = open_tool(&e, &to, &id);
    assert_true(await_bytes(&e, tool, &byte, 1) <= 0);
    await_unused(&e);
    (void)close(tool);
    const struct tc_mux_to none[] = {{.what = 9}, {.what = TC_MUX_STREAM, .ipv6 = 2}, {.what = 0}};
    for (size_t i = 0; i < TC_COUNT(none); i++) {
        tool = open_tool(&e, &none[i], &id);
        assert_true(await_bytes(&e, tool, &byte, 1) <= 0);
        (void)close(tool);
    }
    await_unused(&e);
    close_ends(&e);
}

static void a_reset_is_a_reset(void **state)
{
    const struct linger at_once = {.l_onoff = 1};
    struct ends e;
    struct tc_mux_to to;
    uint32_t id;
    char byte;
    (void)state;
    open_ends(&e, NULL);
    int listener = listen_here(SOCK_STREAM, &to);
    int tool = open_tool(&e, &to, &id), server = await_server(&e, listener);
    assert_int_equal(setsockopt(server, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
    (void)close(server);
    assert_true(await_bytes(&e, tool, &byte, 1) <= 0);
    await_unused(&e);
    (void)close(tool);
    /* and the other way round */
    tool = open_tool(&e, &to, &id);
    server = await_server(&e, listener);
    tc_mux_endpoints_close(e.guest, id, true);
    assert_int_equal(await_bytes(&e, server, &byte, 1), -1);
    assert_int_equal(errno, ECONNRESET);
    end(&e, tool, server, listener);
}

static uint32_t last_datagram;
static char last_text[64];

static void datagram(struct tc_mux_endpoints *l, uint32_t id, const char *bytes, size_t len)
{
    (void)l;
    last_datagram = id;
    (void)snprintf(last_text, sizeof(last_text), "%.*s", (int)len, bytes);
}

static void datagrams_stay_datagrams(void **state)
{
    struct ends e;
    struct tc_mux_to to;
    struct sockaddr_in from;
    socklen_t len = sizeof(from);
    uint32_t id = 0;
    char bytes[64];
    (void)state;
    open_ends(&e, NULL);
    e.guest->datagram = datagram;
    int server = listen_here(SOCK_DGRAM, &to);
    assert_true(tc_mux_open(&e.guest->mux, &to, &id));
    tc_mux_endpoints_attach(e.guest, id, -1, false);
    tc_mux_endpoints_datagram(e.guest, id, "one", 3);
    tc_mux_endpoints_datagram(e.guest, id, "three", 5);
    assert_int_equal(await_bytes(&e, server, bytes, sizeof(bytes)), 3);
    assert_int_equal(recvfrom(server, bytes, sizeof(bytes), 0, (struct sockaddr *)&from, &len), 5);
    assert_int_equal(sendto(server, "back", 4, 0, (struct sockaddr *)&from, len), 4);
    for (int64_t until = tc_now_us() + PATIENCE_US; !*last_text; turn(&e))
        assert_true(tc_now_us() < until);
    assert_int_equal(last_datagram, id);
    assert_string_equal(last_text, "back");
    tc_mux_endpoints_close(e.guest, id, false);
    end(&e, -1, server, -1);
}

static void the_authority_is_the_bundles_last(void **state)
{
    static const char last[] = "-----BEGIN CERTIFICATE-----\nours\n-----END CERTIFICATE-----\n";
    const struct tc_mux_to to = {.what = TC_MUX_AUTHORITY};
    char path[64];
    struct ends e;
    uint32_t id;
    (void)state;
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    for (int i = 0; i < 3000; i++)
        tc_buf_adds(&text, "-----BEGIN CERTIFICATE-----\ntheirs\n-----END CERTIFICATE-----\n");
    tc_buf_adds(&text, last);
    _autofd_ int bundle = tc_memfd("bundle", text.data, text.len);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", bundle);
    for (int has = 0; has <= 1; has++) {
        authority_text[0] = '\0';
        open_ends(&e, has ? path : NULL);
        assert_true(tc_mux_open(&e.guest->mux, &to, &id));
        tc_mux_endpoints_attach(e.guest, id, -1, false);
        await_unused(&e);
        assert_string_equal(authority_text, has ? last : "");
        close_ends(&e);
    }
}

/* ---- hostile, within a call ---- */

static int spoken;

static void say(enum tc_mux_kind kind, uint32_t id, const void *rest, size_t len)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT, body = TC_BUF_INIT;
    tc_buf_add(&body, &id, sizeof(id));
    tc_buf_add(&body, rest, len);
    tc_frame_put(&out, kind, body.data, body.len);
    (void)tc_write_all(spoken, out.data, out.len);
}

static void open_nowhere(uint32_t id)
{
    static const struct tc_mux_to discard = {TC_MUX_STREAM, 0, {0, 9}, {127, 0, 0, 1}};
    say(TC_MUX_OPEN, id, &discard, sizeof(discard));
}

static void opens_too_many(void)
{
    for (uint32_t id = 0; id <= TC_MUX_STREAMS_MAX; id++)
        open_nowhere(id);
}

static void lies_about_length(void)
{
    static const uint32_t head[] = {TC_MUX_BYTES, 0xffffffff};
    (void)tc_write_all(spoken, head, sizeof(head));
}

static void credits_too_much(void)
{
    static const uint32_t more = 0x80000000;
    const struct tc_mux_to to = {.what = TC_MUX_AUTHORITY};
    say(TC_MUX_OPEN, 5, &to, sizeof(to));
    say(TC_MUX_CREDIT, 5, &more, sizeof(more));
}

static void says_more_than_its_window(void)
{
    static char piece[TC_MUX_PIECE];
    open_nowhere(1);
    for (int i = 0; i < 3; i++)
        say(TC_MUX_BYTES, 1, piece, sizeof(piece));
}

static void speaks_after_the_end(void)
{
    open_nowhere(1);
    say(TC_MUX_CLOSE, 1, "", 1);
    say(TC_MUX_BYTES, 1, "x", 1);
}

static void floods_and_never_reads(void)
{
    for (int i = 0; i < 1000000; i++) {
        open_nowhere(7);
        say(TC_MUX_CLOSE, 7, "", 1);
    }
}

static void broken_rules_end_the_call(void **state)
{
    static const struct {
        void (*play)(void);
        const char *message;
    } guests[] = {
        {opens_too_many, "the machine's guest used a connection number that is too large"},
        {lies_about_length, "the machine's guest sent a frame with an invalid length"},
        {credits_too_much,
         "the machine's guest acknowledged more bytes of a connection than were sent"},
        {says_more_than_its_window,
         "the machine's guest sent more bytes on a connection than its window allows"},
        {speaks_after_the_end,
         "the machine's guest sent a frame for a connection that is not open"},
        {floods_and_never_reads, "the machine's guest opened a connection that is already open"},
    };
    (void)state;
    for (size_t i = 0; i < TC_COUNT(guests); i++) {
        int port[2], net[2], tube[2];
        bool kept = false;
        struct tc_outcome outcome = {0};
        struct tc_vm_files files;
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, port),
                         0);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, net), 0);
        assert_int_equal(pipe2(tube, O_CLOEXEC | O_NONBLOCK), 0);
        assert_int_equal(fcntl(net[0], F_SETFL, O_NONBLOCK), 0);
        pid_t pid = fork();
        if (pid == 0) {
            (void)signal(SIGPIPE, SIG_IGN);
            (void)close(net[0]);
            spoken = net[1];
            guests[i].play();
            (void)poll(NULL, 0, PATIENCE_US / 1000);
            _exit(0);
        }
        (void)close(net[1]);
        const struct tc_vm_options options = {.plan = TEXT("/dev/null"),
                                              .net = true,
                                              .driver = &tc_vm_qemu,
                                              .boot_ms = PATIENCE_US / 1000,
                                              .stall_ms = PATIENCE_US / 1000,
                                              .in = -1,
                                              .out = -1,
                                              .err = -1};
        assert_int_equal(tc_vm_files_open(&files, &options), 0);
        int64_t began = tc_now_us();
        tc_vm_call(
            &options,
            &(struct tc_vm){.port = port[0], .console = tube[0], .control = -1, .net = net[0]},
            &files, &outcome, &kept);
        assert_true(tc_now_us() - began < PATIENCE_US);
        assert_int_equal(outcome.failure.code, TOOLCAGE_EBACKEND);
        assert_string_equal(outcome.failure.stage, "machine");
        assert_string_equal(outcome.failure.subject, "guest");
        assert_string_equal(outcome.failure.message, guests[i].message);
        tc_outcome_done(&outcome);
        tc_vm_files_done(&files);
        (void)kill(pid, SIGKILL);
        const int fds[] = {port[0], port[1], net[0], tube[0], tube[1]};
        tc_close_all(fds, TC_COUNT(fds));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(megabytes_go_both_ways_and_ends_are_ends),
        cmocka_unit_test(many_at_once_are_not_mixed),
        cmocka_unit_test(unread_connection_blocks_only_itself),
        cmocka_unit_test(connection_to_nowhere_is_closed),
        cmocka_unit_test(a_reset_is_a_reset),
        cmocka_unit_test(datagrams_stay_datagrams),
        cmocka_unit_test(the_authority_is_the_bundles_last),
        cmocka_unit_test(broken_rules_end_the_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
