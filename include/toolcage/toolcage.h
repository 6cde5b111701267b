/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * libtoolcage: run one tool call in a cage built for it. This header includes all others except
 * <toolcage/tools.h>. */
#ifndef TOOLCAGE_H
#define TOOLCAGE_H

#include <toolcage/call.h>
#include <toolcage/engine.h>
#include <toolcage/error.h>
#include <toolcage/policy.h>
#include <toolcage/result.h>
#include <toolcage/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "MAJOR.MINOR.PATCH" of the loaded library. Static text. */
const char *toolcage_version(void);

#ifdef __cplusplus
}
#endif
#endif
