/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Texts and what is found in them, with exact places. */
#include "test.h"

#include "base/fd.h"
#include "policy/parse/keys.h"

#include <fcntl.h>

struct row {
    const char *text;
    uint32_t line, column;
    const char *subject, *message, *hint;
};

static struct toolcage_error *findings_of(const char *text, size_t length)
{
    struct toolcage_policy *policy = NULL;
    struct toolcage_error *err = NULL;
    int rc = tc_policy_compile(text, length, "t.toml", "/srv/p", "/home/me", &policy, &err);
    if (policy)
        print_error("nothing is found in %s\n", text);
    assert_null(policy);
    assert_int_equal(rc, TOOLCAGE_EPOLICY);
    assert_non_null(err);
    return err;
}

#define T "[tool.x]\n"
#define S "[server.x]\n"
#define CLOSED "{\"type\":\"object\",\"additionalProperties\":false,"
/* An input schema of one property, and with a definition. */
#define N(property) T "input_schema = '" CLOSED "\"properties\":{\"n\":" property "}}'\n"
#define D(property, definition)                                                                    \
    T "input_schema = '" CLOSED "\"properties\":{\"n\":" property "},\"$defs\":{\"d\":" definition \
      "}}'\n"
#define IN "tool.x.input_schema.properties.n"

