/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A VM has two plans. The inner plan is the tool's: a process cage in the guest, with the image as
 * its system. The outer plan is a process cage on the host, which shows the VMM, the guest's files
 * and the granted paths. Its program, toolcage-vm, receives the inner plan and copies the granted
 * files into the VM. Writable paths are copies or overlays on the host, in which toolcage-vm stores
 * the changes from the guest; the workspace code handles them as for any other call. */
#include "backend/vm/lower.h"

#include <string.h>
#include <toolcage/error.h>

#include "backend/registry.h"
#include "base/path.h"
#include "cage/lower.h"
#include "egress/egress.h"
#include "mux/mux.h"
#include "plan/guest.h"
#include "policy/backends.h"
#include "policy/endpoint.h"
#include "policy/settings.h"
#include "vm/options.h"

#define PLACE TC_PLACE_OWN
#define KVM "/dev/kvm"

/* Memory in addition to the tool's: for the guest's kernel and engine; and for the VMM, including
 * its translated code. */
enum { MIB = 1 << 20, GUEST_MIB = 128, MONITOR_MIB = 384, FILES_MIB = 1024, NET_MIB = 64 };
/* The worker and engine for modules are in the guest's memory, and twice during boot. */
enum { MODULES_MIB = 128 };
enum { REHEARSAL_MS = 5000 };
enum { THREADS = 32, FILES = 256, BOOT_MS = 30000, CPUS_MAX = 16 };

static int refuse_grant(const char *subject, const char *hint, const char *message,
                        struct toolcage_error **err)
{
    return tc_fail(err, TC_WHY(TOOLCAGE_EUNENFORCEABLE, "lower", subject, hint), "%s", message);
}

/* A VM that only boots, to test KVM. */
static bool is_try(const struct tc_grant *grant)
{
    return tc_setting(&grant->located, "try") != NULL;
}

static bool by_processor(const struct tc_grant *grant)
{
    const char *accel = tc_setting(&grant->located, "accel");
    return accel && strcmp(accel, "kvm") == 0;
}

/* Paths that the VMM's cage uses itself. Granted paths are shown in that cage under their own
 * names, so they must not replace these. */
static bool is_monitors(const char *path)
{
    static const char *const own[] = {
        "/lib",     "/lib64",          "/usr/lib",           "/usr/lib64",       "/usr/local/lib",
        "/usr/bin", "/usr/share/qemu", "/usr/share/seabios", "/etc/ld.so.cache", "/etc/qemu",
        PLACE};
    for (size_t i = 0; i < TC_COUNT(own); i++)
        if (tc_path_within(own[i], path) || tc_path_within(path, own[i]))
            return true;
    return false;
}

/* A module is copied into the guest like a granted file, as the last one. */
static bool has_module(const struct tc_grant *grant)
{
    return tc_backend_runs_module(&grant->layers);
}

static bool is_granted(const struct tc_fs_entry *e)
{
    return e->access == TC_ACCESS_READ || e->access == TC_ACCESS_WRITE;
}

/* A granted path that is denied as a whole is not shown. */
static bool is_shown(const struct tc_grant *grant, const struct tc_fs_entry *e)
{
    for (size_t i = 0; i < grant->fs_count; i++)
        if (grant->fs[i].access == TC_ACCESS_DENY && tc_path_within(grant->fs[i].path, e->path))
            return false;
    return is_granted(e);
}

static int check_grant(const struct tc_grant *grant, struct toolcage_error **err)
{
    for (size_t i = 0; i < grant->fs_count; i++)
        if (is_granted(&grant->fs[i]) && is_monitors(grant->fs[i].path))
            return refuse_grant(
                "filesystem",
                "show it at another path: { path = \"/data\", from = \"…\" }; the system "
                "of a machine is its image",
                "a granted path lies where the machine's monitor has its own files", err);
    return tc_image_denies(grant, err);
}

static int64_t megabytes(int64_t bytes)
{
    return (bytes + MIB - 1) / MIB;
}

/* The guest's memory also holds the tools' private storage and their writes to granted paths. */
int64_t tc_vm_mib(const struct tc_grant *grant)
{
    const struct tc_limits *l = &grant->limits;
    int64_t storages = 1;
    for (size_t i = 0; i < grant->fs_count; i++)
        storages += grant->fs[i].access == TC_ACCESS_WRITE;
    return megabytes(l->memory) + storages * megabytes(l->disk) + GUEST_MIB +
           (has_module(grant) ? MODULES_MIB : 0);
}

