/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Grants and images: a name becomes the root that has it now. */
#ifndef TC_CALL_HOST_IMAGES_H
#define TC_CALL_HOST_IMAGES_H

#include "policy/policy.h"

/* When the backend is chosen. *ret_lock keeps the root from being removed while the call lives; -1
 * where there is none. `explain`: an image that is missing keeps its name. */
int tc_image_extend(const struct toolcage_policy *policy, bool explain, struct tc_grant *grant,
                    int *ret_lock, struct toolcage_error **err);

#endif