static const struct row rows[] = {
    {"a = \n", 1, 5, "", "syntax error in key-value pair", "TOML"},
    {T "timeout = \"1s\"\ntimeout = \"2s\"\n", 3, 11, "", "cannot redefine",
     "the file has it twice"},
    {T "timeout = 30s\n", 2, 13, "", "decimal integer", "in quotes, as in \"30s\""},
    {"[tool\xd2\x8a]\n", 1, 6, "", "allowed only in quotes", "TOML"},
    {"a = \"x\" \xe2\x80\x83\n", 1, 9, "", "allowed only in quotes", "TOML"},
    {"[`tool.x]\n", 1, 2, "", "allowed only in quotes", "TOML"},
    {"a = /data\n", 1, 5, "", "allowed only in quotes", "TOML"},
    {T "url = \"https://example.com/mcp\"\n", 2, 1, "tool.x.url", "unknown key", ""},
    {S "url = \"http://example.com/mcp\"\n", 2, 7, "server.x.url", "without TLS", "loopback"},
    {S "url = \"https://example.com:b@example.com/mcp\"\n", 2, 7, "server.x.url", "has a user name",
     "https://mcp.example.com/mcp"},
    {S "url = \"https:/"
       "/allowlist:443/mcp\"\n",
     2, 7, "server.x.url", "\"443\"", ""},
    {S "url = \"https://example.com/{a}\"\n", 2, 7, "server.x.url", "that URLs do not have", ""},
    {S "url = \"https://example.com/a%2fb\"\n", 2, 7, "server.x.url", "in two ways", ""},
    {S "url = \"https://example.com/\"\nimage = \"debian\"\n", 3, 1, "server.x.image",
     "has no image", "keep one of the two"},
    {"[tools.x]\n", 1, 2, "tools", "unknown key \"tools\"", "did you mean \"tool\"?"},
    {T "tiemout = \"30s\"\n", 2, 1, "tool.x.tiemout", "unknown key \"tiemout\"",
     "did you mean \"timeout\"?"},
    {T "  memroy = \"1MiB\"\n", 2, 3, "tool.x.memroy", "unknown key", "did you mean \"memory\"?"},
    {T "readable = [\"/x\"]\n", 2, 1, "tool.x.readable", "unknown key",
     "readable belongs in filesystem"},
    {T "read = [\"/x\"]\n", 2, 1, "tool.x.read", "unknown key", "filesystem = { readable = "},
    {"[defaults]\nwrite = [\"/x\"]\n", 2, 1, "defaults.write", "unknown key",
     "filesystem = { writable = "},
    {T "limits.timeout = \"1s\"\n", 2, 1, "tool.x.limits", "unknown key",
     "keys of the tool itself"},
    {"[tool.x.y]\ncommand = [\"c\"]\n", 1, 9, "tool.x.y", "unknown key", "a dot separates tables"},
    {T "workspace = \"overlay\"\n", 2, 13, "tool.x.workspace", "must be a table",
     "workspace = { mode = \"overlay\" }"},
    {T "network = \"off\"\n", 2, 11, "tool.x.network", "\"none\" or an array",
     "network = \"none\""},
    {T "network = \"all\"\n", 2, 11, "tool.x.network", "\"none\" or an array",
     "name each endpoint"},
    {T "arguments.a = \"string\"\n", 2, 15, "tool.x.arguments.a", "a must be a table",
     "arguments.a = { type = \"string\" }"},
    {T "timeout = \"5 minutes\"\n", 2, 11, "tool.x.timeout", "space before its unit", "\"30s\""},
    {T "filesystem.read = [\"/d\"]\n", 2, 12, "tool.x.filesystem.read", "unknown key",
     "did you mean \"readable\"?"},
    {T "command = [\"c\", \"{a}\"]\narguments.a = { type = \"string\", within = \"/d\" }\n", 3, 34,
     "tool.x.arguments.a.within", "unknown argument keyword", "read = [\"/workspace\"]"},
    {T "command = [\"c\", \"{a}\"]\narguments.a = { type = \"string\", format = \"path\" }\n", 3,
     43, "tool.x.arguments.a.format", "format cannot be \"path\"", "read = [\"/workspace\"]"},
    {T "[[test]]\ntool = \"x\"\nread = [\"/d\"]\n", 4, 1, "test.read", "unknown key",
     "allowed = [\"read /PATH\"]"},
    {T "[[test]]\ntool = \"x\"\nexpect = \"denied\"\n", 4, 1, "test.expect", "unknown key",
     "denied = "},
    {T "filesystem.readable = \"/data\"\n", 2, 23, "tool.x.filesystem.readable", "must be an array",
     "write [\"/data\"]"},
    {T "network = true\n", 2, 11, "tool.x.network", "must be an array", "\"none\", or ["},
    {T "env = [\"HOME\"]\n", 2, 7, "tool.x.env", "must be a table", "env.pass = [\"NAME\"]"},
    {T "env.TOKEN = \"x\"\n", 2, 5, "tool.x.env.TOKEN", "unknown key", "env.set = { TOKEN = "},
    {T "env.pas = [\"x\"]\n", 2, 5, "tool.x.env.pas", "unknown key", "did you mean \"pass\"?"},
    {T "command=[\"ls]\n", 2, 10, "", "has no closing quote", "end it"},
    {T "command=['ls] # \"x\"\n", 2, 10, "", "has no closing quote", "end it"},
    {T "command=[\"a\\\"b\", 'it\"s', \"c\n", 2, 26, "", "has no closing quote", "end it"},
    {"a = \"x", 1, 5, "", "has no closing quote", "end it"},
    {"a = \"x\x01y\"\n", 1, 7, "", "control characters", "TOML"},
    {T "zzzzzz = 1\n", 2, 1, "tool.x.zzzzzz", "unknown key", "toolcage-policy(5)"},
    {T "timeout = 30\n", 2, 11, "tool.x.timeout", "needs a unit", "\"30s\""},
    {T "timeout = \"30\"\n", 2, 11, "tool.x.timeout", "without a unit", "\"30s\""},
    {T "timeout = true\n", 2, 11, "tool.x.timeout", "must be a string", ""},
    {T "memory = 512\n", 2, 10, "tool.x.memory", "needs a unit",
     "\"512MiB\" (powers of 1024) or \"512MB\""},
    {T "memory = \"512m\"\n", 2, 10, "tool.x.memory", "has no unit",
     "\"512MiB\" (powers of 1024) or \"512MB\""},
    {T "memory = { by = \"any\" }\n", 2, 10, "tool.x.memory", "has no max", "max ="},
    {T "memory = { max = \"1GiB\", by = \"all\" }\n", 2, 31, "tool.x.memory.by",
     "cannot be \"all\"", "group or any"},
    {T "disk = \"1B\"\n", 2, 8, "tool.x.disk", "too small", "64KiB"},
    {T "pids = 0\n", 2, 8, "tool.x.pids", "too small", "1 to 4194304"},
    {T "pids = -5\n", 2, 8, "tool.x.pids", "too small", "1 to"},
    {T "pids = 99999999999\n", 2, 8, "tool.x.pids", "too large", "1 to"},
    {T "pids = 1.5\n", 2, 8, "tool.x.pids", "must be an integer", ""},
    {T "pids = \"64\"\n", 2, 8, "tool.x.pids", "must be an integer", "without quotes"},
    {T "cpus = 0\n", 2, 8, "tool.x.cpus", "out of range", "0.01 to 1024"},
    {T "cpus = nan\n", 2, 8, "tool.x.cpus", "out of range", ""},
    {T "output = { limit = \"1KiB\", over = \"drop\" }\n", 2, 35, "tool.x.output.over", "cannot be",
     "truncate or kill"},
    {T "backend = \"proces\"\n", 2, 11, "tool.x.backend", "cannot be \"proces\"",
     "did you mean \"process\"?"},
    {T "tier = \"auto\"\n", 2, 8, "tool.x.tier", "cannot be", "did you mean \"Auto\"?"},
    {"[backend.podman]\nsocket = \"podman.sock\"\n", 2, 10, "backend.podman.socket",
     "socket is an absolute path", "without . and .."},
    {"[backend.docker]\nsocket = \"/run/../docker.sock\"\n", 2, 10, "backend.docker.socket",
     "socket is an absolute path", "without . and .."},
    {"[backend.docker]\nruntime = \"runsc\"\n", 2, 11, "backend.docker.runtime",
     "runtime cannot be \"runsc\"", "backend = \"gvisor\""},
    {"[backend.oci]\nruntime = \"crunn\"\n", 2, 11, "backend.oci.runtime", "cannot be \"crunn\"",
     "did you mean \"crun\"?"},
    {"[backend.oci]\nruntime = \"kata-fc\"\n", 2, 11, "backend.oci.runtime",
     "runtime cannot be \"kata-fc\"", "backend = \"kata\""},
    {"[backend.gvisor]\nplatform = \"systrp\"\n", 2, 12, "backend.gvisor.platform",
     "cannot be \"systrp\"", "did you mean \"systrap\"?"},
    {"[backend.oci]\nplatform = \"kvm\"\n", 2, 1, "backend.oci.platform", "unknown key", ""},
    {"[backend.wasm]\nisolation = \"in-process\"\n", 2, 1, "backend.wasm.isolation",
     "unknown key \"isolation\" in [backend.wasm]", "a blocked call could not be ended"},
    {"[egress]\nupstream = \"proxy.example.com:3128\"\n", 2, 12, "egress.upstream",
     "is not the URL of a proxy", "http://"},
    {"[egress]\nupstream = \"https://proxy.example.com:3128\"\n", 2, 12, "egress.upstream",
     "TLS to an upstream proxy is not provided", "http:// or socks5://"},
    {"[egress]\nupstream = \"http:"
     "//u:p@proxy.example.com:3128\"\n",
     2, 12, "egress.upstream", "upstream holds credentials", "from the policy"},
    {"[egress]\nupstream = \"http://proxy.example.com\"\n", 2, 12, "egress.upstream",
     "needs one host and its port", "3128"},
    {"[egress]\nupstream = \"socks5://*:1080\"\n", 2, 12, "egress.upstream",
     "needs one host and its port", ""},
    {"[egress]\nupstream = \"http:"
     "//a b:1\"\n",
     2, 12, "egress.upstream", "is not a host name or address", ""},
    {"[egress]\nupstream = \"http://10.0.0.8:3128\"\ncredentials = \"someone:s3cret\"\n", 3, 15,
     "egress.credentials", "does not say where", "env:NAME"},
    {"[egress]\nupstream = \"http://10.0.0.8:3128\"\ncredentials = \"env:PAIR\"\n" T
     "env.pass = [\"PAIR\"]\n",
     5, 1, "tool.x.env", "passes on PAIR", "only the proxy"},
    {T "network = [{ host = \"a.example\", ports = [80, 443] }]\n", 2, 34, "tool.x.network.ports",
     "has one port or \"any\"", "ports = \"any\""},
    {T "network = [{ host = \"a.example\", ports = \"any\", port = 80 }]\n", 2, 34,
     "tool.x.network.ports", "has port and ports", "take one of them out"},
    {T "network = [{ host = \"a.example\", ports = \"any\", methods = [\"GET\"] }]\n", 2, 34,
     "tool.x.network.ports", "need one port", "port = 443"},
    {T "network = [{ host = \"127.0.0.1\", ports = \"any\" }]\n", 2, 21, "tool.x.network.host",
     "every port of the tool's private loopback", "localhost:5432"},
    {T "network = [\"udp:a.example:53\"]\n", 2, 12, "tool.x.network", "port of the cage's resolver",
     "without an entry"},
    {T "network = [\"a.example:53/udp\"]\n", 2, 12, "tool.x.network", "at the end",
     "udp:ntp.example.com:123"},
    {"[egress]\nupstream = \"http://10.0.0.8:3128\"\n" T "network = [\"udp:10.0.0.8:3128\"]\n", 4,
     1, "tool.x.network", "an upstream proxy does not carry", "over TCP"},
    {"[egress]\nnames = \"here\"\n", 1, 2, "egress", "names no upstream", "add upstream"},
    {"[egress]\nupstream = \"http://10.0.0.8:3128\"\nnames = \"upstream\"\n" T
     "network = [\"*.example.com\"]\n",
     5, 1, "tool.x.network", "would resolve unchecked", "name each host"},
    {"[egress]\nupstream = \"http://10.0.0.8:3128\"\n" T "network = [\"10.0.0.8:3128\"]\n", 4, 1,
     "tool.x.network", "is the upstream proxy itself", "remove it"},
    {T "layers = [\"oci\"]\n", 2, 10, "tool.x.layers", "fewer than two", "backend ="},
    {T "secrets.A = { from = \"ghp_abc\", hosts = [\"a.example\"], header = \"A: {secret}\" }\n", 2,
     22, "tool.x.secrets.A.from", "does not say where", "env:NAME"},
    {T "secrets.A.from = \"command:pass show $X\"\n", 2, 18, "tool.x.secrets.A.from",
     "no shell reads it", "command:pass show example"},
    {T "secrets.A.from = \"command:./pass x\"\n", 2, 18, "tool.x.secrets.A.from", "relative path",
     ""},
    {T "secrets.A.from = \"command: pass\"\n", 2, 18, "tool.x.secrets.A.from", "single spaces", ""},
    {T "secrets.A.from = \"command:\"\n", 2, 18, "tool.x.secrets.A.from", "single spaces", ""},
    {T "secrets.A.from = \"env:A B\"\n", 2, 18, "tool.x.secrets.A.from", "does not say where", ""},
    {T "secrets.A = \"abc\"\n", 2, 13, "tool.x.secrets.A", "must be a table", "from = \"env:A\""},
    {T "network = \"https://api.example/v1\"\n", 2, 11, "tool.x.network", "an array of endpoints",
     "write network = [\"api.example\"]"},
    {T "network = \"http://api.example\"\n", 2, 11, "tool.x.network", "an array of endpoints",
     "write network = [\"api.example:80\"]"},
    {T "network = \"http://api.example:81/?a\"\n", 2, 11, "tool.x.network", "an array of endpoints",
     "write network = [\"api.example:81\"]"},
    {T "network = \"api.example\"\n", 2, 11, "tool.x.network", "an array of endpoints",
     "write network = [\"api.example\"]"},
    {T "timeout = \"1m30s\"\n", 2, 11, "tool.x.timeout", "unknown unit", "with one unit"},
    {T "secrets.\"A B\" = {}\n", 2, 9, "tool.x.secrets.A B", "not the name of a secret", ""},
    {T "secrets.A = { from = \"env:A\", header = \"A: {secret}\" }\n", 2, 9, "tool.x.secrets.A",
     "has no hosts", ""},
    {T "secrets.A.hosts = [\"*\"]\n", 2, 20, "tool.x.secrets.A.hosts", "is a pattern",
     "name each host"},
    {T "secrets.A.hosts = [\"*.example.com\"]\n", 2, 20, "tool.x.secrets.A.hosts", "is a pattern",
     ""},
    {T "secrets.A.header = \"Authorization: Bearer x\"\n", 2, 20, "tool.x.secrets.A.header",
     "no {secret}", "Bearer {secret}"},
    {T "secrets.A.header = \"{secret}: x\"\n", 2, 20, "tool.x.secrets.A.header", "NAME: VALUE", ""},
    {T "secrets.A.header = \"A: {secret}\\r\\nB: c\"\n", 2, 20, "tool.x.secrets.A.header",
     "line break", ""},
    {T "secrets.A.header = \"host: {secret}\"\n", 2, 20, "tool.x.secrets.A.header", "controls", ""},
    {T "secrets.A.header = \"A: {secret}{secret}\"\n", 2, 20, "tool.x.secrets.A.header", "twice",
     ""},
    {T "secrets.A = { from = \"env:A\", hosts = [\"a.example\"], header = \"A: {secret}\" }\n"
       "network = [\"b.example\", \"a.example:80\"]\n",
     2, 1, "tool.x.secrets.A", "does not name a.example:443", "add the host to network"},
    {T "secrets.A = { from = \"env:A\", hosts = [\"a.example\"], header = \"A: {secret}\" }\n"
       "network = [\"*\"]\n",
     2, 1, "tool.x.secrets.A", "does not name a.example:443", "add the host to network"},
    {T "secrets.A.hosts = [\"http://a.example\"]\n", 2, 20, "tool.x.secrets.A.hosts",
     "without TLS needs its port", "http://127.0.0.1:8080"},
    {T "secrets.A = { from = \"env:B\", hosts = [\"a.example\"], header = \"A: {secret}\" }\n"
       "network = [\"a.example\"]\nenv.pass = [\"B\"]\n",
     2, 1, "tool.x.secrets.A", "env.pass of tool.x passes B to the tool", "remove it"},
    {T "secrets.A = { from = \"env:B\", hosts = [\"a.example\"], header = \"A: {secret}\" }\n"
       "network = [\"a.example\"]\nsetup = { command = [\"pip\"], into = \"/opt/deps\", env.pass = "
       "[\"B\"] }\n",
     2, 1, "tool.x.secrets.A", "env.pass of tool.x.setup passes B to the install", "remove it"},
    {T "secrets.A = { from = \"env:B\", hosts = [\"a.example\"], header = \"A: {secret}\" }\n"
       "network = [\"a.example\"]\nenv.set = { C = \"d\" }\n"
       "setup = { command = [\"pip\"], into = \"/opt/deps\" }\n[defaults]\nenv.pass = [\"B\"]\n",
     2, 1, "tool.x.secrets.A", "env.pass of tool.x.setup passes B to the install", "remove it"},
    {T "secrets.A = { from = \"env:A\", hosts = [\"a.example:80\"], header = \"X-K: {secret}\" }\n"
       "secrets.B = { from = \"env:B\", hosts = [\"http://a.example:80\"], header = \"x-k: "
       "{secret}\" "
       "}\nnetwork = [\"a.example:80\"]\n",
     3, 1, "tool.x.secrets.B", "A is sent in the same header to the same host", "one tool"},
    {T "layers = []\n", 2, 10, "tool.x.layers", "fewer than two", ""},
    {T "layers = [\"oci\", \"ocy\"]\n", 2, 18, "tool.x.layers", "not a backend with isolation",
     "gvisor"},
    {T "layers = [\"oci\", \"oci\"]\n", 2, 18, "tool.x.layers", "twice", ""},
    {T "layers = [\"wasm\", \"oci\"]\n", 2, 19, "tool.x.layers", "cannot run inside wasm",
     "outermost"},
    {T "layers = [\"qemu\", \"kata\"]\n", 2, 19, "tool.x.layers", "virtual machine", ""},
    {T "layers = [\"gvisor\", \"firecracker\"]\n", 2, 21, "tool.x.layers", "/dev/kvm", ""},
    {T "layers = [\"oci\", \"kubernetes\"]\n", 2, 18, "tool.x.layers", "only be the outermost", ""},
    {T "backend = \"oci\"\nlayers = [\"oci\", \"wasm\"]\n", 3, 1, "tool.x.layers", "contradict",
     "keep one"},
    {T "fallback = [\"oci\"]\nlayers = [\"oci\", \"wasm\"]\n", 2, 1, "tool.x.fallback",
     "contradict", ""},
    {T "fallback = [\"not-a-security-boundary\"]\n", 2, 13, "tool.x.fallback",
     "not a backend with isolation", "process, oci"},
    {T "fallback = [\"not-a-security-boundary\"]\n", 2, 13, "tool.x.fallback",
     "not a backend with isolation", ""},
    {T "fallback = [\"oci\", 1]\n", 2, 20, "tool.x.fallback", "not a backend with isolation", ""},
    {T "fallback = \"oci\"\n", 2, 12, "tool.x.fallback", "must be an array", ""},
    {T "backend = \"oci\"\nfallback = [\"oci\"]\n", 3, 1, "tool.x.fallback", "the backend already",
     ""},
    {T "backend = \"not-a-security-boundary\"\nfallback = [\"oci\"]\n", 3, 1, "tool.x.fallback",
     "never refuses a call", ""},
    {T "syscalls.allow = [\"mount\"]\n", 2, 19, "tool.x.syscalls.allow", "mount is never allowed",
     "can be allowed: ptrace"},
    {T "syscalls.allow = [\"kcmp\", \"bpf\"]\n", 2, 27, "tool.x.syscalls.allow", "never allowed",
     ""},
    {T "syscalls.allow = [\"swapon\"]\n", 2, 19, "tool.x.syscalls.allow", "not among", ""},
    {T "syscalls.allow = [\"*\"]\n", 2, 19, "tool.x.syscalls.allow", "not the name of", ""},
    {T "syscalls.deny = [101]\n", 2, 18, "tool.x.syscalls.deny", "not the name of", ""},
    {T "syscalls.deny = [\"execve\"]\n", 2, 18, "tool.x.syscalls.deny", "the cage itself needs",
     ""},
    {T "syscalls.deny = [\"clone\"]\n", 2, 18, "tool.x.syscalls.deny", "the cage itself needs",
     "`pids` bounds"},
    {T "syscalls.deny = [\"mlcok\"]\n", 2, 18, "tool.x.syscalls.deny", "has no system call mlcok",
     "did you mean \"mlock\"?"},
    {T "syscalls.deny = [\"mlock\", \"uselib\"]\n", 2, 27, "tool.x.syscalls.deny",
     "has no system call uselib", "already refuses"},
    {T "syscalls = { allow = [\"kcmp\"], deny = [\"kcmp\"] }\n", 2, 1, "tool.x.syscalls",
     "allowed and denied", ""},
    {T "syscalls.profile = \"none\"\n", 2, 20, "tool.x.syscalls.profile", "cannot be", "default"},
    {T "filesystem = [\"/x\"]\n", 2, 14, "tool.x.filesystem", "must be a table or \"none\"", ""},
    {T "filesystem.readable = [\"/data/*.csv\"]\n", 2, 24, "tool.x.filesystem.readable", "pattern",
     "name the directory"},
    {T "filesystem.readable = [\"/a\", \"/b?\"]\n", 2, 30, "tool.x.filesystem.readable", "pattern",
     ""},
    {T "filesystem.writable = [\"/\"]\n", 2, 24, "tool.x.filesystem.writable", "whole file system",
     ""},
    {T "filesystem.writable = [\"/usr/lib\"]\n", 2, 24, "tool.x.filesystem.writable", "system path",
     ""},
    {T "filesystem.readable = [\"/proc\"]\n", 2, 24, "tool.x.filesystem.readable", "/proc",
     "own /proc"},
    {T "filesystem.readable = [\"~bob/x\"]\n", 2, 24, "tool.x.filesystem.readable", "only \"~/\"",
     ""},
    {T "filesystem.readable = [{ from = \"x\" }]\n", 2, 24, "tool.x.filesystem.readable",
     "has no path", ""},
    {T "filesystem.readable = [{ path = \"/a\", form = \"x\" }]\n", 2, 39,
     "tool.x.filesystem.readable.form", "unknown key", "did you mean \"from\"?"},
    {T "filesystem.readable = [\"/a\", { path = \"/a\", from = \"/b\" }]\n", 2, 39,
     "tool.x.filesystem.readable.path", "granted twice", ""},
    {T "filesystem.denied = [{ path = \"/a\" }]\n", 2, 22, "tool.x.filesystem.denied",
     "must be a string", ""},
    {T "network = \"example.com\"\n", 2, 11, "tool.x.network", "must be \"none\" or an array",
     "[\"example.com\"]"},
    {T "network = [\"a*.example.com\"]\n", 2, 12, "tool.x.network", "is a pattern",
     "name each host"},
    {T "network = [\"none\"]\n", 2, 12, "tool.x.network", "not an endpoint", "network = \"none\""},
    {T "unix_sockets = \"all\"\n", 2, 16, "tool.x.unix_sockets", "must be \"none\", \"own\"",
     "write unix_sockets"},
    {T "unix_sockets = []\n", 2, 16, "tool.x.unix_sockets", "must be \"none\", \"own\"", ""},
    {T "unix_sockets = [\"own\"]\n", 2, 17, "tool.x.unix_sockets", "not the path of a socket",
     "an array includes them"},
    {T "unix_sockets = [\"/run/*.sock\"]\n", 2, 17, "tool.x.unix_sockets", "is a pattern", ""},
    {T "unix_sockets = [\"/dev/log\"]\n", 2, 17, "tool.x.unix_sockets", "cannot be granted", ""},
    {T "network = [{ port = 1 }]\n", 2, 12, "tool.x.network", "has no host", ""},
    {T "network = [{ host = \"example.com\", port = 0 }]\n", 2, 43, "tool.x.network.port",
     "too small", "1 to 65535"},
    {T "network = [{ host = \"example.com\", methods = [\"get\"] }]\n", 2, 47, "tool.x.network",
     "HTTP method", "GET"},
    {T "env.pass = [\"LD_PRELOAD\"]\n", 2, 13, "tool.x.env.pass", "controls the program loader",
     "env.set"},
    {T "env.pass = [\"A=b\"]\n", 2, 13, "tool.x.env.pass", "not the name", ""},
    {T "env.set = { \"A B\" = \"c\" }\n", 2, 13, "tool.x.env.set.A B", "not the name", ""},
    {T "command = \"ls -l\"\n", 2, 11, "tool.x.command", "must be an array", "no shell"},
    {T "command = []\n", 2, 11, "tool.x.command", "empty", ""},
    {T "command = [\"{p}\"]\narguments.p = {}\n", 2, 12, "tool.x.command", "choose the program",
     ""},
    {T "command = [\"ls\", \"--x={a}\"]\n", 2, 23, "tool.x.command", "{a} names no argument",
     "{ a }"},
    {T "setup = {}\n", 2, 1, "tool.x.setup", "names no command", "add command"},
    {T "setup = { command = [\"i\"] }\n", 2, 1, "tool.x.setup", "names no into", "/opt/deps"},
    {T "setup = { command = [\"i\"], into = \"deps\" }\n", 2, 35, "tool.x.setup.into",
     "must be an absolute path", "/opt/deps"},
    {T "setup = { command = [\"i\"], into = \"/tmp/deps\" }\n", 2, 35, "tool.x.setup.into",
     "nothing can be installed into", ""},
    {T "setup = { command = [\"i\"], into = \"/usr\" }\n", 2, 35, "tool.x.setup.into",
     "is a system path", ""},
    {T "setup = { command = [\"i\", \"{a}\"], into = \"/opt/x\" }\n", 2, 28, "tool.x.setup.command",
     "{a} names no argument", ""},
    {T "setup = { command = [\"i\"], into = \"/opt/x\", inputs = [\"../a\"] }\n", 2, 55,
     "tool.x.setup.inputs", "is not a file below", ""},
    {T "setup = { command = [\"i\"], into = \"/opt/x\", stdin = \"\" }\n", 2, 45,
     "tool.x.setup.stdin", "unknown key", ""},
    {T "setup = { command = [\"i\"], into = \"/opt/x\", filesystem = { writable = [\"/w\"] } }\n",
     2, 1, "tool.x.setup", "writes only to `into` and /tmp", "remove"},
    {"[defaults]\nsetup = { command = [\"i\"], into = \"/opt/x\" }\n", 2, 1, "defaults.setup",
     "unknown key", "[tool.NAME]"},
    {T "stdin = \"{a}\"\n", 2, 10, "tool.x.stdin", "{a} names no argument", "arguments.a"},
    {T "env.set.A = \"{a}\"\n", 2, 14, "tool.x.env.set.A", "{a} names no argument", ""},
    {T "command = [\"ls\", \"{a}\"]\narguments.a = { type = \"array\" }\n", 2, 19, "tool.x.command",
     "is an array", "{a...}"},
    {T "command = [\"ls\", \"{a...}\"]\narguments.a = {}\n", 2, 19, "tool.x.command",
     "expands an array", ""},
    {T "command = [\"ls\", \"x{a...}\"]\narguments.a = { type = \"array\" }\n", 2, 20,
     "tool.x.command", "expands", "separate element"},
    {T "input_schema = '{\"type\":\"object\",\"additionalProperties\":false,\"oneOf\":[]}'\n", 2,
     16, "tool.x.input_schema.oneOf", "oneOf is empty", "one or more"},
    {T "input_schema = '{\"type\":\"object\",\"additionalProperties\":false,\"$ref\":\"#/x\"}'\n",
     2, 16, "tool.x.input_schema.$ref", "cannot be enforced", "remove it"},
    {T "input_schema = '{\"type\":\"object\",\"additionalProperties\":false,\"$defs\":[]}'\n", 2,
     16, "tool.x.input_schema.$defs", "must be a table", ""},
    {T "input_schema = '{\"type\":\"object\",\"additionalProperties\":false,\"enum\":[{}]}'\n", 2,
     16, "tool.x.input_schema.enum", "cannot be enforced", "remove it"},
    {T "input_schema = "
       "'{\"type\":\"object\",\"additionalProperties\":false,\"patternProperties\":{}}'\n",
     2, 16, "tool.x.input_schema.patternProperties", "cannot be enforced", "remove it"},
    {T "input_schema = "
       "'{\"type\":\"object\",\"additionalProperties\":false,\"$schema\":\"http://json-schema.org/"
       "draft-07/schema#\"}'\n",
     2, 16, "tool.x.input_schema.$schema", "dialect", "2020-12"},
    {T
     "input_schema = '{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"n\"]}'\n",
     2, 16, "tool.x.input_schema.required", "\"n\" is required and not among", "declare it"},
    {T "input_schema = '{\"type\":\"object\",\"additionalProperties\":false,\"required\":[1]}'\n",
     2, 16, "tool.x.input_schema.required", "must be a string", ""},
    {T "input_schema = '{\"type\":\"object\",\"properties\":{}}'\n", 2, 16, "tool.x.input_schema",
     "the schema is open", "additionalProperties"},
    {T "input_schema = '{\"type\":\"object\",\"additionalProperties\":true}'\n", 2, 16,
     "tool.x.input_schema.additionalProperties", "not declared", "false"},
    {T "input_schema = '{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}}'\n", 2,
     16, "tool.x.input_schema.additionalProperties", "not declared", "false"},
    {T "input_schema = '{\"type\":\"array\"}'\n", 2, 16, "tool.x.input_schema",
     "not the schema of an object", "begin with"},
    {T "input_schema = '{\"properties\":{}}'\n", 2, 16, "tool.x.input_schema",
     "not the schema of an object", "begin with"},
    {T "input_schema = '{\"type\":[\"object\",\"null\"]}'\n", 2, 16, "tool.x.input_schema",
     "not the schema of an object", "begin with"},
    {T "input_schema = '{\"type\":null}'\n", 2, 16, "tool.x.input_schema",
     "not the schema of an object", "begin with"},
    {T "input_schema = '{\"type\":\"object\",\"type\":\"object\"}'\n", 2, 16, "tool.x.input_schema",
     "not the JSON", "one JSON Schema"},
    {T "input_schema = '{\"type\":}'\n", 2, 16, "tool.x.input_schema", "not the JSON",
     "one JSON Schema"},
    {T "input_schema = "
       "'{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"n\":{\"type\":"
       "\"string\",\"pattern\":\"(?i)x\"}}}'\n",
     2, 16, "tool.x.input_schema.properties.n.pattern", "properties.n.pattern: ", "groups are"},
    {T "input_schema = "
       "'{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"n\":{\"type\":"
       "\"string\",\"format\":\"phone\"}}}'\n",
     2, 16, "tool.x.input_schema.properties.n.format", "phone", "date"},
    {N("{\"type\":\"string\",\"examples\":\"a\"}"), 2, 16, IN ".examples", "must be an array", ""},
    {N("{\"type\":\"string\",\"contentEncoding\":\"base64\"}"), 2, 16, IN ".contentEncoding",
     "unknown argument keyword", ""},
    {N("{\"type\":\"object\",\"additionalProperties\":{}}"), 2, 16, IN ".additionalProperties",
     "without a type", "one type"},
    {N("{\"type\":\"object\",\"additionalProperties\":false,\"patternProperties\":{\"(?i)x\":{"
       "\"type\":"
       "\"null\"}}}"),
     2, 16, IN ".patternProperties.(?i)x", "contains \"(?i\"", "groups are"},
    {N("{\"type\":\"object\",\"additionalProperties\":false,\"patternProperties\":{\"x\":{}}}"), 2,
     16, IN ".patternProperties.x", "without a type", "one type"},
    {N("{\"type\":\"integer\",\"$anchor\":\"x\"}"), 2, 16, IN ".$anchor",
     "unknown argument keyword", ""},
    {N("{\"type\":\"integer\",\"not\":{\"unevaluatedItems\":false}}"), 2, 16,
     IN ".not.unevaluatedItems", "unknown argument keyword", ""},
    {N("{\"minimum\":1}"), 2, 16, IN, "without a type", "one type"},
    {N("{\"enum\":[1,2]}"), 2, 16, IN, "without a type", "one type"},
    {N("{\"anyOf\":[{\"type\":\"null\"},{\"minimum\":1}]}"), 2, 16, IN ".anyOf.1", "without a type",
     "one type"},
    {N("{\"oneOf\":[{\"type\":\"object\",\"properties\":{}}]}"), 2, 16, IN ".oneOf.0",
     "the object is open", "additionalProperties = false"},
    {N("{\"allOf\":[{\"minimum\":1},{\"type\":\"integer\"}]}"), 2, 16, IN ".allOf.0",
     "without a type", "one type"},
    {N("{\"type\":[\"null\",\"array\"]}"), 2, 16, IN, "without items", "items ="},
    {N("{\"type\":\"array\",\"prefixItems\":[{\"type\":\"null\"}]}"), 2, 16, IN,
     "after those of prefixItems", "items = false"},
    {N("{\"type\":\"array\",\"prefixItems\":[{}],\"items\":false}"), 2, 16, IN ".prefixItems.0",
     "without a type", "one type"},
    {N("{\"type\":\"integer\",\"$ref\":\"#\"}"), 2, 16, IN ".properties.n.$ref", "refers to itself",
     "as many levels"},
    {N("{\"$ref\":\"#/$defs/d\"}"), 2, 16, IN ".$ref", "names no schema", "#/$defs/NAME"},
    {N("{\"$ref\":\"http://a.example/s.json\"}"), 2, 16, IN ".$ref", "is not within this schema",
     "below $defs"},
    {N("{\"$ref\":1}"), 2, 16, IN, "without a type", "one type"},
    {D("{\"$ref\":\"#/$defs/%64\"}", "{}"), 2, 16, IN ".$ref", "names no schema", ""},
    {D("{\"$ref\":\"#/$defs/d\"}", "{}"), 2, 16, IN, "without a type", "one type"},
    {D("{\"$ref\":\"#/$defs/d\"}", "{\"type\":\"object\",\"properties\":{\"n\":{\"$ref\":"
                                   "\"#/$defs/d\"}}}"),
     2, 16, IN ".properties.n.$ref", "refers to itself", "as many levels"},
    {D("{\"$ref\":\"#/$defs/d\"}", "{\"$ref\":\"#/properties/n\"}"), 2, 16, IN ".$ref",
     "refers to itself", "as many levels"},
    {T "input_schema = "
       "'{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"n\":{\"type\":"
       "\"file\"}}}'\n",
     2, 16, "tool.x.input_schema.properties.n.type", "cannot be", ""},
    {T "input_schema = "
       "'{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"n\":{\"type\":"
       "\"object\"}}}'\n",
     2, 16, "tool.x.input_schema.properties.n", "the object is open", "additionalProperties"},
    {T "input_schema = "
       "'{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"n\":{\"type\":"
       "\"object\",\"additionalProperties\":false,\"properties\":{\"m\":{}}}}}'\n",
     2, 16, "tool.x.input_schema.properties.n.properties.m", "without a type", "one type"},
    {T "input_schema = "
       "'{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"n\":{\"type\":"
       "\"object\",\"additionalProperties\":false,\"properties\":{\"m\":{\"type\":\"string\","
       "\"write\":[\"/\"]}}}}}'\n",
     2, 16, "tool.x.input_schema.properties.n.properties.m.write", "not a keyword of JSON Schema",
     "arguments"},
    {T "input_schema = "
       "'{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"n\":{\"type\":"
       "\"object\",\"additionalProperties\":false,\"required\":[\"m\"]}}}'\n",
     2, 16, "tool.x.input_schema.properties.n.required", "not among the properties", "declare it"},
    {T "arguments.a = { type = \"object\", additionalProperties = true }\n", 2, 57,
     "tool.x.arguments.a.additionalProperties", "always refused", "additionalProperties = false"},
    {T "arguments.a = { type = \"object\", required = [\"m\"] }\n", 2, 46,
     "tool.x.arguments.a.required", "not among the properties", "declare it"},
    {T "arguments.a = { type = \"object\", properties.m = { read = [\"/d\"] } }\n", 2, 51,
     "tool.x.arguments.a.properties.m.read", "unknown", ""},
    {T "arguments.a = { type = \"object\", read = [\"/d\"] }\n", 2, 34, "tool.x.arguments.a.read",
     "does not go with", ""},
    {T "arguments.a = { properties = {} }\n", 2, 17, "tool.x.arguments.a.properties",
     "does not go with", ""},
    {T "arguments.a = { type = \"object\" }\ncommand = [\"e\", \"--\", \"{a}\"]\n", 3, 24,
     "tool.x.command", "not a single value", "{*}"},
    {T "arguments.a = { type = \"array\", items = { type = \"object\" } }\ncommand = [\"e\", "
       "\"--\", \"{a...}\"]\n",
     3, 24, "tool.x.command", "not a single value", "{*}"},
    {T "input_schema = "
       "'{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"n\":{\"type\":"
       "\"array\"}}}'\n",
     2, 16, "tool.x.input_schema.properties.n", "without items", "items"},
    {T "input_schema = "
       "'{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"n\":{\"type\":"
       "\"array\",\"items\":{}}}}'\n",
     2, 16, "tool.x.input_schema.properties.n.items", "without a type", "one type"},
    {T "input_schema = "
       "'{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"n\":{\"type\":"
       "\"array\",\"items\":true}}}'\n",
     2, 16, "tool.x.input_schema.properties.n.items", "must be a table", ""},
    {T "input_schema = "
       "'{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"n\":{\"type\":"
       "\"array\",\"items\":{\"type\":\"array\"}}}}'\n",
     2, 16, "tool.x.input_schema.properties.n.items", "without items", "items"},
    {T "input_schema = "
       "'{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"n\":{\"type\":"
       "\"array\",\"items\":{\"type\":\"string\"},\"unevaluatedItems\":false}}}'\n",
     2, 16, "tool.x.input_schema.properties.n.unevaluatedItems", "unknown argument keyword", ""},
    {T "input_schema = "
       "'{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"n\":{\"type\":"
       "\"string\",\"read\":[\"/x\"]}}}'\n",
     2, 16, "tool.x.input_schema.properties.n.read", "not a keyword of JSON Schema", "arguments"},
    {T "input_schema = "
       "'{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"n\":{\"type\":"
       "\"string\",\"optional\":true}}}'\n",
     2, 16, "tool.x.input_schema.properties.n.optional", "not a keyword of JSON Schema",
     "arguments"},
    {T "input_schema = "
       "'{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"n\":{\"type\":"
       "\"integer\",\"minLength\":1}}}'\n",
     2, 16, "tool.x.input_schema.properties.n.minLength", "does not go with", ""},
    {T "input_schema = "
       "'{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"n\":{\"type\":"
       "\"integer\",\"default\":\"a\"}}}'\n",
     2, 16, "tool.x.input_schema.properties.n.default", "does not fit", ""},
    {T "input_schema = "
       "'{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"n\":{\"type\":"
       "\"number\",\"multipleOf\":0.1}}}'\n",
     2, 16, "tool.x.input_schema.properties.n.multipleOf", "must be an integer", ""},
    {T "input_schema = "
       "'{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"n\":true}}'\n",
     2, 16, "tool.x.input_schema.properties.n", "must be a table", ""},
    {T "input_schema = 1\n", 2, 16, "tool.x.input_schema", "must be a file name",
     "name a JSON file"},
    {T "input_schema = \"schema.yaml\"\n", 2, 16, "tool.x.input_schema", "neither a JSON file",
     "NAME.json"},
    {T "input_schema = \"schema.json\"\n", 2, 16, "tool.x.input_schema", "not a file cannot name",
     "load the policy from a file"},
    {T "arguments.n = {}\ninput_schema = { type = \"object\", additionalProperties = false }\n", 3,
     1, "tool.x.input_schema", "cannot have both", "keep one"},
    {T "arguments.a = { pattern = \"(?i)x\" }\n", 2, 27, "tool.x.arguments.a.pattern",
     "contains \"(?i\"", "groups are"},
    {T "arguments.a = { type = \"integer\", pattern = \"x\" }\n", 2, 35,
     "tool.x.arguments.a.pattern", "does not go with", ""},
    {T "arguments.a = { oneOf = [] }\n", 2, 25, "tool.x.arguments.a.oneOf", "oneOf is empty",
     "one or more"},
    {T "arguments.a = { not = 1 }\n", 2, 23, "tool.x.arguments.a.not", "must be a table", ""},
    {T "arguments.a = { anyOf = [{ type = \"nul\" }] }\n", 2, 35, "tool.x.arguments.a.anyOf.0.type",
     "cannot be \"nul\"", "did you mean \"null\"?"},
    {T "arguments.a = { anyOf = [{ minimum = 1 }] }\n", 2, 28, "tool.x.arguments.a.anyOf.0.minimum",
     "does not go with type \"string\"", ""},
    {T "arguments.a = { type = [] }\n", 2, 24, "tool.x.arguments.a.type", "type is empty",
     "name the types"},
    {T "arguments.a = { type = [\"string\", \"nil\"] }\n", 2, 35, "tool.x.arguments.a.type",
     "cannot be \"nil\"", "the values are"},
    {T "arguments.a = { type = [\"string\", \"null\"], minimum = 1 }\n", 2, 44,
     "tool.x.arguments.a.minimum", "does not go with type \"string or null\"", ""},
    {T "arguments.a = { type = [\"integer\", \"null\"], enum = [1, \"x\"] }\n", 2, 56,
     "tool.x.arguments.a.enum", "does not fit type \"integer or null\"", ""},
    {T "arguments.a = { prefixItems = [{}] }\n", 2, 17, "tool.x.arguments.a.prefixItems",
     "does not go with", ""},
    {T "arguments.a = { type = \"array\", items = true }\n", 2, 41, "tool.x.arguments.a.items",
     "must be a table", ""},
    {T "arguments.a = { anyOf = [{}, { type = \"null\" }], read = [\"/d\"] }\n", 2, 11,
     "tool.x.arguments.a", "need a string", "write type"},
    {T "arguments.a = { anyOf = [{ type = \"object\", properties.m = {} }], read = [\"/d\"] }\n", 2,
     11, "tool.x.arguments.a", "need a string", ""},
    {T "arguments.a = { type = [\"null\", \"string\", \"null\"] }\n", 2, 43,
     "tool.x.arguments.a.type", "null is listed twice", "once"},
    {T "arguments.a = { type = [\"string\", \"object\"], read = [\"/d\"] }\n", 2, 11,
     "tool.x.arguments.a", "need a string", "write type"},
    {T
     "arguments.a = { type = \"array\", prefixItems = [{ type = \"object\" }], read = [\"/d\"] }\n",
     2, 11, "tool.x.arguments.a", "need a string", "write type"},
    {T "command = [\"ls\", \"{a...}\"]\narguments.a = { type = \"array\", items = { type = "
       "[\"string\", \"null\"] } }\n",
     2, 19, "tool.x.command", "is not a single value", "{*}"},
    {T "command = [\"ls\", \"{a}\"]\narguments.a = { anyOf = [{}, { type = \"object\" }] }\n", 2,
     19, "tool.x.command", "is not a single value", "{*}"},
    {T "command = [\"ls\", \"{a...}\"]\narguments.a = { type = [\"string\", \"array\"] }\n", 2, 19,
     "tool.x.command", "is not a single value", "{*}"},
    {T "arguments.a = { paltern = \"x\" }\n", 2, 17, "tool.x.arguments.a.paltern",
     "unknown argument keyword", "did you mean \"pattern\"?"},
    {T "arguments.a = { type = \"number\", multipleOf = 2 }\n", 2, 34,
     "tool.x.arguments.a.multipleOf", "does not go with", ""},
    {T "arguments.a = { type = \"integer\", multipleOf = 0 }\n", 2, 48,
     "tool.x.arguments.a.multipleOf", "more than 0", ""},
    {T "arguments.a = { type = \"number\", exclusiveMinimum = 1, maximum = 1 }\n", 2, 66,
     "tool.x.arguments.a.maximum", "there is no number between", "no value"},
    {T "arguments.a = { uniqueItems = true }\n", 2, 17, "tool.x.arguments.a.uniqueItems",
     "does not go with", ""},
    {T "arguments.a = { type = \"array\", uniqueItems = 1 }\n", 2, 47,
     "tool.x.arguments.a.uniqueItems", "must be true or false", ""},
    {T "arguments.a = { type = \"nil\" }\n", 2, 24, "tool.x.arguments.a.type", "cannot be",
     "string, integer"},
    {T "arguments.a = { type = \"integer\", maxLength = 3 }\n", 2, 35,
     "tool.x.arguments.a.maxLength", "does not go with", ""},
    {T "arguments.a = { minimum = 1 }\n", 2, 17, "tool.x.arguments.a.minimum", "does not go with",
     ""},
    {T "arguments.a = { minLength = 3, maxLength = 2 }\n", 2, 44, "tool.x.arguments.a.maxLength",
     "less than", ""},
    {T "arguments.a = { maxLength = -1 }\n", 2, 29, "tool.x.arguments.a.maxLength", "negative", ""},
    {T "arguments.a = { enum = [] }\n", 2, 24, "tool.x.arguments.a.enum", "empty", ""},
    {T "arguments.a = { enum = [\"x\", 1] }\n", 2, 30, "tool.x.arguments.a.enum", "does not fit",
     ""},
    {T "arguments.a = { read = [\"/\"] }\n", 2, 25, "tool.x.arguments.a", "whole file system", ""},
    {T "arguments.\"a b\" = {}\n", 2, 11, "tool.x.arguments.a b", "not an argument name", ""},
    {T "workspace = { mode = \"bind\", commit = \"never\" }\n", 2, 39, "tool.x.workspace.commit",
     "staged", "overlay"},
    {T "cwd = \"here\"\n", 2, 7, "tool.x.cwd", "absolute", "/workspace"},
    {T "programs = [\"/usr/bin/python3\"]\n", 2, 13, "tool.x.programs", "not the name of a program",
     ""},
    {T "collect = [1]\n", 2, 12, "tool.x.collect", "must be a string", ""},
    {"[tool.\"a b\"]\n", 1, 7, "tool.a b", "not a tool name", ""},
    {"[defaults]\ncommand = [\"ls\"]\n", 2, 1, "defaults.command", "unknown key", "[tool.NAME]"},
    {"[tier.Auot]\nbackend = \"process\"\n", 1, 7, "tier.Auot", "there is no tier", "Auto"},
    {"[tier.Auto]\nbackend = \"not-a-security-boundary\"\n", 2, 11, "tier.Auto.backend",
     "cannot be", ""},
    {"[[test]]\ntool = \"y\"\n", 2, 8, "tool", "there is no tool \"y\"", ""},
    {T "[[test]]\ntool = \"x\"\nallowed = [\"red /x\"]\n", 4, 12, "test", "an access is", ""},
    {"extends = \"x\"\n", 1, 1, "extends", "not a file cannot name", "profile:NAME"},
};

