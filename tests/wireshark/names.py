#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# names.py - the names, numbers and offsets of tools/wireshark/emu_names.lua are those of the protocol: names.py PROGRAM
#
# Held against wire/frame.h, rdma.h, layout.c, enum refusal_cause and PROTOCOL.md, which it reads, and what PROGRAM
# (wireshark_capture --tables) knows of check.c, codec.c and datagram.c. A new op, member, flag or cause without a row fails.
import os
import re
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
failed = False


def text_of(path):
    with open(os.path.join(ROOT, path)) as file:
        return file.read()


def verdict(name, lua, source):
    """Both are dicts, and must be equal."""
    global failed
    name = name.replace(" ", "_")
    for key in sorted(set(lua) | set(source), key=str):
        if lua.get(key) != source.get(key):
            print(f"{name} {key}: emu_names.lua has {lua.get(key)}, the protocol {source.get(key)}")
            failed = True
            break
    else:
        if source:
            print(f"ok {name}")
            return
        print(f"{name}: nothing found in the sources")
        failed = True
    print(f"not ok {name}")


def block(lua, name):
    """The lines of a table that begins with names.NAME = { and ends with a brace in column 0."""
    found = re.search(r"^names\." + re.escape(name) + r" = \{\n(.*?)^\}", lua, re.M | re.S)
    return found.group(1) if found else ""


def strings(lua, name):
    return {key: value for key, value in re.findall(r'^\t\[?(\w+)\]? = "(.*)",$', block(lua, name), re.M)}


def bits(lua, name):
    return {row[1]: int(row[0], 16) for row in re.findall(r'^\t\{ (0x[0-9a-f]+), "(\w+)",', block(lua, "bits." + name), re.M)}


def enum_of(source, name):
    """The enumerators with numbers of an enum, without comments."""
    body = re.search(r"enum " + name + r" \{(.*?)^\};", source, re.M | re.S).group(1)
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    return {key: eval(value) for key, value in re.findall(r"(\w+) = ([0-9a-fx<< ]+?)\s*,", body)}


def shorn(values, prefix, change=lambda name: name):
    return {change(key[len(prefix):]): value for key, value in values.items()}


def by_number(values, prefix, change):
    return {str(value): change(key[len(prefix):]) for key, value in values.items()}


def spaced(name):
    return name.lower().replace("_", " ")


def ops(lua, tables):
    row = (r'^\t\[(\d+)\] = \{ name = "(\w+)", body = "\w+", size = (\d+), flags = (0x[0-9a-f]+), payload = (\w+), '
           r'sort = "(\w+)" \},$')
    kinds = {"request": 1, "greeting": 2}
    mine = {int(number): (name, int(size), int(flags, 16), int(payload == "true"), kinds.get(sort, 0))
            for number, name, size, flags, payload, sort in re.findall(row, block(lua, "ops"), re.M)}
    theirs = {int(f[0]): (f[1],) + tuple(map(int, f[2:])) for f in (line.split() for line in tables["op"])}
    verdict("ops", mine, theirs)


def structs(lua, header, layout):
    mine, theirs, sizes, sources = {}, {}, {}, {}
    for name, body in re.findall(r"^names\.structs\.(\w+) = \{\n(.*?)^\}", lua, re.M | re.S):
        end = 0
        for member, offset, size in re.findall(r'^\t\{ "(\w+)", (\d+), (\d+), ', body, re.M):
            mine[f"{name}.{member}"] = int(offset)
            sizes[name] = int(offset) + int(size)
            if int(offset) != end: # without gaps
                mine[f"{name}.{member}"] = f"{offset} behind {end}"
            end = int(offset) + int(size)
    for struct, member, offset in re.findall(r"^AT\((\w+), (\w+), (\d+)\);", layout, re.M):
        theirs[f"{struct}.{member}"] = int(offset)
    for struct, size in re.findall(r"sizeof\(struct wire_(\w+)\) == (\d+)", header):
        sources[struct] = int(size)
    verdict("offsets", mine, theirs)
    verdict("sizes", sizes, sources)


def causes(lua):
    enum = {key: value for key, value in enum_of(text_of("emu/nic/regions/refusal.h"), "refusal_cause").items() if 0 < value < 63}
    table = re.search(r"^\*\*WIRE-48\*\*.*?\n\n(.*?)\n\n", text_of("wire/PROTOCOL.md"), re.M | re.S).group(1)
    verdict("sentences of causes", strings(lua, "cause_words"), dict(re.findall(r"^\| (\d+) \| (.*) \|$", table, re.M)))
    names = re.findall(r'\[REFUSAL_(\w+)\] = "([a-z-]+)"', text_of("emu/nic/regions/refusal_name.c"))
    theirs = {str(enum["REFUSAL_" + name]): word for name, word in names if "REFUSAL_" + name in enum}
    verdict("words of causes", strings(lua, "values.cause"), theirs)


def access(lua):
    rights = re.search(r"\*\*WIRE-49\*\*(.*?)\n\n", text_of("wire/PROTOCOL.md"), re.S).group(1)
    theirs = {name: int(bit, 16) for bit, name in re.findall(r"(0x[0-9a-f]+)\s+([A-Z_]+)", rights)}
    theirs.update(shorn(enum_of(text_of("emu/nic/regions/refusal.h"), "refusal_form"), "REFUSAL_"))
    verdict("access", bits(lua, "access"), theirs)


