/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The wire codec. One function describes a struct and serves both directions: with mode TC_WIRE_PUT
 * it writes the fields, with TC_WIRE_GET it reads them into a zeroed struct, with checked lengths.
 * Failure is sticky, so a visitor checks `failed` once, at the end. Whatever a failed GET has
 * filled is freed by the struct's own done function. Numbers have 64 bits, the least byte first:
 * what is digested is the same on every machine. */
#ifndef TC_BASE_WIRE_H
#define TC_BASE_WIRE_H

#include "base/buf.h"
#include "base/strv.h"

enum tc_wire_mode { TC_WIRE_PUT, TC_WIRE_GET };

struct tc_wire {
    enum tc_wire_mode mode;
    bool failed;
    bool memory;       /* for want of it, and not because of what was read */
    struct tc_buf out; /* PUT */
    const char *in;    /* GET: borrowed */
    size_t left;
    /* Descriptors that go along: PUT adds to the list, whose memory is the caller's to free; GET
     * takes fd_max of them in their order. */
    int *fds;
    size_t fd_count, fd_max;
    char *room,
        *room_end; /* GET: memory to fill in place of the heap's, of which nothing is freed */
};

#define TC_WIRE_PUT_INIT ((struct tc_wire){.mode = TC_WIRE_PUT, .out = TC_BUF_INIT})
#define TC_WIRE_GET_INIT(bytes, len) \
    ((struct tc_wire){.mode = TC_WIRE_GET, .in = (bytes), .left = (len)})

void tc_wire_i64(struct tc_wire *w, int64_t *value);
/* NULL and "" stay different. GET makes an owned copy; a text with a NUL inside fails. */
void tc_wire_str(struct tc_wire *w, char **text);
void tc_wire_bytes(struct tc_wire *w, char **bytes, size_t *len);
void tc_wire_strv(struct tc_wire *w, struct tc_strv *v);

/* A list of texts that ends with NULL; NULL and an empty one stay different. */
void tc_wire_texts(struct tc_wire *w, char ***list);
/* A descriptor, which travels beside the bytes; -1: none. The number that GET gives is one of
 * w->fds.
 */
void tc_wire_fd(struct tc_wire *w, int *fd);

/* A word that names the format of what follows: GET fails on any other. */
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

/* The count of an array whose elements take `size` bytes. GET allocates *items zeroed; a count over
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
