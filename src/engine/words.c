/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What engines say of themselves, as words for people. */
#include <jansson.h>
#include <string.h>

#include "base/fd.h"
#include "base/strv.h"
#include "engine/life.h"

/* Printable ASCII and whole characters of UTF-8 that jansson has let through; no line ends, and
 * nothing that a terminal would obey. */
void tc_engine_words(char to[TC_ENGINE_TEXT_MAX], const char *from)
{
    size_t n = 0;
    for (; *from && n + 1 < TC_ENGINE_TEXT_MAX; from++) {
        char c = *from >= ' ' && *from <= '~' ? *from : ' ';
        if (c != ' ' || (n && to[n - 1] != ' '))
            to[n++] = c;
    }
    while (n && to[n - 1] == ' ')
        n--;
    memset(to + n, 0, TC_ENGINE_TEXT_MAX - n);
}

void tc_engine_say(int kind, const char *text)
{
    struct tc_engine_said said = {.kind = kind};
    tc_engine_words(said.text, text);
    (void)tc_send(TC_ENGINE_CONTROL, &said, sizeof(said), NULL, 0);
}

/* "crun version 1.8.1\ncommit: …" or "1.1.5+ds1": from the first digit to the end of the word. */
static void add_version(struct tc_buf *out, const char *text)
{
    const char *at = text ? text + strcspn(text, "0123456789") : "";
    tc_buf_addf(out, " %.*s", (int)(strcspn(at, " \n\t")), at);
}

/* "Podman Engine 4.3.1, crun 1.8.1" */
char *tc_engine_about(const char *version)
{
    static const char *const runtimes[] = {"crun", "runc", "runsc"};
    json_t *v = json_loads(version, 0, NULL);
    const json_t *parts = json_object_get(v, "Components");
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    for (size_t k = 0; k < json_array_size(parts); k++) {
        const json_t *part = json_array_get(parts, k);
        const char *name = json_string_value(json_object_get(part, "Name"));
        const char *number = json_string_value(json_object_get(part, "Version"));
        if (k == 0) {
            const char *what = name && strcmp(name, "Engine") == 0 ? "Docker Engine" : name;
            tc_buf_addf(&out, "%.40s", what ? what : "an engine without a name");
            add_version(&out, number);
            continue;
        }
        for (size_t r = 0; name && r < TC_COUNT(runtimes); r++)
            if (strstr(name, runtimes[r])) {
                tc_buf_addf(&out, ", %s", runtimes[r]);
                add_version(&out, number);
                break;
            }
    }
    if (!out.len)
        tc_buf_adds(&out, "an engine that does not say who it is");
    json_decref(v);
    return tc_buf_steal(&out);
}
