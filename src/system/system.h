/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What every cage shows of the host's /etc and /var/lib, by one rule: a path is shown if an
 * installed package owns it, everybody may read it, only root may write it, it does not configure a
 * service, and no name of policy/names/credentials.h closes it. Reading the packages' databases and
 * walking /etc takes a tenth of a second, so the result is kept in the caller's state directory
 * until a database or a shown directory changes. */
#ifndef TC_SYSTEM_SYSTEM_H
#define TC_SYSTEM_SYSTEM_H

#include <pthread.h>

#include "base/buf.h"
#include "base/strv.h"

/* Appends "PACKAGE PATH" lines for every file of the installed rpm packages; false: rpm cannot be
 * run. rpm's database has no text form, and this folder runs no program. */
typedef bool tc_system_rpm(struct tc_buf *out);

/* The result as an engine last checked it. Thread-safe. */
struct tc_system_cache {
    pthread_mutex_t lock;
    struct tc_buf text;
    int64_t checked; /* when; 0: never */
};
void tc_system_cache_init(struct tc_system_cache *cache);
void tc_system_cache_done(struct tc_system_cache *cache);

/* The shown paths, one a line, sorted: files, links, and directories that are shown whole. Owned;
 * empty: none. A line with a hash differs after every change of them, so that cages get new copies.
 * Checks at most once a second whether they are still right. `state`: the caller's
 * state directory; NULL: none. Thread-safe. False: out of memory. */
bool tc_system_now(struct tc_system_cache *cache, const char *state, tc_system_rpm *rpm,
                   char **ret);

/* gitconfig.c: git's configuration of the system: cages show a copy of the checked text. */
#define TC_SYSTEM_GIT "/etc/gitconfig"
/* Reads a configuration of git. False: it could not be read, or it has more than settings that may
 * be shown. Appends to *ret in both cases. Thread-safe. */
bool tc_system_git(int dir, const char *name, struct tc_buf *ret);

/* The shown paths as they were last stored, unchecked; empty if none are stored. False: out of
 * memory. */
bool tc_system_stored(const char *state, char **ret);

#endif
