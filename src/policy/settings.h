/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The settings of backends as opaque data: only a backend interprets its own settings, by name. */
#ifndef TC_POLICY_SETTINGS_H
#define TC_POLICY_SETTINGS_H

#include "base/strv.h"

/* The value of a setting, or NULL; borrows. Settings are "backend.key=value" in a policy and a
 * grant; in a plan, which has one backend, "key=value". */
const char *tc_setting(const struct tc_strv *settings, const char *name);
/* The part after "BACKEND." if the setting belongs to the backend, else NULL. */
const char *tc_setting_of(const char *setting, const char *backend);

/* Adds "name=value". False: out of memory. */
bool tc_setting_add(struct tc_strv *settings, const char *name, const char *value);

#endif
