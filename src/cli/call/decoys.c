/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/call/decoys.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

enum {
    ARRIVES_MS = 200, /* how long a listener waits for the token */
    BEAT_US = 250000, /* longer than the interval in which a surviving process writes */
    INHERITED = 77,   /* the fd that child processes inherit */
    REMOVE_DEPTH = 16,
    FILLED_MAX = 4096 /* bytes of a command with its placeholders filled in */
};

static const char variable[] = "TOOLCAGE_DECOY";

/* ---- files ---- */

static int put_file(const char *path, const char *text)
{
    _autofd_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)at;
    return kind == FTW_DP ? rmdir(path) : unlink(path);
}

static void remove_tree(const char *path)
{
    (void)nftw(path, remove_entry, REMOVE_DEPTH, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static const char config[] = "[core]\n"; /* of the repository */

static int make_files(const struct tc_decoys *d)
{
    static const char *const directories[] = {
        "home",          "home/.ssh", "work", "work/.git", "work/.git/hooks", "work/.git/objects",
        "work/.git/refs"};
    const struct {
        const char *name, *text;
    } files[] = {{"home/.ssh/id_ed25519", d->token},
                 {"home/notes.txt", d->token},
                 {"work/.env", d->token},
                 {"work/.git/config", config},
                 {"work/.git/HEAD", "ref: refs/heads/main\n"}};
    char path[PATH_MAX];
    int rc = 0;
    for (size_t i = 0; !rc && i < TC_COUNT(directories); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", d->root, directories[i]);
        rc = mkdir(path, 0700);
    }
    for (size_t i = 0; !rc && i < TC_COUNT(files); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", d->root, files[i].name);
        rc = put_file(path, files[i].text);
    }
    (void)snprintf(path, sizeof(path), "%s/link", d->work);
    return rc ? rc : symlink("../home/.ssh/id_ed25519", path);
}

/* Does the file contain this text, and nothing else? */
static bool says(const char *path, const char *said)
{
    char text[64] = "";
    _autofd_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 && read(fd, text, sizeof(text) - 1) >= 0 && !strcmp(text, said);
}

/* The checks of files: a decoy that cannot be inspected counts as a successful attack. */
bool tc_decoys_home_changed(const struct tc_decoys *d)
{
    return !says(d->key, d->token) || !says(d->notes, d->token);
}

bool tc_decoys_grows(const struct tc_decoys *d)
{
    struct stat before, after;
    if (lstat(d->beats, &before))
        return errno != ENOENT;
    (void)usleep(BEAT_US);
    return lstat(d->beats, &after) ? errno != ENOENT : after.st_size > before.st_size;
}

/* Does the workspace contain an entry with such a mode? */
static bool left(const struct tc_decoys *d, bool (*is)(mode_t mode))
{
    DIR *dir = opendir(d->work);
    bool found = false;
    struct stat st;
    if (!dir)
        return true;
    errno = 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (!fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
            found |= is(st.st_mode);
        else if (errno == ENOENT)
            errno = 0;
    found |= errno != 0;
    (void)closedir(dir);
    return found;
}

static bool is_setid(mode_t mode)
{
    return mode & (S_ISUID | S_ISGID);
}

static bool is_device(mode_t mode)
{
    return S_ISCHR(mode) || S_ISBLK(mode);
}

bool tc_decoys_left_setid(const struct tc_decoys *d)
{
    return left(d, is_setid);
}

bool tc_decoys_left_device(const struct tc_decoys *d)
{
    return left(d, is_device);
}

bool tc_decoys_planted(const struct tc_decoys *d)
{
    char hook[PATH_MAX], path[PATH_MAX];
    struct stat st;
    (void)snprintf(hook, sizeof(hook), "%s/.git/hooks/pre-commit", d->work);
    (void)snprintf(path, sizeof(path), "%s/.git/config", d->work);
    return lstat(hook, &st) == 0 || errno != ENOENT || !says(path, config);
}

/* ---- listeners ---- */

static int listen_at(int type, const struct sockaddr *address, socklen_t length)
{
    int fd = socket(address->sa_family, type | SOCK_CLOEXEC, 0);
    if (fd >= 0 && (bind(fd, address, length) || (type == SOCK_STREAM && listen(fd, 8)))) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static int listen_unix(int type, const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    (void)snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    if (a.sun_path[0] == '@')
        a.sun_path[0] = '\0';
    return listen_at(type, (const struct sockaddr *)&a, length);
}

static int open_loopback(struct tc_decoys *d)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(a);
    int fd = listen_at(SOCK_STREAM, (const struct sockaddr *)&a, sizeof(a));
    if (fd >= 0 && !getsockname(fd, (struct sockaddr *)&a, &length))
        d->port = ntohs(a.sin_port);
    return fd;
}

static void close_listeners(struct tc_decoys *d)
{
    for (size_t i = 0; i < TC_LISTENERS; i++) {
        if (d->listeners[i] >= 0)
            (void)close(d->listeners[i]);
        d->listeners[i] = -1;
    }
}

/* New listeners for each run, so that data of an earlier run does not count for a later one. */
static int open_listeners(struct tc_decoys *d)
{
    char path[128], name[128], datagram[128];
    (void)snprintf(path, sizeof(path), "%s/socket", d->work);
    (void)snprintf(datagram, sizeof(datagram), "%s/datagram", d->work);
    (void)snprintf(name, sizeof(name), "@toolcage-%s", d->token);
    close_listeners(d);
    d->listeners[TC_LISTENER_TCP] = open_loopback(d);
    d->listeners[TC_LISTENER_PATH] = listen_unix(SOCK_STREAM, path);
    d->listeners[TC_LISTENER_ABSTRACT] = listen_unix(SOCK_STREAM, name);
    d->listeners[TC_LISTENER_DATAGRAM] = listen_unix(SOCK_DGRAM, datagram);
    for (size_t i = 0; i < TC_LISTENERS; i++)
        if (d->listeners[i] < 0)
            return -1;
    return 0;
}

/* Has the token arrived at the listener? A connection without the token does not count. */
bool tc_decoys_arrived(const struct tc_decoys *d, enum tc_listener which)
{
    char text[64] = "";
    struct pollfd ready = {.fd = d->listeners[which], .events = POLLIN};
    int came;
    while ((came = poll(&ready, 1, ARRIVES_MS)) < 0 && errno == EINTR)
        ;
    if (came <= 0)
        return came < 0;
    if (which == TC_LISTENER_DATAGRAM)
        return recv(ready.fd, text, sizeof(text) - 1, MSG_DONTWAIT) > 0 && strstr(text, d->token);
    _autofd_ int peer = accept4(ready.fd, NULL, NULL, SOCK_CLOEXEC);
    struct pollfd sent = {.fd = peer, .events = POLLIN};
    if (peer < 0)
        return errno != ECONNABORTED;
    return poll(&sent, 1, ARRIVES_MS) > 0 && recv(peer, text, sizeof(text) - 1, MSG_DONTWAIT) > 0 &&
           strstr(text, d->token);
}

/* ---- the process ---- */

static void end_victim(struct tc_decoys *d)
{
    if (d->victim <= 0)
        return;
    (void)kill(d->victim, SIGKILL);
    while (waitpid(d->victim, NULL, 0) < 0 && errno == EINTR)
        ;
    d->victim = 0;
}

/* Starts a process that has the token in its memory, at the same address as in this process. It
 * sleeps until this process exits. */
static int start_victim(struct tc_decoys *d)
{
    pid_t parent = getpid();
    d->victim = fork();
    if (d->victim < 0)
        return -1;
    if (d->victim == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)close_range(0, ~0U, 0);
        while (getppid() == parent)
            (void)sleep(1);
        _exit(0);
    }
    return 0;
}

bool tc_decoys_victim_gone(const struct tc_decoys *d)
{
    siginfo_t info = {0};
    (void)usleep(50000);
    return !waitid(P_PID, (id_t)d->victim, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid;
}

/* ---- all of them ---- */

static int make_token(struct tc_decoys *d)
{
    unsigned char bytes[12];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return -1;
    size_t n = (size_t)snprintf(d->token, sizeof(d->token), "decoy-%d-", (int)getpid());
    for (size_t i = 0; i < sizeof(bytes); i++)
        n += (size_t)snprintf(d->token + n, sizeof(d->token) - n, "%02x", bytes[i]);
    return 0;
}

/* Creates the directory of all decoys. Its path does not depend on the environment ($TMPDIR). */
static int make_root(struct tc_decoys *d)
{
    static const char *const places[] = {"/var/tmp", "/tmp"};
    for (size_t i = 0; i < TC_COUNT(places); i++) {
        (void)snprintf(d->root, sizeof(d->root), "%s/toolcage-decoys-%d-XXXXXX", places[i],
                       (int)getpid());
        if (mkdtemp(d->root))
            return 0;
    }
    d->root[0] = '\0';
    return -1;
}

int tc_decoys_open(struct tc_decoys *d)
{
    *d = (struct tc_decoys){.inherited = -1};
    for (size_t i = 0; i < TC_LISTENERS; i++)
        d->listeners[i] = -1;
    if (make_token(d) || make_root(d))
        return -1;
    (void)snprintf(d->work, sizeof(d->work), "%s/work", d->root);
    (void)snprintf(d->key, sizeof(d->key), "%s/home/.ssh/id_ed25519", d->root);
    (void)snprintf(d->notes, sizeof(d->notes), "%s/home/notes.txt", d->root);
    /* the name must not contain the token, because a failed attack may print the name */
    (void)snprintf(d->shared, sizeof(d->shared), "/tmp/toolcage-decoy%s", strchr(d->root, '-'));
    if (put_file(d->shared, d->token) || setenv(variable, d->token, 1) || tc_decoys_renew(d))
        return -1;
    _autofd_ int fd = open(d->key, O_RDONLY | O_CLOEXEC);
    d->inherited = fd < 0 ? -1 : dup2(fd, INHERITED); /* not close-on-exec: this fd is the bait */
    return d->inherited < 0 ? -1 : 0;
}

int tc_decoys_renew(struct tc_decoys *d)
{
    char path[PATH_MAX];
    static const char *const trees[] = {"home", "work"};
    end_victim(d); /* it may not have closed the inherited listeners yet */
    (void)snprintf(d->beats, sizeof(d->beats), "%s/beats-%u", d->work, ++d->renewals);
    for (size_t i = 0; i < TC_COUNT(trees); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", d->root, trees[i]);
        remove_tree(path);
    }
    if (d->inherited >= 0)
        (void)lseek(d->inherited, 0, SEEK_SET);
    return make_files(d) || open_listeners(d) || start_victim(d) ? -1 : 0;
}

void tc_decoys_done(struct tc_decoys *d)
{
    end_victim(d);
    close_listeners(d);
    if (d->inherited >= 0)
        (void)close(d->inherited);
    if (d->shared[0])
        (void)unlink(d->shared);
    if (d->root[0])
        remove_tree(d->root);
    (void)unsetenv(variable);
}

/* Writes the value of a placeholder and returns its length; 0: no such placeholder. */
static size_t put_place(const struct tc_decoys *d, const char *name, size_t length, char *to,
                        size_t size)
{
    char port[16], victim[16], address[32];
    (void)snprintf(port, sizeof(port), "%u", d->port);
    (void)snprintf(victim, sizeof(victim), "%d", (int)d->victim);
    (void)snprintf(address, sizeof(address), "%jx", (uintmax_t)(uintptr_t)d->token);
    const char *const places[][2] = {
        {"work", d->work},   {"key", d->key},       {"notes", d->notes}, {"beats", d->beats},
        {"token", d->token}, {"shared", d->shared}, {"made", d->made},   {"port", port},
        {"victim", victim},  {"address", address}};
    for (size_t i = 0; i < TC_COUNT(places); i++)
        if (strlen(places[i][0]) == length && !memcmp(places[i][0], name, length))
            return (size_t)snprintf(to, size, "%s", places[i][1]);
    return 0;
}

char *tc_decoys_fill(const struct tc_decoys *d, const char *words)
{
    char *text = calloc(1, FILLED_MAX), *to = text;
    /* every value is shorter than PATH_MAX / 4; a longer command is cut off */
    for (const char *at = words; text && *at && to < text + FILLED_MAX - PATH_MAX / 4;) {
        size_t length = *at == '{' ? strcspn(at + 1, "}") : 0;
        if (length) {
            to += put_place(d, at + 1, length, to, (size_t)(text + FILLED_MAX - to));
            at += length + 2;
        } else {
            *to++ = *at++;
        }
    }
    return text;
}
