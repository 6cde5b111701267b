/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "policy/names/credentials.h"

#include <fnmatch.h>
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
    ".config/toolcage/secrets",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".config/pypoetry/auth.toml",
    ".config/pip/pip.conf",
    ".pip/pip.conf",
    ".condarc",
    ".conda/.condarc",
    ".config/conda",
    ".continuum",
    ".local/share/uv/credentials",
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

const char *const tc_home_programs[] = {
    ".local/pipx/venvs",
    ".local/share/fnm/node-versions",
    ".local/share/mise/installs",
    ".local/share/pipx/venvs",
    ".local/share/uv/python",
    ".local/share/uv/tools",
    NULL,
};

const char *const tc_prefix_credentials[] = {
    "pip.conf", ".condarc", "condarc", "etc/npmrc", ".npmrc", "etc/pip.conf", NULL,
};

/* Below /etc and /var/lib. A package's file is the same on every host until an administrator edits
 * it. These files are edited to name people, machines, networks and passwords. Programs that need
 * one of them cannot do their work in a cage. */
static const char *const closed_system[] = {
    /* users, logins and their rights */
    "passwd*",
    "group*",
    "shadow*",
    "gshadow*",
    "subuid*",
    "subgid*",
    "sudo*",
    "doas*",
    "pam.*",
    "pam_*",
    "security",
    "securetty",
    "login.defs",
    "login.access",
    "adduser.conf",
    "deluser.conf",
    "default",
    "skel",
    "authselect",
    "polkit-1",
    "nsswitch.conf",
    "nscd.conf",
    "nslcd.conf",
    "sssd",
    "krb5*",
    "kdc*",
    "gss*",
    "ldap*",
    "openldap",
    "*ldap*.conf",
    "yp*",
    "defaultdomain",
    "rad*",
    "freeradius",
    "duo",
    "*.keytab",
    "opie*",
    "libuser.conf",
    "idmapd.conf",
    "nfs*",
    "exports*",
    "auto.*",
    "auto*.conf",
    "environment",
    "environment.d",
    "motd*",
    "issue*",
    "update-motd.d",
    /* this host, and the network that it is in */
    "machine-id",
    "hostid",
    "hostname",
    "HOSTNAME",
    "machine-info",
    "hosts*",
    "host.conf",
    "gai.conf",
    "mailname",
    "networks",
    "network*",
    "netplan",
    "netctl",
    "NetworkManager",
    "ModemManager",
    "connman",
    "iwd",
    "wpa_supplicant*",
    "hostapd*",
    "bluetooth",
    "sysconfig",
    "conf.d",
    "resolv*",
    "dhc*",
    "dhclient*",
    "dnsmasq*",
    "bind",
    "named*",
    "unbound",
    "avahi",
    "ethers",
    "iproute2",
    "iptables*",
    "nftables*",
    "ufw",
    "firewalld",
    "shorewall*",
    "fail2ban",
    "wireguard",
    "openvpn*",
    "openconnect",
    "vpnc*",
    "ipsec*",
    "strongswan*",
    "swanctl",
    "racoon",
    "tinc",
    "nebula",
    "zerotier*",
    "tailscale*",
    "ppp",
    "chatscripts",
    "wvdial.conf",
    "stunnel*",
    "proxychains*",
    "tsocks.conf",
    "tor",
    "i2p*",
    "privoxy",
    "squid*",
    "ntp*",
    "chrony*",
    "geoclue",
    /* how it starts, and its services */
    "init.d",
    "inittab",
    "rc*",
    "runit",
    "runlevels",
    "sv",
    "local.d",
    "systemd",
    "dbus-1",
    "cron*",
    "anacron*",
    "incron*",
    "at.allow",
    "at.deny",
    "udev",
    "modprobe*",
    "modules*",
    "sysctl*",
    "tmpfiles.d",
    "binfmt.d",
    "initramfs*",
    "mkinit*",
    "dracut*",
    "kernel*",
    "grub*",
    "lilo*",
    "fstab*",
    "crypttab*",
    "lvm",
    "mdadm*",
    "multipath*",
    "iscsi",
    "zfs",
    "apparmor*",
    "selinux",
    "audit*",
    "rsyslog*",
    "syslog*",
    "logrotate*",
    "logcheck",
    "libvirt",
    "xen",
    "lxc",
    "lxd",
    "incus",
    "docker*",
    "containers",
    "containerd",
    "crio",
    "cni",
    "kube*",
    "rancher",
    "consul*",
    "nomad*",
    "vault*",
    "cloud",
    "waagent.conf",
    "google*",
    "boto*",
    "aws*",
    "azure*",
    "puppet*",
    "chef",
    "salt",
    "ansible",
    /* keys, and programs of the net whose configuration has logins */
    "ssh",
    "ssl/private",
    "pki/tls/private",
    "pki/nssdb",
    "letsencrypt",
    "acme*",
    "pacman.d/gnupg",
    "apt/auth.conf*",
    "apt/sources.list*",
    "apt/keyrings",
    "yum.repos.d",
    "zypp",
    "dnf/vars",
    "netrc",
    ".*",
    "*rhosts*",
    "pip.conf",
    "npmrc",
    "yarnrc*",
    "wgetrc",
    "curlrc",
    "gitconfig",
    "subversion/servers",
    "davfs2",
    "fuse.conf",
    "cifs*",
    "samba",
    "smb*",
    "rsync*",
    "cups*",
    "X11/xdm",
    "snmp/snmpd*",
    "snmp/snmptrapd*",
    /* mail */
    "exim*",
    "postfix",
    "mail",
    "mail.rc",
    "mailutils*",
    "aliases*",
    "email-addresses",
    "sendmail*",
    "*smtp*",
    "nullmailer",
    "dma",
    "mutt*",
    "Mutt*",
    "neomutt*",
    "fetchmail*",
    "procmail*",
    "dovecot",
    "cyrus*",
    "imap*",
    "courier",
    "sasl*",
    /* databases, servers of the web, and what uses them */
    "mysql",
    "my.cnf*",
    "mariadb*",
    "postgresql",
    "pg_service.conf",
    "odbc.ini",
    "freetds",
    "redis*",
    "mongo*",
    "rabbitmq",
    "mosquitto",
    "cassandra",
    "influxdb*",
    "elasticsearch",
    "apache2",
    "httpd",
    "nginx",
    "lighttpd",
    "caddy",
    "haproxy*",
    "tomcat*",
    "php/*/fpm",
    "php/*/apache2",
    "php-fpm*",
    "dbconfig-common",
    "phpmyadmin",
    "grafana*",
    "prometheus",
    "zabbix*",
    "nagios*",
    "icinga*",
    "munin*",
    "telegraf",
    "bacula*",
    "ceph",
    NULL,
};

