/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * VMs on this host: VMMs, guests, and snapshots in the user's state directory. */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/registry.h"
#include "backend/vm/kvm.h"
#include "backend/wasm/modules.h"
#include "base/digest.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/process.h"
#include "image/index.h"
#include "policy/backends.h"
#include "policy/settings.h"
#include "spawn/own.h"
#include "state/places.h"
#include "state/seal.h"
#include "state/stamp.h"
#include "version.h"

/* ---- snapshots ---- */

/* A snapshot is a booted guest that has seen no call, in a file of the user's state directory. The
 * file's name is a digest of everything that determined the VM. So a snapshot made with another
 * VMM, kernel, image or size is never found. If there is none, this call creates it. */

/* Granted trees need memory for copied files and for writes. */
static void add_grants(const struct tc_grant *grant, struct tc_buf *out)
{
    unsigned count[TC_ACCESS_DENY + 1] = {0};
    for (size_t i = 0; i < grant->fs_count; i++)
        count[grant->fs[i].access]++;
    for (size_t i = 0; i < TC_COUNT(count); i++)
        tc_buf_addf(out, "%u ", count[i]);
}

/* Digests the VM's files and those parts of the grant that the planner uses. False: not known. */
static bool digest_of(const struct tc_grant *grant, const char *vm, char ret[TC_DIGEST_SIZE])
{
    const struct tc_limits *l = &grant->limits;
    const char *accel = tc_setting(&grant->located, "accel");
    const char *disk = tc_setting(&grant->located, "disk"); /* a module needs no disk */
    const char *runtime =
        tc_setting(&grant->located, "runtime"); /* for containers or modules only */
    char stamp[TC_STAMP_SIZE] = "", also[TC_STAMP_SIZE] = "";
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    if (!*vm || !accel || (!disk && !runtime) || (disk && !tc_stamp_path(disk, stamp)) ||
        (runtime && !tc_stamp_path(runtime, also)))
        return false;
    tc_buf_addf(&text, "machine 2 %s\n%s %s\n%s %" PRIi64 " %" PRIi64 " %" PRIi64 "\n", vm,
                disk ? disk : "-", stamp, accel, l->memory, l->disk, l->cpus_milli);
    add_grants(grant, &text);
    for (size_t i = 0; i < grant->warm.count; i++)
        tc_buf_addf(&text, "\nwarm %zu %s", strlen(grant->warm.items[i]), grant->warm.items[i]);
    tc_buf_addf(&text, "\n%s", also);
    if (text.failed)
        return false;
    tc_digest(text.data, text.len, ret);
    return true;
}

/* If the policy asks for it, names the snapshot file to restore ("from") or to create ("keep").
 * `machine` identifies the parts common to all VMs. */
static int use_snapshot(const char *backend, const char *vm, struct tc_grant *grant,
                        struct toolcage_error **err)
{
    char name[TC_DIGEST_SIZE];
    _autofree_ char *state = NULL;
    /* the grant also has the settings of fallback backends */
    _autofree_ char *setting = tc_format("%s.snapshot", backend);
    const char *said = setting ? tc_setting(&grant->settings, setting) : NULL;
    if (setting && (!said || strcmp(said, "1") != 0))
        return 0;
    if (!setting || !tc_state_directory(&state))
        return tc_fail_memory(err);
    if (!state || !digest_of(grant, vm, name))
        return 0; /* the VM boots without a snapshot */
    _autofree_ char *path = tc_format("%s/machines/%s", state, name + strlen("sha256:"));
    const char *word = path && tc_sealed_holds(path) ? "from" : "keep";
    bool fine = path && tc_setting_add(&grant->located, word, path);
    return fine ? 0 : tc_fail_memory(err);
}

#define WORKER "toolcage-vm"

static int fail_locator(int code, const char *subject, const char *hint, const char *message,
                        struct toolcage_error **err)
{
    return tc_fail(err, TC_WHY(code, "machine", subject, hint), "%s", message);
}

static bool add_setting(struct tc_grant *grant, const char *name, const char *path)
{
    return tc_setting_add(&grant->located, name, path);
}

/* ---- the VMM ---- */

