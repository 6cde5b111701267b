/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Where control groups are, on paper: mount tables and group lists of other machines. */
#include <string.h>

#include "linux/cgroup_impl.h"
#include "test.h"

struct place_case {
    const char *what, *groups, *mounts;
    const char *memory, *cpu, *cpuacct, *v2; /* own directories; NULL: none */
};

static const struct place_case cases[] = {
    {"systemd, unified", "0::/user.slice/user-1000.slice/user@1000.service/app.slice/a.scope\n",
     "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n", NULL, NULL,
     NULL, "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/a.scope"},
    {"hybrid, controllers mounted together",
     "5:memory:/jobs/a\n4:cpu,cpuacct:/jobs/a\n1:name=systemd:/x\n0::/x\n",
     "31 30 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
     "32 30 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
     "33 30 0:31 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
     "34 30 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
     "/sys/fs/cgroup/memory/jobs/a", "/sys/fs/cgroup/cpu,cpuacct/jobs/a",
     "/sys/fs/cgroup/cpu,cpuacct/jobs/a", "/sys/fs/cgroup/unified/x"},
    {"a container that sees its own part of the tree", "7:memory:/docker/0123\n",
     "90 80 0:30 /docker/0123 /sys/fs/cgroup/memory ro,nosuid master:12 - cgroup cgroup "
     "rw,memory\n",
     "/sys/fs/cgroup/memory", NULL, NULL, NULL},
    {"a container that sees another part", "7:memory:/docker/0123\n",
     "90 80 0:30 /docker/01 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", NULL, NULL, NULL,
     NULL},
    {"above a namespace's root", "0::/../../other\n",
     "30 23 0:26 /../.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", NULL, NULL, NULL, NULL},
    {"a namespace's root", "0::/\n", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", NULL,
     NULL, NULL, "/sys/fs/cgroup"},
    {"blanks in names", "0::/a b\n", "30 23 0:26 / /mnt/my\\040groups\\134x rw - cgroup2 none rw\n",
     NULL, NULL, NULL, "/mnt/my groups\\x/a b"},
    {"the first mount counts", "0::/a\n",
     "30 23 0:26 / /one rw - cgroup2 none rw\n31 23 0:26 / /two rw - cgroup2 none rw\n", NULL, NULL,
     NULL, "/one/a"},
    {"nothing mounted", "0::/\n", "22 27 0:21 / /proc rw - proc proc rw\n", NULL, NULL, NULL, NULL},
    {"no text", "", "", NULL, NULL, NULL, NULL},
    {"broken lines", "x\n:\n0:\n0::\n", "30 23\n - \n30 23 0:26 / /a rw - cgroup2\n", NULL, NULL,
     NULL, NULL},
};

static void same(const char *what, const char *got, const char *want)
{
    if ((got == NULL) != (want == NULL) || (got && strcmp(got, want) != 0))
        fail_msg("%s: %s in place of %s", what, got ? got : "(none)", want ? want : "(none)");
}

static void own_groups_are_found(void **state)
{
    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        struct tc_cgroup_places places;
        assert_true(tc_cgroup_places_parse(cases[i].groups, cases[i].mounts, &places));
        same(cases[i].what, places.v1[TC_CGROUP_MEMORY].own, cases[i].memory);
        same(cases[i].what, places.v1[TC_CGROUP_CPU].own, cases[i].cpu);
        same(cases[i].what, places.v1[TC_CGROUP_CPUACCT].own, cases[i].cpuacct);
        same(cases[i].what, places.v2.own, cases[i].v2);
        tc_cgroup_places_done(&places);
    }
}

static void words_are_whole(void **state)
{
    assert_true(tc_cgroup_has_word("cpu,cpuacct", ",", "cpu"));
    assert_true(tc_cgroup_has_word("cpuset cpu io\n", " \n", "cpu"));
    assert_true(tc_cgroup_has_word("memory pids\n", " \n", "pids"));
    assert_false(tc_cgroup_has_word("cpuset cpuacct", " ", "cpu"));
    assert_false(tc_cgroup_has_word("", " ", "cpu"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_groups_are_found),
        cmocka_unit_test(words_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
