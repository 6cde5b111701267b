/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "call/packaged.h"

#include "call/call.h"
#include "call/result/result.h"
#include "provenance/provenance.h"
#include "spawn/spawn.h"
#include "system/system.h"

/* The packages' files, as "PACKAGE PATH" lines. */
static bool list_rpm(struct tc_buf *out)
{
    enum { LIMIT_MS = 60000 };
    static const char format[] = "[%{=NAME} %{FILENAMES}\n]";
    static const char *const argv[] = {"rpm", "-qa", "--qf", format, NULL};
    _autoprovenance_ struct tc_provenance writers;
    _autofree_ char *path =
        tc_provenance_here(&writers, NULL, NULL) ? tc_spawn_find(&writers, argv[0]) : NULL;
    return path && !tc_output_of(path, (char *const *)argv, LIMIT_MS, out);
}

bool tc_call_packaged(struct toolcage_engine *engine, const char *state, char **ret)
{
    return tc_system_now(tc_engine_system(engine), state, list_rpm, ret);
}
