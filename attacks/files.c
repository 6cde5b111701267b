/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Attacks on files: set-id bits and file capabilities left behind, device nodes, kernel files,
 * handles. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "attack.h"

static int make(const char *base, const char *suffix, int mode)
{
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s.%s", base, suffix);
    return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
}

/* Tries every way to set a file's set-id bits; the driver checks the files. */
static void set_id(char **args)
{
    char path[4096];
    struct {
        uint64_t flags, mode, resolve;
    } how = {O_WRONLY | O_CREAT, 04755, 0};
    (void)umask(0);
    (void)close(make(args[0], "open", 04755));
    (void)fchmod(make(args[0], "fchmod", 0755), 02755);
    (void)close(make(args[0], "chmod", 0755));
    (void)snprintf(path, sizeof(path), "%s.chmod", args[0]);
    (void)chmod(path, 06755);
    (void)close(make(args[0], "fchmodat", 0755));
    (void)snprintf(path, sizeof(path), "%s.fchmodat", args[0]);
    (void)syscall(SYS_fchmodat, AT_FDCWD, path, 04755);
    (void)close(make(args[0], "fchmodat2", 0755));
    (void)snprintf(path, sizeof(path), "%s.fchmodat2", args[0]);
    (void)syscall(452, AT_FDCWD, path, 04755, 0);
    (void)snprintf(path, sizeof(path), "%s.creat", args[0]);
    (void)syscall(SYS_creat, path, 04755);
    (void)snprintf(path, sizeof(path), "%s.mknod", args[0]);
    (void)mknod(path, S_IFREG | 04755, 0);
    (void)snprintf(path, sizeof(path), "%s.openat2", args[0]);
    (void)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
    (void)snprintf(path, sizeof(path), "%s.high", args[0]);
    (void)syscall(SYS_openat, AT_FDCWD, path, 0xffffffff00000000ul | O_WRONLY | O_CREAT,
                  0xffffffff00000000ul | 04755);
    (void)snprintf(path, sizeof(path), "%s.directory", args[0]);
    (void)mkdir(path, 0755);
    (void)chmod(path, 02755);
}

