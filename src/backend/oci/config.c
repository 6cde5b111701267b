/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "backend/oci/config.h"

#include <stdio.h>
#include <string.h>

#include "base/jsontext.h"
#include "cage/cage.h"
#include "policy/endpoint.h"
#include "policy/names/system_paths.h"

/* Begins a new element of the list at the end of `out`. */
static void add_element(struct tc_buf *out)
{
    if (out->len && out->data[out->len - 1] != '[')
        tc_buf_addc(out, ',');
}

static void add_text(struct tc_buf *out, const char *text)
{
    tc_json_string(out, text, strlen(text));
}

static void add_arguments(struct tc_buf *out, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        add_element(out);
        add_text(out, words[i]);
    }
}

/* The kernel requires it to map the container's root to another id in a nested user namespace. PID
 * 1 does that, so that the tool is not root. The tool has no capabilities. */
#define SETFCAP "\"CAP_SETFCAP\""
/* Newer versions of gVisor require SETFCAP, too. In gVisor PID 1 also removes the devices that
 * gVisor creates. These capabilities hold only in gVisor's kernel. */
#define IN_SENTRY SETFCAP ",\"CAP_CHOWN\",\"CAP_SYS_ADMIN\""

/* PID 1 is toolcage's. With crun and runc the tool's command and variables come with the orders, so
 * that the container is the same for every call. In gVisor they are PID 1's own arguments and
 * variables. */
static void add_process(struct tc_buf *out, const struct tc_plan *plan, enum tc_oci_kind kind)
{
    const char *rights = kind == TC_OCI_SENTRY ? IN_SENTRY : SETFCAP;
    tc_buf_adds(out, "\"process\":{\"terminal\":false,\"user\":{\"uid\":0,\"gid\":0},\"args\":[");
    add_text(out, TC_OCI_INIT);
    if (kind == TC_OCI_SENTRY)
        add_arguments(out, (const char *const *)plan->argv.items, plan->argv.count);
    tc_buf_adds(out, "],\"env\":[");
    if (kind == TC_OCI_SENTRY)
        add_arguments(out, (const char *const *)plan->env.items, plan->env.count);
    tc_buf_addf(out,
                "],\"cwd\":\"/\",\"capabilities\":{\"bounding\":[%s],\"effective\":[%s],"
                "\"inheritable\":[],\"permitted\":[%s],\"ambient\":[]},"
                "\"rlimits\":[{\"type\":\"RLIMIT_CORE\",\"hard\":1,\"soft\":1}],"
                "\"noNewPrivileges\":true}",
                rights, rights, rights);
}

static void add_mount(struct tc_buf *out, const char *path, const char *type, const char *source,
                      const char *options)
{
    add_element(out);
    tc_buf_adds(out, "{\"destination\":");
    add_text(out, path);
    tc_buf_addf(out, ",\"type\":\"%s\",\"source\":", type);
    add_text(out, source);
    tc_buf_addf(out, ",\"options\":[%s]}", options);
}

/* The root contains everything granted. /dev is a bind mount, so that the runtime adds no other
 * devices; each device is bound once more, because crun ignores mounts below a bound directory. */
static void add_kernel_mounts(struct tc_buf *out)
{
    add_mount(out, "/proc", "proc", "proc", "\"nosuid\",\"noexec\",\"nodev\"");
    add_mount(out, "/dev", "bind", TC_OCI_ROOT "/dev",
              "\"rbind\",\"ro\",\"nosuid\",\"nodev\",\"noexec\"");
    for (size_t i = 0; i <= TC_DEVICES; i++) {
        char path[32], source[64];
        (void)snprintf(path, sizeof(path), "/dev/%s", i < TC_DEVICES ? tc_devices[i] : "tty");
        (void)snprintf(source, sizeof(source), TC_OCI_ROOT "%s", path);
        add_mount(out, path, "bind", source, "\"bind\"");
    }
    add_mount(out, "/dev/pts", "devpts", "devpts",
              "\"nosuid\",\"noexec\",\"newinstance\",\"ptmxmode=0666\",\"mode=0600\",\"max=16\"");
}

/* gVisor reaches a host file only through a mount that names it, and nothing below its read-only
 * root is writable. The sources are the trees attached to the bundle, not host paths. */
