/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Two sides that keep the rules get every byte of every connection and nothing else, whatever their
 * pace; one that breaks a rule is told by its name, and holds no more than its windows until then.
 */
#include "mux/mux.h"

#include <string.h>

#include "test.h"

enum { COUNT = 4 };

static const struct tc_mux_to somewhere = {TC_MUX_STREAM, 0, {1, 187}, {198, 18, 0, 2}};

/* ---- two that keep the rules ---- */

struct sides {
    struct tc_mux guest, host;
};

static void open_sides(struct sides *s)
{
    assert_true(tc_mux_init(&s->guest, true, COUNT));
    assert_true(tc_mux_init(&s->host, false, COUNT));
}

static void close_sides(struct sides *s)
{
    tc_mux_done(&s->guest);
    tc_mux_done(&s->host);
}

/* What waits at one side, as far as whole frames go; how many opened a connection. */
static int carry(struct tc_mux *from, struct tc_mux *to)
{
    int opened = 0;
    struct tc_frames frames = tc_frames_of(tc_mux_most, TC_MUX_KINDS);
    struct tc_frame f;
    tc_mux_settle(from);
    if (from->out.len)
        tc_buf_add(&frames.in, from->out.data + from->sent, from->out.len - from->sent);
    tc_mux_gone(from, from->out.len - from->sent);
    while (tc_frames_next(&frames, &f) > 0) {
        enum tc_mux_event event;
        uint32_t id;
        assert_int_equal(tc_mux_take(to, &f, &event, &id), 0);
        opened += event == TC_MUX_OPENED;
    }
    assert_false(frames.failed || tc_frames_cut(&frames));
    tc_frames_done(&frames);
    return opened;
}

static void carry_all(struct sides *s)
{
    for (int i = 0; i < 4; i++) {
        (void)carry(&s->guest, &s->host);
        (void)carry(&s->host, &s->guest);
    }
}

static uint32_t open_one(struct sides *s)
{
    uint32_t id = COUNT;
    assert_true(tc_mux_open(&s->guest, &somewhere, &id));
    assert_int_equal(carry(&s->guest, &s->host), 1);
    assert_memory_equal(&s->host.streams[id].to, &somewhere, sizeof(somewhere));
    return id;
}

static void a_connection_has_its_whole_life(void **state)
{
    struct sides s;
    size_t len;
    (void)state;
    open_sides(&s);
    uint32_t id = open_one(&s);
    tc_mux_say(&s.guest, id, "question", 8);
    tc_mux_end(&s.guest, id);
    carry_all(&s);
    const char *heard = tc_mux_heard(&s.host, id, &len);
    assert_int_equal(len, 8);
    assert_memory_equal(heard, "question", 8);
    assert_true(s.host.streams[id].heard_end && !s.host.streams[id].heard_close);
    tc_mux_taken(&s.host, id, len);
    /* an end of one side is not the other's */
    tc_mux_say(&s.host, id, "answer", 6);
    tc_mux_end(&s.host, id);
    tc_mux_close(&s.host, id, false);
    carry_all(&s);
    heard = tc_mux_heard(&s.guest, id, &len);
    assert_int_equal(len, 6);
    assert_memory_equal(heard, "answer", 6);
    assert_true(s.guest.streams[id].heard_close && !s.guest.streams[id].heard_cut);
    assert_int_equal(s.host.used, 1);
    tc_mux_close(&s.guest, id, false);
    carry_all(&s);
    assert_int_equal(s.guest.used + s.host.used, 0);
    close_sides(&s);
}

/* Bytes of a long stream, each at its place. */
static void fill(char *to, size_t at, size_t len)
{
    for (size_t i = 0; i < len; i++)
        to[i] = (char)((at + i) * 31 >> 3);
}

