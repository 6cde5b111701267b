/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The rows. A key that the language has and this version does not support has a row without a
 * setter, so that its error is not "unknown key". */
#include "policy/parse/keys.h"

#include <stddef.h>

#include "policy/parse/parse.h"
#include "policy/parse/server_rows.h"
#include "schema/schema.h"

static const char *const words_reuse[] = {"never", "same-grant", NULL};

#define MAX_MS ((int64_t)168 * 3600 * 1000)
#define MAX_BYTES ((int64_t)1 << 44)

/* Scopes of the capability keys. */
#define EACH (TC_IN(TOOL) | TC_IN(DEFAULTS) | TC_IN(SERVER))
#define EACH_AND_SETUP (EACH | TC_IN(SETUP)) /* and those of an install phase */
#define SPEC(field) .offset = offsetof(struct tc_spec, field)
#define AUDIT(field) .offset = offsetof(struct toolcage_policy, audit.field)
#define LIMIT(field) .offset = offsetof(struct tc_spec, limits.field)
#define RANGE(u, low, high) .unit = TC_UNIT_##u, .min = (low), .max = (high)
#define NONE .id = TC_KEY_NONE
#define READS(f, s) .form = TC_FORM_##f, .inner = TC_SCOPE_##s
#define PLAIN(F, key, kind, type_, member, scopes, setter, change, ...) \
    {scopes, #member, setter, SPEC(member), .id = TC_KEY_##key, __VA_ARGS__},

const struct tc_key tc_keys[] = {
    /* the file */
    {TC_IN(FILE), "tool", tc_set_tools, READS(NAMED, TOOL), NONE, .type = "tables",
     .text = "The tools, one table each; the name is what a model calls.",
     .example = "[tool.python]"},
    {TC_IN(FILE), "server", tc_set_servers, READS(NAMED, SERVER), NONE, .type = "tables",
     .text = "MCP servers, one table each: toolcage wrap runs one in a cage, for as long as "
             "its client is connected. It takes the capability keys of a tool; it has no "
             "timeout unless one is set here.",
     .example = "[server.files]"},
    {TC_IN(FILE), "defaults", tc_set_defaults, READS(TABLE, DEFAULTS), NONE, .type = "table",
     .text = "The keys that a tool does not set, and those of a command without a tool. A key "
             "in a tool replaces the inherited one as a whole; only filesystem.denied "
             "accumulates.",
     .example = "[defaults]\ntimeout = \"10s\""},
    {TC_IN(FILE), "tier", tc_set_tiers, READS(NAMED, CLASS), NONE, .type = "tables",
     .text = "Changes the backend of a tier.", .example = "[tier.Assisted]\nbackend = \"process\""},
    {TC_IN(FILE), "risk", tc_set_risks, READS(NAMED, CLASS), NONE, .type = "tables",
     .text = "Changes the backend of a risk.",
     .example = "[risk.build_test]\nbackend = \"process\""},
    {TC_IN(FILE) | TC_IN(TEST_FILE), "test", tc_set_tests, READS(LIST, TEST), NONE,
     .type = "array of tables",
     .text = "Accesses and calls that the policy must allow or deny: toolcage policy test. They "
             "may also be in a separate file.",
     .example = "[[test]]\ntool = \"python\"\ndenied = [\"connect example.com:443\"]"},
    {TC_IN(FILE), "extends", tc_set_word, NONE, .type = "path, or array of them",
     .text = "The files that this one extends: other policy files, and shipped profiles as "
             "\"profile:NAME\". The file's own keys replace those that it extends, key by key; a "
             "later file overrides an earlier one, and filesystem.denied and tests add up.",
     .example = "extends = \"profile:workspace\""},
    {TC_IN(FILE), "within", tc_set_within, NONE, .type = "path",
     .text = "A ceiling: another policy file, or a shipped profile. A call is refused if its grant "
             "exceeds what that policy grants its tool of the same name, or else [defaults], or "
             "cannot be compared with it.",
     .example = "within = \"profile:multi-tenant\""},
    {TC_IN(FILE), "egress", tc_set_egress, READS(TABLE, EGRESS), NONE, .type = "table",
     .text = "How the egress proxy connects to the outside, for every tool with a network.",
     .example = "[egress]\nupstream = \"http://proxy.example.com:3128\""},
    {TC_IN(FILE), "audit", tc_set_audit, READS(TABLE, AUDIT), NONE, .type = "table",
     .text = "Records every call in the audit log of the user who runs it: the decision before "
             "anything runs, and the result. A call that cannot be recorded does not run. If the "
             "policy has a ceiling (`within`) with this table, the ceiling's applies.",
     .example = "[audit]\nsync = \"always\""},
#include "policy/parse/file_rows.h"

    /* description and interface of a tool */
    {TC_IN(TOOL) | TC_IN(SERVER) | TC_IN(SERVER_TOOL), "description", tc_set_string,
     SPEC(description), .id = TC_KEY_DESCRIPTION, .type = "string",
     .text = "What the tool does, for the model.",
     .example = "description = \"Count words in a file.\""},
    {TC_IN(TOOL) | TC_IN(SERVER_TOOL), "title", tc_set_string, SPEC(title), .id = TC_KEY_TITLE,
     .type = "string", .text = "A name for people.", .example = "title = \"Word count\""},
    {TC_IN(TOOL) | TC_IN(SERVER) | TC_IN(SETUP), "command", tc_set_command, SPEC(command),
     .id = TC_KEY_COMMAND, .type = "array of strings",
     .text = "The program and its arguments; no shell ever reads them. {NAME} stands for an "
             "argument, {NAME...} for "
             "each element of an array argument, {*} for all arguments as JSON. Other braces are "
             "literal. Without a "
             "command the tool is a profile for commands given at the call.",
     .example = "command = [\"wc\", \"-w\", \"--\", \"{path}\"]"},
    {TC_IN(TOOL), "stdin", tc_set_stdin, SPEC(stdin_text), .id = TC_KEY_STDIN, .type = "string",
     .text = "What the tool reads from its standard input, with placeholders as in command; "
             "without this key it is /dev/null.",
     .example = "stdin = \"{code}\""},
    {TC_IN(TOOL) | TC_IN(SERVER_TOOL), "arguments", tc_set_arguments, READS(ARGUMENTS, ARGUMENT),
     .id = TC_KEY_ARGUMENTS, .type = "tables",
     .text = "The arguments that a model may give, each a table. The schema is closed: others are "
             "refused.",
     .example = "arguments.path = { type = \"string\", read = [\"/data\"] }"},
    {TC_IN(TOOL), "input_schema", tc_set_input_schema, .id = TC_KEY_INPUT_SCHEMA,
     .type = "file, JSON string or table",
     .text = "A JSON Schema that replaces arguments: a file NAME.json, relative to the policy "
             "file's directory, the JSON as a string, or a table. It must be closed; a keyword "
             "that arguments do not have is an error.",
     .example = "input_schema = { type = \"object\", additionalProperties = false, required = "
                "[\"n\"], properties.n = { type = \"integer\" } }"},

    /* capabilities */
    {EACH_AND_SETUP, "filesystem", tc_set_filesystem, READS(OR_NONE, FILESYSTEM),
     .id = TC_KEY_FILESYSTEM, .type = "table or \"none\"", .fallback = "none",
     .text = "The host files that the tool sees. System directories are always readable, and /tmp "
             "is always private.",
     .example = "filesystem = { readable = [\"/data\"], writable = [\"/workspace\"] }"},
    {EACH_AND_SETUP, "network", tc_set_network, .id = TC_KEY_NETWORK,
     .type = "\"none\" or array of endpoints", .fallback = "none",
     .text = "The endpoints that the tool may reach: \"host:port\" (no port means 443; the prefix "
             "\"allowlist:\" changes nothing), \"*.example.com\" for exactly one label before a "
             "name, \"10.0.0.0/8:5432\" for a range, \"*\" for all public addresses, or tables.",
     .example = "network = [\"api.example.com:443\"]"},
    {EACH_AND_SETUP, "unix_sockets", tc_set_unix_sockets, .id = TC_KEY_UNIX_SOCKETS,
     .type = "\"none\", \"own\" or array of paths", .fallback = "none",
     .text = "The unix sockets that the tool may connect to. own: those that its processes create "
             "in private storage, and abstract ones. An array: also these host sockets, each a "
             "socket, not a directory. Stream and seqpacket only.",
     .example = "unix_sockets = [\"/run/postgresql/.s.PGSQL.5432\"]"},
    {EACH_AND_SETUP, "env", tc_set_table, READS(TABLE, ENV), .id = TC_KEY_ENV, .type = "table",
     .text = "The environment, besides PATH, HOME, LANG and TMPDIR.",
     .example = "env = { pass = [\"TZ\"], set = { MODE = \"fast\" } }"},
    {EACH, "secrets", tc_set_secrets, .id = TC_KEY_SECRETS, .type = "tables",
     .text = "Values that the proxy injects into requests to the named hosts; the tool never sees "
             "them.",
     .example =
         "network = [\"api.example.com\"]\nsecrets.EXAMPLE = { from = \"env:EXAMPLE_TOKEN\", "
         "hosts = [\"api.example.com\"], header = \"Authorization: Bearer {secret}\" }"},
    {EACH, "syscalls", tc_set_syscalls, .id = TC_KEY_SYSCALLS, .type = "table",
     .fallback = "{ profile = \"default\" }",
     .text = "Changes to the system call profile, which the cage's seccomp filter enforces.",
     .example = "syscalls = { deny = [\"mlock\"] }"},
    {TC_IN(TOOL) | TC_IN(SERVER), "setup", tc_set_setup, READS(TABLE, SETUP), .id = TC_KEY_SETUP,
     .type = "table",
     .text = "An install phase with its own network, files and limits, which the operator runs: "
             "toolcage setup. The files that it writes to `into` are stored, and every call of the "
             "tool sees them there, read-only. It receives no input from a model.",
     .example = "setup = { command = [\"pip\", \"install\", \"--target\", \"/opt/deps\", "
                "\"-r\", \"requirements.txt\"], into = \"/opt/deps\", "
                "inputs = [\"requirements.txt\"] }"},

    /* limits */
    {EACH_AND_SETUP | TC_IN(SERVER_TOOL), "timeout", tc_set_value, LIMIT(timeout_ms),
     .id = TC_KEY_TIMEOUT, RANGE(DURATION, 1, MAX_MS), .type = "duration", .fallback = "30s",
     .text = "The maximum duration of the call.", .example = "timeout = \"60s\""},
    {EACH_AND_SETUP, "grace", tc_set_value, LIMIT(grace_ms), .id = TC_KEY_GRACE,
     RANGE(DURATION, 0, 600000), .type = "duration", .fallback = "2s",
     .text = "The time between SIGTERM and the end of the whole cage.",
     .example = "grace = \"500ms\""},
    {EACH, "session_lifetime", tc_set_value, LIMIT(session_lifetime_ms),
     .id = TC_KEY_SESSION_LIFETIME, RANGE(DURATION, 1, MAX_MS), .type = "duration",
     .fallback = "unset",
     .text = "The maximum duration of a live session (toolcage session start) of this tool, in "
             "which commands run until it ends. Unset: it has no live sessions. The other limits "
             "then hold for all its commands "
             "together, except timeout and output.",
     .example = "session_lifetime = \"8h\""},
    {EACH_AND_SETUP, "memory", tc_set_memory, READS(OR_SIZE, MEMORY), .id = TC_KEY_MEMORY,
     RANGE(SIZE, 1 << 20, MAX_BYTES), .type = "size or table",
     .fallback = "{ max = \"512MiB\", by = \"any\" }",
     .text =
         "Memory of the whole cage, private storage included. A plain size needs a cgroup; by = "
         "\"any\" accepts a limit on the private memory of each process on a host without one.",
     .example = "memory = \"512MiB\""},
    {EACH_AND_SETUP, "cpu_time", tc_set_value, LIMIT(cpu_time_ms), .id = TC_KEY_CPU_TIME,
     RANGE(DURATION, 1, MAX_MS), .type = "duration", .fallback = "unset",
     .text = "CPU time of the whole cage.", .example = "cpu_time = \"20s\""},
    {EACH_AND_SETUP, "cpus", tc_set_value, LIMIT(cpus_milli), .id = TC_KEY_CPUS,
     RANGE(CPUS, 10, 1024000), .type = "number", .fallback = "unset",
     .text =
         "The number of CPUs that the cage may use. The CPU affinity of its processes is this "
         "number, "
         "rounded up: nproc, Go, the JVM, Node.js (os.availableParallelism) and OpenMP read it. "
         "Python's os.cpu_count() reads the number of the host's CPUs.",
     .example = "cpus = 1.5"},
    {EACH_AND_SETUP, "pids", tc_set_value, LIMIT(pids), .id = TC_KEY_PIDS, RANGE(COUNT, 1, 4194304),
     .type = "integer", .fallback = "128", .text = "The maximum number of processes and threads.",
     .example = "pids = 64"},
    {EACH_AND_SETUP, "disk", tc_set_disk, LIMIT(disk), .id = TC_KEY_DISK,
     RANGE(SIZE, 65536, MAX_BYTES), .type = "size", .fallback = "64MiB, 16384 files",
     .text =
         "The size of private storage: /tmp and all other writable paths that are not on the host. "
         "A first go build of a small program, or an installation of numpy, needs 96MiB.",
     .example = "disk = \"256MiB\""},
    {EACH_AND_SETUP, "open_files", tc_set_value, LIMIT(open_files), .id = TC_KEY_OPEN_FILES,
     RANGE(COUNT, 8, 1048576), .type = "integer", .fallback = "1024",
     .text = "Open file descriptors of a process.", .example = "open_files = 256"},
    {EACH_AND_SETUP, "connections", tc_set_value, LIMIT(connections), .id = TC_KEY_CONNECTIONS,
     RANGE(COUNT, 1, 1024), .type = "integer", .fallback = "1024",
     .text = "Simultaneous network connections.", .example = "connections = 16"},
    {EACH_AND_SETUP, "transfer", tc_set_value, LIMIT(transfer), .id = TC_KEY_TRANSFER,
     RANGE(SIZE, 1024, MAX_BYTES), .type = "size", .fallback = "unset",
     .text = "Network traffic of a call, sent and received together.",
     .example = "transfer = \"100MiB\""},
    {EACH_AND_SETUP, "bandwidth", tc_set_value, LIMIT(bandwidth), .id = TC_KEY_BANDWIDTH,
     RANGE(SIZE, 1024, TC_BANDWIDTH_MAX), .type = "size", .fallback = "unset",
     .text = "Network traffic per second, sent and received together.",
     .example = "bandwidth = \"5MiB\""},
    {EACH_AND_SETUP | TC_IN(SERVER_TOOL), "output", tc_set_output, READS(OR_SIZE, OUTPUT),
     .id = TC_KEY_OUTPUT, RANGE(SIZE, 1024, 16 << 20), .type = "size or table",
     .fallback = "{ limit = \"1MiB\", over = \"truncate\" }",
     .text = "The captured size of standard output and of standard error, each. Truncation keeps "
             "both ends.",
     .example = "output = { limit = \"64KiB\", over = \"kill\" }"},

    /* backends and approval; tc_set_settings() passes a backend's settings on, so a row's setter
     * only checks the value */
    {EACH | TC_IN(SERVER_TOOL), "tier", tc_set_choice, SPEC(tier), .id = TC_KEY_TIER,
     .choices = tc_values_tier, .type = "word",
     .text = "How far a person must approve calls; selects the backend if none is named.",
     .example = "tier = \"HumanApprove\""},
    {EACH | TC_IN(SERVER_TOOL), "risk", tc_set_choice, SPEC(risk), .id = TC_KEY_RISK,
     .choices = tc_values_risk, .type = "word",
     .text = "The kind of work; selects the backend if neither backend nor tier does.",
     .example = "risk = \"file_ops\""},
    {EACH_AND_SETUP, "backend", tc_set_choice, SPEC(backend), .id = TC_KEY_BACKEND,
     .choices = tc_values_backend, .type = "word",
     .fallback = "by tier, risk, image or module, else process", .text = "The kind of cage.",
     .example = "backend = \"process\""},
    {TC_IN(CLASS), "backend", tc_set_choice, .offset = offsetof(struct tc_class, backend), NONE,
     .choices = tc_values_backend + 1, .type = "word",
     .text = "The kind of cage for this tier or risk.", .example = "backend = \"process\""},
    {TC_IN(FILE), "backend", tc_set_table, READS(TABLE, BACKENDS), NONE, .type = "tables",
     .text = "Settings of backends.", .example = "[backend.oci]\nruntime = \"runc\""},
    {TC_IN(BACKENDS), "oci", tc_set_settings, READS(TABLE, OCI), NONE, .type = "table",
     .text = "Settings of the backend oci.", .example = "[backend.oci]"},
    {TC_IN(OCI), "runtime", tc_set_word, NONE, .choices = tc_values_runtime, .type = "word",
     .fallback = "the first that is installed, in this order",
     .text = "The container runtime, by name: toolcage searches the system directories for it, and "
             "a policy cannot name a path.",
     .example = "runtime = \"runc\""},
    {TC_IN(OCI), "ready", tc_set_value, NONE, RANGE(COUNT, 0, 8), .type = "integer",
     .fallback = "1", .example = "ready = 3",
     .text =
         "The number of prestarted containers for the next calls of a tool, in an engine that "
         "stays alive after a call. Each call prestarts one for a later call. A container serves "
         "one call and expires after a minute. 0: none. Calls with a network do not use them."},
    {TC_IN(BACKENDS), "gvisor", tc_set_settings, READS(TABLE, GVISOR), NONE, .type = "table",
     .text = "Settings of the backend gvisor.", .example = "[backend.gvisor]"},
    {TC_IN(GVISOR), "platform", tc_set_word, NONE, .choices = tc_values_platform, .type = "word",
     .fallback = "systrap if this runsc has it and it works here, otherwise ptrace",
     .text = "How runsc intercepts the tool's system calls. If a named platform does not work or "
             "does not respond, the call is refused. kvm is used only if it is named, and needs a "
             "/dev/kvm that the cage's user id may open.",
     .example = "platform = \"ptrace\""},
    {TC_IN(BACKENDS), "podman", tc_set_settings, READS(TABLE, PODMAN), NONE, .type = "table",
     .text = "Settings of the backend podman.", .example = "[backend.podman]"},
    {TC_IN(BACKENDS), "docker", tc_set_settings, READS(TABLE, DOCKER), NONE, .type = "table",
     .text = "Settings of the backend docker.", .example = "[backend.docker]"},
    {TC_IN(PODMAN), "socket", tc_set_socket, NONE, .type = "path",
     .fallback = "/run/podman/podman.sock for root, otherwise /run/user/UID/podman/podman.sock",
     .text = "Where podman's service listens (systemctl --user start podman.socket). "
             "Environment variables are ignored.",
     .example = "socket = \"/run/podman/podman.sock\""},
    {TC_IN(DOCKER), "socket", tc_set_socket, NONE, .type = "path", .fallback = "/run/docker.sock",
     .text = "Where dockerd listens. Who may use the socket of a dockerd with root's rights is "
             "root; a rootless one listens at /run/user/UID/docker.sock. Environment variables "
             "are ignored.",
     .example = "socket = \"/run/user/1000/docker.sock\""},
    {TC_IN(DOCKER) | TC_IN(CONTAINERD), "runtime", tc_set_word, NONE, .choices = tc_values_runtime,
     .type = "word", .fallback = "the engine's own",
     .text = "The runtime with which the engine makes the container, by the name that the engine "
             "has for it. Not one with a separate kernel, which cannot take a cage that is passed "
             "by descriptors: Kata is backend = \"kata\", runsc is backend = \"gvisor\". Podman's "
             "runtime is chosen when its "
             "service is started: podman --runtime runc system service.",
     .example = "runtime = \"runc\""},
    {TC_IN(BACKENDS), "containerd", tc_set_settings, READS(TABLE, CONTAINERD), NONE,
     .type = "table", .text = "Settings of the backend containerd.",
     .example = "[backend.containerd]"},
    {TC_IN(CONTAINERD), "socket", tc_set_socket, NONE, .type = "path",
     .fallback = "/run/containerd/containerd.sock",
     .text = "The path of containerd's socket. Access to this socket is equivalent to root. "
             "Environment variables are ignored.",
     .example = "socket = \"/run/k3s/containerd/containerd.sock\""},
    {TC_IN(BACKENDS), "kata", tc_set_settings, READS(TABLE, KATA), NONE, .type = "table",
     .text = "Settings of the backend kata.", .example = "[backend.kata]"},
    {TC_IN(KATA), "engine", tc_set_word, NONE, .choices = tc_values_kata_engine, .type = "word",
     .fallback = "docker",
     .text = "The container engine that creates the container of a call. It must have Kata "
             "Containers as a runtime.",
     .example = "engine = \"docker\""},
    {TC_IN(KATA), "runtime", tc_set_word, NONE, .choices = tc_values_kata, .type = "word",
     .fallback = "kata",
     .text = "The name of the runtime in that engine (kata is io.containerd.kata.v2 in "
             "containerd). The engine's configuration decides which runtime this is; a container "
             "that runs on the host's kernel is refused.",
     .example = "runtime = \"kata-qemu\""},
    {TC_IN(KATA), "socket", tc_set_socket, NONE, .type = "path",
     .fallback = "/run/docker.sock, or /run/containerd/containerd.sock",
     .text = "The path of that engine's socket. Access to this socket is equivalent to root. "
             "Environment variables are ignored.",
     .example = "socket = \"/run/docker.sock\""},
    {TC_IN(BACKENDS), "qemu", tc_set_settings, READS(TABLE, QEMU), NONE, .type = "table",
     .text = "Settings of the backend qemu.", .example = "[backend.qemu]"},
    {TC_IN(QEMU), "emulation", tc_set_bool, NONE, .type = "boolean", .fallback = "false",
     .text = "Allow QEMU's emulation (TCG) where no guest boots with KVM. It is at least ten times "
             "slower, and QEMU's translator isolates the guest instead of the CPU. The result "
             "reports which was used.",
     .example = "emulation = true"},
    {TC_IN(QEMU), "at_once", tc_set_value, NONE, RANGE(SIZE, 64 << 20, MAX_BYTES), .type = "size",
     .fallback = "three quarters of the host's memory",
     .text = "The maximum memory of all VMs of one user together, in all processes: guests and "
             "VMMs. A call that would exceed it is refused; a single VM always runs.",
     .example = "at_once = \"8GiB\""},
    {TC_IN(BACKENDS), "firecracker", tc_set_settings, READS(TABLE, FIRECRACKER), NONE,
     .type = "table", .text = "Settings of the backend firecracker.",
     .example = "[backend.firecracker]"},
    {TC_IN(QEMU) | TC_IN(FIRECRACKER), "snapshot", tc_set_bool, NONE, .type = "boolean",
     .fallback = "false",
     .text = "Store a snapshot of a booted VM in your state directory (some 70 MB). Later calls "
             "with the same image and limits start from a copy of the snapshot instead of booting. "
             "Each copy serves one call and gets fresh random numbers and the current time.",
     .example = "snapshot = true"},
    {TC_IN(QEMU), "ready", tc_set_value, NONE, RANGE(COUNT, 0, 4), .type = "integer",
     .fallback = "1", .example = "ready = 2",
     .text =
         "The number of VMs that are restored from their snapshot in advance for the next calls of "
         "a tool, in an engine that stays alive after a call. Each uses some 60 MB, serves one "
         "call and expires after a minute; together they use at most half of at_once. 0: none. "
         "Calls with a network, a copied workspace or a module do not use them."},
    {TC_IN(BACKENDS), "wasm", tc_set_settings, READS(TABLE, WASM), NONE, .type = "table",
     .text = "Settings of the backend wasm.", .example = "[backend.wasm]"},
    {TC_IN(WASM), "reuse", tc_set_word, NONE, .choices = words_reuse, .type = "word",
     .fallback = "never",
     .text = "same-grant: a worker that has served a call of a tool may serve further calls with "
             "the same grant; their arguments and input may differ. Each call always has a "
             "separate store and instance. With reuse, a bug in the engine could expose data of an "
             "earlier call with the same grant, and Landlock is no second layer of defence for "
             "paths. Never used for tools of risk untrusted.",
     .example = "reuse = \"same-grant\""},
    {EACH, "fallback", tc_set_fallback, .id = TC_KEY_FALLBACK, .type = "array of backends",
     .text = "Backends to try, in this order, if the first one cannot enforce the grant on this "
             "host or is not available. No backend runs a call that it cannot enforce completely; "
             "nothing is retried once the tool may have started.",
     .example = "backend = \"gvisor\"\n# toolcage: allow(weaker-fallback) better than no "
                "run\nfallback = [\"oci\", \"process\"]"},
    {EACH, "layers", tc_set_layers, .id = TC_KEY_LAYERS, .type = "array of backends",
     .text = "Nested cages, the outermost first, instead of backend. This version supports "
             "[\"qemu\", \"process\"], [\"qemu\", \"oci\"], [\"qemu\", \"wasm\"] and [\"qemu\", "
             "\"oci\", \"wasm\"], the same with firecracker instead of qemu, [\"process\", "
             "\"wasm\"] and [\"process\", \"wasmedge\"]; a call with other layers is refused.",
     .example = "layers = [\"qemu\", \"process\"]"},
    {EACH, "module", tc_set_module, SPEC(module), .id = TC_KEY_MODULE, .type = "path",
     .fallback = "the first element of the command, as a path from the caller's directory",
     .text = "A WebAssembly module, a program of WASI preview 1, or a component with wasi:cli/run: "
             "it selects backend wasm. With \"@sha256:…\" after the path, exactly that content. "
             "The command's first element is then the module's argv[0]. \"catalog:NAME\" is a "
             "module that ships with toolcage (toolcage wasm list) and supplies the tool's "
             "description, command and arguments.",
     .example = "module = \"./tool.wasm\"\ncommand = [\"tool\"]"},
    {EACH, "workspace", tc_set_workspace, READS(TABLE, WORKSPACE), .id = TC_KEY_WORKSPACE,
     .type = "table", .fallback = "{ mode = \"auto\" }",
     .text = "How the tool gets writable directories: the host's (bind), a copy that is written "
             "back after success (copy), an overlay over the host's that receives the changes "
             "(overlay), or an overlay where that is as good as a bind, else a bind (auto).",
     .example = "workspace = { mode = \"copy\" }"},
    {EACH_AND_SETUP, "without", tc_set_without, .id = TC_KEY_WITHOUT, .choices = tc_values_without,
     .type = "array of clauses",
     .text = "Clauses that the tool may run without on a host where namespaces cannot be created; "
             "there, Landlock and seccomp alone enforce the others, and the result reports it. It "
             "has no effect on other hosts.",
     .example = "# toolcage: allow(gives-up-clauses) the container around it ends them all\n"
                "without = [\"proc.own\", \"proc.survivors\"]"},
    {EACH, "review", tc_set_table, READS(TABLE, REVIEW), .id = TC_KEY_REVIEW, .type = "table",
     .text = "Staged changes that need no review.",
     .example = "review = { ignore = [\"__pycache__\", \"*.pyc\", \"target/debug\"] }"},
    /* clang-format off */
    TC_SERVER_ROWS
        /* clang-format on */

        /* plain keys of a tool */
        /* clang-format off */
    TC_PLAIN_MAP(PLAIN, )
    /* clang-format on */

    /* filesystem */
    {TC_IN(FILESYSTEM), "readable", tc_set_readable, NONE, .type = "array of paths",
     .text = "Read-only. What can be read may be executed.",
     .example = "filesystem.readable = [{ path = \"/data\", from = \"data\" }]"},
    {TC_IN(FILESYSTEM), "writable", tc_set_writable, NONE, .type = "array of paths",
     .text = "Readable and writable. A single file is written back as one new version; its "
             "directory is private to the call.",
     .example = "filesystem.writable = [\"/workspace\"]"},
    {TC_IN(FILESYSTEM), "denied", tc_set_denied, NONE, .type = "array of paths",
     .text = "Names that do not exist for the tool, whatever else grants them.",
     .example = "filesystem.denied = [\"/workspace/.env\"]"},
    {TC_IN(FILESYSTEM), "steering", tc_set_steering, READS(TABLE, STEERING), NONE, .type = "table",
     .text = "The names of steering files: files in writable directories that host programs load "
             "or run automatically. Built in are all names that begin with a dot, except a short "
             "list that no program loads, and a list of others.",
     .example = "filesystem.steering = { add = [\"deploy.sh\"], remove = [\".github\"] }"},
    {TC_IN(STEERING), "add", tc_set_patterns, SPEC(steering.add), NONE, .type = "array of patterns",
     .text = "Further names: one name, or several joined by slashes, in any directory; each may "
             "contain one *.",
     .example = "filesystem.steering.add = [\"deploy.sh\", \"ci/*.yml\"]"},
    {TC_IN(STEERING), "remove", tc_set_steering_remove, SPEC(steering.remove), NONE,
     .type = "array of patterns",
     .text = "Names that the tool may write, with everything below them, because a person reviews "
             "them before a program loads or runs them.",
     .example = "filesystem.steering.remove = [\".github\", \".eslintrc.json\"]"},
    {TC_IN(FS_ENTRY), "path", tc_set_string, .offset = offsetof(struct tc_fs_rule, path), NONE,
     .type = "path", .text = "As the tool sees it.", .example = "path = \"/data\""},
    {TC_IN(FS_ENTRY), "from", tc_set_string, .offset = offsetof(struct tc_fs_rule, from), NONE,
     .type = "path", .fallback = "the host's path of the same name",
     .text = "The host's path; a relative one starts at the policy file's directory.",
     .example = "from = \"data\""},
    {TC_IN(FS_ENTRY), "optional", tc_set_bool, .offset = offsetof(struct tc_fs_rule, optional),
     NONE, .type = "boolean", .fallback = "false",
     .text = "Skip it when the host's path is missing, instead of refusing the call.",
     .example = "optional = true"},

    /* network */
    {TC_IN(NET_ENTRY), "host", tc_set_string, .offset = offsetof(struct tc_net_entry, host), NONE,
     .type = "string", .text = "A host name or an address, or a pattern, as in network itself.",
     .example = "host = \"api.example.com\""},
    {TC_IN(NET_ENTRY), "port", tc_set_port, NONE, RANGE(COUNT, 1, 65535), .type = "integer",
     .fallback = "443", .text = "The port.", .example = "port = 8443"},
    {TC_IN(NET_ENTRY), "ports", tc_set_ports, NONE, .type = "string",
     .text = "Instead of port: \"any\" grants every TCP port. It needs nf_tables in the kernel; "
             "without nf_tables the call is refused.",
     .example = "host = \"files.example.com\", ports = \"any\""},
    {TC_IN(NET_ENTRY), "methods", tc_set_strings, .offset = offsetof(struct tc_net_entry, methods),
     NONE, .type = "array of strings",
     .text = "HTTP methods that are allowed; others are refused. Implies inspection on a TLS port.",
     .example = "methods = [\"GET\"]"},
    {TC_IN(NET_ENTRY), "paths", tc_set_strings, .offset = offsetof(struct tc_net_entry, paths),
     NONE, .type = "array of strings",
     .text = "HTTP paths that are allowed, with everything "
             "below them.",
     .example = "paths = [\"/v1\"]"},

    /* publish */
    {TC_IN(PUBLISH), "port", tc_set_port, NONE, RANGE(COUNT, 1, 65535), .type = "integer",
     .text = "The port on the loopback interface of the session.", .example = "port = 3000"},
    {TC_IN(PUBLISH), "to", tc_set_string, .offset = offsetof(struct tc_net_entry, host), NONE,
     .type = "string", .fallback = "127.0.0.1:0",
     .text = "Where connections are accepted on the host: a loopback address with a port (0: any "
             "free port), or unix: and a path, relative to the policy file's directory, in a "
             "directory that only the user can write. Other addresses are refused.",
     .example = "to = \"127.0.0.1:8080\""},

    /* secrets */
    {TC_IN(SECRET), "from", tc_set_secret_from, NONE, .type = "string",
     .text = "The source of the value, read at each call: \"env:NAME\", a variable of the caller, "
             "\"file:PATH\", or \"command:WORDS\", the output of an operator's program.",
     .example = "from = \"env:EXAMPLE_TOKEN\""},
    {TC_IN(SECRET), "hosts", tc_set_secret_hosts, NONE, .type = "array of endpoints",
     .text = "The hosts that receive it, over TLS; each must be in network, too. The prefix "
             "http:// with a port permits sending without TLS.",
     .example = "hosts = [\"api.example.com:443\"]"},
    {TC_IN(SECRET), "header", tc_set_secret_header, NONE, .type = "string",
     .text = "The header that the proxy sends; it replaces a header of the same name from the "
             "tool. {secret} stands for the value.",
     .example = "header = \"Authorization: Bearer {secret}\""},

    /* syscalls */
    {TC_IN(SYSCALLS), "profile", tc_set_word, NONE, .choices = tc_values_profile, .type = "word",
     .fallback = "default", .text = "The profile to which the changes apply.",
     .example = "syscalls.profile = \"default\""},
    {TC_IN(SYSCALLS), "allow", tc_set_syscalls_allow, NONE, .type = "array of names",
     .text = "System calls to allow although the profile refuses them, from a closed list: ptrace, "
             "process_vm_readv, process_vm_writev, process_madvise, kcmp, move_pages, "
             "migrate_pages, name_to_handle_at.",
     .example = "syscalls.allow = [\"ptrace\"] # toolcage: allow(dangerous-syscalls) a debugger"},
    {TC_IN(SYSCALLS), "deny", tc_set_syscalls_deny, NONE, .type = "array of names",
     .text = "System calls to refuse in addition to those that the profile refuses.",
     .example = "syscalls.deny = [\"mlock\"]"},

    /* an install phase */
    {TC_IN(SETUP), "into", tc_set_into, NONE, .type = "path",
     .text =
         "The directory that the install fills, which is stored, and where the tool sees it. Apart "
         "from it, an install writes only to /tmp. Both count against its `disk` while it runs.",
     .example = "setup.into = \"/opt/deps\""},
    {TC_IN(SETUP), "inputs", tc_set_inputs, NONE, .type = "array of strings",
     .text =
         "Files below the policy file's directory that the install reads. It starts in /setup, "
         "which contains them. If the content of one changes, the tool must be installed again.",
     .example = "setup.inputs = [\"requirements.txt\"]"},

    /* tables of memory, output and others */
    {TC_IN(MEMORY), "max", tc_set_value, LIMIT(memory), NONE, RANGE(SIZE, 1 << 20, MAX_BYTES),
     .type = "size", .text = "The limit.", .example = "memory = { max = \"512MiB\" }"},
    {TC_IN(MEMORY), "by", tc_set_word, NONE, .choices = tc_values_by, .type = "word",
     .fallback = "group",
     .text = "group: only with a cgroup. any: without a cgroup, a limit for each process.",
     .example = "memory = { max = \"512MiB\", by = \"any\" }"},
    {TC_IN(OUTPUT), "limit", tc_set_value, LIMIT(output), NONE, RANGE(SIZE, 1024, 16 << 20),
     .type = "size", .fallback = "1MiB", .text = "Captured bytes of each stream.",
     .example = "output.limit = \"64KiB\""},
    {TC_IN(OUTPUT), "over", tc_set_word, NONE, .choices = tc_values_over, .type = "word",
     .fallback = "truncate", .text = "What happens when the limit is exceeded.",
     .example = "output.over = \"kill\""},
    {TC_IN(ENV), "pass", tc_set_env_pass, SPEC(env_pass), NONE, .type = "array of names",
     .text = "Variables of the caller to pass on. Variables of the loader (LD_PRELOAD, ...) "
             "are allowed only in set.",
     .example = "env.pass = [\"TZ\"]"},
    {TC_IN(ENV), "set", tc_set_env_set, SPEC(env_set), NONE, .type = "table of strings",
     .text = "Variables and their values, with placeholders as in command.",
     .example = "env.set = { MODE = \"fast\" }"},
    {TC_IN(WORKSPACE), "mode", tc_set_index, SPEC(workspace), NONE, .choices = tc_values_mode,
     .type = "word", .fallback = "auto",
     .text = "bind, copy, overlay or auto. An overlay needs Linux 6.6.",
     .example = "workspace.mode = \"copy\""},
    {TC_IN(WORKSPACE), "commit", tc_set_index, SPEC(commit), NONE, .choices = tc_values_commit,
     .type = "word", .fallback = "always; on_success with mode copy or overlay",
     .text = "When the changes of a private workspace are written to the host: on success, "
             "always, when a person approves them, or never.",
     .example = "workspace.commit = \"never\""},
    {TC_IN(REVIEW), "ignore", tc_set_patterns, SPEC(caches), NONE, .type = "array of patterns",
     .fallback = "__pycache__, *.pyc, *.pyo, .pytest_cache, .mypy_cache, .ruff_cache, .hypothesis, "
                 ".ipynb_checkpoints, node_modules/.cache, .eslintcache, .stylelintcache, "
                 ".parcel-cache, .turbo",
     .text = "Caches: a review shows only their number, and approval leaves them out, unless "
             "`--all` or their own names are given. Patterns as in filesystem.steering; "
             "executables and symbolic links do not count as caches.",
     .example = "review.ignore = [\"__pycache__\", \"*.pyc\"]"},

    /* arguments */
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "type", tc_set_type, NONE, .choices = tc_values_type,
     .type = "word, or array of them", .fallback = "string", .text = "The JSON type of the value.",
     .example = "type = \"integer\""},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "description", tc_set_text, NONE, .type = "string",
     .text = "The meaning of the argument, for the model.",
     .example = "description = \"Lines to show\""},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "title", tc_set_text, NONE, .type = "string",
     .text = "A name for people.", .example = "title = \"Lines\""},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "default", tc_set_value_of, NONE, .type = "any value",
     .text = "The value that the tool uses when the argument is absent, for the model: nothing is "
             "filled in.",
     .example = "default = 10"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "enum", tc_set_enum, NONE, .type = "array",
     .text = "The allowed values.", .example = "enum = [\"add\", \"list\"]"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "const", tc_set_value_of, NONE, .type = "any value",
     .text = "The only allowed value.", .example = "const = \"list\""},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "minimum", tc_set_bound, NONE, .type = "number",
     .text = "The minimum.", .example = "minimum = 1"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "maximum", tc_set_bound, NONE, .type = "number",
     .text = "The maximum.", .example = "maximum = 100"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "exclusiveMinimum", tc_set_bound, NONE, .type = "number",
     .text = "The number must be greater than this.", .example = "exclusiveMinimum = 0"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "exclusiveMaximum", tc_set_bound, NONE, .type = "number",
     .text = "The number must be less than this.", .example = "exclusiveMaximum = 1"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "multipleOf", tc_set_multiple, NONE, .type = "integer",
     .text = "The integer must be a multiple of this positive integer.",
     .example = "multipleOf = 5"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "minLength", tc_set_length, NONE, .type = "integer",
     .text = "The minimum length of a string, in characters.", .example = "minLength = 1"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "maxLength", tc_set_length, NONE, .type = "integer",
     .text = "The maximum length of a string, in characters.", .example = "maxLength = 200"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "items", tc_set_others, READS(OR_FALSE, ITEMS), NONE,
     .type = "table, or false",
     .text = "The schema of each element of an array; false: no elements.",
     .example = "items = { type = \"string\" }"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "minItems", tc_set_length, NONE, .type = "integer",
     .text = "The minimum number of elements.", .example = "minItems = 1"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "maxItems", tc_set_length, NONE, .type = "integer",
     .text = "The maximum number of elements.", .example = "maxItems = 8"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "uniqueItems", tc_set_unique, NONE, .type = "boolean",
     .fallback = "false", .text = "No two elements may be equal.", .example = "uniqueItems = true"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "pattern", tc_set_pattern, NONE, .type = "string",
     .text = "A regular expression (ECMA-262) that matches anywhere in the string; ^ and $ "
             "anchor it. Without backreferences, named groups, flags and lookbehind. A string "
             "that takes too many steps is refused.",
     .example = "pattern = \"^[a-z0-9_-]{1,40}$\""},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "format", tc_set_schema_word, NONE,
     .choices = tc_values_format, .type = "word",
     .text = "The format of the string; it is checked.", .example = "format = \"date\""},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "prefixItems", tc_set_prefix, READS(LIST, ITEMS), NONE,
     .type = "array of tables",
     .text = "The schemas of the first elements, by position. items is the schema of the rest; "
             "without items, no further elements are allowed.",
     .example = "prefixItems = [{ type = \"integer\" }, { type = \"string\" }]"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "properties", tc_set_properties, READS(MEMBERS, ITEMS), NONE,
     .type = "tables",
     .text = "The members of an object, each written like items. Others are refused.",
     .example = "properties.x = { type = \"integer\" }"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "required", tc_set_required, NONE, .type = "array of strings",
     .text = "The members that an object must have.", .example = "required = [\"x\"]"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "additionalProperties", tc_set_additional,
     READS(OR_FALSE, ITEMS), NONE, .type = "table, or false", .fallback = "false",
     .text = "The schema of members that are not declared elsewhere; false: no such members.",
     .example = "additionalProperties = { type = \"integer\" }"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "patternProperties", tc_set_named_like, READS(MEMBERS, ITEMS),
     NONE, .type = "tables", .text = "Schemas of the members whose names match a pattern.",
     .example = "patternProperties.\"^x-\" = { maxLength = 80 }"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "propertyNames", tc_set_part, READS(TABLE, ITEMS), NONE,
     .type = "table", .text = "The schema of each member's name.",
     .example = "propertyNames = { pattern = \"^[a-z]+$\" }"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "minProperties", tc_set_length, NONE, .type = "integer",
     .text = "The minimum number of members.", .example = "minProperties = 1"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "maxProperties", tc_set_length, NONE, .type = "integer",
     .text = "The maximum number of members.", .example = "maxProperties = 8"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "dependentRequired", tc_set_dependent_required, NONE,
     .type = "table of arrays",
     .text = "The members that an object must have if it has another one.",
     .example = "dependentRequired = { x = [\"y\"] }"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "dependentSchemas", tc_set_dependent, READS(MEMBERS, ITEMS),
     NONE, .type = "tables",
     .text = "Schemas that an object must match if it has a certain member.",
     .example = "dependentSchemas.x = { minProperties = 2 }"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "contains", tc_set_part, READS(TABLE, ITEMS), NONE,
     .type = "table", .text = "A schema that must match at least one element of an array.",
     .example = "contains = { const = \"a\" }"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "minContains", tc_set_length, NONE, .type = "integer",
     .text = "The minimum number of elements that contains must match; 1 if absent.",
     .example = "minContains = 2"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "maxContains", tc_set_length, NONE, .type = "integer",
     .text = "The maximum number of elements that contains may match.",
     .example = "maxContains = 2"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "if", tc_set_part, READS(TABLE, ITEMS), NONE, .type = "table",
     .text = "A schema that decides which of then and else must match.",
     .example = "if = { const = \"a\" }"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "then", tc_set_part, READS(TABLE, ITEMS), NONE,
     .type = "table", .text = "A schema that must match if `if` does.",
     .example = "then = { minLength = 1 }"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "else", tc_set_part, READS(TABLE, ITEMS), NONE,
     .type = "table", .text = "A schema that must match if `if` does not.",
     .example = "else = { minLength = 2 }"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "examples", tc_set_examples, NONE, .type = "array of values",
     .text = "Example values, for the model.", .example = "examples = [\"a\"]"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "deprecated", tc_set_unique, NONE, .type = "boolean",
     .fallback = "false", .text = "The model should not use it.", .example = "deprecated = true"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "anyOf", tc_set_parts, READS(LIST, ITEMS), NONE,
     .type = "array of tables", .text = "Schemas of which at least one must match.",
     .example = "anyOf = [{ type = \"integer\" }, { enum = [\"all\"] }]"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "oneOf", tc_set_parts, READS(LIST, ITEMS), NONE,
     .type = "array of tables", .text = "Schemas of which exactly one must match.",
     .example = "oneOf = [{ pattern = \"^a\" }, { pattern = \"z$\" }]"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "allOf", tc_set_all_of, READS(LIST, ITEMS), NONE,
     .type = "array of tables", .text = "Schemas that must all match.",
     .example = "allOf = [{ pattern = \"^[a-z]\" }, { pattern = \"[a-z]$\" }]"},
    {TC_IN(ARGUMENT) | TC_IN(ITEMS), "not", tc_set_part, READS(TABLE, ITEMS), NONE, .type = "table",
     .text = "A schema that must not match.", .example = "not = { pattern = \"[.][.]\" }"},
    {TC_IN(ARGUMENT), "optional", tc_set_bool, .offset = offsetof(struct tc_argument, optional),
     NONE, .type = "boolean", .fallback = "false",
     .text = "May be absent; then the command elements that name it are dropped.",
     .example = "optional = true"},
    {TC_IN(ARGUMENT), "read", tc_set_read_bounds, NONE, .type = "array of paths",
     .text = "The value is a path within these; the call may read exactly that path.",
     .example = "read = [\"/data\"]"},
    {TC_IN(ARGUMENT), "write", tc_set_write_bounds, NONE, .type = "array of paths",
     .text = "The value is a path within these; the call may write exactly that path.",
     .example = "write = [\"/workspace/inbox\"]"},
    {TC_IN(ARGUMENT), "host", tc_set_host_bounds, NONE, .type = "array of endpoints",
     .text = "The value is one of these hosts or a URL on one; the call may connect to exactly "
             "that host.",
     .example = "host = [\"api.example.com\"]"},

    /* tests */
    {TC_IN(TEST), "tool", tc_set_string, .offset = offsetof(struct tc_test_case, tool), NONE,
     .type = "string", .text = "The tool that is tested.", .example = "tool = \"python\""},
    {TC_IN(TEST), "allowed", tc_set_strings, .offset = offsetof(struct tc_test_case, allowed), NONE,
     .type = "array of accesses",
     .text = "Each \"read P\", \"write P\", \"exec P\", \"connect H:P\" or \"connect unix:P\".",
     .example = "allowed = [\"read /data/x.csv\"]"},
    {TC_IN(TEST), "denied", tc_set_strings, .offset = offsetof(struct tc_test_case, denied), NONE,
     .type = "array of accesses", .text = "Accesses that must be refused, in the same form.",
     .example = "denied = [\"connect example.com:443\"]"},
    {TC_IN(TEST), "arguments", tc_set_test_arguments, NONE, .type = "table",
     .text = "Arguments that a model might give: the accesses are checked against that call's "
             "grant.",
     .example = "arguments = { path = \"/data/x.csv\" }"},
    {TC_IN(TEST), "call", tc_set_choice, .offset = offsetof(struct tc_test_case, call), NONE,
     .choices = tc_values_verdict, .type = "word",
     .text = "Whether the call with these arguments must be granted.",
     .example = "call = \"denied\""},
    {0},
};
