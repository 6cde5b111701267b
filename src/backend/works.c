/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The list of works, and the machine that they work on. */
#include <string.h>

#include "backend/backend.h"
#include "backend/engine/works.h"
#include "backend/fake_works.h"
#include "backend/landlock/works.h"
#include "backend/machine/works.h"
#include "backend/oci/works.h"
#include "backend/process/works.h"
#include "backend/wasm/works.h"
#include "cage/slots.h"

static const struct tc_works *const all[] = {
    &tc_process_works,  &tc_landlock_works,   &tc_oci_works,         &tc_podman_works,
    &tc_docker_works,   &tc_containerd_works, &tc_gvisor_works,      &tc_wasm_works,
    &tc_wasmedge_works, &tc_qemu_works,       &tc_firecracker_works, &tc_unconfined_works,
    &tc_fake_works};

const struct tc_machine *const tc_machine = &tc_local_machine;

const struct tc_works *tc_works_at(size_t index)
{
    return index < TC_COUNT(all) ? all[index] : NULL;
}

const struct tc_works *tc_works_find(const char *name)
{
    for (size_t i = 0; i < TC_COUNT(all); i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    return NULL;
}
