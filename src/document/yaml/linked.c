/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * In place of load.c in the command line: it is linked statically, and such a program has no
 * loader. What it does not use of the library is never read from its file. */
#include "document/yaml/fyaml.h"

bool tc_fyaml_open(struct tc_fyaml *fyaml)
{
#define FILL(name) fyaml->name = name;
    TC_FYAML_FUNCTIONS(FILL)
#undef FILL
    return true;
}

void tc_fyaml_close(struct tc_fyaml *fyaml)
{
}
