/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The settings of backends as data: who carries them knows none of them, and a backend asks for its
 * own by name. */
#ifndef TC_POLICY_SETTINGS_H
#define TC_POLICY_SETTINGS_H

#include "base/strv.h"

/* Settings are "backend.key=value" in a policy and a grant; in a plan, which has one backend,
 * "key=value". The value, or NULL; borrows. */
const char *tc_setting(const struct tc_strv *settings, const char *name);
/* Is this a setting of the backend? Then what follows its name and the dot, else NULL. */
const char *tc_setting_of(const char *setting, const char *backend);

/* Adds "name=value". False: out of memory. */
bool tc_setting_add(struct tc_strv *settings, const char *name, const char *value);

#endif
