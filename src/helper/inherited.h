/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#ifndef TC_HELPER_INHERITED_H
#define TC_HELPER_INHERITED_H

/* Puts away what the helper has from its host and would hand on to every cage. */
void tc_inherited_reset(void);

#endif
