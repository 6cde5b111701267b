/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The platforms of runsc: by what it stops the tool's system calls. Which of them works on a
 * machine is known when a container has run on it, and one may hang. So the call's own container is
 * the trial: a process of ours around runsc takes the next platform where one does not answer. */
#include "backend/gvisor/runsc.h"

#include <stddef.h>

#include "base/clock.h"
#include "base/strv.h"

/* A platform that said why it does not work is asked again after an hour; one that said nothing
 * before its time was over may have met a slow disk. */
enum { BELIEVED_S = 3600, DOUBTED_S = 300, MOMENT_US = 1000000 };

static const char name[] = "first-failed", fails[] = "fails", silent_word[] = "silent";

static _Atomic int64_t avoided_until_us; /* in this helper's life */

static bool is_noted(const char *mark, time_t oldest_s, const char *word)
{
    char note[TC_GVISOR_NOTE_SIZE];
    return tc_gvisor_note_read(name, mark, oldest_s, note) &&
           tc_streq(tc_gvisor_note_word(note, mark), word);
}

/* Another call has seen it fail, not long ago. */
static bool is_known(const char *runtime)
{
    char mark[TC_MARK_SIZE];
    return tc_gvisor_mark(runtime, mark) &&
           (is_noted(mark, BELIEVED_S, fails) || is_noted(mark, DOUBTED_S, silent_word));
}

/* What another helper has noted is read once a second at most. */
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
    char mark[TC_MARK_SIZE];
    avoided_until_us = tc_now_us() + (silent ? DOUBTED_S : BELIEVED_S) * 1000000LL;
    if (tc_gvisor_mark(runtime, mark))
        tc_gvisor_note_write(name, mark, silent ? silent_word : fails);
}

void tc_gvisor_first_works(const char *runtime)
{
    char mark[TC_MARK_SIZE];
    avoided_until_us = 0;
    if (tc_gvisor_mark(runtime, mark))
        tc_gvisor_note_drop(name, mark);
}

/* A kernel of its own has a network of its own, in which nothing leads out; or uses that of the
 * namespace around it, which is the cage's. */
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
