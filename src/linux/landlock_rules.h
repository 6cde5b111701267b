/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Landlock, the second wall behind the mounts: which rights an ABI has and what a kind of path gets
 * is one pure table; the rest are the three system calls. Everything here is async-signal-safe.
 *
 * A cage handles no network rights: it has a network namespace of its own, and its loopback is the
 * tool's. Unix sockets by path are handled from the ABI that can (9) and never granted. */
#ifndef TC_LINUX_LANDLOCK_RULES_H
#define TC_LINUX_LANDLOCK_RULES_H

#include <stdint.h>

enum { TC_LANDLOCK_ABI_MAX = 9 }; /* the newest whose rights the table knows */

enum tc_landlock_kind {
    TC_LANDLOCK_READ_TREE,  /* read, list, execute */
    TC_LANDLOCK_WRITE_TREE, /* and change everything but make devices and sockets */
    TC_LANDLOCK_OWN_TREE,   /* and make sockets: storage that is the cage's alone */
    TC_LANDLOCK_READ_FILE,  /* not a directory: read, execute */
    TC_LANDLOCK_WRITE_FILE, /* and write, truncate */
    TC_LANDLOCK_DEVICE,     /* a device node: read, write, ioctl */
    TC_LANDLOCK_LIST,       /* list directories, and nothing of their files */
    TC_LANDLOCK_DATA_TREE,  /* read, list */
    TC_LANDLOCK_DATA_FILE,  /* read */
};

/* Pure: the rights that a ruleset of this ABI handles (and so denies unless allowed), what one kind
 * of path gets of them, and the scopes that are closed. An abi below 1 has none, one over
 * TC_LANDLOCK_ABI_MAX counts as that. */
uint64_t tc_landlock_handled(int abi);
uint64_t tc_landlock_rights(int abi, enum tc_landlock_kind kind);
uint64_t tc_landlock_scoped(int abi);

/* The running kernel's ABI; 0 when Landlock is not there or off, with errno ENOSYS or EOPNOTSUPP.
 */
int tc_landlock_abi(void);
/* A new ruleset (close-on-exec descriptor) that denies all that the ABI handles, and of TCP ports
 * the rights `net`, which are the kernel's from ABI 4 on; -1 with errno. */
int tc_landlock_open(int abi, uint64_t net);
/* Allows what the kind says on the file or tree that path_fd (O_PATH will do) stands for; 0, or -1.
 */
int tc_landlock_allow(int ruleset, int abi, int path_fd, enum tc_landlock_kind kind);
/* Puts the calling thread under the ruleset; no_new_privs must be set. 0, or -1 with errno. */
int tc_landlock_restrict(int ruleset);

/* The same by path; -1 also where it cannot be opened. Allocates nothing. */
int tc_landlock_allow_path(int ruleset, int abi, const char *path, enum tc_landlock_kind kind);
/* Of a directory alone: nothing is done where there is none, or something else, a link too. */
int tc_landlock_allow_directory(int ruleset, int abi, const char *path, enum tc_landlock_kind kind);

#endif
