/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/call/signer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cli/call/replace.h"
#include "cli/call/secret.h"
#include "cli/call/sibling.h"
#include "cli/show/say.h"

#define DIRECTORY "receipt"
#define NAME "key.pem"

enum { HEAD = 8, PATIENCE_S = 10 };

/* ---- keys ---- */

char *tc_signer_path(struct tc_failure *failure)
{
    char *path = tc_user_path("XDG_STATE_HOME", ".local/state", DIRECTORY "/" NAME);
    if (!path)
        (void)tc_failure_set(failure, TOOLCAGE_ESYSTEM, "set HOME or XDG_STATE_HOME",
                             "no home directory is known for the key of receipts");
    return path;
}

static int fail_key(struct tc_failure *failure, const char *path, const char *hint,
                    const char *what)
{
    (void)tc_failure_set(failure, TOOLCAGE_EUNTRUSTED, hint, "the key %s %s", path, what);
    return tc_failure_about(failure, path);
}

/* NULL, or what is wrong with the file. */
static const char *key_fault(const struct stat *st, bool secret)
{
    if (!S_ISREG(st->st_mode))
        return "is not a regular file";
    if (st->st_uid != geteuid() && (secret || st->st_uid != 0))
        return "belongs to another user";
    if (secret && (st->st_mode & (S_IRWXG | S_IRWXO)))
        return "can be read or written by other users";
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return "can be written by other users";
    return secret && st->st_nlink != 1 ? "has a second name (a hard link)" : NULL;
}

