/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "backend/engine/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "backend/registry.h"
#include "base/cleanup.h"
#include "policy/settings.h"

static const char *usual_place(const char *engine)
{
    return strcmp(engine, "podman") == 0       ? "/run/podman/podman.sock"
           : strcmp(engine, "containerd") == 0 ? "/run/containerd/containerd.sock"
                                               : "/run/docker.sock";
}

/* The engine's socket: the one that the policy names, else the default. A user's own socket of
 * rootless Docker is no default: to take whichever socket exists would also be a choice between the
 * user's rights and root's. */
bool tc_engine_socket_path(const char *engine, const struct tc_strv *settings, uid_t uid,
                           struct tc_engine_socket *ret)
{
    const char *said = tc_setting(settings, "socket");
    int n;
    if (said)
        n = snprintf(ret->path, sizeof(ret->path), "%s", said);
    else if (strcmp(engine, "podman") == 0 && uid != 0)
        n = snprintf(ret->path, sizeof(ret->path), "/run/user/%u/podman/podman.sock", uid);
    else
        n = snprintf(ret->path, sizeof(ret->path), "%s", usual_place(engine));
    ret->client = "";
    ret->fd = -1;
    return n > 0 && (size_t)n < sizeof(ret->path);
}

static void say_start(const char *engine, const struct tc_engine_socket *socket,
                      struct tc_engine_lack *lack)
{
    bool user = strncmp(socket->path, "/run/user/", strlen("/run/user/")) == 0;
    if (strcmp(engine, "podman") == 0)
        (void)snprintf(lack->hint, sizeof(lack->hint),
                       "start it: systemctl %senable --now podman.socket, or: podman system "
                       "service --time=0 unix://%s",
                       user ? "--user " : "", socket->path);
    else if (strcmp(engine, "containerd") == 0)
        (void)snprintf(lack->hint, sizeof(lack->hint),
                       "start it: systemctl start containerd, or: containerd --address %s; another "
                       "socket is named by [backend.containerd] socket",
                       socket->path);
    else
        (void)snprintf(lack->hint, sizeof(lack->hint),
                       "start it: systemctl %sstart docker, or: dockerd -H unix://%s; another "
                       "socket is named by [backend.docker] socket",
                       user ? "--user " : "", socket->path);
}

static bool lacks(const char *engine, const struct tc_engine_socket *socket,
                  struct tc_engine_lack *lack, const char *what)
{
    lack->errnum = errno;
    (void)snprintf(lack->text, sizeof(lack->text), "%s %s", what, socket->path);
    if (errno == EACCES || errno == EPERM)
        (void)snprintf(
            lack->hint, sizeof(lack->hint),
            "this user cannot access the engine's socket, and access is equivalent to root; for "
            "a rootless engine set [backend.%s] socket",
            engine);
    else
        say_start(engine, socket, lack);
    return false;
}

/* Does not block: an engine with a full backlog counts as not running. */
static int connect_to(int fd)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    _autofd_ int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    (void)snprintf(name.sun_path, sizeof(name.sun_path), "/proc/self/fd/%d", fd);
    if (sock < 0 || connect(sock, (struct sockaddr *)&name, sizeof(name)) < 0)
        return -1;
    return TAKE_FD(sock);
}

/* ctr, the client that containerd installs. */
static bool find_client(struct tc_engine_socket *socket, struct tc_engine_lack *lack)
{
    static const char *const places[] = {"/usr/bin/ctr", "/usr/local/bin/ctr", "/usr/sbin/ctr",
                                         "/bin/ctr"};
    for (size_t i = 0; i < TC_COUNT(places); i++)
        if (access(places[i], X_OK) == 0) {
            socket->client = places[i];
            return true;
        }
    lack->errnum = ENOENT;
    lack->subject = "ctr";
    (void)snprintf(lack->text, sizeof(lack->text),
                   "containerd's own client, ctr, is not in /usr/bin or /usr/local/bin");
    (void)snprintf(lack->hint, sizeof(lack->hint), "install it: it is a part of containerd");
    return false;
}

bool tc_engine_socket_open(const char *engine, uid_t uid, struct tc_engine_socket *socket,
                           struct tc_engine_lack *lack)
{
    struct stat st;
    struct ucred peer;
    socklen_t len = sizeof(peer);
    _autofd_ int fd = open(socket->path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return lacks(engine, socket, lack, "no engine listens on");
    errno = ENOTSOCK;
    if (fstat(fd, &st) < 0 || !S_ISSOCK(st.st_mode))
        return lacks(engine, socket, lack, "there is no socket at");
    _autofd_ int sock = connect_to(fd);
    if (sock < 0)
        return lacks(engine, socket, lack, "no engine accepts connections on");
    if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
        return lacks(engine, socket, lack, "cannot determine the user who listens on");
    socket->rootless = uid != 0 && peer.uid == uid;
    errno = EPERM;
    if (uid == 0 && peer.uid != 0)
        return lacks(engine, socket, lack, "another user's engine listens on");
    if (strcmp(engine, "containerd") == 0 && !find_client(socket, lack))
        return false;
    socket->fd = TAKE_FD(fd);
    return true;
}

int tc_engine_socket_look(const struct tc_grant *grant, const char *backend, const char *engine,
                          struct toolcage_error **err)
{
    _autostrv_ struct tc_strv own = {0};
    struct tc_engine_socket socket;
    struct tc_engine_lack lack = {.text = "the path of its socket is too long"};
    for (size_t i = 0; i < grant->settings.count; i++) {
        const char *one = tc_setting_of(grant->settings.items[i], backend);
        if (one && !tc_strv_add(&own, one))
            return tc_fail_memory(err);
    }
    const char *said = tc_setting(&own, "engine");
    engine = said ? said : engine;
    if (!tc_engine_socket_path(engine, &own, geteuid(), &socket) ||
        !tc_engine_socket_open(engine, geteuid(), &socket, &lack))
        return tc_fail(
            err,
            TC_WHY(TOOLCAGE_EBACKEND, "engine", lack.subject ? lack.subject : "socket", lack.hint),
            "%s", lack.text);
    (void)close(socket.fd);
    return 0;
}

/* ---- the locators of the container engines: an engine must listen on the socket ---- */

static int look_for_engine(const struct tc_locator *locator, struct tc_search *search,
                           const struct tc_grant *grant, struct toolcage_error **err)
{
    (void)search;
    return tc_engine_socket_look(grant, locator->name, locator->name, err);
}

const struct tc_locator tc_podman_locator = {
    .name = "podman", .tried = true, .look = look_for_engine};
const struct tc_locator tc_docker_locator = {
    .name = "docker", .tried = true, .look = look_for_engine};
const struct tc_locator tc_containerd_locator = {
    .name = "containerd", .tried = true, .look = look_for_engine};
