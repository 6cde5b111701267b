/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Machines that stand ready in files of the user's state: a guest that has booted and has seen no
 * call. The name of a file is a digest of all that made the machine what it is, so one of another
 * monitor, kernel, image or size is never found; where there is none, this call makes it. */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/digest.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sealed.h"
#include "call/facts.h"
#include "call/machines.h"
#include "policy/settings.h"
#include "version.h"

/* Which files they are, not what they hold: those of the store never change, and a monitor that is
 * replaced is another file. */
static bool add_files(const struct tc_grant *grant, struct tc_buf *out)
{
    static const char *const names[] = {"vmm", "worker", "kernel", "initrd", "disk"};
    struct stat st;
    for (size_t i = 0; i < TC_COUNT(names); i++) {
        const char *path = tc_setting(&grant->machine, names[i]);
        if (!path || stat(path, &st) < 0)
            return false;
        tc_buf_addf(out, "%s %" PRIu64 " %" PRIu64 " %" PRIi64 " %" PRIi64 ".%09ld\n", path,
                    (uint64_t)st.st_dev, (uint64_t)st.st_ino, (int64_t)st.st_size,
                    (int64_t)st.st_ctim.tv_sec, (long)st.st_ctim.tv_nsec);
    }
    return true;
}

/* Memory for what is carried in, and for what may be written there. */
static void add_grants(const struct tc_grant *grant, struct tc_buf *out)
{
    unsigned count[TC_ACCESS_DENY + 1] = {0};
    for (size_t i = 0; i < grant->fs_count; i++)
        count[grant->fs[i].access]++;
    for (size_t i = 0; i < TC_COUNT(count); i++)
        tc_buf_addf(out, "%u ", count[i]);
}

/* What the front makes of the grant; and the host's start, since the guest's clock counts as the
 * host's processor did. False: it cannot be told. */
static bool identify(const struct tc_grant *grant, char ret[TC_DIGEST_SIZE])
{
    const struct tc_limits *l = &grant->limits;
    const char *accel = tc_setting(&grant->machine, "accel");
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    _autobuf_ struct tc_buf boot = TC_BUF_INIT;
    if (!accel || tc_read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", &boot) < 0)
        return false;
    tc_buf_addf(&text, "machine 1 %s %.*s\n%s %" PRIi64 " %" PRIi64 " %" PRIi64 "\n", TC_BUILD_ID,
                (int)boot.len, boot.data, accel, l->memory, l->disk, l->cpus_milli);
    add_grants(grant, &text);
    if (!add_files(grant, &text) || text.failed)
        return false;
    tc_digest(text.data, text.len, ret);
    return true;
}

int tc_machines_keep(struct tc_grant *grant, struct toolcage_error **err)
{
    char name[TC_DIGEST_SIZE];
    _autofree_ char *state = NULL;
    const char *said = tc_setting(&grant->settings, "qemu.snapshot");
    if (!said || strcmp(said, "1") != 0)
        return 0;
    if (!tc_state_directory(&state))
        return tc_fail_memory(err);
    if (!state || !identify(grant, name))
        return 0; /* it boots, as it does without */
    _autofree_ char *path = tc_format("%s/machines/%s", state, name + strlen("sha256:"));
    const char *word = path && tc_sealed_holds(path) ? "from" : "keep";
    bool fine = path && tc_strv_take(&grant->machine, tc_format("%s=%s", word, path));
    return fine ? 0 : tc_fail_memory(err);
}
