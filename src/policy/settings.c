/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "policy/settings.h"

#include <string.h>

const char *tc_setting_of(const char *setting, const char *backend)
{
    size_t n = backend ? strlen(backend) : 0;
    return n && strncmp(setting, backend, n) == 0 && setting[n] == '.' ? setting + n + 1 : NULL;
}

const char *tc_setting(const struct tc_strv *settings, const char *name)
{
    return tc_strv_value(settings, name);
}

bool tc_setting_add(struct tc_strv *settings, const char *name, const char *value)
{
    return tc_strv_take(settings, tc_format("%s=%s", name, value));
}