/* Memory that toolcage-vm may add for the files that it copies. */
static int64_t files_mib(const struct tc_grant *grant)
{
    for (size_t i = 0; i < grant->fs_count; i++)
        if (is_granted(&grant->fs[i]))
            return FILES_MIB;
    return has_module(grant) ? FILES_MIB : 0;
}

static int64_t processors(const struct tc_limits *l)
{
    int64_t cpus = (l->cpus_milli + 999) / 1000;
    return cpus < 1 ? 1 : cpus > CPUS_MAX ? CPUS_MAX : cpus;
}

/* ---- the inner plan ---- */

/* The path in the guest: private, and in memory. */
static bool move_in(struct tc_mount *m, size_t number)
{
    bool bound = m->bound;
    free(m->from);
    free(m->bound);
    m->from = tc_format(TC_GUEST_GRANTS "/%zu", number);
    /* a file named by the model may not exist yet */
    m->bound = bound ? strdup(TC_GUEST_GRANTS) : NULL;
    return m->from && (m->bound || !bound);
}

/* Each grant has the same number inside and outside. Denied paths need no mount: they are not
 * copied. */
static bool move_all_in(struct tc_plan *plan)
{
    size_t number = 0;
    for (size_t i = 0; i < plan->mount_count; i++) {
        struct tc_mount *m = &plan->mounts[i];
        bool granted = m->kind == TC_MOUNT_READ || m->kind == TC_MOUNT_WRITE;
        if (granted && !move_in(m, number++))
            return false;
    }
    return true;
}

/* The backends that a guest can run a call with. */
static const struct tc_planner *find_inner(const char *backend)
{
    static const struct tc_planner *const inner[] = {&tc_process_planner, &tc_oci_planner,
                                                     &tc_wasm_planner};
    for (size_t i = 0; i < TC_COUNT(inner); i++)
        if (strcmp(inner[i]->name, backend) == 0)
            return inner[i];
    return NULL;
}

/* In a guest for containers the image is mounted at a path; a guest for process cages has the image
 * as its root. */
static int lower_by(const char *backend, struct tc_grant *inner, struct tc_plan *ret,
                    struct toolcage_error **err)
{
    const struct tc_planner *planner = find_inner(backend);
    bool contained = strcmp(backend, "oci") == 0;
    if (!planner)
        return refuse_grant("layers", "layers = [\"qemu\", \"process\"]",
                            "no backend of this version runs inside a virtual machine's guest",
                            err);
    inner->image = contained ? strdup(TC_GUEST_IMAGE) : NULL;
    if (contained && !inner->image)
        return tc_fail_memory(err);
    int r = planner->lower(planner, inner, ret, err);
    free(TAKE(inner->image));
    return r;
}

/* The worker and the engine are files of the guest; the module is copied like granted files. Code
 * compiled on the host is not used: it is for the host's CPU. */
static void bring_engine(struct tc_grant *inner)
{
    static char worker[] = "worker=" TC_GUEST_WORKER, engine[] = "engine=" TC_GUEST_ENGINE;
    static char *items[] = {worker, engine, NULL};
    inner->located = (struct tc_strv){.items = items, .count = TC_COUNT(items) - 1};
}

/* Moves the mounts that a module's plan needs: the module, and the worker and engine. A container's
 * image has the latter already. */
static bool move_own(struct tc_plan *from, struct tc_plan *into)
{
    for (size_t i = 0; i < from->mount_count; i++) {
        struct tc_mount *to, *m = &from->mounts[i];
        if (!tc_path_within(TC_PLACE_OWN, m->path) || (into->image && m->kind == TC_MOUNT_SYSTEM))
            continue;
        if (!(to = TC_PUSH(into->mounts, into->mount_count)))
            return false;
        *to = *m;
        *m = (struct tc_mount){0};
    }
    return true;
}

static void swap(struct tc_strv *a, struct tc_strv *b)
{
    struct tc_strv held = *a;
    *a = *b;
    *b = held;
}

