/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What runsc is told beside its command, where it knows the words: later ones have made a default
 * of what older ones do not do at all. Which it knows the process around runsc asks it, and what it
 * has heard is remembered of that file. */
#include "backend/gvisor/runsc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/oci/config.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/strv.h"

/* In the order in which runsc has learnt them.
 *
 * Its kernel reaches the host's files by itself since 2023, and that renames directories which hold
 * mounts of ours: names that steer the host would be replaced. A process of runsc's own has to
 * stand between.
 *
 * The node of a device in an image or a granted directory stands for a device of that kernel's
 * since 2026. Asked to open it outside, it meets our mounts, which have no devices. */
const char *const tc_gvisor_options[TC_GVISOR_OPTIONS] = {"--directfs=false",
                                                          "--character-device-policy=passthrough"};

/* By this code runsc says that it has no such option. */
enum { UNKNOWN_OPTION = 2 };

static const char name[] = "options";

char *tc_gvisor_options_note(const char *runtime)
{
    char mark[TC_MARK_SIZE], note[TC_GVISOR_NOTE_SIZE];
    bool any = runtime && tc_gvisor_mark(runtime, mark) && tc_gvisor_note_read(name, mark, 0, note);
    return strdup(any ? note : "nothing");
}

static bool is_count(const char *word)
{
    return word && word[0] >= '0' && word[0] <= '0' + TC_GVISOR_OPTIONS && !word[1];
}

void tc_gvisor_options_learn(const char *runtime, int bundle)
{
    char mark[TC_MARK_SIZE];
    _autobuf_ struct tc_buf heard = TC_BUF_INIT;
    heard.max = TC_GVISOR_NOTE_SIZE;
    if (tc_read_file(bundle, TC_OCI_HEARD, &heard) < 0 || !heard.len ||
        !tc_gvisor_mark(runtime, mark))
        return;
    if (is_count(tc_gvisor_note_word(heard.data, mark)))
        tc_gvisor_note_write(name, mark, tc_gvisor_note_word(heard.data, mark));
}

/* Does it know so many of them? */
static bool ask(const char *runtime, size_t count)
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

static void tell(const char *mark, size_t count)
{
    _autofree_ char *heard = tc_format("%s %zu", mark, count);
    if (!heard || tc_write_file(AT_FDCWD, TC_OCI_BUNDLE "/" TC_OCI_HEARD, heard) < 0)
        return; /* then the next call asks, too */
}

size_t tc_gvisor_options_known(const char *runtime, const char *note)
{
    char mark[TC_MARK_SIZE], after[TC_MARK_SIZE];
    size_t count = TC_GVISOR_OPTIONS;
    bool marked = tc_gvisor_mark(runtime, mark);
    const char *word = marked ? tc_gvisor_note_word(note, mark) : NULL;
    if (is_count(word))
        return (size_t)(word[0] - '0');
    while (count > 0 && !ask(runtime, count))
        count--;
    if (marked && tc_gvisor_mark(runtime, after) && strcmp(mark, after) == 0)
        tell(mark, count);
    return count;
}
