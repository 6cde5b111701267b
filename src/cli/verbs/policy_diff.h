/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#ifndef TC_CLI_VERBS_POLICY_DIFF_H
#define TC_CLI_VERBS_POLICY_DIFF_H

#include <stdbool.h>

/* The library's list of changes as text: "+ more", "- less", "  neither" (`brief`: only their
 * number), each below its place. "" where there is none. Owned; NULL without memory. */
char *tc_policy_diff_text(const char *json, bool brief);

#endif
