# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The console's page in Chromium: a person approves, denies, and looks on, while tools and models print what they like.

With a directory after the arguments of the other tests it draws the pictures of docs/serve.md there."""

import contextlib
import json
import os
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
CLIENTS = ROOT / "build-console"
PYTHON, AXE = CLIENTS / "python/bin/python", CLIENTS / "node_modules/axe-core/axe.min.js"
if PYTHON.exists() and os.path.realpath(sys.prefix) != os.path.realpath(PYTHON.parents[1]):
    os.execv(PYTHON, [PYTHON, *sys.argv])

from server import PATIENCE, POLICY, Server, cli  # noqa: E402

CHROMIUM = next(
    (
        path
        for path in ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
        if os.path.exists(path)
    ),
    None,
)
try:
    from playwright.sync_api import expect, sync_playwright
except ImportError:
    cli.skip_all("Playwright and axe-core are not here: tools/clients console installs them")
if not CHROMIUM:
    cli.skip_all("there is no Chromium here: install chromium")

check = cli.check
MARKUP = "<img src=x onerror=alert(1)><script>alert(2)</script>"
HOSTILE = (
    POLICY.replace("MARK", "61.7")
    + r"""
[tool.evil]
description = "<b>bold</b> \u202egnp.exe \u001b[31m MARKUP"
command = ["sh", "-c", "printf '%b' \"$1\"", "sh", "\\033]0;title\\007\\033[31mred\\033[0m MARKUP \\342\\200\\256txt.exe \\342\\200\\213 \\r\\0 end\\n"]

[tool.huge]
command = ["sh", "-c", "head -c 10000000 /dev/zero | tr '\\0' x; echo; echo last"]
output = "16MiB"

[tool.steps]
command = ["sh", "-c", "for i in 1 2 3 4 5; do echo step $i; sleep 1; done"]