static void windows_hold_and_open_again(void **state)
{
    enum { ALL = 10 * TC_MUX_WINDOW };
    struct sides s;
    char piece[TC_MUX_PIECE];
    size_t said = 0, heard = 0;
    (void)state;
    open_sides(&s);
    uint32_t id = open_one(&s);
    while (heard < ALL) {
        size_t room, len;
        while (said < ALL && (room = tc_mux_room(&s.guest, id))) {
            room = room < ALL - said ? room : ALL - said;
            fill(piece, said, room);
            tc_mux_say(&s.guest, id, piece, room);
            said += room;
        }
        assert_true(said - heard <= TC_MUX_WINDOW);
        carry_all(&s);
        const char *came = tc_mux_heard(&s.host, id, &len);
        assert_true(len > 0 && len <= TC_MUX_WINDOW);
        len = len < 5000 ? len : 5000;
        fill(piece, heard, len);
        assert_memory_equal(came, piece, len);
        tc_mux_taken(&s.host, id, len);
        heard += len;
    }
    close_sides(&s);
}

static void numbers_are_used_again_when_both_have_closed(void **state)
{
    struct sides s;
    uint32_t ids[COUNT], more;
    (void)state;
    open_sides(&s);
    for (int i = 0; i < COUNT; i++)
        ids[i] = open_one(&s);
    assert_false(tc_mux_open(&s.guest, &somewhere, &more));
    tc_mux_close(&s.guest, ids[1], true);
    carry_all(&s);
    assert_true(s.host.streams[ids[1]].heard_close && s.host.streams[ids[1]].heard_cut);
    assert_false(tc_mux_open(&s.guest, &somewhere, &more));
    tc_mux_close(&s.host, ids[1], false);
    carry_all(&s);
    assert_true(tc_mux_open(&s.guest, &somewhere, &more));
    assert_int_equal(more, ids[1]);
    close_sides(&s);
}

/* What was on its way in both directions when one side closed is no fault of the other's. */
static void a_close_meets_bytes_on_their_way(void **state)
{
    struct sides s;
    (void)state;
    open_sides(&s);
    uint32_t id = open_one(&s);
    tc_mux_say(&s.guest, id, "late", 4);
    tc_mux_end(&s.guest, id);
    tc_mux_close(&s.host, id, true);
    carry_all(&s);
    size_t len;
    (void)tc_mux_heard(&s.host, id, &len);
    assert_int_equal(len, 0);
    tc_mux_close(&s.guest, id, false);
    carry_all(&s);
    assert_int_equal(s.guest.used + s.host.used, 0);
    assert_null(s.host.fault);
    assert_null(s.guest.fault);
    close_sides(&s);
}

/* ---- one that does not ---- */

struct word {
    enum tc_mux_kind kind;
    uint32_t id;
    const char *rest;
    size_t len;
};

static int say(struct tc_mux *host, const struct word *w)
{
    static char body[4 + TC_MUX_PIECE];
    enum tc_mux_event event;
    uint32_t id;
    for (int i = 0; i < 4; i++)
        body[i] = (char)(w->id >> (8 * i));
    memset(body + 4, 0, TC_MUX_PIECE);
    if (w->rest)
        memcpy(body + 4, w->rest, w->len);
    const struct tc_frame f = {.kind = w->kind, .bytes = body, .len = 4 + w->len};
    return tc_mux_take(host, &f, &event, &id);
}

#define OPENS                                          \
    {                                                  \
        TC_MUX_OPEN, 1, NULL, sizeof(struct tc_mux_to) \
    }

