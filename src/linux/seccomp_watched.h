/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The calls that name a path, and what each does to it: which of them are notified to the
 * supervisor when the paths of a call are observed, and which argument is the path. Calls on an
 * fd are not here: its open was. Nor is execve, which is always notified. */
#ifndef TC_LINUX_SECCOMP_WATCHED_H
#define TC_LINUX_SECCOMP_WATCHED_H

/* What a call does to the path that it names. */
enum tc_seccomp_use {
    TC_SECCOMP_READS,
    TC_SECCOMP_WRITES,
    TC_SECCOMP_OPENS, /* by the flags, which are the argument after the path */
    TC_SECCOMP_NAMES, /* writes the last component itself, whatever is there */
    TC_SECCOMP_MAKES, /* the same, and fails when something is there */
    TC_SECCOMP_LOOKS, /* attributes only */
};

/* `dir` is the argument with the directory's fd, -1: the working directory. A call with two
 * paths has two rows. */
struct tc_seccomp_watched {
    const char *name;
    enum tc_seccomp_use use;
    int dir, path;
};

/* clang-format off */
/* R(eads), W(rites), O(pens), N(ame itself is written), M(akes it), L(ooks): name, directory, path. */
#define TC_SECCOMP_WATCHED(R, W, O, N, M, L) \
    O(open, -1, 0) O(openat, 0, 1) W(creat, -1, 0) W(truncate, -1, 0) \
    M(mkdir, -1, 0) M(mkdirat, 0, 1) M(mknod, -1, 0) M(mknodat, 0, 1) N(rmdir, -1, 0) \
    N(unlink, -1, 0) N(unlinkat, 0, 1) M(symlink, -1, 1) M(symlinkat, 1, 2) \
    N(rename, -1, 0) N(rename, -1, 1) N(renameat, 0, 1) N(renameat, 2, 3) N(renameat2, 0, 1) \
    N(renameat2, 2, 3) R(link, -1, 0) M(link, -1, 1) R(linkat, 0, 1) M(linkat, 2, 3) \
    W(chmod, -1, 0) W(fchmodat, 0, 1) W(fchmodat2, 0, 1) W(chown, -1, 0) N(lchown, -1, 0) \
    W(fchownat, 0, 1) W(utime, -1, 0) W(utimes, -1, 0) W(futimesat, 0, 1) W(utimensat, 0, 1) \
    W(setxattr, -1, 0) N(lsetxattr, -1, 0) W(setxattrat, 0, 1) W(removexattr, -1, 0) \
    N(lremovexattr, -1, 0) W(removexattrat, 0, 1) \
    L(stat, -1, 0) L(lstat, -1, 0) L(newfstatat, 0, 1) L(statx, 0, 1) L(access, -1, 0) \
    L(faccessat, 0, 1) L(faccessat2, 0, 1) L(readlink, -1, 0) L(readlinkat, 0, 1) L(chdir, -1, 0) \
    L(statfs, -1, 0) L(getxattr, -1, 0) L(lgetxattr, -1, 0) L(listxattr, -1, 0) \
    L(llistxattr, -1, 0) L(inotify_add_watch, -1, 1)

#define READS_ROW(name, dir, path) {#name, TC_SECCOMP_READS, dir, path},
#define WRITES_ROW(name, dir, path) {#name, TC_SECCOMP_WRITES, dir, path},
#define OPENS_ROW(name, dir, path) {#name, TC_SECCOMP_OPENS, dir, path},
#define NAME_ROW(name, dir, path) {#name, TC_SECCOMP_NAMES, dir, path},
#define MAKES_ROW(name, dir, path) {#name, TC_SECCOMP_MAKES, dir, path},
#define LOOKS_ROW(name, dir, path) {#name, TC_SECCOMP_LOOKS, dir, path},
static const struct tc_seccomp_watched tc_seccomp_watched[] = {
    TC_SECCOMP_WATCHED(READS_ROW, WRITES_ROW, OPENS_ROW, NAME_ROW, MAKES_ROW, LOOKS_ROW)};
#undef READS_ROW
#undef WRITES_ROW
#undef OPENS_ROW
#undef NAME_ROW
#undef MAKES_ROW
#undef LOOKS_ROW
/* clang-format on */

#endif
