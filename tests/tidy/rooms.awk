# SPDX-License-Identifier: BSD-2-Clause
# rooms.awk - the includes that rooms.txt does not allow: awk -f rooms.awk rooms.txt FILE...
#
# A room is a folder of emu/, or wire/. A name in the table without a slash is a room of the same folder; `wire`, and `emu.h`
# for include/emu/, are themselves. Within its room a file includes what it likes. The rooms of a folder stand in the order of their
# floors, so no arrow leads to one further down in the table: but for those of kfi, which call each other.

function full(name, home) {
	if (name == "emu.h")
		return "include/emu"
	if (name == "wire")
		return name
	return "emu/" (name ~ /\// ? name : home "/" name)
}

# The names of one cell.
function allow(kind, cell,    i, n, names) {
	n = split(cell, names, " ")
	for (i = 1; i <= n; i++)
		if (names[i] != "-") {
			may[kind, room, full(names[i], home)] = 1
			if (names[i] !~ /\// && home != "kfi")
				below[full(names[i], home), room] = FNR
		}
}

NR == FNR {
	if (FNR == 1) {
		headers_at = index($0, "its headers")
		sources_at = index($0, "its sources")
		next
	}
	if ($0 !~ /^ /) {
		room = $1 == "wire" ? $1 : "emu/" $1
		home = $1
		sub(/\/.*/, "", home)
		known[room] = 1
		for (arrow in below) {
			split(arrow, part, SUBSEP)
			if (part[1] == room && part[2] != room)
				print "tests/tidy/rooms.txt:" below[arrow] ": " part[2] " needs " room ", which stands above it"
		}
	}
	allow("h", substr($0, headers_at, sources_at - headers_at))
	allow("c", substr($0, sources_at))
	next
}

FNR == 1 {
	here = FILENAME
	sub(/\/[^\/]*$/, "", here)
	kind = FILENAME ~ /\.h$/ ? "h" : "c"
	if (!(here in known))
		print FILENAME ": " here " is not a room of tests/tidy/rooms.txt"
}

/^[ \t]*#[ \t]*include[ \t]*"/ {
	split($0, part, "\"")
	there = part[2]
	sub(/\/[^\/]*$/, "", there)
	if (there == here)
		next
	if (("h", here, there) in may && kind == "h")
		used["h", here, there] = 1
	else if (kind == "c" && (("h", here, there) in may || ("c", here, there) in may))
		used["c", here, there] = 1
	else
		print FILENAME ":" FNR ": " here " may not include " part[2]
}

# An arrow that nothing needs.
END {
	for (arrow in may)
		if (!(arrow in used)) {
			split(arrow, part, SUBSEP)
			print "tests/tidy/rooms.txt: " part[2] " needs " part[3] " no more in " (part[1] == "h" ? "headers" : "sources")
		}
}
