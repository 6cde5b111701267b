/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Machines that stand ready in files of the user's state: a guest that has booted and has seen no
 * call. The name of a file is a digest of all that made the machine what it is, so one of another
 * monitor, kernel, image or size is never found; where there is none, this call makes it. */
#include <inttypes.h>
#include <string.h>

#include "backend/machine/kvm.h"
#include "base/digest.h"
#include "base/path.h"
#include "policy/settings.h"
#include "state/mark.h"
#include "state/places.h"
#include "state/seal.h"

/* Memory for what is carried in, and for what may be written there. */
static void add_grants(const struct tc_grant *grant, struct tc_buf *out)
{
    unsigned count[TC_ACCESS_DENY + 1] = {0};
    for (size_t i = 0; i < grant->fs_count; i++)
        count[grant->fs[i].access]++;
    for (size_t i = 0; i < TC_COUNT(count); i++)
        tc_buf_addf(out, "%u ", count[i]);
}

/* The machine's files, and what the front makes of the grant. False: it cannot be told. */
static bool identify(const struct tc_grant *grant, const char *machine, char ret[TC_DIGEST_SIZE])
{
    const struct tc_limits *l = &grant->limits;
    const char *accel = tc_setting(&grant->located, "accel");
    const char *disk = tc_setting(&grant->located, "disk");       /* of a module's there is none */
    const char *runtime = tc_setting(&grant->located, "runtime"); /* most machines have none */
    char mark[TC_MARK_SIZE] = "", also[TC_MARK_SIZE] = "";
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    if (!*machine || !accel || (!disk && !runtime) || (disk && !tc_mark_path(disk, mark)) ||
        (runtime && !tc_mark_path(runtime, also)))
        return false;
    tc_buf_addf(&text, "machine 2 %s\n%s %s\n%s %" PRIi64 " %" PRIi64 " %" PRIi64 "\n", machine,
                disk ? disk : "-", mark, accel, l->memory, l->disk, l->cpus_milli);
    add_grants(grant, &text);
    for (size_t i = 0; i < grant->warm.count; i++)
        tc_buf_addf(&text, "\nwarm %zu %s", strlen(grant->warm.items[i]), grant->warm.items[i]);
    tc_buf_addf(&text, "\n%s", also);
    if (text.failed)
        return false;
    tc_digest(text.data, text.len, ret);
    return true;
}

int tc_machine_keep(const char *backend, const char *machine, struct tc_grant *grant,
                    struct toolcage_error **err)
{
    char name[TC_DIGEST_SIZE];
    _autofree_ char *state = NULL;
    /* the settings are those of fallbacks, too */
    _autofree_ char *setting = tc_format("%s.snapshot", backend);
    const char *said = setting ? tc_setting(&grant->settings, setting) : NULL;
    if (setting && (!said || strcmp(said, "1") != 0))
        return 0;
    if (!setting || !tc_state_directory(&state))
        return tc_fail_memory(err);
    if (!state || !identify(grant, machine, name))
        return 0; /* it boots, as it does without */
    _autofree_ char *path = tc_format("%s/machines/%s", state, name + strlen("sha256:"));
    const char *word = path && tc_sealed_holds(path) ? "from" : "keep";
    bool fine = path && tc_setting_add(&grant->located, word, path);
    return fine ? 0 : tc_fail_memory(err);
}
