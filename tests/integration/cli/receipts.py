# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""`toolcage receipt` signs what the audit log has of a call, and only that; `receipt verify` needs the public key only.
The openssl program checks and makes signatures, too, so the envelopes are those of DSSE."""

import base64
import glob
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time

from cli import TOOLCAGE, Place, check, expect, finish, require_user, running_as, skip

POLICY = """
[audit]
[tool.work]
filesystem = {{ writable = ["{0}/out"] }}
workspace.mode = "bind"
[tool.keys]
filesystem = {{ writable = ["{0}/keys"] }}
workspace.mode = "bind"
[tool.home]
filesystem = {{ readable = ["{1}"] }}
"""
TYPE = "application/vnd.in-toto+json"
PREDICATE = "urn:toolcage:receipt:v1"


def arrange():
    place = Place()
    place.write("home/project/toolcage.toml", POLICY.format(place.project, place.home))
    place.write("home/project/out/old", "old\n")
    place.write("home/project/keys/old", "old\n")
    place.environ["TOOLCAGE_POLICY"] = os.path.join(place.project, "toolcage.toml")
    place.state = os.path.join(place.home, ".local/state/toolcage")
    place.log = os.path.join(place.state, "audit")
    place.key = os.path.join(place.state, "receipt/key.pem")
    return place


def work(place, command="echo new > $0/out/new; echo said"):
    """The id of a call that ran."""
    place.run("exec", "--tool", "work", "sh", "-c", command, place.project)
    return calls(place)[-1]["decision"]["call"]


def calls(place):
    return [json.loads(line) for line in place.run("audit", "--json").out.splitlines()]


def keep(place, name, text):
    return place.write(f"home/{name}", text if isinstance(text, (str, bytes)) else json.dumps(text))


def signed(place):
    """A call, the path of its receipt and that of the public key."""
    public = keep(place, "public.pem", place.run("receipt", "key").out)
    call = work(place)
    return call, keep(place, "receipt.json", place.run("receipt", call).out), public


def read(path):
    with open(path, "rb") as file:
        return file.read()


def envelope_of(path):
    return json.loads(read(path))


def pae(payload, kind=TYPE):
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)


def openssl(*args):
    return subprocess.run(["openssl", *args], capture_output=True, check=False, timeout=30)


def resign(place, payload, kind=TYPE, key=None):
    """An envelope that openssl signed."""
    message, signature = keep(place, "message", pae(payload, kind)), os.path.join(place.home, "signature")
    done = openssl(
        "pkeyutl", "-sign", "-rawin", "-inkey", key or place.key, "-in", message, "-out", signature
    )
    assert done.returncode == 0, done.stderr
    return {
        "payloadType": kind,
        "payload": base64.b64encode(payload).decode(),
        "signatures": [{"sig": base64.b64encode(read(signature)).decode()}],
    }


def verify(place, public, *args, **more):
    return place.run("receipt", "verify", "--key", public, *args, **more)


def receipt_has_all_of_the_log():
    with arrange() as place:
        call, receipt, public = signed(place)
        log = calls(place)[-1]
        envelope = envelope_of(receipt)
        statement = json.loads(base64.b64decode(envelope["payload"]))
        predicate = statement["predicate"]
        subjects = {subject["name"]: subject["digest"]["sha256"] for subject in statement["subject"]}
        check(
            envelope["payloadType"] == TYPE
            and len(envelope["signatures"]) == 1
            and statement["_type"] == "https://in-toto.io/Statement/v1"
            and statement["predicateType"] == PREDICATE
            and predicate["call"] == call
            and predicate["tool"] == "work",
            "a receipt is an in-toto statement in a DSSE envelope",
            statement,
        )
        check(
            predicate["log"]["decision"]["hash"] == log["decision"]["hash"]
            and predicate["log"]["result"]["seq"] == log["result"]["seq"]
            and predicate["requested"]["command"] == log["decision"]["command"]
            and predicate["granted"]["grant"] == log["decision"]["grant"]
            and predicate["enforced"]["enforcement"] == log["result"]["enforcement"]
            and predicate["observed"]["changes"] == log["result"]["changes"],
            "it has what was requested, granted, enforced and observed",
            (predicate, log),
        )
        names = {"prev", "seq", "kind", "time", "hash", "call", "tool", "uid", "pid"}
        stated = {key for part in predicate.values() if isinstance(part, dict) for key in part}
        left = (set(log["decision"]) | set(log["result"])) - names - stated
        check(not left, "it leaves out nothing of the two records", left)
        new = f"{place.project}/out/new"
        check(
            subjects.get(new) == hashlib.sha256(b"new\n").hexdigest()
            and subjects.get("stdout") == hashlib.sha256(b"said\n").hexdigest()
            and "stderr" not in subjects
            and "sha256:" + subjects["result"] == log["result"]["hash"],
            "its subjects are the records, the output and the changed files",
            subjects,
        )
        line = [line for line in log_lines(place) if json.loads(line).get("call") == call][1]
        body = line[: line.rindex(',"hash"')].encode()
        check(
            hashlib.sha256(body).hexdigest() == subjects["result"],
            "the record in the log has the subject's digest",
            body,
        )
        check(place.run("receipt", call).bytes == read(receipt), "the same call has the same receipt", call)
        answer = place.run("receipt", "--directory", place.log, call)
        check(answer.code == 125 and not answer.out, "a copy of a log is not signed", answer)
        answer = verify(place, public, receipt)
        check(
            answer.code == 0
            and answer.out.startswith(f"ok  {receipt}: call {call}: ok, tool work\n")
            and log["decision"]["policy"] in answer.out
            and "-- enforced\nbackend" in answer.out,
            "verify says what was signed",
            answer,
        )
        answer = verify(place, public, "--json", receipt, receipt)
        lines = [json.loads(line) for line in answer.out.splitlines()]
        check(
            answer.code == 0
            and len(lines) == 2
            and lines[1]["verified"]
            and lines[1]["statement"] == statement,
            "verify gives the statement as JSON",
            answer,
        )


def log_lines(place):
    text = ""
    for path in sorted(glob.glob(place.log + "/*.jsonl")):
        text += read(path).decode()
    return text.splitlines()


def other_programs_verify_it():
    with arrange() as place:
        call, receipt, public = signed(place)
        envelope = envelope_of(receipt)
        payload, signature = (
            base64.b64decode(envelope["payload"]),
            base64.b64decode(envelope["signatures"][0]["sig"]),
        )
        sig, message = keep(place, "sig", signature), keep(place, "pae", pae(payload))
        args = ["pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", public, "-in", message, "-sigfile", sig]
        done = openssl(*args)
        keep(place, "pae", pae(payload) + b" ")
        changed = openssl(*args)
        check(
            done.returncode == 0 and changed.returncode != 0,
            "openssl verifies the signature of the envelope",
            (done, changed),
        )
        answer = verify(place, public, keep(place, "openssl.json", resign(place, payload)))
        check(answer.code == 0 and call in answer.out, "an envelope of openssl is verified", answer)
        der = openssl("pkey", "-pubin", "-in", public, "-outform", "DER").stdout
        check(
            envelope["signatures"][0]["keyid"] == hashlib.sha256(der).hexdigest(),
            "the key's id is the digest of the public key",
            envelope["signatures"],
        )
        try:
            from cryptography.exceptions import InvalidSignature
            from cryptography.hazmat.primitives.serialization import load_pem_public_key
        except ImportError:
            return
        try:
            load_pem_public_key(read(public)).verify(signature, pae(payload))
            good = True
        except InvalidSignature:
            good = False
        check(good, "Python's cryptography verifies it", envelope)


def changed_receipt_is_refused():
    with arrange() as place:
        call, receipt, public = signed(place)
        envelope = envelope_of(receipt)
        payload = base64.b64decode(envelope["payload"])
        signature = base64.b64decode(envelope["signatures"][0]["sig"])
        files = []
        for at in range(len(payload)):
            bad = bytearray(payload)
            bad[at] ^= 1 << at % 8
            files.append({**envelope, "payload": base64.b64encode(bad).decode()})
        for bit in range(len(signature) * 8):
            bad = bytearray(signature)
            bad[bit // 8] ^= 1 << bit % 8
            files.append({**envelope, "signatures": [{"sig": base64.b64encode(bad).decode()}]})
        for length in range(len(payload)):
            files.append({**envelope, "payload": base64.b64encode(payload[:length]).decode()})
        paths = [keep(place, f"bad/{number}", file) for number, file in enumerate(files)]
        answer = verify(place, public, *paths)
        refused = [line for line in answer.out.splitlines() if line.startswith("no  ")]
        check(
            answer.code == 1 and len(refused) == len(files) == len(answer.out.splitlines()),
            "no changed byte of payload or signature is verified, nor a shorter payload",
            (answer.code, len(refused), len(files)),
        )
        answer = verify(place, public, paths[7], receipt)
        check(
            answer.code == 1
            and f"no  {paths[7]}: was changed" in answer.out
            and f"ok  {receipt}" in answer.out,
            "one bad receipt among good ones is named",
            answer,
        )
        check(call not in verify(place, public, paths[7]).out, "nothing of a bad receipt is printed", call)


def confusing_envelopes_are_refused():
    with arrange() as place:
        _, receipt, public = signed(place)
        text, envelope = read(receipt).decode(), envelope_of(receipt)
        payload = base64.b64decode(envelope["payload"])
        one = envelope["signatures"][0]
        twice = payload.replace(b'"observed":{', b'"observed":{"status":"ok",', 1)
        other = payload.replace(PREDICATE.encode(), b"https://slsa.example/provenance/v1")
        bare = json.dumps({"_type": "https://in-toto.io/Statement/v1", "predicateType": PREDICATE}).encode()
        for name, bad, words in (
            ("two signatures", {**envelope, "signatures": [one, one]}, "exactly one signature"),
            ("no signature", {**envelope, "signatures": []}, "exactly one signature"),
            ("another payloadType", {**envelope, "payloadType": "text/plain"}, "payload of another type"),
            ("a signed payloadType of another kind", resign(place, payload, "text/plain"), "of another type"),
            ("a member twice in the payload", resign(place, twice), "has a member twice"),
            ("a payload that is not JSON", resign(place, b"so it was"), "is not JSON"),
            ("a statement of another type", resign(place, other), "another type than a receipt"),
            ("a statement without subjects", resign(place, bare), "has no subject"),
            ("a member twice in the envelope", text.replace("{", '{"payload":"",', 1), "has a member twice"),
            ("more after the envelope", text + "{}", "is not a DSSE envelope"),
            (
                "a payload in another base64",
                {**envelope, "payload": envelope["payload"] + "\n"},
                "not base64",
            ),
            ("a short signature", {**envelope, "signatures": [{"sig": "AAAA"}]}, "not one of Ed25519"),
            ("another form", [envelope], "is not a DSSE envelope"),
            ("nothing", "", "is not a DSSE envelope"),
            ("deep nesting", "[" * 100000, "is not a DSSE envelope"),
            ("a huge file", b"x" * (6 << 20) + b"y", "larger than a receipt"),
        ):
            answer = verify(place, public, keep(place, "bad.json", bad))
            check(answer.code == 1 and words in answer.out, f"an envelope with {name} is refused", answer)
        answer = verify(place, public, "/dev/zero", place.home, f"{place.home}/none")
        check(
            answer.code == 1
            and "/dev/zero: is larger" in answer.out
            and "Is a directory" in answer.out
            and "No such file" in answer.out,
            "files that are not receipts are named",
            answer,
        )
        hostile = keep(place, "x\nok  forged\x1b[31m", "{}")
        answer = verify(place, public, hostile)
        check("\x1b" not in answer.out and answer.out.count("\n") == 1, "a file's name is escaped", answer)
        answer = verify(place, public, "-", stdin=read(receipt))
        check(answer.code == 0 and answer.out.startswith("ok  -: call"), "- is standard input", answer)


def another_call_is_not_this_one():
    with arrange() as place:
        first, receipt, public = signed(place)
        second = work(place)
        answer = verify(place, public, "--call", second, receipt)
        check(
            answer.code == 1 and f"is signed, but it is of another call: {first}" in answer.out,
            "a receipt of another call is refused",
            answer,
        )
        expect(
            place,
            "a receipt of the call is accepted",
            ["receipt", "verify", "--key", public, "--call", first, receipt],
            0,
            stream="out",
        )
        expect(
            place,
            "a call must be an id",
            ["receipt", "verify", "--key", public, "--call", "*", receipt],
            125,
            "is not the id",
        )


def keys_are_private():
    with arrange() as place:
        call = work(place)
        expect(
            place, "without a key nothing is signed", ["receipt", call], 125, "toolcage receipt key makes one"
        )
        first, second = place.run("receipt", "key"), place.run("receipt", "key")
        mode, above = os.stat(place.key).st_mode & 0o777, os.stat(os.path.dirname(place.key)).st_mode & 0o777
        check(
            first.code == 0
            and first.out == second.out
            and first.out.startswith("-----BEGIN PUBLIC KEY-----")
            and place.key in first.err
            and not second.err
            and mode == 0o600
            and above == 0o700,
            "the key pair is made once, for its user alone",
            (first, second, oct(mode), oct(above)),
        )
        check(os.listdir(os.path.dirname(place.key)) == ["key.pem"], "and nothing else is left there")
        answer = place.run(
            "exec", "--tool", "home", "sh", "-c", f"cat {place.key}; ls -A {place.state}; true"
        )
        check(
            answer.code == 0 and "PRIVATE" not in answer.out and "receipt" not in answer.out,
            "a tool that reads the home does not see the key",
            answer,
        )
        running = [place.popen("receipt", "key", stdout=subprocess.PIPE) for _ in range(4)]
        check(
            {process.communicate()[0].decode() for process in running} == {first.out},
            "programs that start at once print one key",
        )
        for mode in (0o640, 0o604, 0o660, 0o602):
            os.chmod(place.key, mode)
            expect(
                place,
                f"a key of mode {mode:o} is refused",
                ["receipt", call],
                126,
                "can be read or written by other users",
                place.key,
            )
        os.chmod(place.key, 0o600)
        os.rename(place.key, place.key + "2")
        os.symlink(place.key + "2", place.key)
        expect(place, "a link as the key is refused", ["receipt", call], 126, "is a symbolic link")
        os.unlink(place.key)
        os.link(place.key + "2", place.key)
        expect(place, "a key with two names is refused", ["receipt", call], 126, "second name")


def unsuitable_keys_are_refused():
    with arrange() as place:
        call, receipt, public = signed(place)
        other = os.path.join(place.home, "other.pem")
        openssl("genpkey", "-algorithm", "ed25519", "-out", other)
        place.own(other)
        theirs = keep(place, "theirs.pem", openssl("pkey", "-in", other, "-pubout").stdout)
        answer = place.run("receipt", "--key", other, call)
        envelope = json.loads(answer.out)
        path = keep(place, "other.json", answer.out)
        check(
            answer.code == 0 and verify(place, theirs, path).code == 0, "another private key may sign", answer
        )
        answer = verify(place, public, path)
        check(
            answer.code == 1 and "it names another one" in answer.out,
            "a receipt that another key signed is refused",
            answer,
        )
        envelope["signatures"][0]["keyid"] = envelope_of(receipt)["signatures"][0]["keyid"]
        answer = verify(place, public, keep(place, "forged.json", envelope))
        check(answer.code == 1 and "no  " in answer.out, "the id of a key proves nothing", answer)
        rsa = keep(place, "rsa.pem", openssl("genpkey", "-algorithm", "rsa").stdout)
        os.chmod(rsa, 0o600)
        locked = keep(
            place,
            "locked.pem",
            openssl("pkey", "-in", other, "-aes256", "-passout", "pass:secret").stdout,
        )
        os.chmod(locked, 0o600)
        for name, args, words in (
            ("an RSA key", ["--key", rsa, call], "is not an Ed25519 key"),
            ("a key with a password", ["--key", locked, call], "without a password"),
            ("a policy as the key", ["verify", "--key", place.environ["TOOLCAGE_POLICY"], receipt], "in PEM"),
            (
                "the private key as the public one",
                ["verify", "--key", place.key, receipt],
                "not a public key",
            ),
            ("no public key", ["verify", receipt], "the public key of the signer is needed"),
            ("a missing key", ["verify", "--key", f"{place.home}/none", receipt], "No such file"),
            ("a directory as the key", ["verify", "--key", place.home, receipt], "is not a regular file"),
        ):
            answer = place.run("receipt", *args)
            check(answer.code in (125, 126) and words in answer.err, f"{name} is refused", answer)
        os.chmod(theirs, 0o666)
        answer = verify(place, theirs, path)
        check(
            answer.code == 126 and "can be written by other users" in answer.err,
            "a public key that others may write is refused",
            answer,
        )


def keys_of_tools_are_refused():
    with arrange() as place:
        call, receipt, public = signed(place)
        keys = os.path.join(place.project, "keys")
        for name, source, mode in (("mine.pem", place.key, 0o600), ("public.pem", public, 0o644)):
            shutil.copy(source, os.path.join(keys, name))
            place.own(os.path.join(keys, name))
            os.chmod(os.path.join(keys, name), mode)
        place.run("exec", "--tool", "keys", "true")
        os.symlink(keys, os.path.join(place.home, "elsewhere"))
        for directory in (keys, os.path.join(place.home, "elsewhere")):
            for args in (
                ["--key", f"{directory}/mine.pem", call],
                ["verify", "--key", f"{directory}/public.pem", receipt],
            ):
                answer = place.run("receipt", *args)
                check(
                    answer.code == 126 and "may have been written by a tool" in answer.err and not answer.out,
                    f"a key that a tool may write is refused ({args[0]} {os.path.basename(directory)})",
                    answer,
                )


def log_that_a_tool_may_write_is_not_signed():
    with arrange() as place:
        signed(place)
        state = os.path.join(place.project, "keys", "toolcage")
        shutil.copytree(os.path.dirname(place.log), state)
        for path in [state, *glob.glob(state + "/**", recursive=True)]:
            place.own(path)
        call = calls(place)[-1]["decision"]["call"]
        place.run("exec", "--tool", "keys", "true")
        answer = place.run(
            "receipt", "--key", place.key, call, env={"XDG_STATE_HOME": os.path.join(place.project, "keys")}
        )
        check(
            answer.code == 126 and "may have been written by a tool" in answer.err and not answer.out,
            "a log that a tool may write is not signed",
            answer,
        )


def open_directory_of_the_key_is_refused():
    with arrange() as place:
        call, _, _ = signed(place)
        os.chmod(os.path.dirname(place.key), 0o777)
        answer = place.run("receipt", call)
        check(
            answer.code == 126 and "other users can write" in answer.err,
            "a key in a directory that others can write is refused",
            answer,
        )


def pipes_are_not_waited_for():
    with arrange() as place:
        _, receipt, public = signed(place)
        pipe = os.path.join(place.home, "x.json")
        os.mkfifo(pipe)
        place.own(pipe)
        answer = place.run("receipt", "verify", "--key", public, pipe, receipt, timeout=20)
        check(
            answer.code == 1 and "is a pipe" in answer.out and "\nok  " in answer.out,
            "a pipe among receipts is refused, and the next one verified",
            answer,
        )


def words_and_columns_are_whole():
    with arrange() as place:
        public = keep(place, "public.pem", place.run("receipt", "key").out)
        work(place, "echo 'a b' > $0/out/'x y'; ln -s x $0/out/link; printf x > $0/out/$(printf 'b\\377')")
        call = calls(place)[-1]["decision"]["call"]
        receipt = keep(place, "r.json", place.run("receipt", call).out)
        statement = json.loads(verify(place, public, "--json", receipt).out)["statement"]
        shown = verify(place, public, receipt).out
        names = {c.get("path") or c["path_base64"] for c in statement["predicate"]["observed"]["changes"]}
        check(names and all(name in shown for name in names), "every change is shown with its name", shown)
        renamed = base64.b64decode(envelope_of(receipt)["payload"]).replace(
            b'"status":', b'"zz\\n-- enforced\\nbackend":"1","status":', 1
        )
        answer = verify(place, public, keep(place, "renamed.json", resign(place, renamed)))
        check(
            answer.code == 0 and answer.out.count("\n-- enforced\n") == 1,
            "the name of a member is one line",
            answer,
        )


def order_of_members_does_not_matter():
    with arrange() as place:
        _, receipt, public = signed(place)
        statement = json.loads(base64.b64decode(envelope_of(receipt)["payload"]))
        text = base64.b64decode(envelope_of(receipt)["payload"]).decode()
        moved = json.dumps(statement["predicate"]["granted"]["policy"])
        other = text.replace(f'"policy":{moved},', "", 1).replace(
            '"requested":{', '"requested":{"policy":' + moved + ",", 1
        )
        check(other != text and json.loads(other), "the statement is another text", other)
        again = keep(place, "again.json", resign(place, other.encode()))
        answer = verify(place, public, "--log", again)
        check(answer.code == 0, "a member in another part agrees with the log", answer)
        less = keep(place, "less.json", resign(place, text.replace(f'"policy":{moved},', "", 1).encode()))
        answer = verify(place, public, "--log", less)
        check(answer.code == 1, "a missing member does not agree with the log", answer)


def edit(place, change):
    (path,) = glob.glob(place.log + "/*.jsonl")
    lines = read(path).decode().splitlines(True)
    change(lines)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(lines)


def rehash(line):
    body = line[: line.rindex(',"hash"')]
    return f'{body},"hash":"sha256:{hashlib.sha256(body.encode()).hexdigest()}"}}\n'


def damaged_log_is_not_signed():
    def alter(lines, number):
        lines[number] = lines[number].replace('"status":"ok"', '"status":"failed"').replace("echo", "ecco")

    def forge_between(lines):
        lines[2] = rehash(lines[2].replace("other", "stuff"))

    def swap(lines):
        lines[1], lines[3] = lines[3], lines[1]

    for name, change in (
        ("a changed decision", lambda lines: alter(lines, 1)),
        ("a changed result", lambda lines: alter(lines, 2)),
        ("a forged decision", lambda lines: lines.__setitem__(1, rehash(lines[1].replace("said", "sung")))),
        ("a result twice", lambda lines: lines.append(lines[2])),
        ("a decision twice", lambda lines: lines.append(lines[1])),
        ("a decision after the result", lambda lines: lines.append(lines.pop(1))),
    ):
        with arrange() as place:
            call, receipt, public = signed(place)
            edit(place, change)
            found = place.run("audit", "verify")
            answer = place.run("receipt", call)
            check(
                answer.code == 126 and not answer.out and "the audit log is damaged" in answer.err,
                f"{name} is not signed",
                answer,
            )
            check(found.code == 1, f"audit verify finds {name}, too", found)
            answer = verify(place, public, "--log", receipt)
            check(
                answer.code == 1 and "does not agree with the log" in answer.out,
                f"a comparison with the log finds {name}",
                answer,
            )
            check(verify(place, public, receipt).code == 0, "the receipt itself stays good")
    for name, change in (
        ("a forged record", forge_between),
        ("a missing record", lambda lines: lines.pop(3)),
        ("a moved record", swap),
    ):
        with arrange() as place:
            place.run("receipt", "key")
            slow = place.popen("exec", "--tool", "work", "sh", "-c", "read line", stdin=subprocess.PIPE)
            until = time.monotonic() + 20
            while not glob.glob(place.log + "/*.jsonl") or len(log_lines(place)) < 2:
                check(time.monotonic() < until, "the call is recorded")
                time.sleep(0.02)
            call = calls(place)[0]["decision"]["call"]
            place.run("exec", "--tool", "work", "echo", "other")
            slow.communicate(b"\n")
            fine = place.run("receipt", call)
            edit(place, change)
            answer = place.run("receipt", call)
            check(
                fine.code == 0
                and answer.code == 126
                and not answer.out
                and "the audit log is damaged" in answer.err,
                f"{name} between the two records of a call stops its receipt",
                (fine, answer),
            )


def forged_end_of_the_log_differs_from_the_receipt():
    """Hashes alone do not show that the last record was replaced; an earlier receipt does."""

    def forge(lines):
        lines[2] = rehash(lines[2].replace('"status":"ok"', '"status":"failed"'))

    with arrange() as place:
        _, receipt, public = signed(place)
        edit(place, forge)
        found, answer = place.run("audit", "verify"), verify(place, public, "--log", receipt)
        check(
            found.code == 0
            and answer.code == 1
            and "the log says something else about the call" in answer.out,
            "a comparison finds that the end of the log was replaced",
            (found, answer),
        )


def comparison_finds_another_statement():
    with arrange() as place:
        _, receipt, public = signed(place)
        payload = base64.b64decode(envelope_of(receipt)["payload"])
        for name, old, new in (
            ("status", b'"status":"ok"', b'"status":"no"'),
            ("hash", b'"hash":"sha256:', b'"hash":"sha256:' + b"0" * 64 + b'","old":"'),
        ):
            lie = keep(place, "lie.json", resign(place, payload.replace(old, new, 1)))
            answer = verify(place, public, "--log", lie)
            check(
                verify(place, public, lie).code == 0
                and answer.code == 1
                and "the log says something else about the call" in answer.out,
                f"a signed statement with another {name} does not agree with the log",
                answer,
            )
        spread = payload.replace(b'"predicate":', b'"predicate":\n', 1)
        answer = verify(place, public, "--json", keep(place, "spread.json", resign(place, spread)))
        check(
            answer.code == 0 and answer.out.count("\n") == 1 and json.loads(answer.out)["verified"],
            "line breaks in a signed statement make no line of the output",
            answer,
        )
        copy = os.path.join(place.home, "copy")
        shutil.copytree(place.log, copy)
        for path in [copy, *glob.glob(copy + "/*")]:
            place.own(path)
        shutil.rmtree(place.log)
        answer = verify(place, public, "--directory", copy, receipt)
        check(answer.code == 0, "a receipt is compared with a copy of the log", answer)
        answer = verify(place, public, "--log", receipt)
        check(
            answer.code == 125 and "cannot read the audit log" in answer.err,
            "a missing log is an error",
            answer,
        )
        work(place, "true")
        answer = verify(place, public, "--log", receipt)
        check(answer.code == 1 and "the log has no call" in answer.out, "a new log has no such call", answer)


def calls_without_a_result_are_not_signed():
    with arrange() as place:
        place.run("receipt", "key")
        place.run("call", "nothing")
        place.run("exec", "--tool", "work", "--read", "/etc/shadow", "true")
        process = place.popen(
            "exec", "--tool", "work", "sh", "-c", "echo on; sleep 60", stdout=subprocess.PIPE
        )
        process.stdout.readline()
        running = calls(place)[-1]["decision"]["call"]
        expect(place, "a running call is not signed", ["receipt", running], 125, "no result", "still runs")
        process.send_signal(signal.SIGKILL)
        process.communicate()
        expect(place, "nor one whose program was killed", ["receipt", running], 125, "ended before it")
        for call in calls(place):
            if call["decision"]["kind"] == "refused":
                expect(
                    place,
                    "a refused call is not signed",
                    ["receipt", call["decision"]["call"]],
                    125,
                    "it was refused, and nothing ran",
                )
        expect(place, "an unknown call is not signed", ["receipt", "0" * 26], 125, "the log has no call")
        expect(place, "a word is not a call", ["receipt", "last"], 125, "is not the id of a call")
        call = work(place)
        edit(place, lambda lines: lines.pop(next(n for n, line in enumerate(lines) if call in line)))
        expect(
            place, "a call without its decision is not signed", ["receipt", call], 125, "lacks its decision"
        )
        for name, members, words in (
            ("abandoned", '"status":"cancelled","abandoned":true', "it was abandoned"),
            ("not started", '"status":"error","started":false', "could not be started"),
        ):
            call = work(place)
            lines = log_lines(place)
            result = json.loads(lines[-1])
            head = lines[-1][: lines[-1].index(',"status"')]
            edit(
                place, lambda lines, line=f"{head},{members}": lines.__setitem__(-1, rehash(line + ',"hash"'))
            )
            expect(place, f"a call that was {name} is not signed", ["receipt", call], 125, words)
            check(result["call"] == call, f"the log had the result of the call that was {name}", result)
        failed = work(place, "exit 3")
        answer = place.run("receipt", failed)
        public = keep(place, "public.pem", place.run("receipt", "key").out)
        answer = verify(place, public, keep(place, "failed.json", answer.out))
        check(
            answer.code == 0 and f"call {failed}: failed" in answer.out,
            "a failed call has a receipt that says so",
            answer,
        )


def hostile_values_are_escaped():
    with arrange() as place:
        public = keep(place, "public.pem", place.run("receipt", "key").out)
        place.run("exec", "--tool", "work", "echo", "\x1b[31mred\nok  forged", "\u202etxt")
        call = calls(place)[-1]["decision"]["call"]
        answer = verify(place, public, keep(place, "r.json", place.run("receipt", call).out))
        check(
            answer.code == 0
            and "\x1b" not in answer.out
            and "\u202e" not in answer.out
            and "\nok  forged" not in answer.out,
            "text of a model in a receipt is escaped",
            answer,
        )


def signer_is_confined():
    program = os.path.join(os.path.dirname(TOOLCAGE), "toolcage-receipt")
    with arrange() as place:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            process = subprocess.Popen(
                [program], stdin=theirs, cwd=place.home, pass_fds=[os.open("/etc/passwd", os.O_RDONLY)]
            )
            theirs.close()
            ours.sendall(b"\3\0\0\0\0\0\0\0")  # needs a key, and has none
            answer = ours.recv(1024)
            with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
                status = dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
            held = sorted(int(name) for name in os.listdir(f"/proc/{process.pid}/fd"))
            ours.sendall(b"\0\0\0\0\xff\xff\xff\xff")
            code = process.wait(20)
        check(
            b"cannot be read" in answer
            and status["Seccomp"] == "2"
            and status["NoNewPrivs"] == "1"
            and set(status["CapEff"] + status["CapPrm"]) == {"0"},
            "the signer has a filter of system calls, and no capabilities",
            (answer, status),
        )
        check(held and held[-1] <= 3, "the signer keeps no other file of its starter", held)
        check(code == 1, "the signer ends at a frame that is too long", code)


require_user()
if not shutil.which("openssl"):
    skip("receipts", "openssl is not installed")
else:
    receipt_has_all_of_the_log()
    other_programs_verify_it()
    changed_receipt_is_refused()
    confusing_envelopes_are_refused()
    another_call_is_not_this_one()
    keys_are_private()
    unsuitable_keys_are_refused()
    keys_of_tools_are_refused()
    log_that_a_tool_may_write_is_not_signed()
    open_directory_of_the_key_is_refused()
    pipes_are_not_waited_for()
    words_and_columns_are_whole()
    order_of_members_does_not_matter()
    damaged_log_is_not_signed()
    forged_end_of_the_log_differs_from_the_receipt()
    comparison_finds_another_statement()
    calls_without_a_result_are_not_signed()
    hostile_values_are_escaped()
    if running_as() == "self":
        signer_is_confined()
finish()
