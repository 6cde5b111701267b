/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Summarizes the columns of a CSV file (RFC 4180): the number and type of the values, and their
 * range. */
#include "tool.h"

#include <math.h>

enum { DISTINCT_MAX = 1000, PLACES = 2048, SHOWN = 80 };

struct column {
    struct text name;
    size_t filled, empty, numbers;
    double least, most, sum;
    struct text first, last; /* smallest and largest text, by bytes */
    struct text *distinct;   /* hash table with PLACES entries */
    size_t distinct_count;   /* DISTINCT_MAX: that many or more */
};

struct reader {
    const char *at, *end;
    char delimiter;
};

static struct column *columns;
static size_t column_count;

/* Reads one field; false: it was the last one of its record. */
static bool read_field(struct reader *r, struct text *ret)
{
    *ret = (struct text){0};
    append(ret, "", 0);
    bool quoted = r->at < r->end && *r->at == '"';
    for (r->at += quoted; quoted && r->at < r->end; r->at++) {
        if (*r->at == '"' && !(r->at + 1 < r->end && *++r->at == '"')) {
            r->at += r->at + 1 == r->end && *r->at == '"';
            break;
        }
        append(ret, r->at, 1);
    }
    const char *from = r->at;
    while (r->at < r->end && *r->at != r->delimiter && *r->at != '\n')
        r->at++;
    size_t n = (size_t)(r->at - from);
    bool ends = r->at == r->end || *r->at == '\n';
    append(ret, from, n - (ends && n && from[n - 1] == '\r'));
    return r->at < r->end && *r->at++ == r->delimiter;
}

static bool is_number(const struct text *value, double *ret)
{
    char *end;
    *ret = strtod(value->at, &end);
    return value->len && !*end && isfinite(*ret) && !strpbrk(value->at, "xXnN");
}

/* Replaces the stored text. */
static void keep(struct text *place, const struct text *value)
{
    free(place->at);
    *place = (struct text){0};
    append(place, value->at, value->len);
}

/* FNV-1a. */
static size_t place_of(const struct text *value)
{
    uint32_t sum = 2166136261;
    for (size_t i = 0; i < value->len; i++)
        sum = (sum ^ (unsigned char)value->at[i]) * 16777619;
    return sum % PLACES;
}

static void count_distinct(struct column *c, const struct text *value)
{
    size_t at = place_of(value);
    if (!c->distinct)
        c->distinct =
            memset(take(NULL, PLACES * sizeof(*c->distinct)), 0, PLACES * sizeof(*c->distinct));
    while (c->distinct[at].at && strcmp(c->distinct[at].at, value->at) != 0)
        at = (at + 1) % PLACES;
    if (c->distinct[at].at)
        return;
    keep(&c->distinct[at], value);
    c->distinct_count++;
}

static void count(struct column *c, const struct text *value)
{
    double number;
    if (!value->len) {
        c->empty++;
        return;
    }
    if (is_number(value, &number)) {
        c->least = c->numbers && c->least < number ? c->least : number;
        c->most = c->numbers && c->most > number ? c->most : number;
        c->sum += number;
        c->numbers++;
    }
    if (!c->filled || strcmp(value->at, c->first.at) < 0)
        keep(&c->first, value);
    if (!c->filled || strcmp(value->at, c->last.at) > 0)
        keep(&c->last, value);
    c->filled++;
    if (c->distinct_count < DISTINCT_MAX)
        count_distinct(c, value);
}

static void read_names(struct reader *r)
{
    bool more = r->at < r->end;
    while (more) {
        struct text name;
        more = read_field(r, &name);
        columns = take(columns, (column_count + 1) * sizeof(*columns));
        columns[column_count++] = (struct column){.name = name};
    }
    if (!column_count)
        fail("the file is empty");
}

/* Counts the record's fields; returns their number. */
static size_t read_record(struct reader *r)
{
    size_t n = 0;
    for (bool more = true; more; n++) {
        struct text value;
        more = read_field(r, &value);
        if (n < column_count)
            count(&columns[n], &value);
        free(value.at); /* a file may be larger than memory */
    }
    return n;
}

static void member(struct text *out, const char *name, const struct text *value)
{
    append_text(out, name);
    json_string(out, value->at, value->len < SHOWN ? value->len : SHOWN);
}

static void tell(struct text *out, const struct column *c)
{
    char numbers[256];
    bool all = c->numbers && c->numbers == c->filled;
    member(out, "{\"name\":", &c->name);
    (void)snprintf(numbers, sizeof(numbers),
                   ",\"type\":\"%s\",\"values\":%zu,\"empty\":%zu,\"distinct\":%zu",
                   all         ? "number"
                   : c->filled ? "text"
                               : "empty",
                   c->filled, c->empty, c->distinct_count);
    append_text(out, numbers);
    if (c->distinct_count == DISTINCT_MAX)
        append_text(out, ",\"distinct_at_least\":true");
    if (all) {
        (void)snprintf(numbers, sizeof(numbers), ",\"min\":%.15g,\"max\":%.15g,\"mean\":%.15g",
                       c->least, c->most, c->sum / (double)c->numbers);
        append_text(out, numbers);
    } else if (c->filled) {
        member(out, ",\"first\":", &c->first);
        member(out, ",\"last\":", &c->last);
    }
    append(out, "}", 1);
}

int main(void)
{
    read_arguments();
    struct text file = read_file(argument_text("path", NULL)), out = {0};
    const char *delimiter = argument_text("delimiter", ",");
    if (strlen(delimiter) != 1 || strchr("\"\r\n", delimiter[0]))
        fail("delimiter must be one character, such as , or ; or a tab");
    bool marked = file.len >= 3 && memcmp(file.at, "\xef\xbb\xbf", 3) == 0;
    struct reader r = {file.at + (marked ? 3 : 0), file.at + file.len, delimiter[0]};
    size_t rows = 0, uneven = 0;
    char head[96];
    read_names(&r);
    for (; r.at < r.end; rows++)
        uneven += read_record(&r) != column_count;
    (void)snprintf(head, sizeof(head), "{\"rows\":%zu,\"uneven_rows\":%zu,\"columns\":[", rows,
                   uneven);
    append_text(&out, head);
    for (size_t i = 0; i < column_count; i++) {
        append(&out, ",\n", i ? 2 : 0);
        tell(&out, &columns[i]);
    }
    append_text(&out, "]}\n");
    return fwrite(out.at, 1, out.len, stdout) == out.len ? 0 : 1;
}
