#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""trace_page.py - the page of emu_trace --html in a browser: what a reader of a trace does there.

    trace_page.py PAGE_SYNTHETIC FOLDER [EMU_TRACE]

PAGE_SYNTHETIC writes pages of made-up traces; EMU_TRACE, that of the demonstration's processes. Screenshots stay in FOLDER, if it
can be written."""
import os
import subprocess
import sys
import tempfile
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser as web  # noqa: E402

OPS = 11  # of the small trace, with a refused call
MANY = 100000
DRAWN_MAX = 20000  # shapes a frame, however long the trace is


class Page:
    """A page in the browser, and what it says of itself."""

    def __init__(self, browser, path):
        self.browser = browser
        self.path = path
        browser.open(path)

    def state(self):
        return self.browser.evaluate("pageState()")

    def text(self, selector):
        return self.browser.evaluate(f"document.querySelector({selector!r}).textContent")

    def hidden(self, selector):
        return self.browser.evaluate(f"document.querySelector({selector!r}).hidden")

    def shown(self):
        return self.browser.evaluate("page.model.list.length")

    def click_op(self, op):
        x, y = self.browser.evaluate(f"(() => {{ const at = pageWhere({op}); return [at.x, at.y]; }})()")
        self.browser.click(x, y)


def same(got, want, what):
    if got != want:
        raise AssertionError(f"{what}: {got!r}, and not {want!r}")


def has(text, part):
    if part not in text:
        raise AssertionError(f"{part!r} is not in {text!r}")


def loads_alone(page):
    same(page.browser.complaints(), [], "complaints of the browser")
    same(page.hidden("#page"), False, "hidden")
    same(page.hidden("#trouble"), True, "trouble hidden")
    same(page.shown(), OPS, "ops shown")


def strings_stay_strings(page):
    """A line of the trace's log has the end of a script element, and a script."""
    same(page.browser.evaluate("typeof window.broken"), "undefined", "a string of the trace has run")
    has(page.browser.evaluate("page.model.strings.join('|')"), "</script><script>window.broken")
    has(page.browser.evaluate("page.model.strings.join('|')"), "bytes \ufffd\ufffd that")


def the_header_counts_and_says_what_is_partial(page):
    has(page.text("#facts"), f"3 processes · {OPS} ops · 19 frames · 3 regions")
    has(page.text("#refused-count"), "3 refused")
    has(page.text("#partial"), "reader/815: 3 blocks of events were overwritten")


def filters_by_text(page):
    page.browser.click_on("#search")
    page.browser.type("0xdead")
    same(page.shown(), 1, "ops with the key")
    page.browser.click_on("#reset")
    same(page.shown(), OPS, "ops after the filters are cleared")


def shows_only_refused(page):
    page.browser.click_on("#only-refused")
    same(page.shown(), 3, "refused ops")
    page.browser.click_on("#reset")


def filters_by_kind_process_and_time(page):
    page.browser.click_on("#kinds button:nth-child(1)")
    same(page.shown(), OPS - 5, "ops without the writes")
    page.browser.click_on("#reset")
    page.browser.click_on("#processes button:nth-child(3)")
    same(page.shown(), 6, "ops without those of the reader")
    page.browser.click_on("#reset")
    page.browser.click_on("#time-from")
    page.browser.type("10")
    page.browser.click_on("#time-to")
    page.browser.type("18")
    same(page.shown(), 4, "ops from 10 to 18 microseconds")
    page.browser.click_on("#reset")


def a_click_on_an_op_tells_its_facts(page):
    page.click_op(5)
    same(page.hidden("#op-panel"), False, "the panel is hidden")
    for fact in ("104 B past the end", "refused: range", "Posted bywriter/4711", "Toserver/4712", "Key0x2b", "Address0x7f3a20000fa0",
                 "Length200 bytes", "Rightsremote read", "Offset4,000 bytes into it", "Posted11.500 µs", "Served12.400 µs",
                 "Completed13.300 µs", "Request"):
        has(page.text("#op-panel"), fact)
    has(page.text("#op-frames"), "NAK")
    same(page.browser.evaluate("document.querySelectorAll('#op-frames tbody tr').length"), 2, "frames")
    page.browser.key("Escape")
    same(page.hidden("#op-panel"), True, "the panel is hidden")


