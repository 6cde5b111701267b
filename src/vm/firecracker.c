/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The machine as Firecracker has it: a processor, memory, a serial console, a read-only disk, and a
 * socket device by which the guest calls us. All of it stands in a file before the monitor starts,
 * so it is started without its HTTP interface, and nobody can ask it for anything later. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/jsontext.h"
#include "guest/guest.h"
#include "vm/vm.h"

enum { GUEST_CID = 3 };

/* ---- the guest's call ----------------------------------------------------------------------- */

/* The monitor connects a guest's stream for port N of the host to the socket with that name; to any
 * other there is none, and the guest is refused. */
static int listen_for_guest(const struct tc_vm_options *o, int *ret_ours, int *ret_theirs)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int n = snprintf(at.sun_path, sizeof(at.sun_path), "%s_%d", o->socket, TC_GUEST_CALLS);
    if (n < 0 || (size_t)n >= sizeof(at.sun_path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    _autofd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 1) < 0)
        return -1;
    *ret_ours = TAKE_FD(fd);
    *ret_theirs = -1;
    return 0;
}

int tc_vm_accept(const struct tc_vm *vm)
{
    _autofd_ int fd = accept4(vm->port, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED ? 1 : -1;
    return dup3(fd, vm->port, O_CLOEXEC) < 0 ? -1 : 0;
}

/* ---- what it is told ------------------------------------------------------------------------ */

static void add_boot(const struct tc_vm_options *o, struct tc_buf *out)
{
    /* a keyboard's controller is there for its reset alone, and there is one line: looking for
     * more takes time */
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

/* Read-only for the monitor, too. */
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

static int write_config(const struct tc_vm_options *o)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    tc_buf_addc(&out, '{');
    add_boot(o, &out);
    add_disk(o, &out);
    if (o->plan)
        add_socket(o, &out);
    tc_buf_addf(&out, ",\"machine-config\":{\"vcpu_count\":%ld,\"mem_size_mib\":%ld}}", o->cpus,
                o->memory_mib);
    if (out.failed) {
        errno = ENOMEM;
        return -1;
    }
    _autofd_ int fd = tc_memfd("machine", out.data, out.len);
    return fd < 0 ? -1 : dup(fd); /* that one is inherited */
}

static bool command(const struct tc_vm_options *o, const struct tc_vm_lines *lines,
                    struct tc_strv *v)
{
    /* its own words stand on the guest's console, where faults are looked for */
    return tc_strv_add(v, o->vmm) && tc_strv_add(v, "--no-api") && tc_strv_add(v, "--level") &&
           tc_strv_add(v, "Error") && tc_strv_add(v, "--config-file") &&
           tc_strv_take(v, tc_format("/proc/self/fd/%d", lines->config));
}

const struct tc_vm_driver tc_vm_firecracker = {
    .name = "firecracker", .port = listen_for_guest, .config = write_config, .command = command};