static void add_sentry_mounts(struct tc_buf *out, const struct tc_plan *plan)
{
    add_mount(out, "/proc", "proc", "proc", "\"nosuid\",\"noexec\",\"nodev\"");
    add_mount(out, "/tmp", "bind", TC_OCI_ROOT "/tmp", "\"rbind\",\"rw\",\"nosuid\",\"nodev\"");
    for (size_t i = 0; i < plan->net_count; i++)
        if (tc_net_entry_inspected(&plan->net[i])) {
            add_mount(out, TC_BUNDLE_OWN, "bind", TC_OCI_ROOT TC_BUNDLE_OWN,
                      "\"bind\",\"ro\",\"nosuid\",\"nodev\",\"noexec\"");
            break;
        }
    for (size_t i = 0; i < plan->mount_count; i++) {
        const struct tc_mount *m = &plan->mounts[i];
        bool writable = m->kind == TC_MOUNT_WRITE;
        _autobuf_ struct tc_buf source = TC_BUF_INIT;
        if (!writable && m->kind != TC_MOUNT_READ)
            continue;
        tc_buf_addf(&source, TC_OCI_ROOT "%s", m->path);
        out->failed = out->failed || source.failed;
        if (!source.failed)
            add_mount(out, m->path, "bind", source.data,
                      writable ? "\"rbind\",\"rw\",\"nosuid\",\"nodev\""
                               : "\"rbind\",\"ro\",\"nosuid\",\"nodev\"");
    }
}

/* hostID is an id of the user namespace around the runtime, in which only 0 exists: the cage's id.
 */
static void add_linux(struct tc_buf *out, const struct tc_plan *plan, enum tc_oci_kind kind)
{
    static const char *const frozen[] = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
                                         "/proc/sysrq-trigger"};
    static const char *const namespaces[] = {"user", "pid", "mount", "network",
                                             "ipc",  "uts", "cgroup"};
    tc_buf_adds(out, "\"linux\":{\"namespaces\":[");
    for (size_t i = kind == TC_OCI_SENTRY; i < TC_COUNT(namespaces); i++) {
        if ((kind == TC_OCI_KERNEL || plan->net_count) && strcmp(namespaces[i], "network") == 0)
            continue; /* the container stays in the network namespace around the runtime, which has
                         the egress proxy */
        add_element(out);
        tc_buf_addf(out, "{\"type\":\"%s\"}", namespaces[i]);
    }
    if (kind == TC_OCI_KERNEL)
        tc_buf_adds(out, "],\"uidMappings\":[{\"containerID\":0,\"hostID\":0,\"size\":1}],"
                         "\"gidMappings\":[{\"containerID\":0,\"hostID\":0,\"size\":1}");
    tc_buf_adds(out, "],\"maskedPaths\":[");
    for (const struct tc_masked_proc *m = tc_masked_proc; m->path; m++) {
        add_element(out);
        add_text(out, m->path);
    }
    tc_buf_adds(out, "],\"readonlyPaths\":[");
    add_arguments(out, frozen, TC_COUNT(frozen));
    tc_buf_addc(out, ']');
    if (kind == TC_OCI_KERNEL) { /* runsc would parse the list three times and ignore it */
        tc_buf_adds(out, ",\"seccomp\":");
        tc_oci_seccomp(out, &plan->syscalls_allow);
    }
    tc_buf_addc(out, '}');
}

enum tc_oci_kind tc_oci_kind_of(const char *backend)
{
    return strcmp(backend, "gvisor") == 0 ? TC_OCI_SENTRY : TC_OCI_KERNEL;
}

char *tc_oci_config(const struct tc_plan *plan, enum tc_oci_kind kind)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    tc_buf_adds(&out, "{\"ociVersion\":\"1.0.2\",\"root\":{\"path\":\"rootfs\",\"readonly\":true},"
                      "\"hostname\":\"cage\",");
    add_process(&out, plan, kind);
    tc_buf_adds(&out, ",\"mounts\":[");
    if (kind == TC_OCI_SENTRY)
        add_sentry_mounts(&out, plan);
    else
        add_kernel_mounts(&out);
    tc_buf_adds(&out, "],");
    add_linux(&out, plan, kind);
    tc_buf_addc(&out, '}');
    return tc_buf_steal(&out);
}
