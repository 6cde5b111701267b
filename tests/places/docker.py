# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What docker gives a container unless told otherwise, as an OCI configuration for runc: capabilities, masked paths and
the seccomp profile. The profile is docker's own file where a package has it (golang-github-docker-docker-dev), else
made from the documented list of what it blocks."""

import copy
import json
import os
import platform

PROFILE = "/usr/share/gocode/src/github.com/docker/docker/profiles/seccomp/default.json"
CAPABILITIES = [
    "CAP_AUDIT_WRITE",
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
    "CAP_MKNOD",
    "CAP_NET_BIND_SERVICE",
    "CAP_NET_RAW",
    "CAP_SETFCAP",
    "CAP_SETGID",
    "CAP_SETPCAP",
    "CAP_SETUID",
    "CAP_SYS_CHROOT",
]
MASKED = [
    "/proc/asound",
    "/proc/acpi",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/sys/firmware",
]
READONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]
# docker's documentation ("Seccomp security profiles"): what the default profile blocks, and the capability that opens it
BLOCKED = {
    "CAP_SYS_ADMIN": [
        "bpf",
        "fanotify_init",
        "fsconfig",
        "fsmount",
        "fsopen",
        "fspick",
        "lookup_dcookie",
        "mount",
        "mount_setattr",
        "move_mount",
        "name_to_handle_at",
        "open_tree",
        "perf_event_open",
        "quotactl",
        "setdomainname",
        "sethostname",
        "setns",
        "umount2",
        "unshare",
    ],
    "CAP_SYS_PTRACE": ["kcmp", "process_vm_readv", "process_vm_writev"],
    "CAP_SYS_MODULE": ["create_module", "delete_module", "finit_module", "init_module"],
    "CAP_SYS_TIME": ["clock_adjtime", "clock_settime", "settimeofday"],
    "CAP_SYS_PACCT": ["acct"],
    "CAP_SYS_BOOT": ["reboot"],
    "CAP_SYS_RAWIO": ["iopl", "ioperm"],
    "CAP_DAC_READ_SEARCH": ["open_by_handle_at"],
    None: [
        "add_key",
        "get_kernel_syms",
        "kexec_file_load",
        "kexec_load",
        "keyctl",
        "move_pages",
        "nfsservctl",
        "pivot_root",
        "query_module",
        "request_key",
        "swapoff",
        "swapon",
        "sysfs",
        "_sysctl",
        "uselib",
        "userfaultfd",
        "ustat",
        "vm86",
        "vm86old",
    ],
}
NEW_NAMESPACES = 0x7E020000


def holds(rule, caps):
    """Does a rule of docker's file speak in this container?"""
    arch = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine())
    wants, excludes = rule.get("includes") or {}, rule.get("excludes") or {}
    if (
        wants.get("caps")
        and not set(wants["caps"]) & set(caps)
        or wants.get("arches")
        and arch not in wants["arches"]
    ):
        return False
    return not (set(excludes.get("caps") or []) & set(caps) or arch in (excludes.get("arches") or []))


def from_file(caps):
    with open(PROFILE, encoding="utf-8") as file:
        profile = json.load(file)
    rules = []
    for rule in profile["syscalls"]:
        if holds(rule, caps):
            kept = {"names": rule["names"], "action": rule["action"], "args": rule.get("args") or []}
            if rule.get("errnoRet"):
                kept["errnoRet"] = rule["errnoRet"]
            rules.append(kept)
    return {"defaultAction": profile["defaultAction"], "architectures": [], "syscalls": rules}


def from_list(caps):
    rules = [
        {"names": names, "action": "SCMP_ACT_ERRNO"} for cap, names in BLOCKED.items() if cap not in caps
    ]
    if "CAP_SYS_ADMIN" not in caps:
        bits = [1 << bit for bit in range(32) if NEW_NAMESPACES >> bit & 1]
        rules += [
            {
                "names": ["clone"],
                "action": "SCMP_ACT_ERRNO",
                "args": [{"index": 0, "value": bit, "valueTwo": bit, "op": "SCMP_CMP_MASKED_EQ"}],
            }
            for bit in bits
        ]
        rules.append({"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38})
    return {"defaultAction": "SCMP_ACT_ALLOW", "architectures": [], "syscalls": rules}


def seccomp(caps):
    profile = from_file(caps) if os.path.exists(PROFILE) else from_list(caps)
    profile["architectures"] = {
        "x86_64": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
        "aarch64": ["SCMP_ARCH_AARCH64"],
    }[platform.machine()]
    return profile


def config(spec, argv, options, uid=0, flags=(), binds=()):
    """The configuration of a container with these flags of docker, made from what `runc spec` says."""
    spec = copy.deepcopy(spec)
    caps = CAPABILITIES + [flag.split("=")[1] for flag in flags if flag.startswith("--cap-add=")]
    spec["process"].update(
        args=argv,
        terminal=False,
        cwd="/",
        noNewPrivileges=False,
        rlimits=[],
        env=[f"{name}={value}" for name, value in options.items()],
    )
    spec["process"]["user"] = {"uid": uid, "gid": uid}
    none = [] if uid else caps
    spec["process"]["capabilities"] = {
        "bounding": caps,
        "permitted": none,
        "effective": none,
        "inheritable": [],
        "ambient": [],
    }
    spec["root"] = {"path": "rootfs", "readonly": False}
    spec["linux"]["maskedPaths"], spec["linux"]["readonlyPaths"] = MASKED, READONLY
    spec["linux"]["namespaces"] = [{"type": kind} for kind in ("pid", "network", "ipc", "uts", "mount")]
    if "--security-opt=systempaths=unconfined" in flags:
        spec["linux"]["maskedPaths"], spec["linux"]["readonlyPaths"] = [], []
    if "--security-opt=seccomp=unconfined" not in flags:
        spec["linux"]["seccomp"] = seccomp(caps)
    spec["mounts"] += [
        {"destination": path, "type": "bind", "source": path, "options": ["rbind", "rw"]} for path in binds
    ]
    return spec
