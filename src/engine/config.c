/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What the program before an engine is told of its container, over the wire. */
#include <stdlib.h>

#include "engine/engine.h"

void tc_engine_config_visit(struct tc_wire *w, struct tc_engine_config *config)
{
    char **texts[] = {&config->engine, &config->repository, &config->tag,
                      &config->name,   &config->create,     &config->client,
                      &config->label,  &config->runtime,    &config->fifos};
    tc_wire_format(w, "engine-4");
    for (size_t i = 0; i < TC_COUNT(texts); i++)
        tc_wire_str(w, texts[i]);
    tc_wire_i64(w, &config->patience_ms);
    tc_wire_i64(w, &config->stale_s);
    TC_WIRE_INT(w, config->about);
    TC_WIRE_INT(w, config->sweep);
    TC_WIRE_INT(w, config->attach);
}

void tc_engine_config_done(struct tc_engine_config *config)
{
    char *texts[] = {config->engine, config->repository, config->tag,
                     config->name,   config->create,     config->client,
                     config->label,  config->runtime,    config->fifos};
    for (size_t i = 0; i < TC_COUNT(texts); i++)
        free(texts[i]);
    *config = (struct tc_engine_config){0};
}
