/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#ifndef TC_BACKEND_FAKE_WORKS_H
#define TC_BACKEND_FAKE_WORKS_H

#include "backend/backend.h"

extern const struct tc_works tc_fake_works;       /* plays a script */
extern const struct tc_works tc_unconfined_works; /* runs the tool with no cage at all */

#endif
