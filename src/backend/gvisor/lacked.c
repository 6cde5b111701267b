/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * System calls that gVisor does not implement, each reported once by runsc. The report is
 * untrusted: it only lists names from the profile, and a limited number of them. */
#include "backend/gvisor/runsc.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/oci/config.h"
#include "base/fd.h"
#include "base/strv.h"
#include "linux/seccomp_filter.h"
#include "observe/observe.h"

enum { LOG_MAX = 256 << 10, NAME_MAX_HERE = 40 };

static const char before[] = "Unsupported syscall ";

/* Calls that libraries try first and can do without. */
static bool is_tried_in_passing(const char *name)
{
    static const char *const names[] = {"clone3",     "close_range",    "faccessat2",
                                        "openat2",    "pidfd_open",     "statx",
                                        "membarrier", "copy_file_range"};
    for (size_t i = 0; i < TC_COUNT(names); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* "sys_437" is a call whose name runsc does not know. NULL: not a call of the profile. */
static const char *name_of(const char *word)
{
    static const char numbered[] = "sys_";
    static const uint64_t args[6];
    const char *name = word;
    bool refused;
    char *end;
    if (strncmp(word, numbered, sizeof(numbered) - 1) == 0) {
        const char *digits = word + sizeof(numbered) - 1;
        long number = strtol(digits, &end, 10);
        if (end == digits || *end || number < 0 || number > 4095)
            return NULL;
        (void)tc_seccomp_answer(false, (int)number, args, &name, NULL);
    }
    return tc_seccomp_number(name, &refused) == TC_SECCOMP_NO_NAME ? NULL : name;
}

static void list(struct tc_cage *cage, const char *at)
{
    char word[NAME_MAX_HERE];
    size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789_");
    if (len >= sizeof(word) || at[len] != '(')
        return;
    memcpy(word, at, len);
    word[len] = '\0';
    const char *name = name_of(word);
    if (name && strcmp(name, "rseq") != 0) /* every libc tries rseq, also that of PID 1 */
        tc_notify_list(cage,
                       &(struct tc_listed){.kind = TC_DENIAL_LACKED,
                                           .target = name,
                                           .probe = is_tried_in_passing(name)},
                       1);
}

void tc_gvisor_list_lacked(struct tc_cage *cage, int bundle)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    text.max = LOG_MAX;
    if (bundle < 0 || tc_read_file(bundle, TC_OCI_LACKED, &text) < 0 || !text.data)
        return;
    for (const char *at = text.data; (at = strstr(at, before));) {
        at += sizeof(before) - 1;
        list(cage, at);
    }
}
