/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The only list of fronts. */
#include <string.h>

#include "backend/backend.h"

extern const struct tc_front tc_process_front, tc_oci_front, tc_gvisor_front, tc_wasm_front,
    tc_wasmedge_front, tc_podman_front, tc_docker_front, tc_containerd_front, tc_qemu_front,
    tc_firecracker_front, tc_fake_front, tc_unconfined_front;

static const struct tc_front *const fronts[] = {
    &tc_process_front,    &tc_oci_front,         &tc_podman_front, &tc_docker_front,
    &tc_containerd_front, &tc_gvisor_front,      &tc_wasm_front,   &tc_wasmedge_front,
    &tc_qemu_front,       &tc_firecracker_front, &tc_fake_front,   &tc_unconfined_front};

const struct tc_front *tc_front_at(size_t index)
{
    return index < TC_COUNT(fronts) ? fronts[index] : NULL;
}

const struct tc_front *tc_front_find(const char *name)
{
    for (size_t i = 0; name && i < TC_COUNT(fronts); i++)
        if (strcmp(fronts[i]->name, name) == 0)
            return fronts[i];
    return NULL;
}

char *tc_front_names(void)
{
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    for (size_t i = 0; i < TC_COUNT(fronts); i++)
        tc_buf_addf(&buf, "%s%s", i ? ", " : "", fronts[i]->name);
    return tc_buf_steal(&buf);
}
