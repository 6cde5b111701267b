/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "egress/proxy/walls.h"

#include <limits.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/sys.h"
#include "linux/landlock_rules.h"
#include "linux/privileges.h"
#include "policy/endpoint.h"

/* ---- what it may be ---- */

static bool raise_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return false;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

static bool drop_capabilities(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};
    if (tc_drop_capabilities(TC_BOUNDING_IF_MAY) < 0)
        return false;
    memset(data, 0xff, sizeof(data));
    if (tc_sys(SYS_capget, TC_ARG(&head), TC_ARG(data), 0, 0, 0, 0) < 0)
        return false;
    return !data[0].effective && !data[0].permitted && !data[0].inheritable && !data[1].effective &&
           !data[1].permitted && !data[1].inheritable;
}

/* ---- Landlock ---- */

/* By number, because headers are older than kernels. */
enum { NET_BIND = 1 << 0, NET_CONNECT = 1 << 1, RULE_NET_PORT = 2, ABI_NET = 4, DNS_PORT = 53 };

/* Reading is in every ABI; what is not there needs no rule. */
static bool allow_path(int ruleset, const char *path, enum tc_landlock_kind kind)
{
    return tc_landlock_allow_path(ruleset, 1, path, kind) == 0 || errno == ENOENT;
}

/* The directory that a file really lies in: what writes it anew puts another file there. */
static bool allow_place_of(int ruleset, const char *file)
{
    char real[PATH_MAX];
    if (!realpath(file, real))
        return true;
    char *slash = strrchr(real, '/');
    if (slash == real)
        return allow_path(ruleset, real, TC_LANDLOCK_DATA_FILE);
    *slash = '\0';
    return allow_path(ruleset, real, TC_LANDLOCK_DATA_TREE);
}

static bool allow_paths(int ruleset)
{
    /* c-ares takes the numbers of its questions from the last one; without it they can be guessed
     */
    return allow_path(ruleset, "/etc", TC_LANDLOCK_DATA_TREE) &&
           allow_place_of(ruleset, "/etc/resolv.conf") && allow_place_of(ruleset, "/etc/hosts") &&
           allow_place_of(ruleset, "/etc/nsswitch.conf") &&
           allow_path(ruleset, "/dev/urandom", TC_LANDLOCK_DATA_FILE);
}

static bool allow_port(int ruleset, unsigned port)
{
    const struct {
        uint64_t access, port;
    } attr = {NET_CONNECT, port};
    return tc_sys(SYS_landlock_add_rule, ruleset, RULE_NET_PORT, TC_ARG(&attr), 0, 0, 0) == 0;
}

static bool allow_ports(int ruleset, const struct tc_egress_config *config)
{
    if (!allow_port(ruleset, DNS_PORT))
        return false;
    if (config->upstream.host && !allow_port(ruleset, config->upstream.port))
        return false;
    for (size_t i = 0; i < config->net_count; i++)
        if (!allow_port(ruleset, config->net[i].port & TC_PORT_NUMBER))
            return false;
    return true;
}

/* Landlock looks at TCP alone, and where any port is granted there is nothing to hold. */
static uint64_t held_ports(const struct tc_egress_config *config)
{
    for (size_t i = 0; i < config->net_count; i++)
        if (config->net[i].port == TC_PORT_ANY)
            return NET_BIND;
    return NET_BIND | NET_CONNECT;
}

/* Files to read for looking up names, and the ports of the grant; nothing is written or executed,
 * and no port taken. Where the kernel has no Landlock the filter of calls stands alone. */
static bool restrict_reach(const struct tc_egress_config *config)
{
    int abi = tc_landlock_abi();
    uint64_t net = abi >= ABI_NET ? held_ports(config) : 0;
    if (abi < 1)
        return true;
    _autofd_ int ruleset = tc_landlock_open(abi, net);
    return ruleset >= 0 && allow_paths(ruleset) &&
           (!(net & NET_CONNECT) || allow_ports(ruleset, config)) &&
           tc_landlock_restrict(ruleset) == 0;
}

/* ---- all ---- */

bool tc_egress_keep_shut(void)
{
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 && tc_fix_limit(RLIMIT_CORE, 0) == 0;
}

/* Where it says what it refuses to a file of its caller's, that may grow; and who started it may be
 * gone. */
static bool depend(bool alone)
{
    return alone ||
           (tc_fix_limit(RLIMIT_FSIZE, 0) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0);
}

bool tc_egress_walls(const struct tc_egress_config *config, bool alone)
{
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && raise_files() && restrict_reach(config) &&
           drop_capabilities() && depend(alone) && tc_egress_wall_calls();
}
