/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A command line that uses the shared library holds none of the helper's code. */
#include "cli/companion.h"

void tc_companion_offer(int argc, char **argv)
{
    (void)argc;
    (void)argv;
}