def keys_step_through_refusals(page):
    page.browser.evaluate("document.getElementById('sequence').focus()")
    page.browser.key("r")
    has(page.text("#op-sentence"), "S65")
    page.browser.key("r")
    has(page.text("#op-sentence"), "0xdead")
    page.browser.key("Escape")


def a_click_in_the_list_goes_to_the_refusal(page):
    page.browser.evaluate("axisSet(1000, 3000)")
    page.browser.click_on(".refusal[data-op='7']")
    state = page.state()
    same(state["select"], 7, "selected op")
    if not state["from"] < 17000 < state["to"]:
        raise AssertionError(f"the op at 17000 ns is not in view: {state}")
    page.browser.key("0")
    page.browser.key("Escape")


def wheel_drag_and_keys_move_the_axis(page):
    whole = page.state()
    x, y = 700, 450
    page.browser.wheel(x, y, -600)
    zoomed = page.state()
    if not zoomed["to"] - zoomed["from"] < (whole["to"] - whole["from"]) * 0.7:
        raise AssertionError(f"the wheel has not zoomed: {zoomed}")
    page.browser.drag(x, y, x - 100, y)
    dragged = page.state()
    if not dragged["from"] > zoomed["from"] + (zoomed["to"] - zoomed["from"]) * 0.05:
        raise AssertionError(f"a drag has not moved the axis: {dragged}")
    same(dragged["select"], -1, "what a drag selects")
    page.browser.key("ArrowLeft")
    if not page.state()["from"] < dragged["from"]:
        raise AssertionError("the left arrow has not moved the axis")
    page.browser.key("+")
    if not page.state()["to"] - page.state()["from"] < dragged["to"] - dragged["from"]:
        raise AssertionError("the plus key has not zoomed")
    page.browser.key("Home")
    same(page.state()["from"], whole["from"], "the start of the axis after Home")


def zooms_and_fits(page):
    span = "axis.to - axis.from"
    whole = page.browser.evaluate(span)
    page.browser.click_on("#zoom-in")
    if not page.browser.evaluate(span) < whole:
        raise AssertionError("zoom in shows no less time")
    page.browser.click_on("#zoom-fit")
    same(page.browser.evaluate(span), whole, "time shown after the whole trace was asked for")