def atomics(lua):
    """Operations as the protocol's table numbers them."""
    rows = re.search(r"\| kind \| op \|\n\|---\|---\|\n(.*?)\n\n", text_of("wire/PROTOCOL.md"), re.S).group(1)
    verdict("atomics", strings(lua, "values.atomic"), dict(re.findall(r"\b(\d+) ([A-Z_]+)", rows)))


def limits(lua, header):
    names = {"SEGMENT_MIN": "WIRE_SEGMENT_MIN", "SEGMENT_MAX": "WIRE_SEGMENT_MAX", "ATOMIC_MAX": "WIRE_ATOMIC_MAX",
             "CM_DATA_MAX": "WIRE_CM_DATA_MAX", "MTU": "WIRE_MTU", "VERSION": "WIRE_VERSION_MAX",
             "DATAGRAM_VERSION": "WIRE_DATAGRAM_VERSION", "PAIR_DATAGRAM_VERSION": "WIRE_PAIR_DATAGRAM_VERSION",
             "SERVICE_VERSION": "WIRE_SERVICE_VERSION", "RDMA_VERSION": "WIRE_RDMA_VERSION", "RDMA_RC": "WIRE_RDMA_RC",
             "RDMA_XRC_SEND": "WIRE_RDMA_XRC_SEND", "SIDR_MOST": "WIRE_SIDR_MOST"}
    mine = {name: int(re.search(rf"^names\.{name} = (\d+)", lua, re.M).group(1)) for name in names}
    theirs = {name: eval(re.search(rf"\b{source} = ([0-9 *]+)[,}} ]", header).group(1)) for name, source in names.items()}
    for name, source in (("MAGIC", "WIRE_MAGIC"), ("DATAGRAM_MAGIC", "WIRE_DATAGRAM_MAGIC"), ("SERVICE_MAGIC", "WIRE_SERVICE_MAGIC")):
        mine[name] = re.search(rf'^names\.{name} = "(\w+)"', lua, re.M).group(1)
        text = re.search(rf'#define {source} "(.*?)"', header).group(1)
        theirs[name] = text.encode().decode("unicode_escape").encode().hex()
    verdict("limits", mine, theirs)


def rdma(lua, header):
    """The words of rdma_cm, and how long each may be."""
    kinds = shorn(enum_of(header, "wire_rdma_kind"), "WIRE_RDMA_")
    verdict("kinds of words", strings(lua, "values.rdma_kind"), {str(number): name for name, number in kinds.items()})
    verdict("kinds of services", strings(lua, "values.service_kind"),
            by_number(enum_of(header, "wire_service_kind"), "WIRE_SERVICE_", spaced))
    sizes = dict(re.findall(r"sizeof\(struct wire_(rdma_\w+)\) == (\d+)", header))
    heads = {name: (own if (own := "rdma_" + name.lower()) in sizes else "rdma_word") for name in kinds}
    room = {name: int(re.search(rf"WIRE_RDMA_{name}_DATA = (\d+)", header).group(1)) if f"WIRE_RDMA_{name}_DATA" in header else 0
            for name in kinds}
    row = r'^\t(\w+) = \{ head = "(\w+)", size = (\d+), room = (\d+) \},$'
    verdict("words", {name: (head, size, int(most)) for name, head, size, most in re.findall(row, block(lua, "rdma_words"), re.M)},
            {name: (heads[name], sizes[heads[name]], room[name]) for name in kinds})


def flaws(lua, tables):
    """Each sentence is there but that of digests, which nobody checks here, and of datagrams without the magic."""
    for table, left_out in (("flaw", ("digest",)), ("datagram_flaw", ("digest", "magic"))):
        theirs = {line: 1 for line in tables[table] if not any(word in line for word in left_out) or "HELLO" in line}
        verdict(table + "s", {value: 1 for value in strings(lua, table + "s").values()}, theirs)


def main():
    lua = re.sub(r'" \.\.\n\s*"', "", text_of("tools/wireshark/emu_names.lua"))  # strings in two lines
    header = text_of("wire/frame.h") + text_of("wire/rdma.h")
    tables = {}
    for line in subprocess.run([sys.argv[1], "--tables"], check=True, capture_output=True, text=True).stdout.splitlines():
        _, table, row = line.split(" ", 2)
        tables.setdefault(table, []).append(row)
    ops(lua, tables)
    numbers = shorn(enum_of(header, "wire_op"), "WIRE_")
    verdict("numbers of ops", {name: int(number) for number, name in re.findall(r'\[(\d+)\] = \{ name = "(\w+)"', lua)}, numbers)
    structs(lua, header, text_of("wire/layout.c"))
    verdict("flags", bits(lua, "flags"), shorn(enum_of(header, "wire_flag"), "WIRE_F_"))
    verdict("features", bits(lua, "features"), shorn(enum_of(header, "wire_feature"), "WIRE_"))
    verdict("flags of datagrams", bits(lua, "datagram"), shorn(enum_of(header, "wire_datagram_flag"), "WIRE_DG_"))
    verdict("statuses", strings(lua, "values.status"), by_number(enum_of(header, "wire_status"), "WIRE_", spaced))
    verdict("reasons", strings(lua, "values.reason"), by_number(enum_of(header, "wire_bye_reason"), "WIRE_BYE_", spaced))
    verdict("kinds", strings(lua, "values.kind"), by_number(enum_of(header, "wire_atomic_kind"), "WIRE_ATOMIC_", spaced))
    causes(lua)
    access(lua)
    atomics(lua)
    rdma(lua, header)
    limits(lua, header)
    flaws(lua, tables)
    return 1 if failed else 0


sys.exit(main())
