/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "policy/credentials.h"

#include <string.h>

#include "base/path.h"
#include "base/strv.h"

const char *const tc_credential_places[] = {
    ".ssh",
    ".aws",
    ".gnupg",
    ".kube",
    ".netrc",
    ".docker",
    ".npmrc",
    ".config/gh",
    ".mozilla",
    ".local/share/keyrings",
    ".config/google-chrome",
    ".config/chromium",
    ".pypirc",
    ".git-credentials",
    ".azure",
    ".config/gcloud",
    ".cargo/credentials.toml",
    NULL,
};

/* A token, but no tokenizer. */
static bool has_word(const char *path, const char *word)
{
    for (const char *at = strstr(path, word); at; at = strstr(at + 1, word)) {
        const char *end = at + strlen(word);
        end += *end == 's';
        if (!((*end >= 'a' && *end <= 'z') || (*end >= 'A' && *end <= 'Z')))
            return true;
    }
    return false;
}

bool tc_credential_path(const char *path)
{
    static const char *const parts[] = {"/.env",  "secret",   "token",     "credential",
                                        "passwd", "password", "id_rsa",    ".pem",
                                        ".key",   "keyring",  "id_ed25519"};
    for (size_t i = 0; tc_credential_places[i]; i++)
        if (tc_path_holds(path, tc_credential_places[i]))
            return true;
    for (size_t i = 0; i < TC_COUNT(parts); i++)
        if (has_word(path, parts[i]))
            return true;
    return tc_startswith(path, "/etc/shadow") || tc_startswith(path, "/etc/ssl/private");
}

bool tc_credential_variable(const char *name)
{
    static const char *const ends[] = {
        "TOKEN",  "SECRET", "PASSWORD", "PASSWD",      "PASSPHRASE", "_KEY", "_KEY_ID",
        "APIKEY", "_AUTH",  "_COOKIE",  "CREDENTIALS", "_PAT",       "_DSN", "AUTH_SOCK"};
    for (size_t i = 0; i < TC_COUNT(ends); i++)
        if (tc_endswith(name, ends[i]))
            return true;
    return strstr(name, "SECRET") != NULL;
}
