/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What has been learnt of a runtime's program and outlives the helper: each note is a link in the
 * state directory, whose text says of which state of which file it is true, and which is read and
 * written as a whole. */
#include "backend/gvisor/runsc.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/strv.h"
#include "workspace/state.h"

static const char place[] = "gvisor";

bool tc_gvisor_mark(const char *runtime, char out[TC_MARK_SIZE])
{
    struct stat st;
    if (stat(runtime, &st) < 0 || !tc_mark_settled(&st))
        return false;
    tc_mark(&st, out);
    return true;
}

/* By the last two digits of the file's number, so that two runtimes hardly ever take turns, and
 * what was learnt of files that have gone does not pile up. */
static char *link_of(const char *name, const char *mark)
{
    size_t device = strcspn(mark, ".");
    size_t end = mark[device] ? device + 1 + strcspn(mark + device + 1, ".") : device;
    return tc_format("%s-%.*s", name, end < 2 ? 0 : 2, mark + (end < 2 ? 0 : end - 2));
}

bool tc_gvisor_note_read(const char *name, const char *mark, time_t oldest_s,
                         char out[TC_GVISOR_NOTE_SIZE])
{
    struct stat st;
    _autofree_ char *link = link_of(name, mark);
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
    return tc_gvisor_note_word(out, mark) != NULL;
}

const char *tc_gvisor_note_word(const char *note, const char *mark)
{
    size_t len = strlen(mark);
    return len && strncmp(note, mark, len) == 0 && note[len] == ' ' ? note + len + 1 : NULL;
}

void tc_gvisor_note_write(const char *name, const char *mark, const char *word)
{
    _autofree_ char *text = tc_format("%s %s", mark, word);
    _autofree_ char *link = link_of(name, mark);
    _autofd_ int dir = text && link ? tc_state_open(place, NULL) : -1;
    if (dir < 0)
        return;
    (void)unlinkat(dir, link, 0);
    if (symlinkat(text, dir, link) < 0)
        return; /* another helper was faster, or there is no room */
}

void tc_gvisor_note_drop(const char *name, const char *mark)
{
    _autofree_ char *link = link_of(name, mark);
    _autofd_ int dir = link ? tc_state_look(place) : -1;
    if (dir >= 0)
        (void)unlinkat(dir, link, 0);
}