static void move_program(struct tc_plan *from, struct tc_plan *into)
{
    swap(&into->argv, &from->argv);
    swap(&into->env, &from->env);
    into->program = TAKE(from->program);
    into->program_len = from->program_len;
    into->program_call = TAKE(from->program_call);
    into->program_call_len = from->program_call_len;
}

/* Combines both plans: the module's command and files, in the other backend's isolation. */
static int put_module(struct tc_grant *inner, const char *backend, struct tc_plan *walls,
                      struct toolcage_error **err)
{
    struct tc_plan module = {0};
    int r = lower_by(backend, inner, &module, err);
    if (r == 0 && !move_own(&module, walls))
        r = tc_fail_memory(err);
    move_program(&module, walls);
    tc_plan_done(&module);
    return r;
}

static int lower_within(const struct tc_grant *grant, struct tc_grant *inner, struct tc_plan *ret,
                        struct toolcage_error **err)
{
    const struct tc_strv *layers = &grant->layers;
    if (has_module(grant))
        bring_engine(inner);
    int r = lower_by(tc_backend_within(layers), inner, ret, err);
    return r == 0 && has_module(grant) && layers->count > 2
               ? put_module(inner, layers->items[2], ret, err)
               : r;
}

/* A grant for a host whose system is the image and whose files are the call's. Changes are checked
 * outside the VM. */
static int lower_inner(const struct tc_grant *grant, struct tc_plan *ret,
                       struct toolcage_error **err)
{
    struct tc_grant inner = *grant;
    _autofree_ struct tc_fs_entry *fs = calloc(grant->fs_count + 1, sizeof(*fs));
    if (!fs)
        return tc_fail_memory(err);
    inner.fs = fs;
    inner.fs_count = 0;
    for (size_t i = 0; i < grant->fs_count; i++)
        if (is_shown(grant, &grant->fs[i]))
            fs[inner.fs_count++] = grant->fs[i];
    inner.policy = NULL;
    inner.workspace = TC_WORKSPACE_BIND;
    inner.limits.disk_set = false;
    inner.secrets = NULL; /* the egress proxy is outside, with its secrets */
    inner.secret_count = 0;
    inner.upstream = (struct tc_upstream){0};
    inner.collect = inner.caches = (struct tc_strv){0};
    int r = lower_within(grant, &inner, ret, err);
    ret->limits.memory_any = false;
    ret->asks_network = false;
    ret->stream = TC_STREAM_ALL;
    ret->uid = TC_GUEST_ID;
    return r == 0 && !move_all_in(ret) ? tc_fail_memory(err) : r;
}

/* Whether a warm-up command runs before the snapshot. */
static bool is_warmed(const struct tc_grant *grant)
{
    return grant->warm.count && tc_setting(&grant->located, "keep");
}

/* A plan with the same isolation and nothing of this call: its effects are in every later call, so
 * it must be equal for all of them. */
static int lower_nothing(const struct tc_grant *grant, const struct tc_strv *argv,
                         struct tc_plan *ret, struct toolcage_error **err)
{
    static char path[] = "PATH=/usr/local/bin:/usr/bin:/bin", home[] = "HOME=/tmp",
                language[] = "LANG=C.UTF-8";
    char *env[] = {path, home, language, NULL};
    struct tc_grant nothing = *grant;
    nothing.argv = *argv;
    nothing.env = (struct tc_strv){.items = env, .count = TC_COUNT(env) - 1};
    nothing.fs_count = nothing.net_count = 0;
    nothing.cwd = nothing.caller_cwd = NULL;
    nothing.umask = 022;
    nothing.tool_writable = (struct tc_strv){0};
    nothing.digest[0] = '\0';
    return lower_inner(&nothing, ret, err);
}

static int lower_warm(const struct tc_grant *grant, struct tc_plan *ret,
                      struct toolcage_error **err)
{
    return lower_nothing(grant, &grant->warm, ret, err);
}

/* A call that does nothing, the same for every call that the VM may serve. Even if the image has no
 * shell, everything before the shell is exercised. */
