/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The VM as Firecracker builds it: CPUs, memory, a serial console, a read-only disk, and a vsock
 * device over which the guest connects for its call and for the tool's connections. The
 * configuration file contains all of it, so the VMM runs without its HTTP API and accepts no later
 * request. Snapshots are the exception.
 *
 * Taking or restoring a snapshot needs the HTTP API, on a socket in the cage. At most three
 * requests are sent, all before a tool has run; only their status counts. The socket's name is
 * removed once toolcage-vm has connected, and the connection is closed after the response: from
 * then on no request is possible. (An HTTP library would cost loading time in every call of every
 * VM.) */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/jsontext.h"
#include "base/process.h"
#include "plan/guest.h"
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

/* The socket appears shortly after the VMM has started. */
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

/* ---- one request ---- */

/* Bytes of the response still missing; 0: complete, -1: not a valid response. */
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

static bool read_answer(int fd, struct tc_buf *answer)
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

/* The error message in the response, made printable; NULL: none found. */
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

static bool ask_firecracker(int fd, const char *what, const char *body, char **ret_why)
{
    _autofree_ char *text = tc_format("%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                                      "application/json\r\nContent-Length: %zu\r\n\r\n%s",
                                      what, strlen(body), body);
    _autobuf_ struct tc_buf answer = {.max = ANSWER_MAX + 1024};
    int status = 0;
    if (fd < 0 || !text || tc_send(fd, text, strlen(text), NULL, 0) < 0 ||
        !read_answer(fd, &answer) || sscanf(answer.data, "HTTP/1.%*1[01] %d", &status) != 1)
        return false;
    if (status != ACCEPTED && ret_why)
        *ret_why = fault_of(&answer);
    return status == ACCEPTED;
}

/* ---- snapshots ---- */

static bool keep_firecracker(const struct tc_vm_options *o, const struct tc_vm *vm)
{
    _autofd_ int fd = reach(o, vm);
    /* memory that the guest has not touched stays a hole */
    _autofree_ char *write = tc_format("{\"snapshot_type\":\"Diff\",\"snapshot_path\":"
                                       "\"/proc/self/fd/%d\",\"mem_file_path\":"
                                       "\"/proc/self/fd/%d\"}",
                                       vm->state, vm->memory);
    bool fine = write && ask_firecracker(fd, "PATCH /vm", "{\"state\":\"Paused\"}", NULL) &&
                ask_firecracker(fd, "PUT /snapshot/create", write, NULL);
    /* the VM is resumed in either case; if that fails, so does the snapshot */
    return ask_firecracker(fd, "PATCH /vm", "{\"state\":\"Resumed\"}", NULL) && fine &&
           tc_vm_image_write(o, vm->state, vm->memory);
}

static bool go_on(const struct tc_vm_options *o, const struct tc_vm *vm, char **ret_why)
{
    _autofd_ int fd = reach(o, vm);
    _autofree_ char *load = tc_format("{\"snapshot_path\":\"/proc/self/fd/%d\",\"mem_backend\":"
                                      "{\"backend_type\":\"File\",\"backend_path\":\"%s\"},"
                                      "\"resume_vm\":true}",
                                      vm->told, o->from);
    return load && ask_firecracker(fd, "PUT /snapshot/load", load, ret_why);
}

enum { GUEST_CID = 3 };

/* ---- the guest's connection ---- */

/* The VMM connects a guest's stream for host port N to the socket with that name. For other ports
 * there is no socket, and the VMM refuses the connection. */
static int listen_at(const struct tc_vm_options *o, int number, struct tc_vm_port *ret)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int n = snprintf(at.sun_path, sizeof(at.sun_path), "%s_%d", o->socket, number);
    if (n < 0 || (size_t)n >= sizeof(at.sun_path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    _autofd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 1) < 0)
        return -1;
    *ret = (struct tc_vm_port){.ours = TAKE_FD(fd), .theirs = -1};
    return 0;
}

static int listen_for_guest(const struct tc_vm_options *o, struct tc_vm_port *ret)
{
    return listen_at(o, TC_GUEST_CALLS, ret);
}