/* Can no other user replace the file? */
static bool is_closed(const char *path)
{
    struct stat st;
    const char *end = strrchr(path, '/');
    _autofree_ char *parent =
        end ? strndup(path, end > path ? (size_t)(end - path) : 1) : strdup(".");
    return parent && !stat(parent, &st) && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

int tc_signer_check_place(int fd, struct tc_failure *failure)
{
    char self[64], real[PATH_MAX];
    (void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    ssize_t length = readlink(self, real, sizeof(real) - 1);
    if (length < 0 || length == (ssize_t)sizeof(real) - 1)
        return tc_failure_set(failure, TOOLCAGE_ESYSTEM, "mount /proc",
                              "cannot determine where the key or the log is");
    real[length] = '\0';
    return tc_secret_check(real, (struct tc_writers){0}, failure);
}

int tc_signer_open_key(const char *path, bool secret, struct tc_failure *failure)
{
    struct stat st;
    _autofd_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && errno == ELOOP)
        return fail_key(failure, path, "name the file itself", "is a symbolic link");
    if (fd < 0 || fstat(fd, &st))
        return tc_failure_set(failure, errno == ENOENT ? TOOLCAGE_ENOT_FOUND : TOOLCAGE_ESYSTEM,
                              secret ? "toolcage receipt key makes one"
                                     : "toolcage receipt key prints the public one",
                              "cannot read the key %s: %s", path, strerror(errno));
    const char *fault = key_fault(&st, secret);
    if (!fault && secret && !is_closed(path))
        fault = "is in a directory that other users can write";
    if (fault)
        return fail_key(failure, path,
                        secret ? "make a new one, which only you can read: mode 0600"
                               : "make it a file that only you or root can write",
                        fault);
    if (tc_signer_check_place(fd, failure))
        return -1;
    int ret = fd;
    fd = -1;
    return ret;
}

/* ---- the program ---- */

/* In the child. */
_Noreturn static void become(int program, int socket, int key)
{
    static char name[] = "toolcage-receipt";
    static char *argv[] = {name, NULL}, *none[] = {NULL};
    struct tc_failure failure = {0};
    if (dup2(socket, TC_RECEIPT_SOCKET) >= 0)
        (void)tc_sibling_become(program, argv, none, &key, 1, &failure);
    _exit(TC_EXIT_NOT_FOUND);
}

int tc_signer_start(struct tc_signer *ret, const char *path, int key, struct tc_failure *failure)
{
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    int sockets[2];
    *ret = (struct tc_signer){.socket = -1, .key = path};
    _autofd_ int program =
        tc_sibling_open("toolcage-receipt", "which signs and verifies receipts", failure);
    if (program < 0)
        return -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
        return tc_failure_set(failure, TOOLCAGE_ESYSTEM, "close other programs",
                              "cannot start toolcage-receipt: %s", strerror(errno));
    ret->socket = sockets[0];
    /* a program that hangs must not stop a server forever */
    (void)setsockopt(ret->socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    (void)setsockopt(ret->socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    ret->pid = fork();
    if (ret->pid == 0)
        become(program, sockets[1], key);
    int saved = errno;
    (void)close(sockets[1]);
    return ret->pid > 0 ? 0
                        : tc_failure_set(failure, TOOLCAGE_ESYSTEM, "end other programs",
                                         "cannot start toolcage-receipt: %s", strerror(saved));
}

/* ---- requests ---- */

/* A program that has ended must not end this one by SIGPIPE. */
static bool send_all(int socket, const char *bytes, size_t length)
{
    while (length) {
        ssize_t n = send(socket, bytes, length, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return false;
        bytes += n > 0 ? n : 0;
        length -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

static bool receive_all(int socket, char *bytes, size_t length)
{
    while (length) {
        ssize_t n = recv(socket, bytes, length, 0);
        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        bytes += n > 0 ? n : 0;
        length -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

static void put_number(char *to, size_t number)
{
    for (int i = 0; i < 4; i++)
        to[i] = (char)(number >> (8 * i));
}

static size_t get_number(const char *from)
{
    size_t number = 0;
    for (int i = 4; i-- > 0;)
        number = number << 8 | (unsigned char)from[i];
    return number;
}

int tc_signer_ask(const struct tc_signer *signer, enum tc_receipt_kind kind, const char *bytes,
                  size_t length, struct tc_signer_answer *ret, struct tc_failure *failure)
{
    char head[HEAD];
    put_number(head, kind);
    put_number(head + 4, length);
    *ret = (struct tc_signer_answer){0};
    bool fine = send_all(signer->socket, head, HEAD) && send_all(signer->socket, bytes, length) &&
                receive_all(signer->socket, head, HEAD);
    size_t answer = fine ? get_number(head) : 0;
    ret->length = fine ? get_number(head + 4) : 0;
    fine = fine && answer >= TC_RECEIPT_DONE && answer < TC_RECEIPT_KINDS &&
           ret->length <= TC_RECEIPT_ENVELOPE_MAX;
    ret->bytes = fine ? calloc(1, ret->length + 1) : NULL;
    if (!ret->bytes || !receive_all(signer->socket, ret->bytes, ret->length))
        return tc_failure_set(
            failure, TOOLCAGE_EHELPER, "install toolcage completely; see the system's log",
            "toolcage-receipt did not start, did not answer, or ended unexpectedly");
    if (answer == TC_RECEIPT_WRONG_KEY)
        return fail_key(failure, signer->key, "toolcage receipt key makes a key pair", ret->bytes);
    ret->done = answer == TC_RECEIPT_DONE;
    return 0;
}

void tc_signer_done(struct tc_signer *signer)
{
    if (signer->socket >= 0)
        (void)close(signer->socket);
    if (signer->pid > 0)
        (void)kill(signer->pid, SIGKILL); /* it may hang, and has written what it answered */
    while (signer->pid > 0 && waitpid(signer->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    *signer = (struct tc_signer){.socket = -1};
}

/* ---- a new key ---- */

static int fail_make(struct tc_failure *failure, const char *path)
{
    return tc_failure_set(failure, TOOLCAGE_ESYSTEM,
                          "make the state directory writable for this user alone",
                          "cannot make the key %s: %s", path, strerror(errno));
}

static int fill_key(const char *path, int fd, struct tc_failure *failure)
{
    struct tc_signer signer;
    struct tc_signer_answer answer = {0};
    int rc = tc_signer_start(&signer, path, fd, failure);
    if (!rc)
        rc = tc_signer_ask(&signer, TC_RECEIPT_MAKE, "", 0, &answer, failure);
    free(answer.bytes);
    tc_signer_done(&signer);
    return !rc && fsync(fd) ? fail_make(failure, path) : rc;
}

int tc_signer_make_key(const char *path, bool *ret_made, struct tc_failure *failure)
{
    char temporary[TC_REPLACE_NAME];
    _autofree_ char *directory = strndup(path, strlen(path) - strlen("/" NAME));
    *ret_made = false;
    if (!access(path, F_OK))
        return 0;
    if (!directory || tc_record_directory(directory))
        return fail_make(failure, path);
    _autofd_ int at = tc_replace_directory(directory);
    _autofd_ int fd = at < 0 ? -1 : tc_replace_begin(at, 0600, temporary);
    if (fd < 0)
        return fail_make(failure, path);
    int rc = fill_key(path, fd, failure);
    /* of two programs that make one, the first wins */
    bool named = !rc && !linkat(at, temporary, at, NAME, 0);
    int saved = errno;
    (void)unlinkat(at, temporary, 0);
    errno = saved;
    if (!rc && !named && saved != EEXIST)
        return fail_make(failure, path);
    *ret_made = named;
    return rc;
}
