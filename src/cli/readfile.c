/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/readfile.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *tc_cli_read_file(const char *path)
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *in = fopen(path, "re");
    ssize_t n = in ? getdelim(&bytes, &size, '\0', in) : -1;
    bool bad = !in || (n < 0 && ferror(in));
    if (in)
        (void)fclose(in);
    if (!bad)
        return n < 0 ? (free(bytes), strdup("")) : bytes;
    free(bytes);
    return NULL;
}
