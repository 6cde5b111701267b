/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "backend/oci/remember.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/strv.h"
#include "workspace/state.h"

static const char *const words[] = {[TC_OCI_WORKS] = "works", [TC_OCI_ABSENT] = "absent"};

/* Another boot may be of another kernel, another container (which has pids of its own) under
 * another seccomp profile. An ordinary caller's helper makes its own user namespace each time. */
char *tc_oci_identity(const char *program)
{
    struct stat st, pid;
    _autobuf_ struct tc_buf boot = TC_BUF_INIT;
    if (stat(program, &st) < 0 || st.st_size < TC_OCI_LARGE ||
        stat("/proc/self/ns/pid", &pid) < 0 ||
        tc_read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", &boot) < 0)
        return NULL;
    return tc_format("%.36s pid:%lu program:%lu:%lu:%lld:%lld.%09ld", boot.data,
                     (unsigned long)pid.st_ino, (unsigned long)st.st_dev, (unsigned long)st.st_ino,
                     (long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

char *tc_oci_note(const char *identity, enum tc_oci_finding finding)
{
    return tc_format("%s %s\n", identity, words[finding]);
}

enum tc_oci_finding tc_oci_read_note(const char *text, const char *identity)
{
    for (size_t f = 0; f < TC_COUNT(words); f++) {
        _autofree_ char *expected = words[f] ? tc_oci_note(identity, (enum tc_oci_finding)f) : NULL;
        if (expected && tc_streq(text, expected))
            return (enum tc_oci_finding)f;
    }
    return TC_OCI_UNKNOWN;
}

enum tc_oci_finding tc_oci_recall(const char *identity, const char *platform)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    _autofd_ int dir = tc_state_look("platforms");
    if (dir < 0 || tc_read_file(dir, platform, &text) < 0)
        return TC_OCI_UNKNOWN;
    return tc_oci_read_note(text.data, identity);
}

/* Whole or not at all. One writer at a time; what a dead one left makes room for the next. */
void tc_oci_remember(const char *identity, const char *platform, enum tc_oci_finding finding)
{
    _autofree_ char *note = tc_oci_note(identity, finding);
    _autofree_ char *fresh = tc_format("%s.new", platform);
    _autofd_ int dir = note && fresh ? tc_state_open("platforms", NULL) : -1;
    _autofd_ int fd =
        dir < 0 ? -1
                : openat(dir, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (dir >= 0 && (fd < 0 || tc_write_all(fd, note, strlen(note)) < 0 ||
                     renameat(dir, fresh, dir, platform) < 0))
        (void)unlinkat(dir, fresh, 0);
}

bool tc_oci_forget(const char *platform)
{
    _autofd_ int dir = tc_state_look("platforms");
    return dir >= 0 && unlinkat(dir, platform, 0) == 0;
}