static void findings_have_place_and_message(void **state)
{
    size_t wrong = 0;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        const struct row *row = &rows[i];
        _autoerror_ struct toolcage_error *err = findings_of(row->text, strlen(row->text));
        uint32_t line = 0, column = 0;
        const char *file = NULL;
        tc_error_location(err, &file, &line, &column);
        bool same = line == row->line && column == row->column &&
                    strcmp(row->subject, tc_error_subject(err)) == 0 &&
                    strstr(tc_error_message(err), row->message) &&
                    strstr(tc_error_hint(err), row->hint);
        if (!same)
            print_error("row %zu: %s\ngot %u:%u subject \"%s\"\n%s\n", i, row->text, line, column,
                        tc_error_subject(err), tc_error_report(err));
        wrong += !same;
        assert_string_equal(file, "t.toml");
    }
    assert_int_equal(wrong, 0);
}

static void quote_and_caret(void **state)
{
    static const char text[] = "[tool.x]\n\ttimeout = \"30\"\n";
    _autoerror_ struct toolcage_error *err = findings_of(text, strlen(text));
    assert_string_equal(tc_error_report(err),
                        "t.toml:2:12: error: \"30\" is a duration without a unit\n"
                        "    2 | \ttimeout = \"30\"\n"
                        "      | \t          ^~~~\n"
                        "hint: write \"30s\" (seconds) or \"30ms\"; units are ms, s, m, h\n");
}

