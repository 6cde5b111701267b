/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * usage: toolcage-attacks NAME [ARGUMENT…]
 *
 * Runs one attack by its name. The program has no knowledge of cages: the caller chooses the
 * environment, and checks the result from outside. */
#include "attack.h"

static const struct attack *const tables[] = {tc_attacks_files, tc_attacks_kernel,
                                              tc_attacks_machinery, tc_attacks_processes,
                                              tc_attacks_sockets};

static const struct attack *find(const char *name)
{
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        for (const struct attack *attack = tables[i]; attack->name; attack++) {
            if (strcmp(attack->name, name) == 0)
                return attack;
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const struct attack *attack = argc > 1 ? find(argv[1]) : NULL;
    if (!attack || argc < 2 + attack->arguments) {
        (void)fprintf(stderr, "toolcage-attacks: no such attack, or arguments missing\n");
        return 2;
    }
    attack->run(argv + 2);
    return 0;
}
