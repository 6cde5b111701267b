/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/show/review.h"

#include <string.h>
#include <unistd.h>

#include "cli/show/clean.h"
#include "cli/show/say.h"

static const char workspace[] = "/workspace";

static bool is_within(const char *base, const char *path)
{
    size_t n = strlen(base);
    return strncmp(base, path, n) == 0 && (!path[n] || path[n] == '/');
}

static bool holds_any(const struct tc_review *review, const char *base)
{
    for (size_t i = 0; i < review->count; i++)
        if (is_within(base, review->rows[i].path))
            return true;
    return false;
}

/* One base for all names, so that names are comparable. */
static void find_base(struct tc_review *review)
{
    review->place = holds_any(review, workspace) ? strdup(workspace) : getcwd(NULL, 0);
    const char *place = review->place;
    char *clean = place ? tc_clean(TC_CLEAN_LINE, place, strlen(place), NULL) : NULL;
    if (clean && clean[1] && holds_any(review, clean))
        review->base = clean;
    else
        free(clean);
}

char *tc_review_path(const struct tc_review *review, const char *name)
{
    while (!strncmp(name, "./", 2))
        name += 2;
    bool whole = *name == '/', here = !*name || !strcmp(name, ".");
    const char *place = whole || !review->place ? "" : review->place;
    char *path = tc_cli_format("%s%s%s", place, whole || here ? "" : "/", here ? "" : name);
    if (!path)
        return NULL;
    for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
        path[n - 1] = '\0';
    return path;
}

static bool read_row(struct tc_review_row *row, struct tc_slice json)
{
    _autofree_ char *type = tc_json_text(tc_json_get(json, "type"));
    *row = (struct tc_review_row){.json = json,
                                  .path = tc_json_path(json),
                                  .kind = tc_json_text(tc_json_get(json, "kind")),
                                  .held = tc_json_text(tc_json_get(json, "held")),
                                  .directory = type && !strcmp(type, "directory"),
                                  .link = type && !strcmp(type, "link")};
    if (!row->path || !row->kind)
        return false;
    row->sort = tc_review_sort_of(row);
    return true;
}

static int by_path(const void *a, const void *b)
{
    const struct tc_review_row *x = a, *y = b;
    int order = strcmp(x->path, y->path);
    return order                     ? order
           : x->json.at < y->json.at ? -1
                                     : 1; /* two paths may have the same escaped form */
}

/* An entry of the answer's `files`. Its key is the path as written in JSON, because two paths may
 * look the same when escaped for display. */
struct file {
    struct tc_slice name, json;
};

static struct tc_slice name_of(struct tc_slice json)
{
    struct tc_slice text = tc_json_get(json, "path");
    return text.at ? text : tc_json_get(json, "path_base64");
}

static int find_files(struct tc_review *review, struct tc_slice answer)
{
    struct tc_slice all = tc_json_get(answer, "files");
    struct tc_scan_each each = tc_scan_walk(all);
    size_t count = 0;
    while (tc_scan_next(&each))
        count++;
    _autofree_ struct file *files = calloc(count + 1, sizeof(*files));
    if (!files)
        return tc_cli_no_memory();
    each = tc_scan_walk(all);
    for (count = 0; tc_scan_next(&each);) {
        files[count] = (struct file){name_of(each.value), each.value};
        count += files[count].name.at != NULL;
    }
    if (count)
        qsort(files, count, sizeof(*files), tc_json_order);
    for (size_t i = 0; count && i < review->count; i++) {
        const struct file key = {.name = name_of(review->rows[i].json)};
        const struct file *found = bsearch(&key, files, count, sizeof(*files), tc_json_order);
        review->rows[i].file = found ? found->json : (struct tc_slice){0};
    }
    return 0;
}

int tc_review_make(struct tc_review *review, struct tc_slice answer)
{
    struct tc_scan_each each = tc_scan_walk(tc_json_get(answer, "changes"));
    size_t room = 0;
    *review = (struct tc_review){0};
    while (tc_scan_next(&each)) {
        if (review->count == room) {
            size_t more = room ? 2 * room : 64;
            void *rows = reallocarray(review->rows, more, sizeof(*review->rows));
            if (!rows)
                return tc_cli_no_memory();
            review->rows = rows;
            room = more;
        }
        if (!read_row(&review->rows[review->count++], each.value))
            return tc_cli_no_memory();
    }
    if (review->count)
        qsort(review->rows, review->count, sizeof(*review->rows), by_path);
    find_base(review);
    return find_files(review, answer);
}

void tc_review_done(struct tc_review *review)
{
    for (size_t i = 0; i < review->count; i++) {
        free(review->rows[i].path);
        free(review->rows[i].kind);
        free(review->rows[i].held);
    }
    free(review->rows);
    free(review->base);
    free(review->place);
    *review = (struct tc_review){0};
}

