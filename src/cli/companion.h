/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The helper as a fork of this program. Starting a program of its own costs a fifth of a short
 * call, so exec and call, which make one and end, do without it where the helper's code is linked
 * in. What lives longer (servers, shells) takes the program, as everybody who uses the library. */
#ifndef TC_CLI_COMPANION_H
#define TC_CLI_COMPANION_H

/* First of all in main(): what is wiped in the fork is there before anything was read. Where this
 * program is the first in a container it never returns. */
#ifdef TC_CLI_ALONE /* it uses the shared library, and holds none of the helper's code */
static inline void tc_companion_offer(int argc, char **argv)
{
    (void)argc;
    (void)argv;
}
#else
void tc_companion_offer(int argc, char **argv);
#endif

#endif
