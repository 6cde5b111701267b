/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Which mount tables speak of nothing but this machine's own disks and memory. */
#include "tree/tree.h"

#include <stdio.h>

#include "../backend/test.h"

#define ROOT "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"

static void own_disks_are_local(void **state)
{
    assert_true(tc_tree_mounts_local(ROOT));
    assert_true(tc_tree_mounts_local(ROOT "23 22 0:5 / /proc rw - proc proc rw\n"
                                          "24 22 0:6 / /tmp rw - tmpfs tmpfs rw\n"
                                          "25 22 0:7 / /srv rw - xfs /dev/sdb rw"));
    assert_true(tc_tree_mounts_local("22 1 0:9 / / rw - overlay overlay rw,lowerdir=/a\n"));
}

static void other_file_systems_are_not_local(void **state)
{
    static const char *const lines[] = {
        "30 22 0:40 / /mnt/share rw - nfs4 server:/export rw\n",
        "30 22 0:40 / /home/x/sshfs rw - fuse.sshfs x@host: rw\n",
        "30 22 0:40 / /data rw - fuse /dev/fuse rw\n",
        "30 22 0:40 / /src rw - 9p share rw\n",
        "30 22 0:40 / /src rw - virtiofs share rw\n",
        "30 22 0:40 / /efi rw - autofs systemd-1 rw\n",
        "30 22 0:40 / /data rw - something-new none rw\n",
        "30 22 0:40 / /data rw - ext rw rw\n",
        "30 22 0:40 / /procession rw - fuse /dev/fuse rw\n",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char text[512];
        (void)snprintf(text, sizeof(text), "%s%s", ROOT, lines[i]);
        if (tc_tree_mounts_local(text))
            fail_msg("taken for local: %s", lines[i]);
    }
}

static void below_the_kernels_places_none_is_granted(void **state)
{
    assert_true(tc_tree_mounts_local(
        ROOT "31 23 0:41 / /proc/sys/fs/binfmt_misc rw,relatime shared:2 - autofs systemd-1 rw\n"));
    assert_true(tc_tree_mounts_local(ROOT "31 23 0:41 / /sys/fs/x rw - fuse.lxcfs lxcfs rw\n"));
}

static void unreadable_mount_table_is_not_local(void **state)
{
    assert_false(tc_tree_mounts_local(""));
    assert_false(tc_tree_mounts_local("nonsense\n"));
    assert_false(tc_tree_mounts_local(ROOT "30 22 0:40 / /data rw\n" ROOT));
    assert_false(tc_tree_mounts_local(ROOT "\n"));
    assert_false(tc_tree_mounts_local("30 - \n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_disks_are_local),
        cmocka_unit_test(other_file_systems_are_not_local),
        cmocka_unit_test(below_the_kernels_places_none_is_granted),
        cmocka_unit_test(unreadable_mount_table_is_not_local),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