/* cap_setuid+ep in setcap's format */
static void file_capability(char **args)
{
    static const unsigned char value[20] = {1, 0, 0, 2, 0x80};
    int fd = open(args[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    if (fd < 0 || fsetxattr(fd, "security.capability", value, sizeof(value), 0) < 0)
        missed("file capability");
}

/* Opens for writing, and writes nothing. */
static void open_for_writing(char **args)
{
    for (; *args; args++) {
        int fd = open(*args, O_WRONLY | O_CLOEXEC);
        if (fd < 0)
            missed(*args);
        else
            got("%s for writing", *args);
    }
}

/* Takes a write lease: other programs that open the file block. */
static void lease(char **args)
{
    int fd = open(args[0], O_RDWR | O_CLOEXEC);
    if (fd >= 0 && fcntl(fd, F_SETLEASE, F_WRLCK) == 0)
        got("a lease on %s", args[0]);
    else
        missed("lease");
}

static void read_files(char **args)
{
    for (; *args; args++) {
        int fd = open(*args, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
            missed(*args);
        else
            got_content(*args, fd);
    }
}

/* PATH, NAME: reads the attribute's value and all names, with every call that takes a path. */
static void read_attributes(char **args)
{
    char value[256] = "", names[256] = "";
    struct {
        uint64_t value;
        uint32_t size, flags;
    } into = {(uintptr_t)value, sizeof(value) - 1, 0};
    if (getxattr(args[0], args[1], value, sizeof(value) - 1) < 0 &&
        lgetxattr(args[0], args[1], value, sizeof(value) - 1) < 0 &&
        syscall(464, AT_FDCWD, args[0], 0, args[1], &into, sizeof(into)) < 0)
        missed("attribute");
    else
        got("an attribute: %s", value);
    if (listxattr(args[0], names, sizeof(names)) < 0 &&
        llistxattr(args[0], names, sizeof(names)) < 0 &&
        syscall(465, AT_FDCWD, args[0], 0, names, sizeof(names)) < 0)
        missed("attributes");
    else
        got("attributes: %s", names);
}

/* Creates another node of the zero device, which is harmless to read and stands for any device. */
static void device(char **args)
{
    char path[4096];
    const dev_t zero = makedev(1, 5);
    (void)snprintf(path, sizeof(path), "%s.char", args[0]);
    if (mknod(path, S_IFCHR | 0666, zero) < 0)
        missed("mknod");
    (void)snprintf(path, sizeof(path), "%s.block", args[0]);
    (void)mknod(path, S_IFBLK | 0600, makedev(7, 0));
}

struct handle {
    unsigned bytes;
    int type;
    unsigned char data[128];
};

/* Prints a file's handle. Run outside, it replaces the attacker's guess (inode numbers are small).
 */
static void handle_of(char **args)
{
    struct handle h = {.bytes = sizeof(h.data)};
    int mount;
    if (syscall(SYS_name_to_handle_at, AT_FDCWD, args[0], &h, &mount, 0) < 0) {
        missed("name_to_handle_at");
        return;
    }
    (void)printf("%d ", h.type);
    for (unsigned i = 0; i < h.bytes; i++)
        (void)printf("%02x", h.data[i]);
    (void)putchar('\n');
}

/* type, hex, and any directory of the same file system */
static void open_handle(char **args)
{
    struct handle h = {.bytes = (unsigned)strlen(args[1]) / 2, .type = number(args[0])};
    for (unsigned i = 0; i < h.bytes && i < sizeof(h.data); i++) {
        unsigned byte;
        (void)sscanf(args[1] + 2 * i, "%2x", &byte);
        h.data[i] = (unsigned char)byte;
    }
    int dir = open(args[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = (int)syscall(SYS_open_by_handle_at, dir, &h, O_RDONLY);
    if (fd < 0)
        missed("open_by_handle_at");
    else
        got_content("handle", fd);
}

/* Lists inherited fds. */
static void descriptors(char **args)
{
    (void)args;
    for (int fd = 3; fd < 1024; fd++) {
        char name[32], target[256];
        (void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
        ssize_t n = readlink(name, target, sizeof(target) - 1);
        if (n < 0)
            continue;
        target[n] = '\0';
        got("descriptor %d: %s", fd, target);
        got_content("content", fd);
    }
}

/* Reopens its own stdin for writing. */
static void rewrite_stdin(char **args)
{
    int fd = open("/proc/self/fd/0", O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || pwrite(fd, args[0], strlen(args[0]), 0) < 0)
        missed("standard input");
}

/* FILE...: overwrites and removes each. */
static void wreck(char **args)
{
    for (; *args; args++) {
        int fd = open(*args, O_WRONLY | O_CLOEXEC);
        if (fd < 0 || write(fd, "wrecked", 7) < 0)
            missed(*args);
        if (unlink(*args) < 0)
            missed(*args);
    }
}

/* FILE...: creates each, with content that a shell would run. */
static void plant(char **args)
{
    for (; *args; args++) {
        int fd = open(*args, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0755);
        if (fd < 0 || write(fd, "\n", 1) < 0)
            missed(*args);
        else
            got("%s", *args);
    }
}

/* PATH, MIB: writes a file of that size, and removes it at once. */
static void fill(char **args)
{
    static char block[1 << 16];
    long want = strtol(args[1], NULL, 10) * 16, done = 0;
    int fd = open(args[0], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        missed(args[0]);
        return;
    }
    while (done < want && write(fd, block, sizeof(block)) == (ssize_t)sizeof(block))
        done++;
    (void)unlink(args[0]);
    got("mebibytes %ld", done / 16);
}

const struct attack tc_attacks_files[] = {{"set-id", 1, set_id},
                                          {"file-capability", 1, file_capability},
                                          {"open-for-writing", 1, open_for_writing},
                                          {"lease", 1, lease},
                                          {"read", 1, read_files},
                                          {"read-attributes", 2, read_attributes},
                                          {"device", 1, device},
                                          {"handle-of", 1, handle_of},
                                          {"open-handle", 3, open_handle},
                                          {"descriptors", 0, descriptors},
                                          {"rewrite-stdin", 1, rewrite_stdin},
                                          {"wreck", 1, wreck},
                                          {"plant", 1, plant},
                                          {"fill", 2, fill},
                                          {NULL, 0, NULL}};