static int lower_rehearsal(const struct tc_grant *grant, struct tc_plan *ret,
                           struct toolcage_error **err)
{
    static char shell[] = "/bin/sh", option[] = "-c", nothing[] = ":";
    char *argv[] = {shell, option, nothing, NULL};
    const struct tc_strv words = {.items = argv, .count = TC_COUNT(argv) - 1};
    struct tc_grant any = *grant;
    any.limits.timeout_ms = REHEARSAL_MS;
    any.limits.cpu_time_ms = 0;
    any.limits.pids = THREADS;
    any.limits.open_files = FILES;
    any.syscalls_allow = any.syscalls_deny = (struct tc_strv){0};
    return lower_nothing(&any, &words, ret, err);
}

/* ---- the outer plan ---- */

static const struct {
    const char *name, *path;
} files[] = {
    {"worker", PLACE "/toolcage-vm"}, {"kernel", PLACE "/kernel"}, {"initrd", PLACE "/initrd"},
    {"disk", PLACE "/disk"},          {"from", PLACE "/machine"},  {"runtime", PLACE "/runtime"},
};
#define MODULE PLACE "/module"

static bool add_module(const struct tc_grant *grant, struct tc_plan *plan)
{
    const char *from = has_module(grant) ? grant->module : NULL;
    struct tc_mount *m = from ? tc_plan_mount(plan, TC_MOUNT_READ, MODULE, from) : NULL;
    return !from || (m && (m->key = strdup("module")));
}

/* Before the locator ran, the files are unknown; such a plan only shows that the grant can be
 * lowered. */
static bool add_files(const struct tc_monitor *monitor, const struct tc_grant *grant,
                      struct tc_plan *plan)
{
    /* libraries only; nothing else of /usr */
    static const char *const system[] = {"/lib", "/lib64", "/usr/lib", "/usr/lib64"};
    const char *vmm = tc_setting(&grant->located, "vmm");
    bool fine = (!vmm || tc_plan_mount(plan, TC_MOUNT_SYSTEM, vmm, vmm)) &&
                (!by_processor(grant) || tc_plan_mount(plan, TC_MOUNT_DEVICE, KVM, KVM)) &&
                tc_plan_mount(plan, TC_MOUNT_SYSTEM, "/etc/ld.so.cache", "/etc/ld.so.cache");
    for (size_t i = 0; i < TC_COUNT(system); i++)
        fine = fine && tc_plan_mount(plan, TC_MOUNT_SYSTEM, system[i], system[i]);
    for (size_t i = 0; i < TC_COUNT(monitor->reads) && monitor->reads[i]; i++)
        fine = fine && tc_plan_mount(plan, TC_MOUNT_SYSTEM, monitor->reads[i], monitor->reads[i]);
    for (size_t i = 0; i < TC_COUNT(files); i++) {
        const char *from = tc_setting(&grant->located, files[i].name);
        struct tc_mount *m =
            fine && from ? tc_plan_mount(plan, TC_MOUNT_SYSTEM, files[i].path, from) : NULL;
        fine = fine && (!from || (m && (m->key = strdup("backend"))));
    }
    return fine;
}

/* The granted paths in the order of their numbers in the guest, and the maximum of changes. */
/* Runs after tc_local_files(), which chooses the workspace. */
static bool add_grants(const struct tc_grant *grant, const struct tc_plan *plan,
                       struct tc_vm_options *o)
{
    static char module[] = MODULE;
    bool writes = false;
    o->grants = calloc(grant->fs_count + 1, sizeof(*o->grants));
    for (size_t i = 0; o->grants && i < grant->fs_count; i++) {
        const struct tc_fs_entry *e = &grant->fs[i];
        bool writable = e->access == TC_ACCESS_WRITE;
        if (is_shown(grant, e))
            o->grants[o->grant_count++] = (struct tc_vm_grant){e->path, writable};
        writes = writes || (writable && is_shown(grant, e));
    }
    if (o->grants && has_module(grant))
        o->grants[o->grant_count++] = (struct tc_vm_grant){module, false};
    o->room = writes ? grant->limits.disk : 0;
    o->names = writes ? grant->limits.inodes : 0;
    o->beside = writes && plan->workspace == TC_WORKSPACE_OVERLAY;
    return o->grants;
}

/* A VM with a snapshot has a fixed memory size, independent of the files to copy. */
static bool is_kept(const struct tc_grant *grant)
{
    return tc_setting(&grant->located, "from") || tc_setting(&grant->located, "keep");
}

