/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The closed list of paths that every cage can read. The policy uses it to judge paths and
 * accesses, the backends to build the cage.
 *
 * It lists single files and directories of /etc: private keys (/etc/ssl/private,
 * /etc/pki/tls/private) are next to the certificates, so their parent directories are not
 * listed. */
#ifndef TC_POLICY_NAMES_SYSTEM_PATHS_H
#define TC_POLICY_NAMES_SYSTEM_PATHS_H

#include <limits.h>
#include <stdbool.h>

struct tc_system_path {
    const char *path;
    bool made; /* generated for the cage; the host's file is never shown */
};

/* Ends with a row whose path is NULL. A path that does not exist on the host is skipped. */
extern const struct tc_system_path tc_system_paths[];

/* The row that is `path` (clean, absolute) or an ancestor of it, or NULL; borrows. */
const struct tc_system_path *tc_system_path_find(const char *path);
/* Is some system path strictly below the directory `path`? */
bool tc_system_path_below(const char *path);
/* The paths that every cage shows in addition, because a package of the host owns them
 * (system/system.h), are text with one path a line; NULL: none.
 * Other lines begin with another character than "/". */

/* Copies the next path; *at starts at the text. False: no more. */
bool tc_system_next(const char **at, char path[PATH_MAX]);
/* Is `path` one of them, or below one? */
bool tc_system_shows(const char *lines, const char *path);
/* Is one of them strictly below the directory `path`? */
bool tc_system_leads(const char *lines, const char *path);

/* Is it in private storage of the cage: at or below /tmp or /dev/shm? */
bool tc_system_path_private(const char *path);
/* The path's name relative to /dev/shm, where POSIX shared memory is; NULL: it is not below. */
const char *tc_system_path_shm(const char *path);

/* An empty directory in every cage's root: mounts are attached there for a moment, so nothing can
 * be granted there. */
#define TC_ROOT_SPARE "dev/mnt"

/* The PATH of every cage. */
#define TC_SEARCH_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
/* Is the directory in that PATH? */
bool tc_system_path_searched(const char *directory);

/* The device names in /dev of every cage. */
enum { TC_DEVICES = 5 };
extern const char *const tc_devices[TC_DEVICES];
/* Is it one of these devices, "/dev/NAME"? */
bool tc_device_path(const char *path);

/* Files of /proc that describe the host: empty in every cage; the same list as in OCI runtimes. */
struct tc_masked_proc {
    const char *path;
    bool directory;
};
/* Ends with a row whose path is NULL. A name that the kernel does not have is skipped. */
extern const struct tc_masked_proc tc_masked_proc[];

#endif
