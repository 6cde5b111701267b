/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The only list of backends, with the parts that each has. BACKEND(id): tc_ID_planner and
 * tc_ID_executor. LOCATED(id): tc_ID_locator, too. SECOND(id): only tc_ID_executor; a policy cannot
 * name this backend, the executor of another backend passes calls to it. */
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
