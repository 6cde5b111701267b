/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What Firecracker is asked: to write its machine to files, or to go on from them. It can be asked
 * by HTTP alone, at a socket in the cage; in all three requests, of which the status counts, before
 * a tool has run. The socket loses its name as soon as we are connected, and we hang up when we
 * have our answer: from then on nobody can ask it for anything. (Nothing here needs a library,
 * which every call of every machine would have to load.) */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/process.h"
#include "vm/vm.h"

enum { ANSWER_MAX = 16 << 10, WAIT_S = 60, LOOK_MS = 1, ACCEPTED = 204 };

/* ---- the socket ---- */

static int connect_once(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    (void)snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
    _autofd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd >= 0 && connect(fd, (const struct sockaddr *)&at, sizeof(at)) == 0 ? TAKE_FD(fd) : -1;
}

/* It is there a moment after the monitor has started. */
static int reach(const struct tc_vm_options *o, const struct tc_vm *vm)
{
    const struct timeval patience = {.tv_sec = WAIT_S};
    int64_t until = tc_now_us() + o->boot_ms * 1000;
    _autofd_ int fd = connect_once(o->api);
    while (fd < 0 && !tc_vm_has_ended(vm, LOOK_MS) &&
           (tc_now_us() < until || tc_now_us() < until + tc_waited_us(vm->pid)))
        fd = connect_once(o->api);
    (void)unlink(o->api);
    return fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0
               ? TAKE_FD(fd)
               : -1;
}

/* ---- one question ---- */

/* How much of it is still to come; 0: it is whole, -1: it is no answer. */
static long left_of(const struct tc_buf *answer)
{
    static const char length[] = "\r\ncontent-length:";
    const char *end = answer->len ? strstr(answer->data, "\r\n\r\n") : NULL;
    if (!end)
        return 1;
    size_t head = (size_t)(end - answer->data) + 4;
    long body = 0;
    for (const char *at = answer->data; at < end; at++)
        if (strncasecmp(at, length, strlen(length)) == 0)
            body = strtol(at + strlen(length), NULL, 10);
    if (body < 0 || body > ANSWER_MAX)
        return -1;
    return answer->len - head >= (size_t)body ? 0 : (long)(head + (size_t)body - answer->len);
}

static bool hear(int fd, struct tc_buf *answer)
{
    char bytes[1024];
    long left = 1;
    while (left > 0 && !answer->failed) {
        ssize_t n = read(fd, bytes, sizeof(bytes));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        tc_buf_add(answer, bytes, (size_t)n);
        left = answer->failed ? -1 : left_of(answer);
    }
    return left == 0;
}

/* What it says is wrong, as it can be shown; NULL: nothing that is understood. */
static char *fault_of(const struct tc_buf *answer)
{
    static const char key[] = "\"fault_message\":\"";
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    const char *at = answer->len ? strstr(answer->data, key) : NULL;
    if (!at)
        return NULL;
    for (at += strlen(key); *at && (*at != '"' || at[-1] == '\\'); at++)
        tc_buf_addc(&text, *at >= ' ' && *at < 127 ? *at : '?');
    return tc_buf_steal(&text);
}

static bool ask(int fd, const char *what, const char *body, char **ret_why)
{
    _autofree_ char *text = tc_format("%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                                      "application/json\r\nContent-Length: %zu\r\n\r\n%s",
                                      what, strlen(body), body);
    _autobuf_ struct tc_buf answer = {.max = ANSWER_MAX + 1024};
    int status = 0;
    if (fd < 0 || !text || tc_send(fd, text, strlen(text), NULL, 0) < 0 || !hear(fd, &answer) ||
        sscanf(answer.data, "HTTP/1.%*1[01] %d", &status) != 1)
        return false;
    if (status != ACCEPTED && ret_why)
        *ret_why = fault_of(&answer);
    return status == ACCEPTED;
}

/* ---- a machine in files ---- */

bool tc_vm_ask_keep(const struct tc_vm_options *o, const struct tc_vm *vm)
{
    _autofd_ int fd = reach(o, vm);
    /* what the guest has not touched stays a hole */
    _autofree_ char *write = tc_format("{\"snapshot_type\":\"Diff\",\"snapshot_path\":"
                                       "\"/proc/self/fd/%d\",\"mem_file_path\":"
                                       "\"/proc/self/fd/%d\"}",
                                       vm->state, vm->memory);
    bool fine = write && ask(fd, "PATCH /vm", "{\"state\":\"Paused\"}", NULL) &&
                ask(fd, "PUT /snapshot/create", write, NULL);
    /* it goes on in either case, unless it cannot even be told to */
    return ask(fd, "PATCH /vm", "{\"state\":\"Resumed\"}", NULL) && fine &&
           tc_vm_image_write(o, vm->state, vm->memory);
}

bool tc_vm_ask_go_on(const struct tc_vm_options *o, const struct tc_vm *vm, char **ret_why)
{
    _autofd_ int fd = reach(o, vm);
    _autofree_ char *load = tc_format("{\"snapshot_path\":\"/proc/self/fd/%d\",\"mem_backend\":"
                                      "{\"backend_type\":\"File\",\"backend_path\":\"%s\"},"
                                      "\"resume_vm\":true}",
                                      vm->told, o->from);
    return load && ask(fd, "PUT /snapshot/load", load, ret_why);
}
