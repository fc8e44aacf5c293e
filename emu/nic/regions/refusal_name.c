/* SPDX-License-Identifier: BSD-2-Clause */
/* refusal_name.c - a word for each cause of refusal. */
#include "emu/nic/regions/refusal_name.h"

#include <stddef.h>

#include "emu/nic/regions/mr.h"
#include "emu/nic/regions/refusal.h"

const char *refusal_name(unsigned int cause)
{
	static const char *const names[REFUSAL_CAUSES] = {
		[REFUSAL_UNKNOWN_KEY] = "unknown-key",
		[REFUSAL_CLOSED] = "closed",
		[REFUSAL_RIGHT] = "right",
		[REFUSAL_RANGE] = "range",
		[REFUSAL_WRAP] = "wrap",
		[REFUSAL_NOT_BACKED] = "not-backed",
		[REFUSAL_DISABLED] = "disabled",
		[REFUSAL_OTHER_ENDPOINT] = "other-endpoint",
		[REFUSAL_AUTH] = "auth",
		[REFUSAL_SPENT] = "spent",
		[REFUSAL_REFRESHING] = "refreshing",
		[REFUSAL_PAGE_UNKNOWN] = "page-unknown",
		[REFUSAL_RESOURCE] = "resource",
		[REFUSAL_CAPABILITY] = "capability",
		[REFUSAL_NOT_PERSISTENT] = "not-persistent",
		[REFUSAL_NOT_FLUSHED] = "not-flushed",
		[REFUSAL_REGISTERING] = "registering",
		[REFUSAL_ATOMIC] = "atomic",
		[REFUSAL_RECEIVE_BUFFER] = "receive-buffer",
		[REFUSAL_RECEIVE_RANGE] = "receive-range",
		[REFUSAL_MESSAGE_LONG] = "message-long",
		[REFUSAL_MISALIGNED] = "misaligned",
		[REFUSAL_INVALIDATED] = "invalidated",
		[REFUSAL_NO_REGION] = "no-region",
		[REFUSAL_NO_SRX] = "no-srq",
		[REFUSAL_NO_READS] = "no-reads",
		[REFUSAL_SOURCE_FAULT] = "source-fault",
		[REFUSAL_PEER_GONE] = "peer-gone",
		[REFUSAL_UNREACHABLE] = "unreachable",
		[REFUSAL_CANCELLED] = "cancelled",
		[REFUSAL_TRUNCATED] = "truncated",
		[REFUSAL_PROTOCOL] = "protocol",
		[REFUSAL_ADDRESS] = "address",
		[REFUSAL_NO_SESSION] = "no-session",
		[REFUSAL_NO_MESSAGE] = "no-message",
		[REFUSAL_STRANGER] = "stranger",
		[REFUSAL_SECRET] = "secret",
		[REFUSAL_NOT_READY] = "not-ready",
		[REFUSAL_SENDER] = "sender",
		[REFUSAL_LOCAL_CLOSED] = "local-closed",
		[REFUSAL_GROUP] = "group",
		[REFUSAL_DISAGREE] = "disagree",
		[REFUSAL_FIREWALL] = "firewall",
		[REFUSAL_PSN] = "psn",
		[REFUSAL_PATH_MTU] = "path-mtu",
		[REFUSAL_NO_RECEIVE] = "no-receive",
		[REFUSAL_LOST] = "lost",
		[REFUSAL_TOO_LONG] = "too-long",
		[REFUSAL_BIND] = "bind",
	};

	return cause < REFUSAL_CAUSES ? names[cause] : NULL;
}

const struct right_name right_names[] = {
	{ MR_REMOTE_READ, "REMOTE_READ" },
	{ MR_REMOTE_WRITE, "REMOTE_WRITE" },
	{ MR_REMOTE_ATOMIC, "REMOTE_ATOMIC" },
	{ MR_READ, "READ" },
	{ MR_WRITE, "WRITE" },
	{ MR_RECV, "RECV" },
	{ MR_SEND, "SEND" },
	{ MR_COLLECTIVE, "COLLECTIVE" },
	{ 0, NULL },
};