static void broken_rules_are_named(void **state)
{
    enum { WORDS = 5, PIECE = TC_MUX_PIECE };
    static const struct {
        struct word words[WORDS]; /* the last one breaks a rule */
        int count;
        const char *fault;
    } cases[] = {
        {{{TC_MUX_BYTES, 1, "x", 1}}, 1, "sent a frame for a connection that is not open"},
        {{OPENS, OPENS}, 2, "opened a connection that is already open"},
        {{{TC_MUX_OPEN, 1, "x", 1}}, 1, "opened a connection without a target"},
        {{{TC_MUX_OPEN, COUNT, NULL, sizeof(struct tc_mux_to)}},
         1,
         "used a connection number that is too large"},
        {{{TC_MUX_END, 0xffffffff, NULL, 0}}, 1, "used a connection number that is too large"},
        {{OPENS,
          {TC_MUX_BYTES, 1, NULL, PIECE},
          {TC_MUX_BYTES, 1, NULL, PIECE},
          {TC_MUX_BYTES, 1, NULL, 1}},
         4,
         "sent more bytes on a connection than its window allows"},
        {{OPENS, {TC_MUX_BYTES, 1, NULL, 0}},
         2,
         "sent more bytes on a connection than its window allows"},
        {{OPENS, {TC_MUX_END, 1, NULL, 0}, {TC_MUX_BYTES, 1, "x", 1}},
         3,
         "sent bytes on a connection after its end"},
        {{OPENS, {TC_MUX_END, 1, NULL, 0}, {TC_MUX_END, 1, NULL, 0}},
         3,
         "ended a connection twice"},
        {{OPENS, {TC_MUX_CLOSE, 1, "\0", 1}, {TC_MUX_BYTES, 1, "x", 1}},
         3,
         "sent a frame for a connection that is not open"},
        {{OPENS, {TC_MUX_CLOSE, 1, "\0", 1}, OPENS}, 3, "opened a connection that is already open"},
        {{OPENS, {TC_MUX_CLOSE, 1, "\2", 1}}, 2, "sent a malformed frame to close a connection"},
        {{OPENS, {TC_MUX_CREDIT, 1, "\1\0\0\0", 4}},
         2,
         "acknowledged more bytes of a connection than were sent"},
        {{OPENS, {TC_MUX_CREDIT, 1, "\1", 1}},
         2,
         "acknowledged more bytes of a connection than were sent"},
        {{{TC_MUX_KINDS, 1, NULL, 0}}, 1, "sent an invalid frame for a connection"},
        {{{TC_MUX_END, 1, "x", 1}}, 1, "sent an invalid frame for a connection"},
    };
    (void)state;
    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        struct tc_mux host;
        assert_true(tc_mux_init(&host, false, COUNT));
        for (int k = 0; k + 1 < cases[i].count; k++)
            assert_int_equal(say(&host, &cases[i].words[k]), 0);
        assert_int_equal(say(&host, &cases[i].words[cases[i].count - 1]), -1);
        assert_string_equal(host.fault, cases[i].fault);
        /* for good */
        assert_int_equal(say(&host, &(struct word)OPENS), -1);
        tc_mux_done(&host);
    }
}

static void opener_rejects_peer_open(void **state)
{
    struct tc_mux guest;
    (void)state;
    assert_true(tc_mux_init(&guest, true, COUNT));
    assert_int_equal(say(&guest, &(struct word)OPENS), -1);
    assert_string_equal(guest.fault, "opened a connection in the wrong direction");
    tc_mux_done(&guest);
}

/* Who opens and closes without ever reading is owed one word a connection, not one a time. */
static void a_flood_that_is_not_read_is_held_in_marks(void **state)
{
    struct tc_mux host;
    (void)state;
    assert_true(tc_mux_init(&host, false, COUNT));
    while (host.out.len - host.sent < TC_MUX_AHEAD) {
        assert_int_equal(say(&host, &(struct word)OPENS), 0);
        assert_int_equal(say(&host, &(struct word){TC_MUX_CLOSE, 1, "\1", 1}), 0);
        tc_mux_close(&host, 1, true);
        tc_mux_settle(&host);
    }
    assert_int_equal(say(&host, &(struct word)OPENS), 0);
    assert_int_equal(say(&host, &(struct word){TC_MUX_CLOSE, 1, "\1", 1}), 0);
    tc_mux_close(&host, 1, true);
    tc_mux_settle(&host);
    assert_true(host.out.len < TC_MUX_AHEAD + 64);
    assert_int_equal(say(&host, &(struct word)OPENS), -1);
    assert_string_equal(host.fault, "opened a connection that is already open");
    tc_mux_done(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_has_its_whole_life),
        cmocka_unit_test(windows_hold_and_open_again),
        cmocka_unit_test(numbers_are_used_again_when_both_have_closed),
        cmocka_unit_test(a_close_meets_bytes_on_their_way),
        cmocka_unit_test(broken_rules_are_named),
        cmocka_unit_test(opener_rejects_peer_open),
        cmocka_unit_test(a_flood_that_is_not_read_is_held_in_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
