/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/adopt/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

#include "adopt/adopt.h"
#include "cli/call/replace.h"
#include "cli/show/io.h"

enum { SWAPS_MAX = 2 };

static const char access_list[] = "system.posix_acl_access";

/* ---- reading ---- */

/* The directory of an absolute path, entered without following a link. -1 with errno. */
static int open_parent(const char *path)
{
    _autofree_ char *names = strdup(path);
    int at = names ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    char *last = names ? strrchr(names, '/') : NULL, *rest = names;
    if (last)
        *last = '\0';
    for (char *name; at >= 0 && (name = strsep(&rest, "/"));) {
        if (!*name)
            continue;
        int next = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), saved = errno;
        (void)close(at);
        at = next;
        errno = saved;
    }
    return at;
}

static char *read_bytes(int fd, size_t size)
{
    char *text = malloc(size + 1);
    size_t have = 0;
    ssize_t n = 1;
    while (text && have < size && (n = read(fd, text + have, size - have)) > 0)
        have += (size_t)n;
    char more;
    if (text && n >= 0 && have == size && read(fd, &more, 1) == 0) {
        text[size] = '\0';
        return text;
    }
    if (text && n >= 0)
        errno = EBUSY; /* it changed while it was read */
    free(text);
    return NULL;
}

static int refuse(struct tc_failure *failure, const char *path, const char *why, const char *hint)
{
    return tc_failure_set(failure, TOOLCAGE_EPATH, hint, "%s %s", path, why);
}

static int check_file(const struct tc_adopt_file *file, struct tc_failure *failure)
{
    if (!S_ISREG(file->st.st_mode))
        return refuse(failure, file->path, "is not a regular file", "name the settings file");
    if (file->st.st_uid != geteuid())
        return refuse(failure, file->path, "belongs to another user",
                      "run toolcage adopt as its owner");
    if (!(file->st.st_mode & S_IWUSR))
        return refuse(failure, file->path, "is read-only",
                      "chmod u+w it, or change it where it is generated");
    if (file->st.st_nlink > 1)
        return refuse(failure, file->path,
                      "has a second name (a hard link), which would keep the old content",
                      "remove the other name, or edit the file by hand");
    if (file->st.st_size > TC_ADOPT_BYTES_MAX)
        return refuse(failure, file->path, "is too large", "edit it by hand");
    return 0;
}

static int open_text(struct tc_adopt_file *file, struct tc_failure *failure)
{
    _autofd_ int fd = openat(file->directory, file->name,
                             O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 && errno == ELOOP)
        return refuse(failure, file->path, "is a link, and the links of a project are not followed",
                      "name the file that it points to: --file");
    if (fd < 0 || fstat(fd, &file->st))
        return tc_failure_set(failure, TOOLCAGE_ESYSTEM, "make it readable for you",
                              "cannot read %s: %s", file->path, strerror(errno));
    if (check_file(file, failure))
        return -1;
    if (fgetxattr(fd, access_list, NULL, 0) >= 0)
        return refuse(failure, file->path, "has an access control list, which would be lost",
                      "remove it (setfacl -b), or edit the file by hand");
    file->length = (size_t)file->st.st_size;
    file->text = read_bytes(fd, file->length);
    return file->text ? 0
                      : tc_failure_set(failure, TOOLCAGE_ESYSTEM, "try again", "cannot read %s: %s",
                                       file->path,
                                       errno == EBUSY ? "it changes meanwhile" : strerror(errno));
}

int tc_adopt_open(const char *path, bool linked, struct tc_adopt_file *ret,
                  struct tc_failure *failure)
{
    *ret = (struct tc_adopt_file){.directory = -1};
    ret->path = linked ? realpath(path, NULL) : strdup(path);
    if (!ret->path && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    ret->directory = ret->path ? open_parent(ret->path) : -1;
    if (ret->directory < 0 && (errno == ENOENT || (errno == ENOTDIR && linked)))
        return 0;
    if (ret->directory < 0)
        return tc_failure_set(failure, TOOLCAGE_EPATH,
                              linked ? "make it readable for you"
                                     : "links in a project are not followed; use --file",
                              "cannot open the directory of %s: %s", path, strerror(errno));
    ret->name = strrchr(ret->path, '/') + 1;
    return open_text(ret, failure);
}

void tc_adopt_close(struct tc_adopt_file *file)
{
    if (file->text)
        explicit_bzero(file->text, file->length);
    free(file->path);
    free(file->text);
    tc_cli_close(&file->directory);
    *file = (struct tc_adopt_file){.directory = -1};
}

/* ---- writing ---- */

/* Has the file of this name exactly these bytes? */
static bool has_bytes(int directory, const char *name, const char *text, size_t length)
{
    struct stat st;
    _autofd_ int fd =
        openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || (size_t)st.st_size != length)
        return false;
    _autofree_ char *now = read_bytes(fd, length);
    return now && !memcmp(now, text, length);
}