bool tc_credential_system(const char *path)
{
    static const char *const tops[] = {"/etc/", "/var/lib/"};
    for (size_t t = 0; t < TC_COUNT(tops); t++)
        for (size_t i = 0; tc_startswith(path, tops[t]) && closed_system[i]; i++)
            if (fnmatch(closed_system[i], path + strlen(tops[t]), FNM_PATHNAME | FNM_LEADING_DIR) ==
                0)
                return true;
    return tc_credential_path(path);
}

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

static const char token_letters[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.~+/";

/* Does a token begin here? It is long and has a digit; a placeholder like {secret} is none. */
static bool is_token(const char *at)
{
    enum { SHORTEST = 16 };
    size_t n = strspn(at, token_letters);
    return n >= SHORTEST && strcspn(at, "0123456789") < n;
}

const char *tc_credential_token(const char *text)
{
    static const char *const before[] = {"Bearer ", "Basic ",        "token ",      "api_key=",
                                         "apikey=", "access_token=", "X-Api-Key: ", "x-api-key: "};
    static const char *const prefixes[] = {
        "sk-",   "sk_live_", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-",   "xoxb-",
        "xoxp-", "AKIA",     "AIza", "npm_", "hf_",  "xapp-",       "lin_api_", "sk_test_"};
    for (size_t i = 0; i < TC_COUNT(before); i++) {
        const char *at = strstr(text, before[i]);
        if (at && is_token(at + strlen(before[i])))
            return at + strlen(before[i]);
    }
    for (size_t i = 0; i < TC_COUNT(prefixes); i++) {
        const char *at = strstr(text, prefixes[i]);
        if (at && (at == text || !strchr(token_letters, at[-1])) && is_token(at))
            return at;
    }
    return NULL;
}
