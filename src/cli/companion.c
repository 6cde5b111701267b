/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The helper of `exec`, `run` and `call` is a fork of the command line. A fork inherits the
 * arguments and environment, which may contain keys, and the helper's memory is copied into the
 * first process of every cage. So the fork wipes both before it becomes the helper. The kernel
 * stores them in one contiguous block. */
#include "cli/companion.h"

#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "backend/engine/talk.h"
#include "backend/gvisor/runsc.h"
#include "backend/oci/config.h"
#include "base/cleanup.h"
#include "call/engine.h"
#include "engine/engine.h"
#include "helper/serve.h"

/* The block of the strings of argv and environ. */
static char *words_begin, *words_end;

/* Extends the block by the strings of a list. False: a string is not next to the one before it. */
static bool span(char **list)
{
    for (; *list && *list == words_end; list++)
        words_end += strlen(*list) + 1;
    return !*list;
}

static void become_helper(const char *state)
{
    static const char name[] = "toolcage-helper"; /* the name in process lists */
    static char *none[] = {NULL};
    size_t room = (size_t)(words_end - words_begin);
    explicit_bzero(words_begin, room);
    if (room >= sizeof(name))
        memcpy(words_begin, name, sizeof(name));
    (void)prctl(PR_SET_NAME, name, 0, 0, 0);
    environ = none;
    tc_helper_serve(state);
}

void tc_companion_offer(int argc, char **argv)
{
    static const char *const verbs[] = {"exec", "run", "call"};
    if (argc > 0 && strcmp(argv[0], TC_OCI_INIT) == 0)
        tc_inner_main(argc, argv);
    if (argc > 0 && strcmp(argv[0], TC_ENGINE_INIT) == 0)
        tc_engine_guest_main();
    if (argc > 0 && strcmp(argv[0], TC_OCI_KEEPER) == 0)
        tc_gvisor_shim_main(argv);
    if (argc < 2)
        return;
    words_begin = words_end = argv[0];
    if (!span(argv) || !span(environ))
        return; /* not everything could be wiped, so no fork is offered */
    for (size_t i = 0; i < TC_COUNT(verbs); i++)
        if (strcmp(argv[1], verbs[i]) == 0)
            tc_launch_within = become_helper;
}