static int write_new(const struct tc_adopt_file *file, const char *text, size_t length,
                     const char *note, char name[static TC_REPLACE_NAME])
{
    struct stat st;
    if (tc_replace_name(name) || tc_record_write(note, name, strlen(name)))
        return -1;
    _autofd_ int fd =
        openat(file->directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    bool fine = !tc_cli_write(fd, text, length) && !fstat(fd, &st) &&
                (!fremovexattr(fd, access_list) || errno == ENODATA || errno == EOPNOTSUPP) &&
                (st.st_gid == file->st.st_gid || !fchown(fd, (uid_t)-1, file->st.st_gid)) &&
                !fchmod(fd, file->st.st_mode & 0777) && !fsync(fd);
    int saved = errno;
    if (!fine)
        (void)unlinkat(file->directory, name, 0);
    errno = saved;
    return fine ? 0 : -1;
}

static int swap(const struct tc_adopt_file *file, const char *name)
{
    return renameat2(file->directory, name, file->directory, file->name, RENAME_EXCHANGE);
}

/* The two files are exchanged, so that what was replaced can be compared, and be put back if
 * another program wrote it after the last look. 1: it was put back. */
static int exchange(const struct tc_adopt_file *file, const char *name, const char *text,
                    size_t length)
{
    if (swap(file, name)) {
        if (errno != EINVAL && errno != ENOSYS)
            return -1;
        if (!has_bytes(file->directory, file->name, file->text, file->length))
            return 1;
        return renameat(file->directory, name, file->directory, file->name);
    }
    if (has_bytes(file->directory, name, file->text, file->length))
        return unlinkat(file->directory, name, 0);
    for (int i = 0; i < SWAPS_MAX; i++) {
        if (swap(file, name))
            return -1;
        if (has_bytes(file->directory, name, text, length))
            return 1; /* else yet another version was written in between, and is put back */
    }
    return 1;
}

static void sync_directory(const struct tc_adopt_file *file)
{
    _autofd_ int fd = openat(file->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        (void)fsync(fd);
}

static bool is_temporary(const char *name)
{
    static const char start[] = ".toolcage-";
    size_t length = sizeof(start) - 1;
    return !strncmp(name, start, length) && strlen(name) == TC_REPLACE_NAME - 1 &&
           strspn(name + length, "0123456789abcdef") == TC_REPLACE_NAME - 1 - length;
}

/* After an exchange it could be an agent's newer version. */
bool tc_adopt_sweep(const struct tc_adopt_file *file, const char *name, const char *text,
                    size_t length)
{
    struct stat st;
    if (!is_temporary(name) || file->directory < 0 ||
        fstatat(file->directory, name, &st, AT_SYMLINK_NOFOLLOW))
        return true;
    return S_ISREG(st.st_mode) && (size_t)st.st_size <= length &&
           has_bytes(file->directory, name, text, (size_t)st.st_size) &&
           !unlinkat(file->directory, name, 0);
}

void tc_adopt_sweep_directory(const char *path)
{
    DIR *directory = opendir(path);
    for (struct dirent *e; directory && (e = readdir(directory));)
        if (is_temporary(e->d_name))
            (void)unlinkat(dirfd(directory), e->d_name, 0);
    if (directory)
        (void)closedir(directory);
}

int tc_adopt_replace(const struct tc_adopt_file *file, const char *text, size_t length,
                     const char *note, struct tc_failure *failure)
{
    char name[TC_REPLACE_NAME];
    int rc = has_bytes(file->directory, file->name, file->text, file->length) ? 0 : 1;
    if (!rc && write_new(file, text, length, note, name))
        return tc_failure_set(failure, TOOLCAGE_ESYSTEM, "make its directory writable for you",
                              "cannot write next to %s: %s", file->path, strerror(errno));
    if (!rc) {
        rc = exchange(file, name, text, length);
        if (rc)
            (void)unlinkat(file->directory, name, 0);
    }
    if (rc > 0)
        return tc_failure_set(
            failure, TOOLCAGE_EPATH, "close the agent, and run the same command again",
            "%s was changed by another program meanwhile, and stays as it is", file->path);
    if (rc < 0)
        return tc_failure_set(failure, TOOLCAGE_ESYSTEM, "make its directory writable for you",
                              "cannot replace %s: %s", file->path, strerror(errno));
    sync_directory(file);
    return 0;
}