def a_long_trace_stays_usable(page):
    same(page.browser.complaints(), [], "complaints of the browser")
    same(page.shown(), MANY, "ops shown")
    for _ in range(8):
        drawn = page.browser.evaluate("paint.drawn")
        if drawn > DRAWN_MAX:
            raise AssertionError(f"{drawn} shapes in a frame")
        page.browser.click_on("#zoom-in")
    page.browser.click_on("#only-refused")
    same(page.shown(), MANY // 1000, "refused ops")
    page.browser.click_on("#reset")
    items = page.browser.evaluate("document.querySelectorAll('.refusal').length")
    if not 0 < items < 40:
        raise AssertionError(f"the list of refusals has {items} elements")
    page.browser.click_on("#zoom-fit")
    same(page.state()["dense"], True, "density in the place of single ops")
    page.browser.click_on(".refusal[data-op='1999']")
    same(page.state()["dense"], False, "density where a refusal is looked at")
    if not page.browser.evaluate("pageWhere(1999) !== null"):
        raise AssertionError("the refused op is not drawn")


def a_broken_page_says_so(browser, path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path + ".cut.html", "w", encoding="utf-8") as file:
        file.write(text[:text.index('<script id="data"') + 300])
    page = Page(browser, path + ".cut.html")
    same(page.hidden("#trouble"), False, "trouble hidden")
    has(page.text("#trouble"), "its data is cut off or damaged")
    with open(path + ".new.html", "w", encoding="utf-8") as file:
        file.write(text.replace('{"emu_trace_page":1', '{"emu_trace_page":2'))
    page = Page(browser, path + ".new.html")
    has(page.text("#trouble"), "its data has version 2, and the page reads version 1")
    same(page.hidden("#page"), True, "the page is hidden")


def trace_of_two_processes(folder, emu_trace):
    """The demonstration, traced: its initiator does six things wrong."""
    traces, path = os.path.join(folder, "traces"), os.path.join(folder, "demo.html")
    root = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    done = subprocess.run([os.path.join(root, "tools/demo.sh"), os.path.join(root, "LICENSE")], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env={**os.environ, "FI_EMU_TRACE": traces}, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"the demonstration failed: {done.stdout[-600:]}")
    rings = sorted(os.path.join(traces, name) for name in os.listdir(traces))
    leaks = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"  # what it holds goes with the process
    subprocess.run([emu_trace, "--html", path, *rings], check=True, env=dict(os.environ, ASAN_OPTIONS=leaks))
    return path


def real_processes_are_shown_with_their_refusals(browser, folder, emu_trace):
    page = Page(browser, trace_of_two_processes(folder, emu_trace))
    same(browser.complaints(), [], "complaints of the browser")
    has(page.text("#facts"), "2 processes")
    has(page.text("#refused-count"), "6 refused")
    browser.click_on("#refusals .refusal:nth-child(2)")
    for fact in ("remote write of 64 B at virtual address", "1 B past the end of a 4096 B region (S65)", "refused: range",
                 "Posted bydemo-initiator/", "Todemo-target/", "Region", "4,096 bytes at 0x", "Offset4,033 bytes into it"):
        has(page.text("#op-panel"), fact)
    for frame in ("WRITE", "NAK"):
        has(page.text("#op-frames"), frame)


def check(name, function, *arguments):
    try:
        function(*arguments)
    except Exception:  # whatever it is, the case has failed
        traceback.print_exc()
        print(f"not ok {name}", flush=True)
        return False
    print(f"ok {name}", flush=True)
    return True


def make(program, folder, what):
    path = os.path.join(os.path.abspath(folder), f"{what}.html")
    with open(path, "wb") as file:
        subprocess.run([program, what], stdout=file, check=True)
    return path


def main():
    if sys.argv[1:] in (["--help"], ["-h"]):
        print(__doc__)
        return 0
    if len(sys.argv) not in (3, 4):
        print("usage: trace_page.py PAGE_SYNTHETIC FOLDER [EMU_TRACE]", file=sys.stderr)
        return 2
    if not web.find_program():
        print("skip trace_page chromium is not installed")
        return 77
    with tempfile.TemporaryDirectory(prefix="emu-page.") as scratch:
        return run(scratch, *sys.argv[1:])


def keep(browser, folder, name):
    """A screenshot for people."""
    if os.access(folder, os.W_OK):
        browser.screenshot(os.path.join(folder, name))


def run(scratch, program, folder, emu_trace=None):
    small, many = make(program, scratch, "small"), make(program, scratch, str(MANY))
    try:
        browser = web.Browser()
    except web.Trouble as trouble:
        print(f"skip trace_page chromium does not start here: {trouble}")
        return 77
    try:
        page = Page(browser, small)
        cases = (loads_alone, strings_stay_strings, the_header_counts_and_says_what_is_partial, filters_by_text, shows_only_refused,
                 filters_by_kind_process_and_time, a_click_on_an_op_tells_its_facts, keys_step_through_refusals,
                 a_click_in_the_list_goes_to_the_refusal, wheel_drag_and_keys_move_the_axis, zooms_and_fits)
        good = [check(case.__name__, case, page) for case in cases]
        page.click_op(5)
        keep(browser, folder, "small.png")
        good.append(check("a_long_trace_stays_usable", a_long_trace_stays_usable, Page(browser, many)))
        keep(browser, folder, "many.png")
        browser.scheme("dark")
        browser.key("0")
        keep(browser, folder, "many_dark.png")
        browser.scheme("light")
        good.append(check("a_broken_page_says_so", a_broken_page_says_so, browser, small))
        if emu_trace:
            case = real_processes_are_shown_with_their_refusals
            good.append(check(case.__name__, case, browser, scratch, emu_trace))
            keep(browser, folder, "demo.png")
    finally:
        browser.close()
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
