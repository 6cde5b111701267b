/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * usage: touch DIR FIRST COUNT: writes one byte into each of the files FIRST to FIRST + COUNT - 1
 * of a tree of a hundred files a directory, and makes what is not there. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char name[64];
    if (argc != 4 || chdir(argv[1]) < 0)
        return 2;
    long first = strtol(argv[2], NULL, 10), end = first + strtol(argv[3], NULL, 10);
    for (long i = first; i < end; i++) {
        (void)snprintf(name, sizeof(name), "d%05ld", i / 100);
        if (i % 100 == 0)
            (void)mkdir(name, 0755);
        (void)snprintf(name, sizeof(name), "d%05ld/f%02ld", i / 100, i % 100);
        int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        if (fd < 0 || write(fd, "x", 1) != 1 || close(fd) < 0)
            return 1;
    }
    return 0;
}
