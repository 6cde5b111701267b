/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Runs a fuzz target over the files of its corpus without any fuzzer: an ordinary test for every
 * compiler. One TAP point a file; a broken invariant ends the program, which the plan then shows.
 */
#include "fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"

static int only_files(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* An exact copy, so that a sanitizer sees a read past the end. */
static int replay(int dir, const char *name)
{
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    if (tc_read_file(dir, name, &buf) < 0)
        return -1;
    uint8_t *exact = malloc(buf.len ? buf.len : 1);
    if (!exact)
        return -1;
    if (buf.len)
        memcpy(exact, buf.data, buf.len);
    (void)LLVMFuzzerTestOneInput(exact, buf.len);
    free(exact);
    return 0;
}

static bool point(int dir, const char *name, int *number)
{
    bool good = replay(dir, name) == 0;
    printf("%sok %d - %s\n", good ? "" : "not ", ++*number, name);
    (void)fflush(stdout);
    return good;
}

/* A directory is replayed file by file; anything else is one file. */
static bool replay_argument(const char *path, int *number)
{
    _autofd_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return point(AT_FDCWD, path, number);
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, only_files, alphasort);
    bool good = count >= 0;
    for (int i = 0; i < count; i++) {
        good &= point(dir, entries[i]->d_name, number);
        free(entries[i]);
    }
    free(entries);
    return good;
}

int main(int argc, char **argv)
{
    int number = 0;
    bool good = true;
    for (int i = 1; i < argc; i++)
        good &= replay_argument(argv[i], &number);
    printf("1..%d\n", number);
    return good && number ? 0 : 1;
}
