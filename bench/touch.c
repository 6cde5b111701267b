/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * usage: touch DIR HOW COUNT: changes the first COUNT files of a tree of a hundred files a
 * directory.
 *
 *   write     writes one byte into each, and makes what is not there
 *   replace   writes each anew and renames it over the old one, as git and editors do
 *   remove    removes each */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int put_byte(const char *name)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    return fd < 0 || write(fd, "x", 1) != 1 || close(fd) < 0;
}

static int replace(const char *name)
{
    char temporary[80];
    (void)snprintf(temporary, sizeof(temporary), "%s.new", name);
    return put_byte(temporary) || rename(temporary, name) < 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *word;
        int (*change)(const char *name);
    } ways[] = {{"write", put_byte}, {"replace", replace}, {"remove", unlink}};
    int (*change)(const char *name) = NULL;
    char name[64];
    for (size_t i = 0; argc == 4 && i < sizeof(ways) / sizeof(ways[0]); i++)
        if (strcmp(ways[i].word, argv[2]) == 0)
            change = ways[i].change;
    if (!change || (mkdir(argv[1], 0755) < 0 && chdir(argv[1]) < 0) || chdir(argv[1]) < 0)
        return 2;
    for (long i = 0, count = strtol(argv[3], NULL, 10); i < count; i++) {
        (void)snprintf(name, sizeof(name), "d%05ld", i / 100);
        if (i % 100 == 0)
            (void)mkdir(name, 0755);
        (void)snprintf(name, sizeof(name), "d%05ld/f%02ld", i / 100, i % 100);
        if (change(name))
            return 1;
    }
    return 0;
}
