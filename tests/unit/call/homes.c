/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Whose homes are known, and what is closed in one. */
#include "call/host/facts.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "test.h"

static void homes_include_the_sudo_users_home(void **state)
{
    _autostrv_ struct tc_strv homes = {0}, sudo = {0}, none = {0};
    const struct passwd *own = getpwuid(getuid());
    const char *home = own && strcmp(own->pw_dir, "/") != 0 ? own->pw_dir : NULL;
    _autofree_ char *mine = home ? strdup(home) : NULL;
    const struct passwd *other = getpwnam("daemon"); /* who never logs in */
    if (!other)
        skip();
    char uid[16];
    (void)snprintf(uid, sizeof(uid), "%u", other->pw_uid);
    _autofree_ char *theirs = strdup(other->pw_dir);
    assert_int_equal(unsetenv("SUDO_UID"), 0);
    bool known;
    assert_true(tc_homes("/tmp/./no-such//home/", &homes, &known));
    assert_true(known);
    assert_string_equal(homes.items[0], "/tmp/no-such/home");
    assert_true(!mine || tc_strv_has(&homes, mine));
    assert_false(tc_strv_has(&homes, theirs));
    assert_int_equal(setenv("SUDO_UID", uid, 1), 0);
    assert_true(tc_homes("relative", &sudo, &known));
    assert_true(tc_strv_has(&sudo, theirs));
    assert_false(tc_strv_has(&sudo, "relative"));
    assert_int_equal(unsetenv("SUDO_UID"), 0);
    assert_true(tc_homes(NULL, &none, &known));
    assert_int_equal(known, own != NULL);
    assert_true(!mine || tc_strv_has(&none, mine));
}

static void make(const char *home, const char *name, bool directory)
{
    _autofree_ char *path = tc_path_join(home, name);
    int fd = directory ? mkdir(path, 0700) : open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    if (!directory)
        (void)close(fd);
}

static bool closed(const struct tc_strv *places, const char *home, const char *name)
{
    _autofree_ char *path = tc_path_join(home, name);
    return tc_strv_has(places, path);
}

static void directories_of_a_home_closed_to_others_are_found(void **state)
{
    static const char *const directories[] = {".of-no-list",  ".cargo", ".local", ".local/bin",
                                              ".local/share", "work",   "keys"};
    char home[] = "/tmp/toolcage-unit-XXXXXX";
    assert_non_null(mkdtemp(home));
    for (size_t i = 0; i < TC_COUNT(directories); i++)
        make(home, directories[i], true);
    make(home, ".bashrc", false);
    _autofree_ char *link = tc_path_join(home, ".aws"), *plain = tc_path_join(home, ".now");
    assert_int_equal(symlink("keys", link), 0);
    assert_int_equal(symlink("work", plain), 0);
    _autostrv_ struct tc_strv places = {0}, none = {0};
    assert_true(tc_home_closed(home, &places));
    assert_int_equal(places.count, 3);
    assert_true(closed(&places, home, ".of-no-list"));
    assert_true(closed(&places, home, ".local/share"));
    assert_true(closed(&places, home, "keys")); /* where the keys really are */
    assert_true(tc_home_closed("/no/such/home", &none));
    assert_int_equal(none.count, 0);
    char command[64];
    (void)snprintf(command, sizeof(command), "rm -r %s", home);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(homes_include_the_sudo_users_home),
        cmocka_unit_test(directories_of_a_home_closed_to_others_are_found)};
    return cmocka_run_group_tests_name("homes", tests, NULL, NULL);
}
