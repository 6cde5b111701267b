# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""doctor --prove: a whole cage stops every attack, no cage is told from a whole one, nothing is left."""

import glob
import json
import os
import signal
import subprocess
import time

from cli import Answer, Place, check, finish, require_user, skip_all

# Attacks whose success needs neither root nor a setting of the machine: without a cage each must work.
SURE = {
    "read a private key",
    "read it through a link in the work",
    "read a denied file in the work",
    "read a file in the host's /tmp",
    "overwrite and delete a home",
    "plant a git hook",
    "leave a set-id file",
    "send the key to a server here",
    "send it to a unix socket",
    "send it to an abstract socket",
    "send it from a socket pair",
    "kill a process",
    "find the caller's environment",
    "find the caller's descriptors",
    "open the terminal",
    "outlive its call",
    "ignore its deadline",
    "bomb with forks",
    "open 96 files",
    "flood with output",
    "fill the disk",
    "take 192 MiB of memory",
}


def leftovers(pid):
    """Files and processes of the run of that pid, which stands in all their names."""
    found = glob.glob(f"/var/tmp/toolcage-decoys-{pid}-*") + glob.glob(f"/tmp/toolcage-decoy*-{pid}-*")
    for entry in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(entry, "rb") as file:
                if b"TOOLCAGE_DECOY=decoy-%d-" % pid in file.read():
                    found.append(entry)
        except OSError:
            continue
    return found


def left(pid):
    """What ends by itself within moments does not count."""
    deadline = time.monotonic() + 5
    while leftovers(pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    return leftovers(pid)


def attacks(answer):
    try:
        return json.loads(answer.out)
    except ValueError:
        return {"attacks": []}


def check_whole(place):
    process = place.popen(
        "doctor",
        "--prove",
        "--json",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    time.sleep(0.5)
    busy = leftovers(process.pid)
    out, err = process.communicate(timeout=200)
    answer = Answer(process.returncode, out, err)
    proof = attacks(answer)
    found = {row["attack"]: row for row in proof["attacks"]}
    check(
        answer.code == 0 and proof.get("proven") is True,
        "every attack that works here is stopped",
        "\n".join(str(row) for row in found.values() if row["result"] not in ("stopped", "harmless"))
        + str(answer)[-1500:],
    )
    missing = SURE - {name for name, row in found.items() if row["result"] == "stopped"}
    check(not missing, "attacks that work on every machine were tried and stopped", sorted(missing))
    unnamed = [
        row
        for row in found.values()
        if row["result"] == "stopped" and not row["by"].startswith(row["clause"] + ": ")
    ]
    check(found and not unnamed, "every stopped attack names a mechanism", unnamed)
    check(busy and not left(process.pid), "nothing is left", f"{busy} {left(process.pid)}")


def check_broken(place):
    """The same attacks where nothing holds them: a wall that is missing must show."""
    answer = place.run("doctor", "--prove", "--json", "--backend", "not-a-security-boundary", timeout=200)
    proof = attacks(answer)
    stopped = [row for row in proof["attacks"] if row["result"] == "stopped"]
    through = {row["attack"] for row in proof["attacks"] if row["result"] == "not_stopped"}
    # a supervisor without a cage still makes environment, pipes and sessions of its own, caps output and keeps deadlines
    own = {
        "ignore its deadline",
        "find the caller's environment",
        "find the caller's descriptors",
        "open the terminal",
        "flood with output",
    }
    check(
        answer.code == 1 and not stopped and proof.get("proven") is False,
        "no cage proves nothing",
        stopped or answer,
    )
    check(SURE - own <= through, "every attack that gets through is reported", sorted(SURE - own - through))


def prove_first(place, more=""):
    policy = place.write("home/proved.toml", f'[tool.true]\ncommand = ["true"]\nproved = true\n{more}')
    return place.run("call", "--policy", policy, "--json", "true")


def check_unproved(place):
    answer = prove_first(place)
    check(
        answer.code == 126
        and "was not tried on this host" in answer.out
        and "toolcage doctor --prove --backend process" in answer.out,
        "a call that must be proved is refused without a proof",
        answer,
    )


def check_proved(place):
    record = place.home + "/.local/state/toolcage/proofs/process"
    answer = prove_first(place)
    check(
        answer.code == 0 and json.loads(answer.out)["proved"].startswith("20"),
        "a proved call runs and says when it was proved",
        answer,
    )
    with open(record, encoding="utf-8") as file:
        text = file.read()
    boot = next(line for line in text.splitlines() if "boot_id" in line)
    modules = next(line for line in text.splitlines() if "/lsm" in line)
    first = text.splitlines()[0]
    for was, now, what in (
        (boot, boot.split("\t")[0] + "\t0", "boot_id has changed"),
        (modules, modules.split("\t")[0] + "\tlandlock,gone", "/lsm has changed"),
        ("kernel\t", "kernel\t1", "kernel has changed"),
        (first, first.replace(first.split()[1], "0" * 32), "the version of toolcage has changed"),
        (text[text.index(modules) :], "", "has changed"),
        (text, "", "the version of toolcage"),
    ):
        place.write(record, text.replace(was, now))
        answer = prove_first(place)
        check(answer.code == 126 and what in answer.out, f"a call is refused where {what}", answer)
    place.write(record, text)
    os.chmod(record, 0o666)
    check(prove_first(place).code == 126, "a record that others may write proves nothing")
    os.chmod(record, 0o600)
    check(prove_first(place).code == 0, "the unchanged record proves again")
    answer = prove_first(place, 'backend = "not-a-security-boundary"\n')
    check(answer.code == 126, "a backend that lets attacks through is refused", answer)


def check_table(place):
    answer = place.run("doctor", "--prove", timeout=200)
    lines = answer.out.splitlines()
    check(
        max(map(len, lines), default=99) < 80 and "NOT STOPPED  " not in answer.out,
        "the table fits 80 columns",
        answer.out,
    )
    check(" 0 NOT STOPPED, 0 not proven" in lines[-1] if lines else False, "and ends with the count", answer)


def check_interrupted(place):
    process = place.popen(
        "doctor", "--prove", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 20
    while not leftovers(process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    code = process.wait(timeout=60)
    check(code == 130, "an interrupt ends it", code)
    check(not left(process.pid), "and the decoys are taken away", left(process.pid))


require_user()
with Place() as here:
    fit = here.run("doctor", "--json")
    if fit.code == 1:
        skip_all(
            "the default grant does not hold here: "
            + str((json.loads(fit.out)["default_grant"]["error"] or {}).get("message"))
        )
    check_unproved(here)
    check_whole(here)
    check_broken(here)
    check_proved(here)
    check_table(here)
    check_interrupted(here)
finish()
