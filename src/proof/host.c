/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "proof/host.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/strv.h"

enum { VALUE_MAX = 4096 };

static const char *const namespaces[] = {"user", "net", "pid", "ipc"};

/* A missing file is a value, too. */
static const char *const files[] = {
    "/proc/sys/kernel/random/boot_id",
    "/sys/kernel/security/lsm",
    "/proc/sys/kernel/unprivileged_userns_clone",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_unconfined",
    "/proc/sys/user/max_user_namespaces",
    "/proc/sys/user/max_net_namespaces",
    "/proc/sys/user/max_pid_namespaces",
    "/proc/sys/kernel/seccomp/actions_avail",
    "/proc/sys/kernel/unprivileged_bpf_disabled",
    "/proc/sys/kernel/io_uring_disabled",
    "/proc/sys/kernel/yama/ptrace_scope",
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/fs/protected_hardlinks",
    "/proc/sys/fs/protected_symlinks",
    "/proc/sys/fs/protected_fifos",
    "/proc/sys/fs/protected_regular",
    "/proc/sys/vm/unprivileged_userfaultfd",
    "/proc/sys/vm/overcommit_memory",
};

static void put(struct tc_buf *out, const char *name, const char *value, size_t length)
{
    tc_buf_addf(out, "%s\t", name);
    for (size_t i = 0; i < length && value[i]; i++)
        tc_buf_addc(out, value[i] == '\n' || value[i] == '\t' ? ' ' : value[i]);
    tc_buf_addc(out, '\n');
}

static void put_file(struct tc_buf *out, const char *path)
{
    _autobuf_ struct tc_buf text = {.max = VALUE_MAX};
    if (tc_read_file(AT_FDCWD, path, &text) < 0)
        put(out, path, "missing", strlen("missing"));
    else
        put(out, path, text.data ? text.data : "", text.len);
}

/* Elsewhere, such as in a container or a confined service, attacks can fail that work here. */
static void put_namespace(struct tc_buf *out, const char *name)
{
    char path[32], target[64];
    (void)snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
    ssize_t length = readlink(path, target, sizeof(target));
    put(out, path, target, length < 0 ? 0 : (size_t)length);
}

/* The filters of this process, of its status. */
static void put_filters(struct tc_buf *out)
{
    static const char *const names[] = {"\nNoNewPrivs:", "\nSeccomp:", "\nSeccomp_filters:"};
    _autobuf_ struct tc_buf text = {.max = VALUE_MAX};
    if (tc_read_file(AT_FDCWD, "/proc/self/status", &text) < 0)
        return;
    tc_buf_addc(&text, '\0');
    for (size_t i = 0; !text.failed && i < TC_COUNT(names); i++) {
        const char *line = strstr(text.data, names[i]);
        if (line)
            put(out, names[i] + 1, line + strlen(names[i]),
                strcspn(line + 1, "\n") + 1 - strlen(names[i]));
    }
}

void tc_proof_write_host(struct tc_buf *out)
{
    struct utsname host;
    if (uname(&host) == 0) {
        put(out, "kernel", host.release, sizeof(host.release));
        put(out, "kernel build", host.version, sizeof(host.version));
        put(out, "machine", host.machine, sizeof(host.machine));
    }
    for (size_t i = 0; i < TC_COUNT(namespaces); i++)
        put_namespace(out, namespaces[i]);
    put_filters(out);
    for (size_t i = 0; i < TC_COUNT(files); i++)
        put_file(out, files[i]);
}
