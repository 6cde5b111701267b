/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Asks the policy's list of steering files. */
#include "cli/hook/steers.h"

#include "policy/names/steering.h"

bool tc_hook_steers(const char *directory, const char *relative)
{
    enum tc_steers steers = tc_steers(NULL, directory, relative);
    return steers != TC_STEERS_NOT && steers != TC_STEERS_RECORD;
}
