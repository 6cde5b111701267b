/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The system call profile as an OCI seccomp list. */
#include <string.h>

#include "backend/oci/config.h"
#include "base/jsontext.h"
#include "linux/seccomp_profile.h"

#if defined(__x86_64__)
#define ARCHITECTURE "SCMP_ARCH_X86_64"
#elif defined(__aarch64__)
#define ARCHITECTURE "SCMP_ARCH_AARCH64"
#else
#error "no profile for this CPU architecture"
#endif

/* PID 1 needs these to make /proc read-only and to attach granted paths; its own filter refuses
 * them to the tool. */
static const char *const ours[] = {"mount_setattr", "move_mount", "fsopen", "fsconfig",
                                   "fsmount",       "umount2",    "openat2"};

static bool is_ours(const char *name)
{
    for (size_t i = 0; i < TC_COUNT(ours); i++)
        if (strcmp(ours[i], name) == 0)
            return true;
    return false;
}

/* Decides by the name alone. */
int tc_oci_seccomp_answer(const struct tc_seccomp_row *row, const struct tc_strv *allowed)
{
    if (is_ours(row->name) || tc_strv_has(allowed, row->name))
        return 0;
    return row->verdict == TC_SECCOMP_ABSENT || row->verdict == TC_SECCOMP_REFUSE ||
                   row->verdict == TC_SECCOMP_PROBE
               ? row->errnum
               : 0;
}

static void add_names(struct tc_buf *out, const struct tc_strv *allowed, int errnum)
{
    const char *comma = "";
    tc_buf_adds(out, "{\"names\":[");
    for (size_t i = 0; i < TC_COUNT(tc_seccomp_rows); i++) {
        if (tc_oci_seccomp_answer(&tc_seccomp_rows[i], allowed) != errnum)
            continue;
        tc_buf_adds(out, comma);
        tc_json_string(out, tc_seccomp_rows[i].name, strlen(tc_seccomp_rows[i].name));
        comma = ",";
    }
    if (errnum)
        tc_buf_addf(out, "],\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":%d}", errnum);
    else
        tc_buf_adds(out, "],\"action\":\"SCMP_ACT_ALLOW\"}");
}

/* Names with the default result need no rule. */
void tc_oci_seccomp(struct tc_buf *out, const struct tc_strv *allowed)
{
    tc_buf_addf(out,
                "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"defaultErrnoRet\":%d,"
                "\"architectures\":[\"" ARCHITECTURE "\"],\"syscalls\":[",
                TC_SECCOMP_UNNAMED);
    add_names(out, allowed, 0);
    tc_buf_addc(out, ',');
    add_names(out, allowed, EPERM);
    tc_buf_adds(out, "]}");
}