/* Names the snapshot to restore, or to create; neither if there is none. */
static bool add_kept(const struct tc_grant *grant, struct tc_plan *plan)
{
    const char *from = tc_setting(&grant->located, "from");
    const char *keep = tc_setting(&grant->located, "keep");
    const char *path = from ? from : keep;
    return !path || tc_strv_take(&plan->settings, tc_format("%s=%s", from ? "from" : "keep", path));
}

/* The CA bundle if the proxy inspects requests: the VMM's cage has the network and the bundle. */
static char *authority_of(const struct tc_grant *grant)
{
    static char bundle[] = TC_BUNDLE_OWN;
    for (size_t i = 0; i < grant->net_count; i++)
        if (tc_net_entry_inspected(&grant->net[i]))
            return bundle;
    return NULL;
}

static void set_vm(const struct tc_grant *grant, struct tc_vm_options *o)
{
    static char none[] = "", kernel[] = PLACE "/kernel", initrd[] = PLACE "/initrd",
                runtime[] = PLACE "/runtime", disk[] = PLACE "/disk";
    char *vmm = (char *)(uintptr_t)tc_setting(&grant->located, "vmm");
    o->vmm = vmm ? vmm : none;
    o->kernel = kernel;
    o->initrd = tc_setting(&grant->located, "runtime") ? runtime : initrd;
    o->kvm = by_processor(grant);
    o->disk = is_try(grant) || has_module(grant) ? NULL : disk;
}

/* Whether a VM can be restored before its call arrives. Not if the guest connects to a socket in
 * the cage, nor with a module, which is mounted among the VMM's files. */
static bool can_wait(const struct tc_monitor *monitor, const struct tc_grant *grant)
{
    const char *said = tc_setting(&grant->settings, "qemu.ready");
    bool wanted = !said || strcmp(said, "0") != 0;
    return wanted && !monitor->contained && !monitor->connects && !has_module(grant) &&
           tc_setting(&grant->located, "from");
}

/* With emulation, a rehearsal leaves no translated code in the snapshot, so each restored VM runs
 * one. With KVM there is nothing to translate. */
static bool rehearses(const struct tc_monitor *monitor, const struct tc_grant *grant)
{
    return can_wait(monitor, grant) && !by_processor(grant);
}

/* The part of the options that describes the VM, not the call. */
static struct tc_vm_options describe_vm(const struct tc_monitor *monitor,
                                        const struct tc_grant *grant)
{
    static char vm[] = PLACE "/machine";
    struct tc_vm_options o = {.monitor = (char *)(uintptr_t)monitor->name,
                              .memory_mib =
                                  tc_vm_mib(grant) + (is_kept(grant) ? files_mib(grant) : 0),
                              .cpus = processors(&grant->limits),
                              .boot_ms = BOOT_MS,
                              .from = tc_setting(&grant->located, "from") ? vm : NULL,
                              .fixed = is_kept(grant)};
    if (!monitor->contained)
        set_vm(grant, &o);
    return o;
}

/* The command, and the executor's settings. */
static bool add_command(const struct tc_grant *grant, struct tc_plan *plan)
{
    return tc_strv_add(&plan->argv, PLACE "/toolcage-vm") && add_kept(grant, plan) &&
           tc_strv_take(&plan->settings,
                        tc_format("within=%s", tc_backend_within(&grant->layers))) &&
           (!by_processor(grant) || tc_strv_add(&plan->settings, "accel=kvm")) &&
           (!has_module(grant) || tc_strv_add(&plan->settings, "module=1")) &&
           tc_strv_add(&plan->cwd, "/") && tc_strv_add(&plan->env, "PATH=/usr/bin:/bin");
}

/* Time and output limits are the call's; the others limit the VMM. The guest measures the tool's
 * CPU time, so the VMM has no limit for it. The VMM's share of CPUs is the call's. */
static void set_limits(const struct tc_grant *grant, struct tc_limits *l)
{
    *l = grant->limits;
    int64_t net_mib = grant->net_count ? NET_MIB : 0;
    l->memory = (tc_vm_mib(grant) + files_mib(grant) + MONITOR_MIB + net_mib) * MIB;
    l->pids = THREADS;
    l->open_files = FILES + (grant->net_count ? TC_MUX_STREAMS_MAX : 0);
    l->cpu_time_ms = 0;
    l->cpus_milli = l->cpus_milli ? processors(&grant->limits) * 1000 : 0;
}

