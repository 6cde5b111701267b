/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "policy/names/credentials.h"

#include <string.h>

#include "base/path.h"
#include "base/strv.h"

const char *const tc_credential_places[] = {
    /* keys and keyrings */
    ".ssh",
    ".gnupg",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".password-store",
    ".pki",
    ".age",
    ".config/sops",
    ".config/op",
    ".config/Bitwarden CLI",
    ".vault-token",
    ".config/rbw",
    /* clouds and clusters */
    ".aws",
    ".azure",
    ".config/gcloud",
    ".boto",
    ".s3cfg",
    ".config/rclone",
    ".oci",
    ".aliyun",
    ".bluemix",
    ".config/doctl",
    ".config/hcloud",
    ".config/linode-cli",
    ".config/scw",
    ".fly",
    ".config/heroku",
    ".kube",
    ".minikube",
    ".config/helm",
    ".docker",
    ".config/containers/auth.json",
    ".terraform.d",
    ".terraformrc",
    ".pulumi",
    ".ansible_vault_pass",
    /* developer services and package registries */
    ".netrc",
    ".authinfo",
    ".authinfo.gpg",
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".config/pypoetry/auth.toml",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".bundle/config",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".nuget/NuGet",
    ".config/stripe",
    ".config/wandb",
    ".huggingface",
    ".cache/huggingface/token",
    ".cache/huggingface/stored_tokens",
    ".kaggle",
    /* agents and models */
    ".claude.json",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini",
    ".config/github-copilot",
    ".cursor",
    ".config/openai",
    ".config/anthropic",
    ".local/share/opencode/auth.json",
    /* databases */
    ".pgpass",
    ".databrickscfg",
    ".snowflake",
    ".my.cnf",
    ".mylogin.cnf",
    ".mongorc.js",
    ".dbshell",
    ".config/redis",
    /* mail, chat, browsers, and data of packaged applications (Flatpak, snap) */
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    ".config/Slack",
    ".config/discord",
    ".config/Signal",
    ".local/share/TelegramDesktop",
    ".mutt",
    ".muttrc",
    ".msmtprc",
    ".fetchmailrc",
    ".var/app",
    "snap",
    /* histories of typed commands */
    ".bash_history",
    ".zsh_history",
    ".histfile",
    ".local/share/fish/fish_history",
    ".history",
    ".sh_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mysql_history",
    ".sqlite_history",
    ".rediscli_history",
    ".lesshst",
    ".viminfo",
    ".Xauthority",
    ".ICEauthority",
    NULL,
};

const char *const tc_home_open[] = {
    /* compilers and interpreters */
    ".asdf",
    ".bun",
    ".cargo",
    ".deno",
    ".fnm",
    ".ghcup",
    ".goenv",
    ".julia",
    ".linuxbrew",
    ".local/bin",
    ".local/lib",
    ".nodenv",
    ".nvm",
    ".opam",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".sdkman",
    ".volta",
    /* project directories, for a home that is also a project, as in many containers */
    ".circleci",
    ".devcontainer",
    ".eggs",
    ".git",
    ".github",
    ".gitlab",
    ".hg",
    ".husky",
    ".hypothesis",
    ".idea",
    ".ipynb_checkpoints",
    ".jj",
    ".mypy_cache",
    ".next",
    ".nox",
    ".nuxt",
    ".pytest_cache",
    ".ruff_cache",
    ".svn",
    ".tox",
    ".turbo",
    ".venv",
    ".vscode",
    ".yarn",
    NULL,
};

/* Matches the word or its plural, but not a longer word: "token" but not "tokenizer". */
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
