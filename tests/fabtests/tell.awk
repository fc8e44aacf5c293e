# SPDX-License-Identifier: BSD-2-Clause
# tell.awk - what libfabric's test script said, a line for each test: tell.awk EXCLUSIONS OUTPUT. A group's reason is the
# comment before it; excluded tests are told by reason, with their number. Ends with the line of counts (run.sh).

FNR == NR {
	if (/^# /)
		reason = substr($0, 3)
	else if (NF) {
		pattern[++patterns] = $0
		why[patterns] = reason
	}
	next
}

/^- name: / {
	name = substr($0, 11)
	sub(provider, "", name)
	complex = name ~ /^fi_ubertest/
	shown = 0
}
/^  result: Pass/ {
	print "ok " name
	passed += !complex
}
/^  result: Fail/ {
	print "not ok " name
	failed += !complex
	shown = 1
}
/^  result: Notrun/ {
	print (judge ? "not ok " : "skip ") name
	not_run += !complex
	shown = judge
}
/^  result: Excluded/ {
	excluded++
	for (i = 1; i <= patterns; i++)
		if (name ~ pattern[i]) {
			number[why[i]]++
			break
		}
}

# Of fi_ubertest: the configurations that did not pass, the first of them, and the counts that its client prints at the end.
/^  (server|client)_stdout/ { client = /client/ }
complex && /^    \[/ { configuration = substr($0, 5) }
complex && client && /^    Ending test / && !/Success$/ && ++told <= 20 { print "    " configuration "\n" $0 }
complex && client && /^    Success: / { passed += $2 }
complex && client && /^    (ENOSYS|EIO|ERROR) *: / { failed += $NF }
complex && client && /^    ENODATA: / { not_run += $2 }

shown && !complex && /^    / { print }

END {
	for (reason in number)
		print "skip " number[reason] " tests: " reason
	printf "# passed %d, failed %d, not run %d, excluded %d\n", passed, failed, not_run, excluded
}
