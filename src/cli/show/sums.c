/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a review tells in a line: caches, which the library knows, and the objects that a commit
 * makes. The tool chose their names, so an object is new, has the whole name of one, and content
 * that the library verified against that name. */
#include "cli/show/review.h"

#include <string.h>

static const char hex[] = "0123456789abcdef";

/* "12" for a directory, "12/…" of 38 or 62 digits, or a pack and what belongs to it. */
static bool is_object_name(const char *name, bool directory)
{
    static const char *const ends[] = {".pack", ".idx", ".rev"};
    size_t n = strspn(name, hex);
    if (n == 2 && directory)
        return !name[2];
    if (n == 2 && name[2] == '/') {
        n = strspn(name + 3, hex);
        return !name[3 + n] && (n == 38 || n == 62);
    }
    if (directory || strncmp(name, "pack/pack-", 10) != 0)
        return false;
    n = strspn(name + 10, hex);
    for (size_t i = 0; (n == 40 || n == 64) && i < TC_COUNT(ends); i++)
        if (!strcmp(name + 10 + n, ends[i]))
            return true;
    return false;
}

/* They come with a plain yes, so their rights are those that git gives. */
static bool is_object(const struct tc_review_row *row)
{
    static const char place[] = "/.git/objects/";
    const char *at = strstr(row->path, place);
    _autofree_ char *mode = tc_json_text(tc_json_get(row->json, "mode"));
    unsigned long bits = mode ? strtoul(mode, NULL, 8) : 07777;
    bool verified = row->directory || tc_json_true(tc_json_get(row->json, "verified"));
    if (!at || !verified || row->link || strcmp(row->kind, "added") != 0 ||
        (bits & (row->directory ? 07022U : 07133U)))
        return false;
    return (!row->held || !strcmp(row->held, TOOLCAGE_HELD_APPROVAL)) &&
           is_object_name(at + sizeof(place) - 1, row->directory);
}

enum tc_review_sort tc_review_sort_of(const struct tc_review_row *row)
{
    if (tc_json_true(tc_json_get(row->json, "cache")))
        return TC_REVIEW_CACHE;
    return is_object(row) ? TC_REVIEW_OBJECT : TC_REVIEW_ROW;
}

bool tc_review_hides(const struct tc_review *review, const struct tc_review_row *row)
{
    return !review->all && row->sort != TC_REVIEW_ROW;
}

static bool waits(const struct tc_review_row *row)
{
    return row->held && !strcmp(row->held, TOOLCAGE_HELD_APPROVAL);
}

bool tc_review_caches(const struct tc_review *review)
{
    for (size_t i = 0; i < review->count; i++)
        if (review->rows[i].sort == TC_REVIEW_CACHE && waits(&review->rows[i]))
            return true;
    return false;
}

bool tc_review_caches_alone(const struct tc_review *review)
{
    for (size_t i = 0; i < review->count; i++)
        if (review->rows[i].sort != TC_REVIEW_CACHE)
            return false;
    return tc_review_caches(review);
}

/* Those of one sort that have met the same end. */
struct sum {
    enum tc_review_sort sort;
    const char *held;
    size_t files,
        directories; /* the second: that hold the files; where there are none, themselves */
};

static bool is_of(const struct sum *sum, const struct tc_review_row *row)
{
    return row->sort == sum->sort && !sum->held == !row->held &&
           (!sum->held || !strcmp(sum->held, row->held));
}

static bool count(struct sum *sum, const struct tc_review *review)
{
    struct tc_slice *places = calloc(review->count + 1, sizeof(*places));
    size_t directories = 0;
    for (size_t i = 0; places && i < review->count; i++) {
        const struct tc_review_row *row = &review->rows[i];
        if (is_of(sum, row) && row->directory)
            directories++;
        else if (is_of(sum, row))
            places[sum->files++] = (struct tc_slice){
                .at = row->path, .length = (size_t)(strrchr(row->path, '/') - row->path)};
    }
    if (sum->files)
        qsort(places, sum->files, sizeof(*places), tc_json_order);
    for (size_t i = 0; i < sum->files; i++)
        sum->directories += !i || tc_json_order(&places[i - 1], &places[i]) != 0;
    if (!sum->files)
        sum->directories = directories;
    free(places);
    return places;
}

static void put_sum(FILE *out, const struct sum *sum)
{
    const char *files = sum->files == 1 ? "file" : "files",
               *directories = sum->directories == 1 ? "directory" : "directories";
    (void)fputs(sum->sort == TC_REVIEW_CACHE ? "caches: " : "git objects: ", out);
    if (sum->files)
        (void)fprintf(out, "%zu %s in ", sum->files, files);
    (void)fprintf(out, "%zu %s", sum->directories, directories);
    if (sum->held && !strcmp(sum->held, TOOLCAGE_HELD_APPROVAL))
        (void)fputs(sum->sort == TC_REVIEW_CACHE ? ", not applied; --all brings them" : "", out);
    else if (sum->held)
        (void)fprintf(out, ", not applied (%s)", sum->held);
    (void)fputc('\n', out);
}

/* Has a row before this one the same sum? */
static bool is_told(const struct tc_review *review, size_t row)
{
    const struct sum sum = {.sort = review->rows[row].sort, .held = review->rows[row].held};
    for (size_t i = 0; i < row; i++)
        if (is_of(&sum, &review->rows[i]))
            return true;
    return false;
}

bool tc_review_is_index(const char *path)
{
    static const char index[] = "/.git/index";
    size_t n = strlen(path), end = sizeof(index) - 1;
    return n >= end && !strcmp(path + n - end, index);
}

static bool has_part(const struct tc_review *review, const char *part)
{
    for (size_t i = 0; i < review->count; i++)
        if (strstr(review->rows[i].path, part))
            return true;
    return false;
}

/* The index of before would undo a new commit in the next one. */
static void put_index(FILE *out, const struct tc_review *review)
{
    bool moved = has_part(review, "/.git/logs/HEAD") || has_part(review, "/.git/refs/heads/");
    for (size_t i = 0; moved && i < review->count; i++) {
        const struct tc_review_row *row = &review->rows[i];
        if (row->held && tc_review_is_index(row->path))
            (void)fprintf(out,
                          "%s is not applied: after the commit run git "
                          "reset -q in that repository\n",
                          tc_review_name(review, row));
    }
}

char *tc_review_sums(const struct tc_review *review)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    bool fine = out;
    for (size_t i = 0; fine && i < review->count; i++) {
        struct sum sum = {.sort = review->rows[i].sort, .held = review->rows[i].held};
        if (!tc_review_hides(review, &review->rows[i]) || is_told(review, i))
            continue;
        fine = count(&sum, review);
        if (fine)
            put_sum(out, &sum);
    }
    if (fine)
        put_index(out, review);
    if (out && !fclose(out) && fine)
        return text;
    free(text);
    return NULL;
}
