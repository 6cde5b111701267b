/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Notes about runsc that outlive the helper: which platform works on this host, and which newer
 * options this runsc has. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/gvisor/runsc.h"
#include "backend/oci/config.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/strv.h"
#include "workspace/state.h"

/* ---- notes ---- */

/* Each note is a symlink in the state directory, because a symlink is read and written atomically.
 * Its target is the text "STAMP WORD"; the stamp identifies runsc's file. */

static const char place[] = "gvisor";

bool tc_gvisor_stamp(const char *runtime, char out[TC_STAMP_SIZE])
{
    struct stat st;
    if (stat(runtime, &st) < 0 || !tc_stamp_settled(&st))
        return false;
    tc_stamp(&st, out);
    return true;
}

/* The link's name has the last two digits of the file's inode number: two runtimes rarely share a
 * link, and notes about deleted files do not accumulate. */
static char *link_of(const char *name, const char *stamp)
{
    size_t device = strcspn(stamp, ".");
    size_t end = stamp[device] ? device + 1 + strcspn(stamp + device + 1, ".") : device;
    return tc_format("%s-%.*s", name, end < 2 ? 0 : 2, stamp + (end < 2 ? 0 : end - 2));
}

bool tc_gvisor_note_read(const char *name, const char *stamp, time_t oldest_s,
                         char out[TC_GVISOR_NOTE_SIZE])
{
    struct stat st;
    _autofree_ char *link = link_of(name, stamp);
    _autofd_ int dir = link ? tc_state_look(place) : -1;
    if (dir < 0 || fstatat(dir, link, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    time_t age = time(NULL) - st.st_mtime;
    if (oldest_s && (age < 0 || age >= oldest_s))
        return false;
    ssize_t n = readlinkat(dir, link, out, TC_GVISOR_NOTE_SIZE);
    if (n <= 0 || n == TC_GVISOR_NOTE_SIZE)
        return false;
    out[n] = '\0';
    return tc_gvisor_note_value(out, stamp) != NULL;
}

const char *tc_gvisor_note_value(const char *note, const char *stamp)
{
    size_t len = strlen(stamp);
    return len && strncmp(note, stamp, len) == 0 && note[len] == ' ' ? note + len + 1 : NULL;
}

void tc_gvisor_note_write(const char *name, const char *stamp, const char *word)
{
    _autofree_ char *text = tc_format("%s %s", stamp, word);
    _autofree_ char *link = link_of(name, stamp);
    _autofd_ int dir = text && link ? tc_state_open(place, NULL) : -1;
    if (dir < 0)
        return;
    (void)unlinkat(dir, link, 0);
    if (symlinkat(text, dir, link) < 0)
        return; /* another helper was faster, or the disk is full */
}

void tc_gvisor_note_drop(const char *name, const char *stamp)
{
    _autofree_ char *link = link_of(name, stamp);
    _autofd_ int dir = link ? tc_state_look(place) : -1;
    if (dir >= 0)
        (void)unlinkat(dir, link, 0);
}

/* ---- which platform works ---- */

/* The platform is runsc's method to intercept the tool's system calls. Whether a platform works on
 * this host is known only when a container has run on it, and it may hang. So the call's own
 * container is the test: the shim around runsc starts the next platform if PID 1 does not connect.
 */

/* After a platform failed with an error, it is avoided for an hour. After it was silent until the
 * timeout, it is tried again sooner: a slow disk may have been the reason. */
enum { BELIEVED_S = 3600, DOUBTED_S = 300, MOMENT_US = 1000000 /* between reads of a note */ };

static const char first_failed[] = "first-failed", fails[] = "fails", silent_word[] = "silent";

static _Atomic int64_t avoided_until_us; /* for this helper's life */

static bool is_noted(const char *stamp, time_t oldest_s, const char *word)
{
    char note[TC_GVISOR_NOTE_SIZE];
    return tc_gvisor_note_read(first_failed, stamp, oldest_s, note) &&
           tc_streq(tc_gvisor_note_value(note, stamp), word);
}

/* Did a recent call note that the first platform failed? */
static bool is_known(const char *runtime)
{
    char stamp[TC_STAMP_SIZE];
    return tc_gvisor_stamp(runtime, stamp) &&
           (is_noted(stamp, BELIEVED_S, fails) || is_noted(stamp, DOUBTED_S, silent_word));
}

/* Reads other helpers' notes at most once a second. */
static bool is_avoided(const char *runtime)
{
    int64_t now = tc_now_us();
    if (avoided_until_us <= now && is_known(runtime))
        avoided_until_us = now + MOMENT_US;
    return avoided_until_us > now;
}

const char *const *tc_gvisor_platforms(const char *wish, const char *runtime)
{
    static const char *const in_order[] = {"systrap", TC_GVISOR_PTRACE, NULL};
    static const char *const named[][2] = {{"systrap"}, {TC_GVISOR_PTRACE}, {"kvm"}};
    for (size_t i = 0; wish && i < TC_COUNT(named); i++)
        if (tc_streq(wish, named[i][0]))
            return named[i];
    if (wish)
        return NULL;
    return in_order + (runtime && is_avoided(runtime));
}

void tc_gvisor_first_failed(const char *runtime, bool silent)
{
    char stamp[TC_STAMP_SIZE];
    avoided_until_us = tc_now_us() + (silent ? DOUBTED_S : BELIEVED_S) * 1000000LL;
    if (tc_gvisor_stamp(runtime, stamp))
        tc_gvisor_note_write(first_failed, stamp, silent ? silent_word : fails);
}

void tc_gvisor_first_working(const char *runtime)
{
    char stamp[TC_STAMP_SIZE];
    avoided_until_us = 0;
    if (tc_gvisor_stamp(runtime, stamp))
        tc_gvisor_note_drop(first_failed, stamp);
}

/* --network=none: gVisor's network has only loopback. --network=host: gVisor uses the network
 * namespace around runsc, which is the cage's. */
void tc_gvisor_command(const struct tc_oci_runtime *runtime, const char *path,
                       const char *const *platforms, const char *note, bool network,
                       const char **ret)
{
    *ret++ = TC_OCI_KEEPER;
    while (*platforms)
        *ret++ = *platforms++;
    *ret++ = "--";
    *ret++ = note;
    *ret++ = path;
    *ret++ = network ? "--network=host" : "--network=none";
    tc_oci_command(runtime, "-", ret);
}

/* ---- which options this runsc has ---- */

/* Newer versions of runsc need these options, because toolcage relies on the default behaviour of
 * older versions, which do not know the options. The shim finds out which options runsc accepts,
 * and the helper notes that together with the stamp of runsc's file. */

/* In the order in which versions of runsc added them.
 *
 * directfs: since 2023 gVisor's kernel accesses host files directly. It then also renames
 * directories that contain toolcage's mounts, so a tool could replace protected steering files.
 * Without directfs a separate gofer process handles the files.
 *
 * character-device-policy: since 2026 a device node in an image or a granted directory is a device
 * of gVisor's kernel. With passthrough gVisor opens the host's node, which fails: toolcage's mounts
 * are nodev. */
const char *const tc_gvisor_options[TC_GVISOR_OPTIONS] = {"--directfs=false",
                                                          "--character-device-policy=passthrough"};

/* runsc's exit code for an unknown option */
enum { UNKNOWN_OPTION = 2 };

static const char noted_options[] = "options";

char *tc_gvisor_options_note(const char *runtime)
{
    char stamp[TC_STAMP_SIZE], note[TC_GVISOR_NOTE_SIZE];
    bool any = runtime && tc_gvisor_stamp(runtime, stamp) &&
               tc_gvisor_note_read(noted_options, stamp, 0, note);
    return strdup(any ? note : "nothing");
}

static bool is_count(const char *word)
{
    return word && word[0] >= '0' && word[0] <= '0' + TC_GVISOR_OPTIONS && !word[1];
}

void tc_gvisor_options_learn(const char *runtime, int bundle)
{
    char stamp[TC_STAMP_SIZE];
    _autobuf_ struct tc_buf heard = TC_BUF_INIT;
    heard.max = TC_GVISOR_NOTE_SIZE;
    if (tc_read_file(bundle, TC_OCI_HEARD, &heard) < 0 || !heard.len ||
        !tc_gvisor_stamp(runtime, stamp))
        return;
    if (is_count(tc_gvisor_note_value(heard.data, stamp)))
        tc_gvisor_note_write(noted_options, stamp, tc_gvisor_note_value(heard.data, stamp));
}

/* Does runsc accept the first `count` options? */
static bool knows_count(const char *runtime, size_t count)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        const char *argv[TC_GVISOR_OPTIONS + 3] = {runtime};
        memcpy(argv + 1, tc_gvisor_options, count * sizeof(*argv));
        argv[count + 1] = "--version";
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (null >= 0 && dup2(null, 1) == 1 && dup2(null, 2) == 2)
            (void)execv(runtime, (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    int code = pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code != 0 && code != UNKNOWN_OPTION)
        _exit(127);
    return code == 0;
}

static void note_count(const char *stamp, size_t count)
{
    _autofree_ char *heard = tc_format("%s %zu", stamp, count);
    if (!heard || tc_write_file(AT_FDCWD, TC_OCI_BUNDLE "/" TC_OCI_HEARD, heard) < 0)
        return; /* then the next call asks again */
}

size_t tc_gvisor_options_known(const char *runtime, const char *note)
{
    char stamp[TC_STAMP_SIZE], after[TC_STAMP_SIZE];
    size_t count = TC_GVISOR_OPTIONS;
    bool marked = tc_gvisor_stamp(runtime, stamp);
    const char *word = marked ? tc_gvisor_note_value(note, stamp) : NULL;
    if (is_count(word))
        return (size_t)(word[0] - '0');
    while (count > 0 && !knows_count(runtime, count))
        count--;
    if (marked && tc_gvisor_stamp(runtime, after) && strcmp(stamp, after) == 0)
        note_count(stamp, count);
    return count;
}
