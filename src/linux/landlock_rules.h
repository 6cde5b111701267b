/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Landlock, the second isolation layer behind the mounts. Some functions only map an ABI version
 * and a kind of path to rights; the others make Landlock's three system calls. All are
 * async-signal-safe.
 *
 * A cage handles no network rights: it has a private network namespace, and its loopback belongs
 * to the tool. Unix sockets by path are handled from ABI 9, the first that can, and never
 * granted. */
#ifndef TC_LINUX_LANDLOCK_RULES_H
#define TC_LINUX_LANDLOCK_RULES_H

#include <stdint.h>

enum { TC_LANDLOCK_ABI_MAX = 9 }; /* the newest whose rights the table knows */

enum tc_landlock_kind {
    TC_LANDLOCK_READ_TREE,  /* read, list, execute */
    TC_LANDLOCK_WRITE_TREE, /* and change everything but make devices and sockets */
    TC_LANDLOCK_OWN_TREE,   /* and make sockets: storage that only the cage uses */
    TC_LANDLOCK_READ_FILE,  /* not a directory: read, execute */
    TC_LANDLOCK_WRITE_FILE, /* and write, truncate */
    TC_LANDLOCK_DEVICE,     /* a device node: read, write, ioctl */
    TC_LANDLOCK_LIST,       /* list directories, but not read their files */
    TC_LANDLOCK_DATA_TREE,  /* read, list */
    TC_LANDLOCK_DATA_FILE,  /* read */
};

/* The rights that a ruleset of this ABI handles (and so denies unless a rule allows them), the
 * rights of one kind of path, and the denied scopes. An ABI below 1 has none; one over
 * TC_LANDLOCK_ABI_MAX counts as TC_LANDLOCK_ABI_MAX. */
uint64_t tc_landlock_handled(int abi);
uint64_t tc_landlock_rights(int abi, enum tc_landlock_kind kind);
uint64_t tc_landlock_scoped(int abi);

/* The running kernel's ABI; 0 when Landlock is missing or disabled, with errno ENOSYS or
 * EOPNOTSUPP. */
int tc_landlock_abi(void);
/* A new ruleset (close-on-exec fd) that denies all rights that the ABI handles, and the TCP port
 * rights `net`, which exist from ABI 4 on; -1 with errno. */
int tc_landlock_open(int abi, uint64_t net);
/* Allows the rights of `kind` on the file or tree of path_fd (O_PATH is enough); 0, or -1. */
int tc_landlock_allow(int ruleset, int abi, int path_fd, enum tc_landlock_kind kind);
/* Restricts the calling thread by the ruleset; no_new_privs must be set. 0, or -1 with errno. */
int tc_landlock_restrict(int ruleset);

/* tc_landlock_allow() by path; -1 also where the path cannot be opened. Allocates nothing. */
int tc_landlock_allow_path(int ruleset, int abi, const char *path, enum tc_landlock_kind kind);
/* tc_landlock_allow_path() for directories only: does nothing where the path is missing or
 * anything else, including a link. */
int tc_landlock_allow_directory(int ruleset, int abi, const char *path, enum tc_landlock_kind kind);

#endif