static void columns_count_bytes(void **state)
{
    static const char text[] = "[tool.x]\ndescription = \"\xc3\xa4\xc3\xb6\"; pids = 0\n";
    static const char other[] = "[tool.x]\ncollect = [\"\xc3\xa4\", \"\"]\n";
    uint32_t column = 0;
    _autoerror_ struct toolcage_error *err = findings_of(text, strlen(text));
    tc_error_location(err, NULL, NULL, &column);
    assert_int_equal(column, 21);
    _autoerror_ struct toolcage_error *second = findings_of(other, strlen(other));
    tc_error_location(second, NULL, NULL, &column);
    assert_int_equal(column, 18);
}

static void report_cannot_steer_a_terminal(void **state)
{
    static const char text[] = "[tool.x]\npids = 0 # \x1b]0;x\x07\n";
    _autoerror_ struct toolcage_error *err = findings_of(text, strlen(text));
    assert_null(strchr(tc_error_report(err), '\x1b'));
    assert_null(strchr(tc_error_report(err), '\x07'));
}

static size_t occurrences(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
        n++;
    return n;
}

static void findings_come_together_and_end(void **state)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    tc_buf_adds(&text, "[tool.x]\n");
    for (int i = 0; i < 27; i++)
        tc_buf_addf(&text, "unknown%d = 1\n", i);
    _autoerror_ struct toolcage_error *err = findings_of(text.data, text.len);
    assert_int_equal(occurrences(tc_error_report(err), ": error: "), 20);
    assert_non_null(strstr(tc_error_report(err), "t.toml: 7 more errors\n"));
    assert_non_null(strstr(tc_error_report(err), "t.toml:21:1: error: unknown key \"unknown19\""));
    static const char broken[] = "[tool.x]\nunknown = 1\npids = 0\nx = = 1\n";
    _autoerror_ struct toolcage_error *alone = findings_of(broken, strlen(broken));
    assert_int_equal(occurrences(tc_error_report(alone), ": error: "), 1);
}