/* emulates: can run without KVM, slowly */
static const struct monitor {
    const char *backend, *name, *places[2], *fix;
    bool emulates;
} monitors[] = {
    {"qemu",
     "qemu-system-x86_64",
     {"/usr/bin/qemu-system-x86_64", "/usr/local/bin/qemu-system-x86_64"},
     "apt-get install qemu-system-x86",
     true},
    {"firecracker",
     "firecracker",
     {"/usr/local/bin/firecracker", "/usr/bin/firecracker"},
     "put the program of a release of Firecracker into /usr/local/bin; or backend = \"qemu\"",
     false},
};

static const struct monitor *monitor_of(const char *backend)
{
    for (size_t i = 0; i < TC_COUNT(monitors); i++)
        if (strcmp(monitors[i].backend, backend) == 0)
            return &monitors[i];
    return NULL;
}

/* Searches only system directories; a policy cannot name a path. */
static int find_monitor(const struct monitor *m, char **ret, struct toolcage_error **err)
{
    struct stat st;
    for (size_t i = 0; i < TC_COUNT(m->places); i++) {
        if (stat(m->places[i], &st) < 0)
            continue;
        const char *reason = tc_program_unsafe(&st);
        if (reason)
            return tc_fail(err,
                           TC_WHY(TOOLCAGE_EBACKEND, "machine", m->places[i],
                                  "make it a file of root with mode 0755"),
                           "%s %s", m->places[i], reason);
        *ret = strdup(m->places[i]);
        return *ret ? 0 : tc_fail_memory(err);
    }
    _autofree_ char *message = tc_format("the machine monitor %s is not installed", m->name);
    return message ? fail_locator(TOOLCAGE_EBACKEND, m->name, m->fix, message, err)
                   : tc_fail_memory(err);
}

/* ---- the guest ---- */

#define BUILD "toolcage image build guest"
/* Files created by `toolcage image build guest`. */
static const struct part {
    const char *name, *subject, *hint, *message;
} kernel = {"kernel", "guest", BUILD, "there is no kernel for virtual machines yet"},
  initrd = {"initrd", "guest", BUILD, "there is no kernel for virtual machines yet"},
  crun = {"runtime", "crun", "apt-get install crun; " BUILD,
          "the guest of virtual machines was built without a container runtime, which layers asks "
          "for"},
  modules = {"modules", "engine", "toolcage wasm install; " BUILD,
             "the guest of virtual machines was built without a WebAssembly engine, which layers "
             "asks for"};

/* `as` NULL: only checks that the file exists. */
static int find_part(const struct part *part, const char *as, struct tc_grant *grant,
                     struct toolcage_error **err)
{
    _autofree_ char *store = NULL;
    if (!tc_image_store_path(&store))
        return tc_fail_memory(err);
    if (!store)
        return fail_locator(TOOLCAGE_EBACKEND, "guest", "set HOME",
                            "nothing says where this user's images are", err);
    _autofree_ char *path = tc_format("%s/guest/%s", store, part->name);
    if (!path)
        return tc_fail_memory(err);
    if (access(path, R_OK) < 0)
        return fail_locator(TOOLCAGE_EBACKEND, part->subject, part->hint, part->message, err);
    return !grant || !as || add_setting(grant, as, path) ? 0 : tc_fail_memory(err);
}

/* If calls in the guest are containers or modules, uses a larger initrd. The one for modules
 * includes crun if the other one does. */
static int find_runtime(const struct tc_strv *layers, struct tc_grant *grant,
                        struct toolcage_error **err)
{
    bool module = tc_backend_runs_module(layers);
    int r =
        tc_strv_has(layers, "oci") ? find_part(&crun, module ? NULL : "runtime", grant, err) : 0;
    return r == 0 && module ? find_part(&modules, "runtime", grant, err) : r;
}

/* The disk is next to the root of an image in the image store. */
static int find_disk(struct tc_grant *grant, struct toolcage_error **err)
{
    static const char root[] = "/rootfs", name[] = "/disk";
    if (!grant->image || tc_backend_runs_module(&grant->layers))
        return 0; /* without an image the planner refuses the grant; a module needs no disk */
    size_t len = strlen(grant->image);
    bool stored = tc_endswith(grant->image, root);
    _autofree_ char *disk =
        stored ? tc_format("%.*s%s", (int)(len - strlen(root)), grant->image, name) : NULL;
    if (stored && !disk)
        return tc_fail_memory(err);
    if (!disk || access(disk, R_OK) < 0)
        return fail_locator(
            TOOLCAGE_ENOT_FOUND, grant->image,
            stored ? "toolcage image build guest NAME, with the name of the image"
                   : "toolcage image import DIRECTORY NAME, then toolcage image build guest NAME",
            "the image has no disk for virtual machines yet", err);
    return add_setting(grant, "disk", disk) ? 0 : tc_fail_memory(err);
}

