/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "base/field.h"

#include <string.h>

int64_t tc_field_number(const struct tc_field *field, const void *it)
{
    const void *at = (const char *)it + field->offset;
    return field->size == 1   ? *(const uint8_t *)at
           : field->size == 2 ? *(const uint16_t *)at
           : field->size == 4 ? *(const uint32_t *)at
                              : *(const int64_t *)at;
}

bool tc_field_set(const struct tc_field *field, void *it, int64_t value)
{
    void *at = (char *)it + field->offset;
    int64_t most = field->kind == TC_FIELD_BOOL ? 1 : field->size == 2 ? UINT16_MAX : UINT32_MAX;
    bool fits = field->size == 8 || (value >= 0 && value <= most);
    if (!fits)
        return false;
    if (field->size == 1)
        *(uint8_t *)at = (uint8_t)value;
    else if (field->size == 2)
        *(uint16_t *)at = (uint16_t)value;
    else if (field->size == 4)
        *(uint32_t *)at = (uint32_t)value;
    else
        *(int64_t *)at = value;
    return true;
}

static void visit_array(struct tc_wire *w, const struct tc_field *f, void *at, size_t *count,
                        unsigned mask, unsigned wanted)
{
    tc_wire_array(w, at, count, f->of->size, f->most);
    for (size_t i = 0; i < *count && !w->failed; i++)
        tc_fields_visit(w, f->of, *(char **)at + i * f->of->size, mask, wanted);
}

void tc_fields_visit(struct tc_wire *w, const struct tc_fields *fields, void *it, unsigned mask,
                     unsigned wanted)
{
    for (const struct tc_field *f = fields->rows; f < fields->rows + fields->count; f++) {
        void *at = (char *)it + f->offset, *count = (char *)it + f->count;
        int64_t number;
        if ((f->flags & mask) != wanted)
            continue;
        switch (f->kind) {
        case TC_FIELD_NUMBER:
        case TC_FIELD_BOOL:
            number = tc_field_number(f, it);
            tc_wire_i64(w, &number);
            w->failed |= w->mode == TC_WIRE_GET && !tc_field_set(f, it, number);
            break;
        case TC_FIELD_TEXT:
            tc_wire_str(w, at);
            break;
        case TC_FIELD_BYTES:
            tc_wire_bytes(w, at, count);
            break;
        case TC_FIELD_LIST:
            tc_wire_strv(w, at);
            break;
        case TC_FIELD_TEXTS:
            tc_wire_texts(w, at);
            break;
        case TC_FIELD_STRUCT:
            tc_fields_visit(w, f->of, at, mask, wanted);
            break;
        case TC_FIELD_ARRAY:
            visit_array(w, f, at, count, mask, wanted);
            break;
        case TC_FIELD_FD:
            tc_wire_fd(w, at);
            break;
        case TC_FIELD_OTHER:
            break;
        }
    }
}

char *tc_fields_put(const struct tc_fields *fields, const void *it, unsigned mask, unsigned wanted,
                    size_t *ret_len)
{
    struct tc_wire w = TC_WIRE_PUT_INIT;
    tc_fields_visit(&w, fields, (void *)(uintptr_t)it, mask, wanted);
    *ret_len = w.out.len;
    if (!w.failed)
        return tc_buf_steal(&w.out);
    tc_buf_done(&w.out);
    return NULL;
}

bool tc_fields_get(const struct tc_fields *fields, void *it, unsigned mask, unsigned wanted,
                   const char *bytes, size_t len)
{
    struct tc_wire w = TC_WIRE_GET_INIT(bytes, len);
    tc_fields_visit(&w, fields, it, mask, wanted);
    return !w.failed && !w.left;
}

static void free_texts(char **list)
{
    for (char **word = list; word && *word; word++)
        free(*word);
    free(list);
}

void tc_fields_done(const struct tc_fields *fields, void *it)
{
    for (const struct tc_field *f = fields->rows; f < fields->rows + fields->count; f++) {
        void *at = (char *)it + f->offset, *count = (char *)it + f->count;
        size_t elements = f->kind == TC_FIELD_ARRAY ? *(size_t *)count : 0;
        for (size_t i = 0; i < elements; i++)
            tc_fields_done(f->of, *(char **)at + i * f->of->size);
        if (f->kind == TC_FIELD_TEXT || f->kind == TC_FIELD_BYTES || f->kind == TC_FIELD_ARRAY)
            free(*(void **)at);
        else if (f->kind == TC_FIELD_LIST)
            tc_strv_done(at);
        else if (f->kind == TC_FIELD_TEXTS)
            free_texts(*(char ***)at);
        else if (f->kind == TC_FIELD_STRUCT)
            tc_fields_done(f->of, at);
    }
    memset(it, 0, fields->size);
}