static char *repeat(const char *unit, size_t times, const char *before, const char *after)
{
    struct tc_buf text = TC_BUF_INIT;
    tc_buf_adds(&text, before);
    for (size_t i = 0; i < times; i++)
        tc_buf_adds(&text, unit);
    tc_buf_adds(&text, after);
    char *result = tc_buf_steal(&text);
    assert_non_null(result);
    return result;
}

static void expect_message(const char *text, size_t length, const char *message)
{
    _autoerror_ struct toolcage_error *err = findings_of(text, length);
    if (!strstr(tc_error_message(err), message))
        print_error("%s\n", tc_error_message(err));
    assert_non_null(strstr(tc_error_message(err), message));
}

static void caps_hold(void **state)
{
    _autofree_ char *large = repeat("# 0123456789\n", ((4 << 20) / 13) + 1, "", "");
    expect_message(large, strlen(large), "bytes, the maximum is 4194304");
    _autofree_ char *dots = repeat("a.", 1000000, "", "a = 1\n");
    expect_message(dots, strlen(dots), "too many parts");
    _autofree_ char *quoted = repeat("\"a\" . ", 500000, "", "a = 1\n");
    expect_message(quoted, strlen(quoted), "too many parts");
    _autofree_ char *arrays = repeat("[", 1000000, "a = ", "\n");
    expect_message(arrays, strlen(arrays), "");
    _autofree_ char *values = repeat("1,", 300000, "a = [", "]\n");
    expect_message(values, strlen(values), "too many values");
    _autofree_ char *entries =
        repeat("\"/srv/x\",", 1025, "[tool.x]\nfilesystem.readable = [", "]\n");
    expect_message(entries, strlen(entries), "more than 1024");
    struct tc_buf tools = TC_BUF_INIT;
    for (int i = 0; i < 4097; i++)
        tc_buf_addf(&tools, "[tool.t%d]\n", i);
    _auto_(tc_buf_done) struct tc_buf owned = tools;
    expect_message(owned.data, owned.len, "4097 tools are too many");
    expect_message("a\0b", 3, "NUL");
    expect_message("a = \"\\u0000\"\n", 13, "NUL");
    expect_message("a = \"\xff\"\n", 8, "");
}