/* ---- KVM ---- */

static bool may_emulate(const struct monitor *m, const struct tc_grant *grant)
{
    const char *said = tc_setting(&grant->settings, "qemu.emulation");
    return m->emulates && said && strcmp(said, "1") == 0;
}

static int fail_slow(const struct monitor *m, const struct tc_kvm *kvm, struct toolcage_error **err)
{
    _autofree_ char *hint =
        tc_format("%s; or %s[backend.qemu] emulation = true, where slow is better than not at all",
                  kvm->fix, m->emulates ? "" : "backend = \"qemu\" with ");
    return tc_fail(
        err,
        TC_WHY(TOOLCAGE_EUNENFORCEABLE, "machine", m->emulates ? "emulation" : "/dev/kvm", hint),
        "KVM cannot run a VM on this host (%s), and %s", kvm->reason,
        m->emulates ? "the policy does not allow emulation" : "Firecracker requires it");
}

/* Chooses KVM if a guest boots with it, else emulation if the policy allows it. */
static int choose_speed(struct tc_search *search, const struct monitor *m,
                        const struct tc_grant *grant, const char *vm, const char **ret,
                        struct toolcage_error **err)
{
    struct tc_kvm kvm = {.boots = false};
    int r = tc_kvm_look(search, m->backend, vm, false, &kvm, err);
    if (r == 0 && !kvm.boots && !may_emulate(m, grant))
        r = fail_slow(m, &kvm, err);
    *ret = kvm.boots ? "kvm" : "tcg";
    tc_kvm_done(&kvm);
    return r;
}

/* Checked first: without KVM, installing other parts would not help. */
static int check_speed(const struct monitor *m, const struct tc_grant *grant,
                       struct toolcage_error **err)
{
    struct tc_kvm kvm = {.boots = false};
    int r = 0;
    if (!may_emulate(m, grant) && !tc_kvm_present(&kvm))
        r = kvm.reason ? fail_slow(m, &kvm, err) : tc_fail_memory(err);
    tc_kvm_done(&kvm);
    return r;
}

/* Digests this boot of the host (the guest's clock depends on the CPU's), toolcage's build, and the
 * marks of the VM's files. Their contents are not read: files in the image store never change, and
 * a replaced VMM has another mark. Empty: not known. */
static void identify(const struct tc_strv *vm, char ret[TC_DIGEST_SIZE])
{
    static const char *const names[] = {"vmm", "worker", "kernel", "initrd"};
    char stamp[TC_STAMP_SIZE];
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    bool told = tc_read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", &text) == 0;
    tc_buf_adds(&text, TC_BUILD_ID "\n");
    for (size_t i = 0; i < TC_COUNT(names); i++) {
        const char *path = tc_setting(vm, names[i]);
        told = told && path && tc_stamp_path(path, stamp);
        if (told)
            tc_buf_addf(&text, "%s %s\n", path, stamp);
    }
    *ret = '\0';
    if (told && !text.failed)
        tc_digest(text.data, text.len, ret);
}

/* Finds the parts common to all VMs of this user, and digests them. */
static int find_all(const struct monitor *m, struct tc_grant *grant,
                    char ret_machine[TC_DIGEST_SIZE], struct toolcage_error **err)
{
    _autofree_ char *worker = NULL, *vmm = NULL;
    int r = find_monitor(m, &vmm, err);
    if (r == 0)
        r = tc_spawn_own_program(WORKER, &worker, err);
    if (r == 0 && (!add_setting(grant, "vmm", vmm) || !add_setting(grant, "worker", worker)))
        r = tc_fail_memory(err);
    if (r == 0)
        r = find_part(&kernel, "kernel", grant, err);
    if (r == 0)
        r = find_part(&initrd, "initrd", grant, err);
    identify(&grant->located, ret_machine);
    return r;
}

/* ---- for calls ---- */

static int look_for_monitor(const struct tc_locator *locator, struct tc_search *search,
                            const struct tc_grant *grant, struct toolcage_error **err)
{
    const struct monitor *m = monitor_of(locator->name);
    struct tc_grant found = {.settings = grant->settings};
    char vm[TC_DIGEST_SIZE];
    const char *accel;
    int r = check_speed(m, grant, err);
    if (r == 0)
        r = find_all(m, &found, vm, err);
    if (r == 0)
        r = find_runtime(&grant->layers, NULL, err);
    if (r == 0)
        r = choose_speed(search, m, grant, vm, &accel, err);
    tc_strv_done(&found.located);
    return r;
}

