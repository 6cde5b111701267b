/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Chooses the hint for a cage that cannot be built, by inspecting the host. */
#include "cage/init_config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "base/fd.h"
#include "linux/userns.h"

/* The flags are those of docker and podman; docs/places.md has other engines. */
#define CONTAINER                                                                         \
    "--security-opt seccomp=unconfined --security-opt systempaths=unconfined (podman: "   \
    "unmask=ALL; "                                                                        \
    "Kubernetes: seccompProfile Unconfined, procMount Unmasked, hostUsers false); where " \
    "AppArmor is on also --security-opt apparmor=unconfined"

static const char too_many[] =
    "allow more user namespaces: sysctl user.max_user_namespaces=15000; a sandbox that sets it to "
    "0 (bwrap --disable-userns) must leave that out";
static const char apparmor[] =
    "install the AppArmor profiles that toolcage ships (packaging/apparmor-toolcage, see "
    "docs/places.md), or: sysctl kernel.apparmor_restrict_unprivileged_userns=0";
static const char forbidden[] = "sysctl kernel.unprivileged_userns_clone=1";
static const char filtered[] = "a seccomp filter restricts this process, as in a container: start "
                               "the container with " CONTAINER;
static const char userns[] = "allow user namespaces for ordinary users (docs/places.md lists the "
                             "settings that forbid them); a container needs " CONTAINER;
static const char privilege[] =
    "start the container as an ordinary user (--user 1000:1000) with " CONTAINER
    "; root also needs --cap-add SYS_ADMIN";
static const char covered[] = "the kernel refuses a new /proc while parts of the current one are "
                              "covered: unmount these mounts; start a container with " CONTAINER;
static const char mount_api[] =
    "the helper needs the kernel's mount API (5.12 or newer); `toolcage "
    "doctor` shows what is missing";
static const char nftables[] =
    "a host with any port needs nf_tables in the kernel (modprobe nft_redir), or name its ports";
static const char other[] = "`toolcage doctor` shows what this host lacks; docs/places.md lists "
                            "what each environment needs";

static bool says(const char *path, const char *text)
{
    _autobuf_ struct tc_buf found = TC_BUF_INIT;
    return tc_read_file(AT_FDCWD, path, &found) == 0 && found.data && strstr(found.data, text);
}

#define KERNEL "/proc/sys/kernel/"
enum { ANY = -1 };

/* The first matching row is used: cause, kernel errno (0: any), and a text that a file must
 * contain. The last row always matches. */
static const struct {
    int lack, errnum;
    const char *path, *text, *fix;
} rows[] = {
    {TC_LACK_PRIVILEGE, 0, NULL, NULL, privilege},
    {TC_LACK_MOUNT, 0, NULL, NULL, mount_api},
    {TC_LACK_PROC, EPERM, NULL, NULL, covered},
    {TC_LACK_PROC, 0, NULL, NULL, other},
    {TC_LACK_FILTER, EPERM, NULL, NULL, other},
    {TC_LACK_FILTER, 0, NULL, NULL, nftables},
    {ANY, ENOSPC, NULL, NULL, too_many},
    {ANY, EUSERS, NULL, NULL, too_many},
    {TC_LACK_USERNS, 0, KERNEL "unprivileged_userns_clone", "0", forbidden},
    {TC_LACK_USERNS, 0, KERNEL "apparmor_restrict_unprivileged_userns", "1", apparmor},
    {TC_LACK_USERNS, 0, "/proc/self/status", "\nSeccomp:\t2", filtered},
    {TC_LACK_USERNS, 0, NULL, NULL, userns},
    {ANY, EPERM, "/proc/self/status", "\nSeccomp:\t2", filtered},
    {ANY, ENOSYS, "/proc/self/status", "\nSeccomp:\t2", filtered},
    {ANY, 0, NULL, NULL, other},
};

static const char *choose(enum tc_process_lack lack, int errnum)
{
    if ((lack == TC_LACK_MOUNT && errnum == EINVAL) || (lack == TC_LACK_USERNS && errnum == EPERM))
        if (tc_userns_chrooted())
            return TC_USERNS_CHROOT_FIX;
    for (size_t i = 0; i < TC_COUNT(rows); i++)
        if ((rows[i].lack == ANY || rows[i].lack == (int)lack) &&
            (!rows[i].errnum || rows[i].errnum == errnum) &&
            (!rows[i].path || says(rows[i].path, rows[i].text)))
            return rows[i].fix;
    return other;
}

/* Preserves errno for the caller's message. */
const char *tc_process_fix(enum tc_process_lack lack, int errnum)
{
    int saved = errno;
    const char *fix = choose(lack, errnum);
    errno = saved;
    return fix;
}
