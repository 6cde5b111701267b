/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The wire codec. One function describes a struct and serves both directions: with mode
 * TC_WIRE_PUT it writes the fields, with TC_WIRE_GET it reads them into a zeroed struct, with
 * checked lengths. Failure is sticky, so a visitor checks `failed` once, at the end. The
 * struct's done function frees the fields of a failed GET. Numbers are 64-bit little-endian:
 * digests are the same on every host. */
#ifndef TC_BASE_WIRE_H
#define TC_BASE_WIRE_H

#include "base/buf.h"
#include "base/strv.h"

enum tc_wire_mode { TC_WIRE_PUT, TC_WIRE_GET };

struct tc_wire {
    enum tc_wire_mode mode;
    bool failed;
    bool memory;       /* failed for lack of memory, not because of the input */
    struct tc_buf out; /* PUT */
    const char *in;    /* GET: borrowed */
    size_t left;
    /* File descriptors that accompany the bytes: PUT adds to the list, whose memory the caller
     * frees; GET takes fd_max of them in their order. */
    int *fds;
    size_t fd_count, fd_max;
    char *room, *room_end; /* GET: memory to use instead of the heap; nothing in it is freed */
};

#define TC_WIRE_PUT_INIT ((struct tc_wire){.mode = TC_WIRE_PUT, .out = TC_BUF_INIT})
#define TC_WIRE_GET_INIT(bytes, len) \
    ((struct tc_wire){.mode = TC_WIRE_GET, .in = (bytes), .left = (len)})

void tc_wire_i64(struct tc_wire *w, int64_t *value);
/* NULL and "" stay different. GET makes an owned copy; a NUL inside a string fails. */
void tc_wire_str(struct tc_wire *w, char **text);
void tc_wire_bytes(struct tc_wire *w, char **bytes, size_t *len);
void tc_wire_strv(struct tc_wire *w, struct tc_strv *v);

/* A NULL-terminated list of strings; NULL and an empty list stay different. */
void tc_wire_texts(struct tc_wire *w, char ***list);
/* A file descriptor, which is sent with the bytes; -1: none. GET returns one of w->fds. */
void tc_wire_fd(struct tc_wire *w, int *fd);

/* The name of the format that follows: GET fails on any other. */
void tc_wire_format(struct tc_wire *w, const char *format);

/* Any integer, enum or bool field; a value that does not fit fails. */
#define TC_WIRE_INT(w, lvalue)                    \
    do {                                          \
        int64_t tc_value_ = (int64_t)(lvalue);    \
        tc_wire_i64((w), &tc_value_);             \
        (lvalue) = (__typeof__(lvalue))tc_value_; \
        if ((int64_t)(lvalue) != tc_value_)       \
            (w)->failed = true;                   \
    } while (0)

/* The count of an array of elements of `size` bytes. GET allocates *items zeroed; a count over
 * `most` fails. Then visit each element. */
void tc_wire_array(struct tc_wire *w, void **items, size_t *count, size_t size, size_t most);

#define TC_WIRE_EACH(w, items, count, most, visit)                          \
    do {                                                                    \
        void *tc_items_ = (items);                                          \
        tc_wire_array((w), &tc_items_, &(count), sizeof(*(items)), (most)); \
        (items) = tc_items_;                                                \
        for (size_t tc_i_ = 0; tc_i_ < (count) && !(w)->failed; tc_i_++)    \
            visit((w), &(items)[tc_i_]);                                    \
    } while (0)

#endif