const char *tc_review_name(const struct tc_review *review, const struct tc_review_row *row)
{
    if (!review->base || !is_within(review->base, row->path))
        return row->path;
    const char *rest = row->path + strlen(review->base);
    return *rest ? rest + 1 : ".";
}

void tc_review_put_detail(FILE *out, const struct tc_review_row *row)
{
    _autofree_ char *now = tc_json_text(tc_json_get(row->json, "mode"));
    _autofree_ char *before = tc_json_text(tc_json_get(row->json, "mode_before"));
    _autofree_ char *type = tc_json_text(tc_json_get(row->json, "type"));
    _autofree_ char *target = tc_json_name(row->json, "target", "target_base64");
    bool file = type && !strcmp(type, "file"), link = type && !strcmp(type, "link");
    unsigned long bits = now ? strtoul(now, NULL, 8) : 0;
    if (target)
        (void)fprintf(out, " -> %s", target);
    if (!now || link)
        return;
    if (before && strcmp(now, before) != 0)
        (void)fprintf(out, "  mode %s -> %s", before, now);
    else if (!before && (bits & (file ? 07133U : 07022U)))
        (void)fprintf(out, "  mode %s", now); /* writable by other users, or executable */
}

void tc_review_put(FILE *out, const struct tc_review *review)
{
    for (size_t i = 0; i < review->count; i++) {
        const struct tc_review_row *row = &review->rows[i];
        if (tc_review_hides(review, row))
            continue;
        (void)fprintf(out, "%-8s  %s", row->kind, tc_review_name(review, row));
        tc_review_put_detail(out, row);
        (void)fprintf(out, "%s%s%s\n", row->held ? "  (" : "", row->held ? row->held : "",
                      row->held ? ")" : "");
    }
    _autofree_ char *sums = tc_review_summary(review, false);
    if (sums)
        (void)fputs(sums, out);
}

void tc_review_count(FILE *out, size_t count, const char *one, const char *many)
{
    if (count)
        (void)fprintf(out, "%s%zu %s", ftell(out) ? ", " : "", count, count == 1 ? one : many);
}

char *tc_review_sum(const struct tc_review *review, const struct tc_review_lines *lines)
{
    char *text = NULL;
    size_t size = 0, directories = 0, files = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    for (size_t i = 0; i < review->count; i++) {
        bool shown = !tc_review_hides(review, &review->rows[i]);
        directories += shown && review->rows[i].directory;
        files += shown && !review->rows[i].directory;
    }
    tc_review_count(out, files, "file changed", "files changed");
    tc_review_count(out, directories, "directory changed", "directories changed");
    tc_review_count(out, lines->added, "insertion(+)", "insertions(+)");
    tc_review_count(out, lines->removed, "deletion(-)", "deletions(-)");
    tc_review_count(out, lines->uncompared, "not compared", "not compared");
    return tc_cli_text(out, &text);
}

/* ---- summary lines: caches and git objects ---- */

static const char hex[] = "0123456789abcdef";

/* "12" for a directory, "12/…" with 38 or 62 digits, or a pack and its index files. */
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

/* "y" applies git objects without listing them, so they must have git's permissions. */
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

bool tc_review_known(const struct tc_review *review)
{
    for (size_t i = 0; i < review->count; i++)
        if (review->rows[i].file.at && !tc_json_get(review->rows[i].file, "sha256").at)
            return false;
    return true;
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

/* The rows of one sort with the same outcome. */
struct sum {
    enum tc_review_sort sort;
    const char *held;
    size_t files, directories; /* number of directories that contain the files; without files,
                                  number of directory rows */
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
    bool fine = places;
    free(places);
    return fine;
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
        (void)fputs(sum->sort == TC_REVIEW_CACHE ? ", not applied; --all applies them" : "", out);
    else if (sum->held)
        (void)fprintf(out, ", not applied (%s)", sum->held);
    (void)fputc('\n', out);
}

/* Does an earlier row belong to the same summary? */
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

/* A git commit that is applied without its index: the user's next git commit would revert it. */
static void put_index(FILE *out, const struct tc_review *review)
{
    bool moved = has_part(review, "/.git/logs/HEAD") || has_part(review, "/.git/refs/heads/");
    for (size_t i = 0; moved && i < review->count; i++) {
        const struct tc_review_row *row = &review->rows[i];
        if (row->held && tc_review_is_index(row->path))
            (void)fprintf(out,
                          "%s is not applied: after applying the rest, run git "
                          "reset -q in that repository\n",
                          tc_review_name(review, row));
    }
}

char *tc_review_summary(const struct tc_review *review, bool held)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    bool fine = out;
    for (size_t i = 0; fine && i < review->count; i++) {
        struct sum sum = {.sort = review->rows[i].sort, .held = review->rows[i].held};
        if (!tc_review_hides(review, &review->rows[i]) || (held && !sum.held) || is_told(review, i))
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
