/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Our other programs. */
#ifndef TC_CAGE_BESIDE_H
#define TC_CAGE_BESIDE_H

/* A descriptor of the program of this name beside this one, or where an installed one has it;
 * nowhere else, whatever PATH says. -1, and what is wrong, as the end of a sentence. */
int tc_beside(const char *name, const char **ret_lack);

#endif