static int listen_for_net(const struct tc_vm_options *o, struct tc_vm_port *ret)
{
    return listen_at(o, TC_GUEST_NET_CALLS, ret);
}

int tc_vm_accept(int port)
{
    _autofd_ int fd = accept4(port, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED ? 1 : -1;
    return dup3(fd, port, O_CLOEXEC) < 0 ? -1 : 0;
}

/* ---- the configuration file ---- */

static void add_boot(const struct tc_vm_options *o, struct tc_buf *out)
{
    /* the keyboard controller is only used for reset, and there is one UART: probing for more takes
     * time */
    static const char kernel[] =
        "console=ttyS0 quiet panic=-1 reboot=k mitigations=off "
        "random.trust_cpu=on i8042.noaux i8042.nomux i8042.dumbkbd 8250.nr_uarts=1 -- ";
    _autofree_ char *words = tc_format("%s%s", kernel, o->plan ? TC_GUEST_CALLING : TC_GUEST_TRY);
    tc_buf_adds(out, "\"boot-source\":{");
    tc_json_member(out, "kernel_image_path", o->kernel);
    tc_json_member(out, "initrd_path", o->initrd);
    tc_json_member(out, "boot_args", words ? words : "");
    tc_buf_adds(out, "}");
    out->failed |= !words;
}

/* Read-only for the VMM, too. */
static void add_disk(const struct tc_vm_options *o, struct tc_buf *out)
{
    tc_buf_adds(out, ",\"drives\":[");
    if (o->disk) {
        tc_buf_adds(out, "{\"drive_id\":\"root\",\"is_root_device\":false,\"is_read_only\":true");
        tc_json_member(out, "path_on_host", o->disk);
        tc_buf_addc(out, '}');
    }
    tc_buf_addc(out, ']');
}

static void add_socket(const struct tc_vm_options *o, struct tc_buf *out)
{
    tc_buf_addf(out, ",\"vsock\":{\"guest_cid\":%d", GUEST_CID);
    tc_json_member(out, "uds_path", o->socket);
    tc_buf_addc(out, '}');
}

/* A snapshot contains only pages that the guest has touched, so dirty pages are tracked from the
 * start. */
static void add_size(const struct tc_vm_options *o, struct tc_buf *out)
{
    tc_buf_addf(out, ",\"machine-config\":{\"vcpu_count\":%ld,\"mem_size_mib\":%ld%s}", o->cpus,
                o->memory_mib, o->keep > 0 ? ",\"track_dirty_pages\":true" : "");
}

static int write_config(const struct tc_vm_options *o)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    if (o->from)
        return tc_vm_image_state(o);
    tc_buf_addc(&out, '{');
    add_boot(o, &out);
    add_disk(o, &out);
    if (o->plan)
        add_socket(o, &out);
    add_size(o, &out);
    tc_buf_addc(&out, '}');
    if (out.failed) {
        errno = ENOMEM;
        return -1;
    }
    _autofd_ int fd = tc_memfd("machine", out.data, out.len);
    return fd < 0 ? -1 : dup(fd); /* unlike tc_memfd()'s, inherited by the VMM */
}

static bool command(const struct tc_vm_options *o, const struct tc_vm_lines *lines,
                    struct tc_strv *v)
{
    bool asked = o->from || o->keep > 0;
    bool fine = tc_strv_add(v, o->vmm);
    if (asked)
        fine = fine && tc_strv_add(v, "--api-sock") && tc_strv_add(v, o->api);
    else
        fine = fine && tc_strv_add(v, "--no-api");
    /* the log is on the guest's console, where failures are looked for */
    return fine && tc_strv_add(v, "--level") && tc_strv_add(v, "Error") &&
           (o->from || (tc_strv_add(v, "--config-file") &&
                        tc_strv_take(v, tc_format("/proc/self/fd/%d", lines->config))));
}

const struct tc_vm_driver tc_vm_firecracker = {.name = "firecracker",
                                               .remedy = TC_VM_REMEDY,
                                               .port = listen_for_guest,
                                               .net = listen_for_net,
                                               .config = write_config,
                                               .serves = true,
                                               .command = command,
                                               .keep = keep_firecracker,
                                               .go_on = go_on};
