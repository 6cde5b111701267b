/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The program toolcage-helper: started only by the library, or as the first program of a
 * container. */
#include <string.h>

#include "backend/engine/talk.h"
#include "backend/gvisor/runsc.h"
#include "backend/oci/config.h"
#include "engine/engine.h"
#include "helper/serve.h"

int main(int argc, char **argv)
{
    if (argc > 0 && strcmp(argv[0], TC_OCI_INIT) == 0)
        tc_inner_main(argc, argv);
    if (argc > 0 && strcmp(argv[0], TC_ENGINE_INIT) == 0)
        tc_engine_guest_main();
    if (argc > 0 && strcmp(argv[0], TC_OCI_KEEPER) == 0)
        tc_gvisor_shim_main(argv);
    tc_helper_serve(argc > 1 ? argv[1] : NULL);
}
