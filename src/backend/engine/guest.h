/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#ifndef TC_BACKEND_ENGINE_GUEST_H
#define TC_BACKEND_ENGINE_GUEST_H

/* The first program in a container of an engine's: the helper's file under another name. Never
 * returns. */
_Noreturn void tc_engine_guest_main(void);

#endif
