/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "call/machines.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/root.h"
#include "call/launch.h"
#include "image/index.h"
#include "policy/backends.h"
#include "policy/settings.h"

#define WORKER "toolcage-vm"

bool tc_machines_run(const char *backend)
{
    const struct tc_backend *row = tc_backend_find(backend);
    return row && row->kind == TC_BACKEND_MACHINE;
}

bool tc_machines_hold(const struct tc_strv *layers)
{
    return layers->count == 2 && strcmp(layers->items[0], "qemu") == 0 &&
           strcmp(layers->items[1], "process") == 0;
}

static int fail(int code, const char *subject, const char *hint, const char *message,
                struct toolcage_error **err)
{
    return tc_fail(
        err, &(struct tc_why){.code = code, .stage = "machine", .subject = subject, .hint = hint},
        "%s", message);
}

static bool add(struct tc_grant *grant, const char *name, const char *path)
{
    return tc_strv_take(&grant->machine, tc_format("%s=%s", name, path));
}

/* ---- the monitor ---------------------------------------------------------------------------- */

/* From the system's directories: no policy names a path. */
static int find_monitor(char **ret, struct toolcage_error **err)
{
    static const char *const places[] = {"/usr/bin/qemu-system-x86_64",
                                         "/usr/local/bin/qemu-system-x86_64"};
    struct stat st;
    for (size_t i = 0; i < TC_COUNT(places); i++) {
        if (stat(places[i], &st) < 0)
            continue;
        const char *reason = tc_program_unsafe(&st);
        if (reason)
            return tc_fail(err,
                           &(struct tc_why){.code = TOOLCAGE_EBACKEND,
                                            .stage = "machine",
                                            .subject = places[i],
                                            .hint = "make it a file of root with mode 0755"},
                           "%s %s", places[i], reason);
        *ret = strdup(places[i]);
        return *ret ? 0 : tc_fail_memory(err);
    }
    return fail(TOOLCAGE_EBACKEND, "qemu-system-x86_64", "apt-get install qemu-system-x86",
                "no machine monitor is installed here (qemu-system-x86_64)", err);
}

/* ---- what runs in it ------------------------------------------------------------------------ */

static int find_guest(const char *store, const char *name, struct tc_grant *grant,
                      struct toolcage_error **err)
{
    _autofree_ char *path = tc_format("%s/guest/%s", store, name);
    if (!path)
        return tc_fail_memory(err);
    if (access(path, R_OK) < 0)
        return fail(TOOLCAGE_EBACKEND, "guest", "toolcage image build guest",
                    "there is no kernel for virtual machines yet", err);
    return !grant || add(grant, name, path) ? 0 : tc_fail_memory(err);
}

static int find_store(char **ret, struct toolcage_error **err)
{
    if (!tc_image_store_path(ret))
        return tc_fail_memory(err);
    return *ret ? 0
                : fail(TOOLCAGE_EBACKEND, "guest", "set HOME",
                       "nothing says where this user's images are", err);
}

static int find_guests(struct tc_grant *grant, struct toolcage_error **err)
{
    _autofree_ char *store = NULL;
    int r = find_store(&store, err);
    if (r == 0)
        r = find_guest(store, "kernel", grant, err);
    return r < 0 ? r : find_guest(store, "initrd", grant, err);
}

/* Beside the root of an image of the store. */
static int find_disk(struct tc_grant *grant, struct toolcage_error **err)
{
    static const char root[] = "/rootfs", name[] = "/disk";
    if (!grant->image)
        return 0; /* refused by the front, as whatever else it does not show */
    size_t len = strlen(grant->image);
    bool stored = tc_endswith(grant->image, root);
    _autofree_ char *disk =
        stored ? tc_format("%.*s%s", (int)(len - strlen(root)), grant->image, name) : NULL;
    if (stored && !disk)
        return tc_fail_memory(err);
    if (!disk || access(disk, R_OK) < 0)
        return fail(
            TOOLCAGE_ENOT_FOUND, grant->image,
            stored ? "toolcage image build guest NAME, with the name of the image"
                   : "toolcage image import DIRECTORY NAME, then toolcage image build guest NAME",
            "the image has no disk for virtual machines yet", err);
    return add(grant, "disk", disk) ? 0 : tc_fail_memory(err);
}

/* ---- the processor's help ------------------------------------------------------------------- */

static int check_speed(const struct tc_grant *grant, struct toolcage_error **err)
{
    const char *said = tc_setting(&grant->settings, "qemu.emulation");
    if (said && strcmp(said, "1") == 0)
        return 0;
    return fail(TOOLCAGE_EUNENFORCEABLE, "emulation",
                "[backend.qemu] emulation = true, where slow is better than not at all",
                "this version runs virtual machines by emulation alone, which the policy does not "
                "allow",
                err);
}

int tc_machines_look(const struct tc_grant *grant, char **ret_vmm, struct toolcage_error **err)
{
    int r = grant ? check_speed(grant, err) : 0;
    if (r == 0)
        r = find_monitor(ret_vmm, err);
    return r < 0 ? r : find_guests(NULL, err);
}

int tc_machines_find(struct tc_grant *grant, struct toolcage_error **err)
{
    _autofree_ char *worker = NULL, *vmm = NULL;
    int r = check_speed(grant, err);
    if (r == 0)
        r = find_monitor(&vmm, err);
    if (r == 0)
        r = tc_launch_beside(WORKER, &worker, err);
    if (r == 0 && (!add(grant, "vmm", vmm) || !add(grant, "worker", worker)))
        r = tc_fail_memory(err);
    if (r == 0)
        r = find_guests(grant, err);
    return r < 0 ? r : find_disk(grant, err);
}
