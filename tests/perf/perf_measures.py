# SPDX-License-Identifier: BSD-2-Clause
# perf_measures.py - each test of emu_perf over several providers, by its JSON; sweeps, pictures, comparisons.
import json
import os
import re
import xml.etree.ElementTree as ElementTree

from perf_tool import case, end, equal, perf, scratch

TESTS = ("write_lat write_bw read_lat read_bw send_lat send_bw tag_lat tag_bw atomic_lat atomic_rate reg").split()
SHORT = ("-D", "0.02", "--json")


def measure(*arguments):
    status, out, err = perf(*SHORT, *arguments)
    equal(status, 0, err)
    equal(err, "", "stderr")
    return json.loads(out)


def there(provider):
    """Why it cannot be measured here, or nothing."""
    status, _, err = perf("-p", provider, "-t", "send_lat", *SHORT)
    return err.strip() if status else None


def one(test, provider, *arguments):
    found = measure("-p", provider, "-t", test, "--verify", *arguments)
    equal(found["test"], test)
    equal(len(found["results"]), 1)
    row = found["results"][0]
    equal(row["provider"], provider)
    equal(row["wrong_bytes"], 0)
    assert row["ops"] > 0 and row["median"] > 0, row
    if test.endswith("_lat") or test == "reg":
        times = [row["latency_us"][name] for name in ("min", "p50", "p90", "p99", "p99.9", "max")]
        equal(times, sorted(times), "percentiles")


def sweep():
    found = measure("-t", "read_bw", "-s", "1:4K", "--plot", scratch("a.svg"))
    equal([row["size"] for row in found["results"]], [2**i for i in range(13)])
    svg = "{http://www.w3.org/2000/svg}"
    picture = ElementTree.parse(scratch("a.svg")).getroot()
    equal(len(picture.findall(svg + "circle")), 13, "points")
    equal([path.get("class") for path in picture.iter(svg + "path")].count("spread"), 13, "each with its spread")
    texts = ["".join(text.itertext()) for text in picture.iter(svg + "text")]
    assert "4K" in texts and any(os.uname().nodename in text and os.uname().release in text for text in texts), texts
    assert "medians of 20 blocks, and from the 10th to the 90th percentile of these" in texts, texts
    # A spread lies around its median.
    for row, circle in zip(found["results"], picture.iter(svg + "circle")):
        title = circle.find(svg + "title").text
        median, low, high = (float(word) for word in re.findall(r": ([\d.e+-]+) .*, ([\d.e+-]+) to ([\d.e+-]+)", title)[0])
        assert low <= median <= high and abs(median / row["median"] - 1) < 0.001, (title, row)
    perf("-t", "read_bw", "-s", "8", "--blocks", "1", "-D", "0.02", "--plot", scratch("one.svg"))
    one = open(scratch("one.svg"), encoding="utf-8").read()
    assert 'class="spread"' not in one and "one block" in one, one


def compare():
    found = measure("--compare", "emu,tcp", "-t", "write_lat", "--blocks", "4", "-D", "0.08", "--plot", scratch("b.svg"))
    rows = found["results"]
    equal([row["provider"] for row in rows], ["emu", "tcp"])
    equal([len(row["blocks"]) for row in rows], [4, 4])
    equal(rows[0]["ratio"]["median"], 1)
    assert rows[1]["ratio"]["p10"] <= rows[1]["ratio"]["median"] <= rows[1]["ratio"]["p90"]
    status, out, _ = perf("--compare", "emu,tcp", "-t", "write_lat", "--blocks", "2", "-D", "0.02")
    equal(status, 0)
    assert "times the first" in out and " x" in out, out


def iterations():
    rows = measure("-t", "send_lat", "-n", "321", "-T", "2")["results"]
    equal(rows[0]["ops"], 642)
    rows = measure("-t", "write_bw", "-n", "321", "--blocks", "3")["results"]
    equal(rows[0]["ops"], 963)


def progress():
    status, _, err = perf("-t", "read_lat", "-D", "1.5", "--progress")
    equal(status, 0)
    assert "emu_perf: read_lat over emu, 8 B: " in err and " ops" in err, err


for name in TESTS:
    for over in ("emu", "tcp"):
        if not (over == "tcp" and name.startswith("atomic")):
            case(f"{name}_over_{over}", one, name, over)
why = there("shm")
for name in ("write_lat", "send_bw", "atomic_rate"):
    case(f"{name}_over_shm", (lambda: why) if why else one, *(() if why else (name, "shm")))
for wait in ("sread", "cntr"):
    for name in ("write_lat", "read_lat", "read_bw", "send_lat", "tag_bw"):
        case(f"{name}_waits_in_{wait}", one, name, "emu", "--wait", wait)
for size in ("1", "3", "100", "100000"):
    for name in ("write_lat", "write_bw", "read_bw", "tag_lat", "tag_bw"):
        case(f"{name}_of_{size}", one, name, "emu", "-s", size)
for name in ("write_lat", "write_bw", "read_bw", "send_lat", "send_bw"):
    case(f"{name}_with_peers_and_threads", one, name, "emu", "-T", "2", "-P", "3", "-s", "5")
case("a_size_sweep_has_a_picture", sweep)
case("providers_are_compared_in_one_run", compare)
case("iterations_are_counted", iterations)
case("a_long_run_says_how_far_it_is", progress)
end()