static char *read_data(const char *name)
{
    struct tc_buf text = TC_BUF_INIT;
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/%s", TEST_DATA, name);
    assert_int_equal(tc_read_file(AT_FDCWD, path, &text), 0);
    return tc_buf_steal(&text);
}

static void first_example_compiles(void **state)
{
    _autofree_ char *text = read_data("first.toml");
    _autopolicy_ struct toolcage_policy *policy = compile(text);
    assert_true(tc_policy_has_tool(policy, "web_fetch"));
    assert_true(tc_policy_has_tool(policy, "code_execute"));
    assert_true(tc_policy_has_tool(policy, "file_edit"));
    assert_false(tc_policy_has_tool(policy, "nothing"));
}

static void second_example_compiles(void **state)
{
    _autofree_ char *text = read_data("people.toml");
    _autopolicy_ struct toolcage_policy *policy = compile(text);
    assert_true(tc_policy_has_tool(policy, "python"));
    assert_true(tc_policy_has_tool(policy, "github_issue"));
}

/* Every example of the key table is TOML that the key's own scope accepts. */
static void examples_of_keys_compile(void **state)
{
    static const struct {
        enum tc_scope scope;
        const char *before, *after;
    } frames[] = {
        {TC_SCOPE_FILE, "tool.python = {}\n", ""},
        {TC_SCOPE_TOOL, "[tool.x]\narguments.path = {}\narguments.code = {}\n", ""},
        {TC_SCOPE_FILESYSTEM, "[tool.x]\n", ""},
        {TC_SCOPE_ENV, "[tool.x]\n", ""},
        {TC_SCOPE_MEMORY, "[tool.x]\n", ""},
        {TC_SCOPE_OUTPUT, "[tool.x]\n", ""},
        {TC_SCOPE_CLASS, "[tier.Auto]\n", ""},
        {TC_SCOPE_OCI, "[backend.oci]\n", ""},
        {TC_SCOPE_GVISOR, "[backend.gvisor]\n", ""},
        {TC_SCOPE_PODMAN, "[backend.podman]\n", ""},
        {TC_SCOPE_DOCKER, "[backend.docker]\n", ""},
        {TC_SCOPE_CONTAINERD, "[backend.containerd]\n", ""},
        {TC_SCOPE_QEMU, "[backend.qemu]\n", ""},
        {TC_SCOPE_FIRECRACKER, "[backend.firecracker]\n", ""},
        {TC_SCOPE_KATA, "[backend.kata]\n", ""},
        {TC_SCOPE_WASM, "[backend.wasm]\n", ""},
        {TC_SCOPE_EGRESS, "[egress]\n", ""},
        {TC_SCOPE_AUDIT, "[audit]\n", ""},
        {TC_SCOPE_TEST, "[tool.python]\n[[test]]\n", "\n"},
    };
    size_t tried = 0;
    for (size_t f = 0; f < TC_COUNT(frames); f++)
        for (const struct tc_key *key = tc_keys; key->name; key++) {
            if (!(key->scopes & TC_SCOPE_BIT(frames[f].scope)) || !key->set || !key->example)
                continue;
            if (strcmp(key->name, "arguments") == 0 || strcmp(key->example, "[tool.python]") == 0)
                continue;
            const char *before = frames[f].before;
            if (strcmp(key->name, "input_schema") == 0) /* in place of arguments */
                before = "[tool.x]\n";
            bool test = frames[f].scope == TC_SCOPE_TEST && strcmp(key->name, "tool") != 0;
            _autofree_ char *text =
                tc_format("%s%s%s\n", before, test ? "tool = \"python\"\n" : "", key->example);
            assert_non_null(text);
            _autopolicy_ struct toolcage_policy *policy = compile(text);
            tried += policy != NULL;
        }
    assert_true(tried > 40);
}

