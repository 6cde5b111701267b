/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "base/cleanup.h"
#include "plan/backend.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

static const struct {
    const char *text, *has, *hasnot;
} rows[] = {
    {"Docker Engine 20.10.24+dfsg1, runc 1.1.5+ds1", "CVE-2024-21626 fixed in runc 1.1.12", NULL},
    {"Docker Engine 20.10.24+dfsg1, runc 1.1.5+ds1", "CVE-2025-31133", "CVE-2019-5736"},
    {"runc 1.1.12", "fixed in runc 1.2.8", "CVE-2024-21626"},
    {"runc 1.2.8", NULL, "CVE"},
    {"runc 1.2.7", "fixed in runc 1.2.8", NULL},
    {"runc 1.3.2", "fixed in runc 1.3.3", NULL},
    {"runc 1.3.3", NULL, "CVE"},
    {"runc 1.4.0", NULL, "CVE"},
    {"runc 0.1.1", "CVE-2019-5736", NULL},
    {"crun 1.8.1", "CVE-2025-24965", NULL},
    {"crun 1.20", NULL, "CVE"},
    {"crun 1.21.1", NULL, "CVE"},
    {"Podman Engine 4.3.1, crun 1.19", "CVE-2025-24965", "runc"},
    {"runc of the moon, runc 1.1.5", "CVE-2025-31133", NULL},
    {"runc of the moon", NULL, "CVE"},
    {"runc", NULL, "CVE"},
    {"runcX 1.0.0", NULL, "CVE"},
    {"runc 99999999999999999999.1", NULL, "CVE-2019"},
    {"", NULL, "CVE"},
};

static void known_versions_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autofree_ char *said = tc_known_escapes(rows[i].text);
        assert_non_null(said);
        if ((rows[i].has && !strstr(said, rows[i].has)) ||
            (rows[i].hasnot && strstr(said, rows[i].hasnot)) || (!rows[i].has && said[0]))
            fail_msg("%s: %s", rows[i].text, said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(known_versions_are_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
