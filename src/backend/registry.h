/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The only list of backends, by their parts. BACKEND(id) has tc_ID_planner and tc_ID_executor;
 * LOCATED(id) has tc_ID_locator, too. SECOND(id) has only an executor: no policy can name it,
 * another backend's executor passes calls to it. */
#ifndef TC_BACKEND_REGISTRY_H
#define TC_BACKEND_REGISTRY_H

#include "plan/backend.h"

#define TC_REGISTRY(BACKEND, LOCATED, SECOND) \
    BACKEND(process)                          \
    SECOND(landlock)                          \
    BACKEND(oci)                              \
    LOCATED(podman)                           \
    LOCATED(docker)                           \
    LOCATED(containerd)                       \
    BACKEND(gvisor)                           \
    LOCATED(wasm)                             \
    LOCATED(wasmedge)                         \
    LOCATED(qemu)                             \
    LOCATED(firecracker)                      \
    LOCATED(kata)                             \
    BACKEND(unconfined)

#define TC_DECLARE_FRONT_(id) extern const struct tc_planner tc_##id##_planner;
#define TC_DECLARE_WORKS_(id) extern const struct tc_executor tc_##id##_executor;
#define TC_DECLARE_LOCATOR_(id) extern const struct tc_locator tc_##id##_locator;
#define TC_NOTHING_(id)
TC_REGISTRY(TC_DECLARE_FRONT_, TC_DECLARE_FRONT_, TC_NOTHING_)
TC_REGISTRY(TC_NOTHING_, TC_DECLARE_LOCATOR_, TC_NOTHING_)
TC_REGISTRY(TC_DECLARE_WORKS_, TC_DECLARE_WORKS_, TC_DECLARE_WORKS_)
#undef TC_DECLARE_FRONT_
#undef TC_DECLARE_WORKS_
#undef TC_DECLARE_LOCATOR_
#undef TC_NOTHING_

#endif
