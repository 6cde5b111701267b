/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "linux/landlock_rules.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/sys.h"

/* Defined here with their ABI, because the build host's headers are older than running kernels. */
enum {
    FS_EXECUTE = 1 << 0,
    FS_WRITE_FILE = 1 << 1,
    FS_READ_FILE = 1 << 2,
    FS_READ_DIR = 1 << 3,
    FS_REMOVE_DIR = 1 << 4,
    FS_REMOVE_FILE = 1 << 5,
    FS_MAKE_CHAR = 1 << 6,
    FS_MAKE_DIR = 1 << 7,
    FS_MAKE_REG = 1 << 8,
    FS_MAKE_SOCK = 1 << 9,
    FS_MAKE_FIFO = 1 << 10,
    FS_MAKE_BLOCK = 1 << 11,
    FS_MAKE_SYM = 1 << 12,
    FS_REFER = 1 << 13,        /* ABI 2 */
    FS_TRUNCATE = 1 << 14,     /* ABI 3 */
    FS_IOCTL_DEV = 1 << 15,    /* ABI 5 */
    FS_RESOLVE_UNIX = 1 << 16, /* ABI 9 */
    SCOPE_ABSTRACT_UNIX = 1 << 0,
    SCOPE_SIGNAL = 1 << 1,
};

enum { FS_ABI_1 = (1 << 13) - 1 };

/* What each ABI handles; 4 added TCP ports, 7 logging flags and 8 thread synchronisation only. */
static const struct {
    uint32_t fs, scoped;
} abis[TC_LANDLOCK_ABI_MAX + 1] = {
    [1] = {FS_ABI_1, 0},
    [2] = {FS_ABI_1 | FS_REFER, 0},
    [3] = {FS_ABI_1 | FS_REFER | FS_TRUNCATE, 0},
    [4] = {FS_ABI_1 | FS_REFER | FS_TRUNCATE, 0},
    [5] = {FS_ABI_1 | FS_REFER | FS_TRUNCATE | FS_IOCTL_DEV, 0},
    [6] = {FS_ABI_1 | FS_REFER | FS_TRUNCATE | FS_IOCTL_DEV, SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL},
    [7] = {FS_ABI_1 | FS_REFER | FS_TRUNCATE | FS_IOCTL_DEV, SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL},
    [8] = {FS_ABI_1 | FS_REFER | FS_TRUNCATE | FS_IOCTL_DEV, SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL},
    [9] = {FS_ABI_1 | FS_REFER | FS_TRUNCATE | FS_IOCTL_DEV | FS_RESOLVE_UNIX,
           SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL},
};

enum {
    WRITES_TREE = FS_EXECUTE | FS_READ_FILE | FS_READ_DIR | FS_WRITE_FILE | FS_REMOVE_DIR |
                  FS_REMOVE_FILE | FS_MAKE_DIR | FS_MAKE_REG | FS_MAKE_FIFO | FS_MAKE_SYM |
                  FS_REFER | FS_TRUNCATE,
};

static const uint32_t kinds[] = {
    [TC_LANDLOCK_READ_TREE] = FS_EXECUTE | FS_READ_FILE | FS_READ_DIR,
    [TC_LANDLOCK_WRITE_TREE] = WRITES_TREE,
    [TC_LANDLOCK_OWN_TREE] = WRITES_TREE | FS_MAKE_SOCK,
    [TC_LANDLOCK_READ_FILE] = FS_EXECUTE | FS_READ_FILE,
    [TC_LANDLOCK_WRITE_FILE] = FS_EXECUTE | FS_READ_FILE | FS_WRITE_FILE | FS_TRUNCATE,
    [TC_LANDLOCK_LIST] = FS_READ_DIR,
    [TC_LANDLOCK_DATA_TREE] = FS_READ_FILE | FS_READ_DIR,
    [TC_LANDLOCK_DATA_FILE] = FS_READ_FILE,
    [TC_LANDLOCK_DEVICE] = FS_READ_FILE | FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV,
};

static int clamp(int abi)
{
    if (abi < 0)
        return 0;
    return abi > TC_LANDLOCK_ABI_MAX ? TC_LANDLOCK_ABI_MAX : abi;
}

uint64_t tc_landlock_handled(int abi)
{
    return abis[clamp(abi)].fs;
}

uint64_t tc_landlock_scoped(int abi)
{
    return abis[clamp(abi)].scoped;
}

uint64_t tc_landlock_rights(int abi, enum tc_landlock_kind kind)
{
    return kinds[kind] & abis[clamp(abi)].fs;
}

int tc_landlock_abi(void)
{
    long abi = tc_sys(SYS_landlock_create_ruleset, 0, 0, LANDLOCK_CREATE_RULESET_VERSION, 0, 0, 0);
    return abi < 0 ? 0 : (int)abi;
}

int tc_landlock_open(int abi, uint64_t net)
{
    /* The kernel's struct of ABI 6. Older kernels accept it as long as its tail is zero. */
    const struct {
        uint64_t fs, net, scoped;
    } attr = {tc_landlock_handled(abi), net, tc_landlock_scoped(abi)};
    return (int)tc_sys(SYS_landlock_create_ruleset, TC_ARG(&attr), sizeof(attr), 0, 0, 0, 0);
}

int tc_landlock_allow(int ruleset, int abi, int path_fd, enum tc_landlock_kind kind)
{
    const struct landlock_path_beneath_attr attr = {
        .allowed_access = tc_landlock_rights(abi, kind),
        .parent_fd = path_fd,
    };
    return (int)tc_sys(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, TC_ARG(&attr), 0,
                       0, 0);
}

int tc_landlock_restrict(int ruleset)
{
    return (int)tc_sys(SYS_landlock_restrict_self, ruleset, 0, 0, 0, 0, 0);
}

int tc_landlock_allow_path(int ruleset, int abi, const char *path, enum tc_landlock_kind kind)
{
    _autofd_ int fd = open(path, O_PATH | O_CLOEXEC);
    return fd < 0 ? -1 : tc_landlock_allow(ruleset, abi, fd, kind);
}

int tc_landlock_allow_directory(int ruleset, int abi, const char *path, enum tc_landlock_kind kind)
{
    _autofd_ int fd = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW | O_DIRECTORY);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 0 : -1;
    return tc_landlock_allow(ruleset, abi, fd, kind);
}
