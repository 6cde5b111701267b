/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The closed list of what every cage can read, whatever the policy says. The policy uses it to
 * judge paths and accesses, a backend to build the cage: one list, so that both mean the same.
 *
 * Of /etc only single things: key material (/etc/ssl/private, /etc/pki/tls/private) lies beside the
 * certificates, so those directories are not listed whole. */
#ifndef TC_POLICY_NAMES_SYSTEM_PATHS_H
#define TC_POLICY_NAMES_SYSTEM_PATHS_H

#include <stdbool.h>

struct tc_system_path {
    const char *path;
    bool made; /* a backend makes it up for the cage; the host's file is never shown */
};

/* Ends with a row whose path is NULL. A path that the host lacks is skipped. */
extern const struct tc_system_path tc_system_paths[];

/* The row that holds `path` (clean, absolute) or an ancestor of it, or NULL; borrows. */
const struct tc_system_path *tc_system_path_find(const char *path);
/* Is some system path strictly below the directory `path`? */
bool tc_system_path_below(const char *path);
/* Private storage of the cage: /tmp, /dev/shm and what is below. */
bool tc_system_path_private(const char *path);

/* The devices that every cage has, by their names in /dev. */
enum { TC_DEVICES = 5 };
extern const char *const tc_devices[TC_DEVICES];
/* Is it one of them, "/dev/NAME"? */
bool tc_device_path(const char *path);

/* What speaks of the machine in /proc: empty in every cage, the same names as in OCI runtimes. */
struct tc_masked_proc {
    const char *path;
    bool directory;
};
/* Ends with a row whose path is NULL. A name that the kernel lacks is skipped. */
extern const struct tc_masked_proc tc_masked_proc[];

#endif