static int lower_outer(const struct tc_monitor *monitor, const struct tc_grant *grant,
                       struct tc_vm_options *o, struct tc_plan *ret, struct toolcage_error **err)
{
    ret->clauses = grant->clauses;
    set_limits(grant, &ret->limits);
    ret->denials = TC_DENIALS_OFF;
    ret->unix_sockets = monitor->connects;
    ret->ahead = can_wait(monitor, grant);
    ret->tool = grant->tool ? strdup(grant->tool) : NULL;
    ret->backend = strdup(monitor->name);
    ret->grant = strdup(grant->digest);
    o->net = grant->net_count > 0;
    o->authority = authority_of(grant);
    bool fine = (ret->tool || !grant->tool) && ret->backend && ret->grant &&
                add_files(monitor, grant, ret) && tc_local_files(grant, ret) &&
                add_module(grant, ret) && tc_local_network(grant, ret) && add_command(grant, ret) &&
                add_grants(grant, ret, o) &&
                tc_plan_tell(ret, &tc_vm_option_fields, o, TC_VM_OF_CALL);
    if (ret->instead == TC_INSTEAD_BIND) /* no guest writes to host paths */
        ret->instead = TC_INSTEAD_COPY;
    return fine ? 0 : tc_fail_memory(err);
}

typedef int lower_fn(const struct tc_grant *grant, struct tc_plan *ret,
                     struct toolcage_error **err);

/* Encodes one of the plans for the guest. */
static int lower_inside(lower_fn *lower, const struct tc_grant *grant, char **ret, size_t *ret_len,
                        struct toolcage_error **err)
{
    struct tc_plan inner = {0};
    int r = lower(grant, &inner, err);
    if (r == 0 && !(*ret = tc_fields_put(&tc_plan_fields, &inner, 0, 0, ret_len)))
        r = tc_fail_memory(err);
    tc_plan_done(&inner);
    return r;
}

int tc_vm_lower(const struct tc_monitor *monitor, const struct tc_grant *grant, struct tc_plan *ret,
                struct toolcage_error **err)
{
    struct tc_vm_options o = describe_vm(monitor, grant);
    int r = check_grant(grant, err);
    if (r == 0)
        r = lower_inside(lower_inner, grant, &o.plan, &o.plan_len, err);
    if (is_try(grant)) /* a VM that only boots has no call */
        free(TAKE(o.plan));
    if (r == 0 && is_warmed(grant))
        r = lower_inside(lower_warm, grant, &o.warm, &o.warm_len, err);
    if (r == 0 && rehearses(monitor, grant))
        r = lower_inside(lower_rehearsal, grant, &o.rehearsal, &o.rehearsal_len, err);
    if (r == 0)
        r = lower_outer(monitor, grant, &o, ret, err);
    free(o.plan);
    free(o.warm);
    free(o.rehearsal);
    free(o.grants);
    return r;
}

/* ---- the planners of qemu and firecracker ---- */

static const struct tc_monitor qemu = {"qemu",
                                       {"/usr/share/qemu", "/usr/share/seabios"},
                                       false,
                                       false},
                               firecracker = {"firecracker", {NULL}, true, false};

static int lower_vm(const struct tc_planner *planner, const struct tc_grant *grant,
                    struct tc_plan *ret, struct toolcage_error **err)
{
    bool emulator = strcmp(planner->name, qemu.name) == 0;
    return tc_vm_lower(emulator ? &qemu : &firecracker, grant, ret, err);
}

#define HAS                                                                     \
    (TC_FEATURE_BIT(IMAGE) | TC_FEATURE_BIT(SYSCALLS) | TC_FEATURE_BIT(BYTES) | \
     TC_FEATURE_BIT(COPY) | TC_FEATURE_BIT(OVERLAY))

const struct tc_planner tc_qemu_planner = {
    .name = "qemu",
    .summary = "a VM for each call, with a separate kernel",
    .provides = ~(tc_clauses)0,
    .has = HAS,
    .lower = lower_vm,
};

const struct tc_planner tc_firecracker_planner = {
    .name = "firecracker",
    .summary = "a VM with Firecracker, where KVM works",
    .provides = ~(tc_clauses)0,
    .has = HAS,
    .lower = lower_vm,
};