[tool.deploy]
description = "Deploys a version to the staging server."
command = ["./deploy", "{version}"]
arguments.version = { type = "string" }
tier = "HumanApprove"
backend = "process"
filesystem.writable = ["/workspace"]
network = ["staging.example.com:443"]
env.set = { REGION = "eu" }
""".replace("MARKUP", MARKUP)
)


class Page:
    """A page of the console, and all that it asked for."""

    def __init__(self, browser, server, **more):
        self.server = server
        self.context = browser.new_context(**{"viewport": {"width": 1100, "height": 800}, **more})
        self.context.set_default_timeout(15000 * PATIENCE)
        self.page = self.context.new_page()
        self.dialogs, self.faults, self.requests = [], [], []
        self.page.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss()))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on(
            "console", lambda said: self.faults.append(said.text) if "Content Security" in said.text else None
        )
        self.page.on("request", lambda request: self.requests.append((request.url, request.headers)))

    @property
    def base(self):
        return f"http://127.0.0.1:{self.server.port}/"

    def open(self, path="", token=True):
        self.page.goto(self.base + (f"#{self.server.operator}" if token else path))
        if token:
            self.page.get_by_text("Connected").wait_for()
            if path:
                self.page.goto(self.base + path)
        return self.page

    def count(self, selector):
        return self.page.locator(selector).count()


@contextlib.contextmanager
def console(audit=""):
    with cli.Place() as place, sync_playwright() as playwright:
        policy = place.write("home/project/tools.toml", audit + HOSTILE)
        place.write("home/project/deploy", "#!/bin/sh\necho deployed $1\n", 0o755)
        with Server(place, policy, "--listen", "127.0.0.1:0", "--console") as server:
            browser = playwright.chromium.launch(
                executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
            )
            try:
                yield place, server, browser
            finally:
                browser.close()


def detach(server, tool, arguments=None):
    return server.run(tool, arguments or {}, detach=True).json["id"]


def result_of(server, call):
    return server.ask("GET", f"/v1/calls/{call}/result").json


def arrival():
    with console() as (_, server, browser):
        view = Page(browser, server)
        page = view.open()
        check(
            server.operator not in page.url and page.url == view.base,
            "the token leaves the address at once",
            page.url,
        )
        kept = page.evaluate(
            "[Object.values(sessionStorage), localStorage.length, document.cookie, document.referrer, history.length]"
        )
        check(kept[0] == [server.operator] and kept[1:4] == [0, "", ""], "it is kept for this tab only", kept)
        page.get_by_role("link", name="Calls").click()
        page.go_back()
        check(server.operator not in page.url, "the way back has no token", page.url)
        told = [
            (url, heads.get("referer"))
            for url, heads in view.requests
            if server.operator in url.split("#")[0] or heads.get("referer") or not url.startswith(view.base)
        ]
        check(
            len(view.requests) > 8 and not told,
            "no request has it in its address, or a referrer, or goes elsewhere",
            told,
        )
        page.get_by_role("heading", name="Make a first call").wait_for()
        command = page.locator("pre").inner_text().splitlines()
        check(
            len(command) == 3 and "/v1/calls" in command[2],
            "an unused server shows three lines that make a call",
            command,
        )
        with page.expect_response(lambda response: response.status == 401):
            page.goto(view.base + "#" + "0" * 64)
        page.get_by_role("heading", name="Approvals").wait_for()
        check(
            page.evaluate("Object.values(sessionStorage)") == [server.operator],
            "a wrong token in an address replaces nothing",
        )
        page.get_by_role("button", name="Forget the token").click()
        check(page.evaluate("sessionStorage.length") == 0, "the token can be forgotten")
        for said, wanted in (
            (server.token, "the token of clients"),
            ("x" * 40, "missing or wrong"),
            ("short", "16 to 512"),
        ):
            page.get_by_label("Token").fill(said)
            page.get_by_role("button", name="Use it").click()
            expect(page.get_by_role("alert")).to_contain_text(wanted)
            check(page.evaluate("sessionStorage.length") == 0, f"refused: {wanted}")
        page.get_by_label("Token").fill(server.operator)
        page.get_by_role("button", name="Use it").click()
        page.get_by_text("Connected").wait_for()
        check(not view.faults, "the page has no errors", view.faults)


def approvals():
    with console() as (_, server, browser):
        view = Page(browser, server)
        page = view.open()
        call = detach(server, "deploy", {"version": "1.2 \u202e;rm -rf"})
        card = page.get_by_role("region", name="A call")
        card.wait_for()
        approve = card.get_by_role("button", name="Approve", exact=True)
        check(approve.is_disabled(), "the button of a new request answers no click yet")
        shown = card.inner_text()
        for part in (
            "deploy",
            "\\u{202e}",
            "/workspace",
            "staging.example.com:443",
            "REGION",
            "process",
            "HumanApprove",
            "and all below it",
        ):
            check(part in shown, f"the request shows {part}", shown)
        check("\u202e" not in shown, "a character that reorders text is escaped", shown)
        check("(1)" in page.title(), "the title counts what waits", page.title())
        expect(approve).to_be_enabled()
        approve.focus()
        page.keyboard.press("Enter")
        result = result_of(server, call)
        check(
            result["status"] == "ok" and "deployed 1.2" in result["stdout"]["text"],
            "a yes by keyboard lets it run",
            result,
        )
        expect(card.get_by_text("Approved")).to_be_visible()
        call = detach(server, "deploy", {"version": "2"})
        card = page.get_by_role("region", name="A call").filter(has_text='"2"')
        card.get_by_label("Reason for a denial").fill("not on Fridays")
        card.get_by_role("button", name="Deny", exact=True).click()
        result = result_of(server, call)
        check(
            result["status"] == "denied" and "not on Fridays" in result["message"],
            "a no has its reason",
            result,
        )
        calls = [detach(server, "deploy", {"version": "3"}) for _ in range(3)]
        card = page.get_by_role("region", name="A call").filter(has_text='"3"')
        card.get_by_text("3 identical requests").wait_for()
        check(card.count() == 1, "identical requests are one card", card.count())
        card.get_by_role("button", name="Approve", exact=True).click()
        card.get_by_text("2 identical requests").wait_for()
        states = [server.ask("GET", f"/v1/calls/{call}").json["state"] for call in calls]
        check(states.count("waiting") == 2, "one yes is for one of them", states)
        card.get_by_role("button", name="Approve all 2").click()
        check({result_of(server, call)["status"] for call in calls} == {"ok"}, "a yes to all is for all")
        call = detach(server, "deploy", {"version": "4" * 5000})
        card = page.get_by_role("region", name="A call").filter(has_text="Show the other")
        card.get_by_text("Show all of it first").wait_for()
        time.sleep(1.5)
        approve = card.get_by_role("button", name="Approve", exact=True)
        check(approve.is_disabled(), "a request that is shown in part cannot be approved")
        card = page.get_by_role("region", name="A call").filter(has_text="4444")
        card.get_by_role("button", name="Show the other").click()
        approve = card.get_by_role("button", name="Approve", exact=True)
        expect(approve).to_be_enabled()
        check("4" * 5000 in card.inner_text().replace("\n", ""), "all of it is shown then")
        server.ask("DELETE", f"/v1/calls/{call}")
        card.get_by_text("It no longer waits").first.wait_for()
        check(not approve.is_visible(), "a cancelled request cannot be approved")

        def forge(route):
            body = route.fetch().json()
            for request in body["approvals"]:
                request["subject"] = request["subject"].replace("deploy", "harmless")
            route.fulfill(json=body)

        page.route("**/v1/approvals", forge)
        call = detach(server, "deploy", {"version": "5"})
        card = page.get_by_role("region", name="A call").filter(has_text='"5"')
        card.get_by_text("another text than its digest").wait_for()
        time.sleep(1.5)
        check(
            card.get_by_role("button", name="Approve", exact=True).is_disabled(),
            "a request whose text has another digest cannot be approved",
        )
        check(server.ask("GET", f"/v1/calls/{call}").json["state"] == "waiting", "the call still waits")
        check(not view.faults and not view.dialogs, "the page has no errors", view.faults)


def output():
    with console() as (_, server, browser):
        view = Page(browser, server)
        page = view.open("#/calls")
        call = detach(server, "steps")
        page.get_by_role("link", name="steps").click()
        page.locator("pre").get_by_text("step 3").wait_for()
        state = server.ask("GET", f"/v1/calls/{call}").json["state"]
        check(state == "running", "output is shown while the tool runs", state)
        page.get_by_text("It has ended").wait_for()
        expect(page.locator("pre").first).to_contain_text("step 1\nstep 2\nstep 3\nstep 4\nstep 5")
        call = detach(server, "wait")
        page.goto(f"{view.base}#/calls/{call}")
        page.get_by_role("button", name="Cancel this call").click()
        page.get_by_text("It has ended").wait_for()
        check(result_of(server, call)["status"] == "cancelled", "a call can be cancelled")
        before = (page.title(), view.count("img"), view.count("script"), view.count("b"))
        call = detach(server, "evil")
        result_of(server, call)
        for path in (f"#/calls/{call}", "#/calls", "#/tools", "#/tools/evil", "#/history", "#/approvals"):
            page.goto(view.base + path)
            page.get_by_role("heading", level=1).wait_for()
            time.sleep(0.7)
            after = (page.title(), view.count("img"), view.count("script"), view.count("b"))
            text = page.locator("main").inner_text()
            check(
                after == before
                and not view.dialogs
                and not view.faults
                and not set(text) & set("\x1b\u202e\u200b\x00"),
                f"hostile text stays text: {path[:12]}",
                (after, view.dialogs, view.faults, text[:1000]),
            )
        page.goto(f"{view.base}#/calls/{call}")
        expect(page.locator("pre").first).to_contain_text(
            "\\u{1b}[31mred\\u{1b}[0m " + MARKUP + " \\u{202e}txt.exe \\u{200b}"
        )
        check(page.locator("pre .escape").count() >= 5, "escapes cannot be confused with what a tool prints")
        call = detach(server, "huge")
        page.goto(f"{view.base}#/calls/{call}")
        page.get_by_text("It has ended").wait_for()
        page.get_by_text("before this are not shown").wait_for()
        expect(page.locator("pre").first).to_contain_text("last")
        length = page.evaluate("document.body.innerText.length")
        check(length < 200000, "10 MB of output are cut, with a word", length)
        began = time.monotonic()
        page.get_by_role("link", name="Health").click()
        page.get_by_text("of at most 64 calls").wait_for()
        check(time.monotonic() - began < 5 * PATIENCE, "the page stays usable")
        check(not view.faults and not view.dialogs, "the page has no errors", view.faults)


def rows():
    with console("[audit]\n") as (place, server, browser):
        server.run("say", {"text": "first"})
        log = next(pathlib.Path(place.home, ".local/state/toolcage/audit").glob("*.jsonl"))
        with open(log, "a", encoding="utf-8") as out:
            for number in range(10000):
                call = f"{number:026}"
                start = {
                    "prev": "x",
                    "seq": 0,
                    "kind": "run",
                    "call": call,
                    "time": f"2031-01-01T00:00:00.{number:06}Z",
                }
                out.write(
                    json.dumps({**start, "tool": MARKUP, "command": ["sh", "-c", MARKUP + "\u202e"]}) + "\n"
                )
                out.write(json.dumps({**start, "kind": "result", "status": "ok", "total_us": number}) + "\n")
        view = Page(browser, server)
        page = view.open("#/history")
        page.get_by_label("At most").select_option("10000")
        began = time.monotonic()
        page.get_by_role("button", name="Show", exact=True).click()
        page.get_by_text("10,000 calls").wait_for()
        check(
            view.count("tbody tr") == 200, "of 10,000 calls the first 200 are drawn", view.count("tbody tr")
        )
        page.get_by_role("button", name="Show 200 more").click()
        check(view.count("tbody tr") == 400, "more on request")
        page.locator("tbody summary").nth(3).click()
        page.get_by_text("toolcage audit show").first.wait_for()
        check(time.monotonic() - began < 10 * PATIENCE, "the page stays usable", time.monotonic() - began)
        check(
            view.count("main img") == 0 and "\u202e" not in page.locator("main").inner_text(),
            "records stay text",
        )
        page.get_by_label("Status").select_option("denied")
        page.get_by_role("button", name="Show", exact=True).click()
        page.get_by_text("0 calls").wait_for()
        page.get_by_text("No call of the log matches").wait_for()
        check(view.count("tbody tr") == 0, "an empty answer says why")
        check(not view.faults and not view.dialogs, "the page has no errors", view.faults)
    with console() as (_, server, browser):
        page = Page(browser, server).open("#/history")
        page.get_by_text("The policy has no audit log").wait_for()
        check(
            "[audit]" in page.locator("pre").inner_text(), "without a log the page shows how to switch it on"
        )


def explained():
    with console() as (_, server, browser):
        view = Page(browser, server)
        page = view.open("#/tools/deploy")
        page.get_by_role("heading", name="The grant").wait_for()
        for verb, target, wanted in (
            ("read", "/etc/shadow", "No."),
            ("write", "/workspace/x", "Yes."),
            ("connect", "staging.example.com:443", "Yes."),
            ("connect", "evil.example:443", "No."),
        ):
            page.get_by_label("May it").select_option(verb)
            page.get_by_label("Path, or host and port").fill(target)
            page.get_by_role("button", name="Explain").click()
            said = page.locator("form").get_by_role("status")
            expect(said).to_contain_text(wanted)
            expect(said).to_contain_text(target.split(":")[0])
            check(True, f"{wanted} {verb} {target}")
        check(not view.faults, "the page has no errors", view.faults)


def readers():
    axe = AXE.read_text() if AXE.exists() else None
    if not axe:
        cli.skip("axe finds nothing", "axe-core is not here: tools/clients console installs it")
        return
    with console("[audit]\n") as (_, server, browser):
        waiting, done = detach(server, "deploy", {"version": "1\u202e"}), detach(server, "evil")
        result_of(server, done)
        for scheme in ("light", "dark"):
            view = Page(browser, server, color_scheme=scheme, bypass_csp=True)
            page = view.open()
            page.evaluate(axe)
            for path in (
                "#/approvals",
                "#/calls",
                f"#/calls/{done}",
                f"#/calls/{waiting}",
                "#/history",
                "#/tools",
                "#/tools/deploy",
                "#/health",
            ):
                page.goto(view.base + path)
                time.sleep(1)
                found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
                said = [(each["id"], [node["html"][:150] for node in each["nodes"]]) for each in found]
                check(not found, f"axe finds nothing: {path[:10]}, {scheme}", said)
            page.get_by_role("button", name="Forget the token").click()
            found = page.evaluate("axe.run()")["violations"]
            check(not found, f"axe finds nothing: without a token, {scheme}", [each["id"] for each in found])
        view = Page(browser, server, viewport={"width": 360, "height": 700})
        page = view.open()
        page.get_by_role("region", name="A call").wait_for()
        for path in (
            "#/approvals",
            "#/calls",
            f"#/calls/{done}",
            "#/history",
            "#/tools",
            "#/tools/deploy",
            "#/health",
        ):
            page.goto(view.base + path)
            time.sleep(0.7)
            wide = page.evaluate("document.documentElement.scrollWidth")
            check(wide <= 360, f"a phone shows it without scrolling aside: {path[:10]}", wide)
        page.reload()
        page.get_by_text("Connected").wait_for()
        page.evaluate("document.activeElement.blur()")
        seen = []
        for _ in range(4):
            page.keyboard.press("Tab")
            seen.append(
                page.evaluate(
                    "[document.activeElement.textContent.trim(), getComputedStyle(document.activeElement).outlineStyle]"
                )
            )
        check([style for _, style in seen] == ["solid"] * 4, "the focus can be seen", seen)


def draw(where):
    """The pictures of docs/serve.md."""
    with console("[audit]\n") as (_, server, browser):
        for tool, arguments in (
            ("say", {"text": "a"}),
            ("say", {"text": "b"}),
            ("lines", {}),
            ("say", {"text": 1}),
        ):
            server.run(tool, arguments)
        detach(server, "deploy", {"version": "1.4.2"})
        for name, more in (
            ("desktop", {"viewport": {"width": 900, "height": 640}}),
            ("phone", {"viewport": {"width": 360, "height": 640}, "color_scheme": "dark"}),
        ):
            page = Page(browser, server, **more).open()
            page.get_by_role("region", name="A call").wait_for()
            time.sleep(2.5)
            page.screenshot(path=f"{where}/console-{name}.png")


if len(sys.argv) > 3:
    draw(sys.argv[3])
    sys.exit(0)
cli.require_user()
for part in (arrival, approvals, output, rows, explained, readers):
    part()
cli.finish()
