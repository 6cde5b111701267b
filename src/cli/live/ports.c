/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/live/ports.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/show/json.h"
#include "cli/show/say.h"
#include "cli/show/table.h"

void tc_ports_tell(const struct toolcage_call *session)
{
    char *json = NULL;
    if (toolcage_session_ports_json(session, &json, NULL))
        return;
    struct tc_scan_each each = tc_scan_walk(tc_json_get(tc_json_of(json), "ports"));
    while (tc_scan_next(&each)) {
        _autofree_ char *address = tc_json_line(tc_json_get(each.value, "address"));
        tc_cli_say("port %" PRId64 " of the session is published at %s",
                   tc_json_int(tc_json_get(each.value, "port"), 0), address ? address : "?");
    }
    toolcage_free(json);
}

int tc_ports_print(const char *name, const char *json)
{
    char *text = NULL;
    size_t size = 0, count = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return tc_cli_no_memory();
    struct tc_scan_each each = tc_scan_walk(tc_json_get(tc_json_of(json), "ports"));
    for (; tc_scan_next(&each); count++) {
        _autofree_ char *address = tc_json_line(tc_json_get(each.value, "address"));
        char sent[32], received[32];
        tc_table_size(sent, sizeof(sent), tc_json_int(tc_json_get(each.value, "sent"), 0));
        tc_table_size(received, sizeof(received),
                      tc_json_int(tc_json_get(each.value, "received"), 0));
        if (!count)
            (void)fprintf(out, "%5s  %11s  %9s  %9s  %s\n", "port", "connections", "sent",
                          "received", "address");
        (void)fprintf(out, "%5" PRId64 "  %11" PRId64 "  %9s  %9s  %s\n",
                      tc_json_int(tc_json_get(each.value, "port"), 0),
                      tc_json_int(tc_json_get(each.value, "connections"), 0), sent, received,
                      address ? address : "?");
    }
    int rc = tc_cli_print_text(TC_PAINT_ROWS, out, &text);
    if (!rc && !count)
        tc_cli_hint("session %s publishes no ports; toolcage session start --publish PORT NAME",
                    name);
    return rc;
}