static void only_some_clauses_can_be_given_up(void **state)
{
    static const char *const bad[] = {"\"fs.read\"", "\"net.none\"", "\"proc\"", "1"};
    _autopolicy_ struct toolcage_policy *policy =
        compile("[tool.x]\nwithout = [\"proc.own\", \"fs.stat\"]\n");
    assert_true(tc_policy_has_tool(policy, "x"));
    for (size_t i = 0; i < TC_COUNT(bad); i++) {
        _autofree_ char *text = tc_format("[tool.x]\nwithout = [%s]\n", bad[i]);
        expect_message(text, strlen(text), "not a clause that can be given up");
    }
    /* the words of the table are those of the set */
    tc_clauses named = 0;
    for (const char *const *word = tc_values_without; *word; word++)
        for (int c = 0; c < TC_CLAUSE_COUNT; c++)
            named |= strcmp(tc_clause_name((enum tc_clause)c), *word) ? 0 : TC_CLAUSE_BIT(c);
    assert_true(named == tc_clauses_yielding());
}

/* The keys that stand in all of one set of tables and in none of another. */
static void these_stand(tc_scopes in, tc_scopes out, const char *names)
{
    _autobuf_ struct tc_buf all = TC_BUF_INIT;
    for (const struct tc_key *key = tc_keys; key->name; key++)
        if ((key->scopes & in) == in && !(key->scopes & out))
            tc_buf_addf(&all, " %s", key->name);
    assert_string_equal(all.data, names);
}

