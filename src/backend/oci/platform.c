/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "backend/oci/platform.h"

#include <stddef.h>

#include "backend/oci/notes.h"
#include "base/strv.h"

/* A machine that was too busy for the first platform is asked again. */
enum { BELIEVED_S = 3600 };

static const char name[] = "first-failed", fails[] = "fails";

static _Atomic bool first_failed; /* in this helper's life */

/* Another call has seen it fail, not long ago. */
static bool is_known(const char *runtime)
{
    char mark[TC_MARK_SIZE], note[TC_OCI_NOTE_SIZE];
    return tc_oci_mark(runtime, mark) && tc_oci_note_read(name, mark, BELIEVED_S, note) &&
           tc_streq(tc_oci_note_word(note, mark), fails);
}

const char *const *tc_oci_platforms(const char *wish, const char *runtime)
{
    static const char *const in_order[] = {"systrap", TC_OCI_PTRACE, NULL};
    static const char *const named[][2] = {{"systrap"}, {TC_OCI_PTRACE}, {"kvm"}};
    for (size_t i = 0; wish && i < TC_COUNT(named); i++)
        if (tc_streq(wish, named[i][0]))
            return named[i];
    if (wish)
        return NULL;
    if (runtime && !first_failed && is_known(runtime))
        first_failed = true;
    return in_order + (runtime && first_failed);
}

void tc_oci_first_failed(const char *runtime)
{
    char mark[TC_MARK_SIZE];
    first_failed = true;
    if (tc_oci_mark(runtime, mark))
        tc_oci_note_write(name, mark, fails);
}

void tc_oci_first_works(const char *runtime)
{
    char mark[TC_MARK_SIZE];
    first_failed = false;
    if (tc_oci_mark(runtime, mark))
        tc_oci_note_drop(name, mark);
}
