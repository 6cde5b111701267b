/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What has been learnt stands in the state directory as a link, whose text says of which file it is
 * true, and which is read and written as a whole. */
#include "backend/oci/platform.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mark.h"
#include "base/strv.h"
#include "workspace/state.h"

/* A machine that was too busy for the first platform is asked again. */
enum { BELIEVED_S = 3600 };

static const char place[] = "gvisor", name[] = "first-failed";

static _Atomic bool first_failed; /* in this helper's life */

/* Another call has seen it fail, not long ago. */
static bool is_known(const char *runtime)
{
    char text[TC_MARK_SIZE], mark[TC_MARK_SIZE];
    struct stat st;
    _autofd_ int dir = tc_mark_path(runtime, mark) ? tc_state_look(place) : -1;
    if (dir < 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    time_t age = time(NULL) - st.st_mtime;
    ssize_t n = readlinkat(dir, name, text, sizeof(text));
    return age >= 0 && age < BELIEVED_S && n > 0 && (size_t)n == strlen(mark) &&
           memcmp(text, mark, (size_t)n) == 0;
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
    _autofd_ int dir = tc_mark_path(runtime, mark) ? tc_state_open(place, NULL) : -1;
    first_failed = true;
    if (dir >= 0)
        (void)unlinkat(dir, name, 0);
    if (dir < 0 || symlinkat(mark, dir, name) < 0)
        return; /* then the next helper tries it, too */
}

void tc_oci_first_works(void)
{
    _autofd_ int dir = tc_state_look(place);
    first_failed = false;
    if (dir >= 0)
        (void)unlinkat(dir, name, 0);
}