/* What one place takes and another does not is as much of the language as the keys. */
static void keys_are_accepted_in_their_tables_only(void **state)
{
    these_stand(TC_IN(TOOL), TC_IN(DEFAULTS),
                " description title command stdin arguments input_schema setup");
    these_stand(TC_IN(TOOL), TC_IN(SERVER), " title stdin arguments input_schema");
    these_stand(
        TC_IN(DEFAULTS), TC_IN(SETUP),
        " secrets syscalls session_lifetime tier risk fallback layers module workspace review warm "
        "deterministic collect publish");
    these_stand(TC_IN(SERVER_TOOL), 0, " description title arguments timeout output tier risk");
    these_stand(TC_IN(SETUP), TC_IN(DEFAULTS), " command into inputs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(findings_have_place_and_message),
        cmocka_unit_test(quote_and_caret),
        cmocka_unit_test(columns_count_bytes),
        cmocka_unit_test(report_cannot_steer_a_terminal),
        cmocka_unit_test(findings_come_together_and_end),
        cmocka_unit_test(caps_hold),
        cmocka_unit_test(first_example_compiles),
        cmocka_unit_test(second_example_compiles),
        cmocka_unit_test(examples_of_keys_compile),
        cmocka_unit_test(only_some_clauses_can_be_given_up),
        cmocka_unit_test(keys_are_accepted_in_their_tables_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
