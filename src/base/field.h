/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Tables of the fields of structs. Code that handles all fields, to free or to send them, reads
 * the table: a field is named once. A member of the struct without a row does not compile. */
#ifndef TC_BASE_FIELD_H
#define TC_BASE_FIELD_H

#include "base/wire.h"

enum tc_field_kind {
    TC_FIELD_NUMBER, /* int64_t, int, or unsigned, enums too */
    TC_FIELD_BOOL,
    TC_FIELD_TEXT,   /* char *, owned; NULL and "" differ */
    TC_FIELD_BYTES,  /* bytes with their length */
    TC_FIELD_LIST,   /* struct tc_strv */
    TC_FIELD_TEXTS,  /* char **, NULL-terminated, owned; NULL and an empty list differ */
    TC_FIELD_STRUCT, /* a struct that has a table */
    TC_FIELD_ARRAY,  /* an owned array of such structs, with its length */
    TC_FIELD_FD,     /* int, an fd or -1; the struct's owner closes it */
    TC_FIELD_OTHER,  /* handled elsewhere: these functions do not touch it */
};

struct tc_field {
    const char *name;
    enum tc_field_kind kind;
    /* for the owner of the table */
    unsigned flags;
    int key, unit;
    const char *word;
    size_t offset, size;
    size_t count;               /* BYTES, ARRAY: offset of the length */
    size_t most;                /* ARRAY: more elements are not read from the wire */
    const struct tc_fields *of; /* STRUCT, ARRAY */
};

struct tc_fields {
    const struct tc_field *rows;
    size_t count;
    size_t size; /* of the struct */
};

/* The value of a NUMBER or BOOL in the struct `it`. */
int64_t tc_field_number(const struct tc_field *field, const void *it);
/* False, and nothing set: the value does not fit. */
bool tc_field_set(const struct tc_field *field, void *it, int64_t value);

/* Encodes or decodes the rows with (flags & mask) == wanted. */
void tc_fields_visit(struct tc_wire *w, const struct tc_fields *fields, void *it, unsigned mask,
                     unsigned wanted);
/* Those rows as bytes, which the caller frees, NULL when out of memory; and back into a zeroed
 * struct. False: the bytes are not exactly these rows; tc_fields_done() frees what was read. */
char *tc_fields_put(const struct tc_fields *fields, const void *it, unsigned mask, unsigned wanted,
                    size_t *ret_len);
bool tc_fields_get(const struct tc_fields *fields, void *it, unsigned mask, unsigned wanted,
                   const char *bytes, size_t len);
/* Frees what the struct owns, and zeroes all of it. */
void tc_fields_done(const struct tc_fields *fields, void *it);

/* A table is made of a list of F(kind, member, …), one for each member, in their order, where
 * TC_STRUCT names the struct:
 *     F(ONE, member)                        a number, a bool or a text: the type says which
 *     F(LIST, member)
 *     F(TEXTS, member)
 *     F(BYTES, member, TC_COUNTED(member_len))
 *     F(STRUCT, member, TC_OF(its_fields))
 *     F(ARRAY, member, TC_COUNTED(member_count), TC_OF(its_fields))
 *     F(FD, member)
 *     F(POINTER, member), F(CHARS, member)  by hand
 * and then of any other initializers of its row. */
#define TC_COUNTED(member) .count = offsetof(TC_STRUCT, member)
#define TC_OF(table) .of = &(table)

#define TC_FIELDS(table, list)                                                              \
    const struct tc_fields table = {.rows = (const struct tc_field[]){list(TC_FIELD_ROW_)}, \
                                    .count = 0 list(TC_FIELD_COUNT_),                       \
                                    .size = sizeof(TC_STRUCT)};                             \
    _Pragma("GCC diagnostic push");                                                         \
    _Pragma("GCC diagnostic error \"-Wmissing-field-initializers\"");                       \
    _Pragma("GCC diagnostic ignored \"-Wmissing-braces\"");                                 \
    _Static_assert(sizeof((TC_STRUCT){list(TC_FIELD_SOME_)}), "each member has a row");     \
    _Pragma("GCC diagnostic pop")

#define TC_FIELD_COUNT_(...) +1
#define TC_FIELD_ROW_(kind_, member, ...)                     \
    {.name = #member,                                         \
     .kind = TC_FIELD_KIND_##kind_(((TC_STRUCT *)0)->member), \
     .offset = offsetof(TC_STRUCT, member),                   \
     .size = sizeof(((TC_STRUCT *)0)->member),                \
     __VA_ARGS__},
#define TC_FIELD_KIND_ONE(value) \
    _Generic((value),                            \
        bool: TC_FIELD_BOOL,                     \
        char *: TC_FIELD_TEXT,                   \
        const char *: TC_FIELD_TEXT,             \
        int: TC_FIELD_NUMBER,                    \
        uint16_t: TC_FIELD_NUMBER,               \
        uint32_t: TC_FIELD_NUMBER,               \
        int64_t: TC_FIELD_NUMBER,                \
        uint64_t: TC_FIELD_NUMBER)
#define TC_FIELD_KIND_BYTES(value) TC_FIELD_BYTES
#define TC_FIELD_KIND_LIST(value) _Generic((value), struct tc_strv : TC_FIELD_LIST)
#define TC_FIELD_KIND_TEXTS(value) \
    _Generic((value), char *const * : TC_FIELD_TEXTS, const char *const * : TC_FIELD_TEXTS)
#define TC_FIELD_KIND_STRUCT(value) TC_FIELD_STRUCT
#define TC_FIELD_KIND_ARRAY(value) TC_FIELD_ARRAY
#define TC_FIELD_KIND_FD(value) _Generic((value), int : TC_FIELD_FD)
#define TC_FIELD_KIND_POINTER(value) TC_FIELD_OTHER
#define TC_FIELD_KIND_CHARS(value) TC_FIELD_OTHER

/* A non-zero value for each member; a lone 0 would initialise all of them. */
#define TC_FIELD_SOME_(kind, member, ...) TC_FIELD_SOME_##kind(((TC_STRUCT *)0)->member)
#define TC_FIELD_SOME_ONE(value) \
    _Generic((value), char * : (char *)"", const char * : "", default : 1),
#define TC_FIELD_SOME_BYTES(value) (void *)"", 1,
#define TC_FIELD_SOME_TEXTS(value) 0,
#define TC_FIELD_SOME_LIST(value) {.count = 1},
#define TC_FIELD_SOME_STRUCT(value) {0},
#define TC_FIELD_SOME_ARRAY(value) 0, 1,
#define TC_FIELD_SOME_FD(value) 0,
#define TC_FIELD_SOME_POINTER(value) 0,
#define TC_FIELD_SOME_CHARS(value) "-",

#endif
