/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Runs the helper as a fork of this program. Starting a separate program costs a fifth of a short
 * call, so exec and call, which create one helper and exit, fork it if the helper's code is linked
 * in. Long-lived verbs (servers, shells) start the helper program, as every other user of the
 * library does. */
#ifndef TC_CLI_COMPANION_H
#define TC_CLI_COMPANION_H

/* Call first in main(): records the memory that the fork must wipe, before anything else is read.
 * Does not return if this program is PID 1 of a container. */
#ifdef TC_CLI_ALONE /* uses the shared library, without the helper's code */
static inline void tc_companion_offer(int argc, char **argv)
{
    (void)argc;
    (void)argv;
}
#else
void tc_companion_offer(int argc, char **argv);
#endif

#endif
