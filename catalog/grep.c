/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Prints lines of files that match a POSIX extended regular expression, or contain a text. */
#include "tool.h"

#include <dirent.h>
#include <errno.h>
#include <regex.h>
#include <sys/stat.h>

enum { LINE_SHOWN = 400, DEPTH = 64, PROBE = 4096 };

static regex_t pattern;
static const char *fixed; /* plain text to search for instead of the pattern */
static bool ignores_case;
static long left; /* lines that may still be printed */
static size_t found;

static bool matches(const char *line)
{
    if (!fixed)
        return regexec(&pattern, line, 0, NULL, 0) == 0;
    return ignores_case ? strcasestr(line, fixed) != NULL : strstr(line, fixed) != NULL;
}

static void search_file(const char *path)
{
    FILE *in = fopen(path, "rb");
    if (!in) {
        (void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return;
    }
    char *line = NULL;
    size_t room = 0, number = 0;
    ssize_t n;
    while (left > 0 && (n = getline(&line, &room, in)) >= 0) {
        if (++number == 1 && memchr(line, '\0', (size_t)n < PROBE ? (size_t)n : PROBE))
            break; /* not text */
        line[strcspn(line, "\r\n")] = '\0';
        if (!matches(line))
            continue;
        printf("%s:%zu:%.*s\n", path, number, LINE_SHOWN, line);
        found++;
        left--;
    }
    free(line);
    (void)fclose(in);
}

static void search(const char *path, int depth);

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorted by name, without hidden files. */
static void search_directory(const char *path, int depth)
{
    DIR *dir = depth < DEPTH ? opendir(path) : NULL;
    char **names = NULL;
    size_t count = 0;
    for (const struct dirent *e; dir && (e = readdir(dir));)
        if (e->d_name[0] != '.') {
            names = take(names, (count + 1) * sizeof(*names));
            if (asprintf(&names[count++], "%s/%s", path, e->d_name) < 0)
                fail("out of memory: search less at once");
        }
    if (dir)
        (void)closedir(dir);
    qsort(names, count, sizeof(*names), by_name);
    for (size_t i = 0; i < count && left > 0; i++)
        search(names[i], depth + 1);
}

/* Symlinks are not followed: their targets are searched at their own paths. */
static void search(const char *path, int depth)
{
    struct stat st;
    if ((depth ? lstat(path, &st) : stat(path, &st)) < 0)
        (void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
    else if (S_ISDIR(st.st_mode))
        search_directory(path, depth);
    else if (S_ISREG(st.st_mode))
        search_file(path);
}

static void compile(const char *text)
{
    char why[200];
    ignores_case = argument_true("ignore_case");
    fixed = argument_true("fixed") ? text : NULL;
    int rc =
        fixed ? 0
              : regcomp(&pattern, text, REG_EXTENDED | REG_NOSUB | (ignores_case ? REG_ICASE : 0));
    if (rc == 0)
        return;
    (void)regerror(rc, &pattern, why, sizeof(why));
    fail(
        "the pattern is not an extended regular expression: %s; \"fixed\": true searches for it as "
        "text",
        why);
}

int main(void)
{
    read_arguments();
    const struct json *paths = argument_list("paths");
    compile(argument_text("pattern", NULL));
    left = argument_number("limit", 200);
    for (size_t i = 0; i < paths->count; i++)
        search(paths->items[i].text.at, 0);
    if (!found)
        puts("no line matches");
    else if (left <= 0)
        printf("(more may match: this is the limit)\n");
    return 0;
}
