/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#ifndef TC_BACKEND_ENGINE_WORKS_H
#define TC_BACKEND_ENGINE_WORKS_H

#include "backend/backend.h"

extern const struct tc_works tc_podman_works, tc_docker_works, tc_containerd_works;

#endif