/* For an errand: a VM that only boots, with the accelerator that the errand names. */
static int find_try(const struct monitor *m, const char *accel, struct tc_grant *grant,
                    struct toolcage_error **err)
{
    char vm[TC_DIGEST_SIZE];
    int r = find_all(m, grant, vm, err);
    return r < 0 || (add_setting(grant, "accel", accel) && add_setting(grant, "try", "1"))
               ? r
               : tc_fail_memory(err);
}

static int locate_monitor(const struct tc_locator *locator, struct tc_search *search,
                          struct tc_grant *grant, struct toolcage_error **err)
{
    const struct monitor *m = monitor_of(locator->name);
    char vm[TC_DIGEST_SIZE];
    const char *accel;
    if (search->work)
        return find_try(m, search->work, grant, err);
    int r = check_speed(m, grant, err);
    if (r == 0)
        r = find_all(m, grant, vm, err);
    if (r == 0)
        r = find_runtime(&grant->layers, grant, err);
    if (r == 0)
        r = find_disk(grant, err);
    if (r == 0 && tc_backend_runs_module(&grant->layers))
        r = tc_modules_name(grant, err);
    if (r == 0)
        r = choose_speed(search, m, grant, vm, &accel, err);
    if (r == 0 && !add_setting(grant, "accel", accel))
        r = tc_fail_memory(err);
    return r < 0 ? r : use_snapshot(m->backend, vm, grant, err);
}

/* ---- for the doctor ---- */

/* The KVM result if there is no guest to test with. */
static int tell_untried(const struct toolcage_error *why, struct tc_kvm *ret)
{
    if (!tc_kvm_present(ret))
        return ret->reason ? 0 : TOOLCAGE_EMEMORY;
    ret->reason = strdup("present and accessible; not tested, because no guest image is built");
    ret->fix = strdup(tc_error_hint(why));
    return ret->reason && ret->fix ? 0 : TOOLCAGE_EMEMORY;
}

static char *how(const char *vmm, bool boots)
{
    return tc_format("%s, %s", vmm,
                     boots ? "with KVM"
                           : "emulated, where a policy allows it ([backend.qemu] emulation = "
                             "true)");
}

/* Tests KVM once per boot of the host; a failure is tested again each time. */
static int tell_here(const struct monitor *m, struct tc_search *search, char **ret_how,
                     struct tc_kvm *kvm, struct toolcage_error **err)
{
    struct tc_grant found = {.without = 0};
    struct toolcage_error *why = NULL;
    char vm[TC_DIGEST_SIZE];
    int r = find_all(m, &found, vm, &why);
    if (r < 0 && tell_untried(why, kvm) < 0)
        r = TOOLCAGE_EMEMORY;
    if (r == 0)
        r = tc_kvm_look(search, m->backend, vm, true, kvm, &why);
    if (r == 0 && !kvm->boots && !m->emulates)
        r = fail_locator(TOOLCAGE_EBACKEND, "/dev/kvm", kvm->fix, kvm->reason, &why);
    if (r == 0 && !(*ret_how = how(tc_setting(&found.located, "vmm"), kvm->boots)))
        r = tc_fail_memory(&why);
    tc_strv_done(&found.located);
    *err = why;
    return r;
}

static int tell_monitor(const struct tc_locator *locator, struct tc_search *search, char **ret_how,
                        struct toolcage_error **err)
{
    struct tc_kvm kvm = {.boots = false};
    bool first = !search->kvm.boots && !search->kvm.reason;
    int r = tell_here(monitor_of(locator->name), search, ret_how, &kvm, err);
    if (first || (r == 0 && !search->guests)) {
        tc_kvm_done(&search->kvm);
        search->kvm = kvm;
        kvm = (struct tc_kvm){.boots = false};
    }
    search->guests = search->guests || r == 0;
    tc_kvm_done(&kvm);
    return r;
}

const struct tc_locator tc_qemu_locator = {
    .name = "qemu", .find = locate_monitor, .look = look_for_monitor, .tell = tell_monitor};
const struct tc_locator tc_firecracker_locator = {
    .name = "firecracker", .find = locate_monitor, .look = look_for_monitor, .tell = tell_monitor};
