/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A throw-away directory for one test program: the working directory while it runs. */
#ifndef TC_TESTS_UNIT_LINUX_TREE_H
#define TC_TESTS_UNIT_LINUX_TREE_H

#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static char tree_root[PATH_MAX];

static inline int tree_remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static inline int tree_new(void **state)
{
    char name[] = "/tmp/toolcage-unit-XXXXXX";
    (void)state;
    if (!mkdtemp(name) || !realpath(name, tree_root) || chmod(tree_root, 0755) < 0)
        return -1;
    return chdir(tree_root);
}

static inline int tree_end(void **state)
{
    (void)state;
    return chdir("/") < 0 ? -1 : nftw(tree_root, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void tree_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    (void)close(fd);
}

static inline void tree_directory(const char *path)
{
    assert_int_equal(mkdir(path, 0755), 0);
}

static inline void tree_link(const char *target, const char *path)
{
    assert_int_equal(symlink(target, path), 0);
}

/* The absolute path of a name in the tree; a static buffer. */
static inline const char *tree_path(const char *name)
{
    static char path[2 * PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/%s", tree_root, name);
    return path;
}

/* Runs `fn` as an ordinary user, in a process of its own; what it returned. */
static inline int as_ordinary_user(int (*fn)(void))
{
    enum { SOMEBODY = 65533 };
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        bool root = geteuid() == 0;
        bool gone =
            !root || (setgroups(0, NULL) == 0 && setresgid(SOMEBODY, SOMEBODY, SOMEBODY) == 0 &&
                      setresuid(SOMEBODY, SOMEBODY, SOMEBODY) == 0);
        _exit(gone ? fn() : 99);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

#endif
