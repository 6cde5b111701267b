/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * libfyaml, loaded when the first policy in YAML comes. */
#include <dlfcn.h>

#include "base/cleanup.h"
#include "document/yaml/fyaml.h"

bool tc_fyaml_open(struct tc_fyaml *fyaml)
{
    static const char *const names[] = {
#define NAME(name) #name,
        TC_FYAML_FUNCTIONS(NAME)
#undef NAME
    };
    void *found[TC_COUNT(names)] = {0};
    size_t i = 0;
    fyaml->library = dlopen("libfyaml.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!fyaml->library)
        return false;
    for (size_t n = 0; n < TC_COUNT(names); n++)
        if (!(found[n] = dlsym(fyaml->library, names[n])))
            return false;
#define FILL(name) fyaml->name = (__typeof__(fyaml->name))found[i++];
    TC_FYAML_FUNCTIONS(FILL)
#undef FILL
    return true;
}

void tc_fyaml_close(struct tc_fyaml *fyaml)
{
    if (fyaml->library)
        (void)dlclose(fyaml->library);
    fyaml->library = NULL;
}
