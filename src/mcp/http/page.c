/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The operator's web page. It shows text that tools and models chose, so its headers let it load
 * and run nothing except its own files, and let no other page embed or script it. */
#include <string.h>

#include "mcp/http/web.h"
#include "serve/console.h"

static const struct {
    const char *name, *value;
} headers[] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' "
     "data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
     "require-trusted-types-for 'script'; trusted-types 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cache-Control", "no-store"},
};

enum MHD_Result tc_page_send(struct MHD_Connection *connection, const char *url)
{
    const struct tc_console_file *file = tc_console_find(url);
    struct MHD_Response *response =
        file ? MHD_create_response_from_buffer(strlen(file->text), (void *)(uintptr_t)file->text,
                                               MHD_RESPMEM_PERSISTENT)
             : NULL;
    if (!response)
        return MHD_NO;
    bool good = MHD_add_response_header(response, "Content-Type", file->type) == MHD_YES;
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
        good =
            good && MHD_add_response_header(response, headers[i].name, headers[i].value) == MHD_YES;
    enum MHD_Result result = good ? MHD_queue_response(connection, MHD_HTTP_OK, response) : MHD_NO;
    MHD_destroy_response(response);
    return result;
}
