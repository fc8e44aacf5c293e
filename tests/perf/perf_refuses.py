# SPDX-License-Identifier: BSD-2-Clause
# perf_refuses.py - what emu_perf cannot do is a sentence and status 2.
import os
import subprocess

from perf_tool import case, end, equal, free_port, listen, perf, scratch, sentence

BAD = {
    "no_test": ((), "-t TEST is missing"),
    "an_unknown_test": (("-t", "fly_lat"), "fly_lat"),
    "no_number": (("-t", "read_bw", "-w", "many"), "many"),
    "a_window_of_none": (("-t", "read_bw", "-w", "0"), "-w"),
    "too_many_threads": (("-t", "read_bw", "-T", "1000"), "-T"),
    "no_size": (("-t", "read_bw", "-s", "8Q"), "8Q"),
    "a_negative_size": (("-t", "read_bw", "-s", "-8"), "-8"),
    "a_size_beyond_all": (("-t", "read_bw", "-s", "99999999999999999999"), "-s"),
    "a_sweep_that_ends_before_it_begins": (("-t", "read_bw", "-s", "8:4"), "8:4"),
    "a_duration_of_none": (("-t", "read_bw", "-D", "0"), "-D"),
    "an_unknown_wait": (("-t", "read_bw", "--wait", "dream"), "dream"),
    "an_empty_comparison": (("-t", "read_bw", "--compare", "emu,"), "--compare"),
    "two_hosts": (("-t", "read_bw", "a", "b"), "one HOST"),
    "a_listener_with_a_host": (("--listen", "a"), "--listen"),
    "no_port": (("-t", "read_bw", "--port", "70000", "a"), "--port"),
    "a_window_of_one_at_a_time": (("-t", "read_lat", "-w", "8"), "-w"),
    "fewer_ops_than_peers": (("-t", "read_bw", "-w", "2", "-P", "3"), "peers"),
    "half_an_atomic": (("-t", "atomic_lat", "-s", "4"), "whole 8 bytes"),
    "an_unknown_provider": (("-t", "read_lat", "-p", "nobody"), "nobody"),
    "one_of_a_comparison_that_is_missing": (("-t", "read_lat", "--compare", "emu,nobody"), "nobody"),
    "an_unreachable_port": (("-t", "read_lat", "--port", free_port(), "127.0.0.1"), "127.0.0.1"),
    "an_unknown_host": (("-t", "read_lat", "no-such-host.invalid"), "no-such-host.invalid"),
    "a_folder_that_is_not_there": (("-t", "reg", "--json=" + scratch("none/a.json")), "none/a.json"),
    "a_picture_that_cannot_be_written": (("-t", "reg", "--plot", scratch("none/a.svg")), "none/a.svg"),
}


def refused(arguments, word):
    sentence(perf(*arguments), word)


def without_atomics():
    """Of the providers that libfabric brings, which have atomics depends on how it was built."""
    for provider in ("tcp", "udp", "shm", "sockets"):
        environment = dict(os.environ, FI_PROVIDER=provider)
        found = [subprocess.run(["fi_info", "-p", provider, "-t", "FI_EP_RDM", "-c", caps], env=environment, capture_output=True,
                                check=False).returncode == 0 for caps in ("FI_MSG", "FI_ATOMIC")]
        if found == [True, False]:
            return refused(("-t", "atomic_lat", "-p", provider), provider)
    return "each provider here has atomics"


def full_disk(*arguments):
    sentence(perf("-t", "reg", "-D", "0.02", *arguments), "No space left on device")


def full_stdout(*arguments):
    with open("/dev/full", "w") as full:
        sentence(perf("-t", "reg", "-D", "0.02", *arguments, stdout=full), "stdout could not be written")


def port_in_use():
    listener, port = listen()
    try:
        sentence(perf("--listen", "--port", port), "cannot listen")
    finally:
        listener.kill()
        listener.communicate()


def helps():
    status, out, err = perf("--help")
    equal((status, err), (0, ""))
    assert out.splitlines()[0].startswith("usage: emu_perf"), out
    status, out, err = perf("--no-such-option")
    equal((status, out), (2, ""))
    assert "--no-such-option" in err, err


for name, (given, said) in BAD.items():
    case(f"{name}_is_refused", refused, given, said)
case("a_provider_without_atomics_is_refused", without_atomics)
case("a_full_disk_ends_json", full_disk, "--json=/dev/full")
case("a_full_disk_ends_a_picture", full_disk, "--plot", "/dev/full")
case("a_full_disk_ends_the_table", full_stdout)
case("a_full_disk_ends_json_on_stdout", full_stdout, "--json")
case("a_port_in_use_is_refused", port_in_use)
case("help_is_on_stdout", helps)
end()
