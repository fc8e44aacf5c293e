/* SPDX-License-Identifier: BSD-2-Clause */
/* trace_pcapng.c - the frames as packets, for Wireshark: each in TCP over IP, as if that had carried it, datagrams in UDP.
 *
 * Bytes of payloads that the ring does not hold are zeros. A connection's dialler gets a port of its own, as in a real one. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "tools/trace/trace_memory.h"
#include "tools/trace/trace_out.h"

enum {
	BLOCK_SECTION = 0x0a0d0d0a,
	BLOCK_INTERFACE = 1,
	BLOCK_PACKET = 6,
	LINK_RAW_IP = 101,
	SEGMENT = 60000,              /* bytes of a frame in one packet */
	PACKET_MAX = 40 + UINT16_MAX, /* IPv6's head is the longer one */
	PROTOCOL_TCP = 6,
	PROTOCOL_UDP = 17,
	TCP_SYN = 0x02,
	TCP_PUSH = 0x08,
	TCP_ACK = 0x10,
	PORT_FIRST = 32768,
	PORTS = 28000,
};

struct side {
	bool six;
	uint8_t addr[16];
	uint16_t port;
	uint32_t sent; /* sequence number of its next byte */
	uint64_t base; /* offset in its stream of the first byte that is there */
	bool begun;
};

struct flow {
	struct side side[2];
	bool open;
};

struct pcap {
	const struct trace *trace;
	FILE *file;
	struct flow *flows;
};

static void pcap_put(struct pcap *pcap, const void *bytes, size_t length)
{
	fwrite(bytes, 1, length, pcap->file);
}

static void put32(struct pcap *pcap, uint32_t value)
{
	pcap_put(pcap, &value, sizeof(value));
}

static void put_heads(struct pcap *pcap)
{
	static const uint8_t nanoseconds[] = { 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0 }; /* if_tsresol, end of options */

	put32(pcap, BLOCK_SECTION);
	put32(pcap, 28);
	put32(pcap, 0x1a2b3c4d);
	put32(pcap, 1); /* version 1.0 */
	put32(pcap, UINT32_MAX);
	put32(pcap, UINT32_MAX); /* its length is not said */
	put32(pcap, 28);
	put32(pcap, BLOCK_INTERFACE);
	put32(pcap, 32);
	put32(pcap, LINK_RAW_IP);
	put32(pcap, 0);
	pcap_put(pcap, nanoseconds, sizeof(nanoseconds));
	put32(pcap, 32);
}

static void put_packet(struct pcap *pcap, int64_t at_ns, const uint8_t *bytes, uint32_t length)
{
	static const uint8_t zeros[4];
	uint64_t time = pcap->trace->epoch_ns + (uint64_t)at_ns;
	uint32_t padded = (length + 3) & ~3u;

	put32(pcap, BLOCK_PACKET);
	put32(pcap, 32 + padded);
	put32(pcap, 0);
	put32(pcap, (uint32_t)(time >> 32));
	put32(pcap, (uint32_t)time);
	put32(pcap, length);
	put32(pcap, length);
	pcap_put(pcap, bytes, length);
	pcap_put(pcap, zeros, padded - length);
	put32(pcap, 32 + padded);
}

static void put_be16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static void put_be32(uint8_t *at, uint32_t value)
{
	put_be16(at, value >> 16);
	put_be16(at + 2, value);
}

/* Sums 16-bit words, as IP's checksums do. */
static uint32_t sum(uint32_t so_far, const uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i += 2) {
		so_far += (uint32_t)bytes[i] << 8 | (i + 1 < length ? bytes[i + 1] : 0);
		so_far = (so_far & 0xffff) + (so_far >> 16);
	}
	return so_far;
}

/* IP's head in front of `length` bytes, and the sum of the pseudo head. Returns the length of the head. */
static uint32_t ip_head(uint8_t *at, const struct side *from, const struct side *to, uint8_t protocol, uint32_t length,
			uint32_t *pseudo)
{
	size_t addr = from->six ? 16 : 4;

	*pseudo = sum(sum(protocol + length, from->addr, addr), to->addr, addr);
	if (from->six) {
		memset(at, 0, 8);
		at[0] = 0x60;
		put_be16(at + 4, length);
		at[6] = protocol;
		at[7] = 64;
		memcpy(at + 8, from->addr, 16);
		memcpy(at + 24, to->addr, 16);
		return 40;
	}
	memset(at, 0, 20);
	at[0] = 0x45;
	put_be16(at + 2, 20 + length);
	at[6] = 0x40; /* do not fragment */
	at[8] = 64;
	at[9] = protocol;
	memcpy(at + 12, from->addr, 4);
	memcpy(at + 16, to->addr, 4);
	put_be16(at + 10, ~sum(0, at, 20));
	return 20;
}

static void put_tcp(struct pcap *pcap, int64_t at_ns, struct side *from, const struct side *to, uint8_t flags, const uint8_t *bytes,
		    uint32_t length)
{
	static uint8_t packet[PACKET_MAX];
	uint32_t pseudo, ip = ip_head(packet, from, to, PROTOCOL_TCP, 20 + length, &pseudo);
	uint8_t *tcp = packet + ip;

	memset(tcp, 0, 20);
	put_be16(tcp, from->port);
	put_be16(tcp + 2, to->port);
	put_be32(tcp + 4, from->sent);
	put_be32(tcp + 8, flags & TCP_ACK ? to->sent : 0);
	tcp[12] = 0x50;
	tcp[13] = flags;
	put_be16(tcp + 14, 65535);
	if (length)
		memcpy(tcp + 20, bytes, length);
	put_be16(tcp + 16, ~sum(pseudo, tcp, 20 + length));
	put_packet(pcap, at_ns, packet, ip + 20 + length);
	from->sent += length + (flags & TCP_SYN ? 1 : 0);
}

static void put_udp(struct pcap *pcap, int64_t at_ns, const struct side *from, const struct side *to, const uint8_t *bytes,
		    uint32_t kept, uint32_t length)
{
	static uint8_t packet[PACKET_MAX];
	uint32_t most = UINT16_MAX - 8 - (from->six ? 0 : 20), pseudo, ip, check; /* as IP's field for the length has it */
	uint8_t *udp;

	length = length < most ? length : most;
	ip = ip_head(packet, from, to, PROTOCOL_UDP, 8 + length, &pseudo);
	udp = packet + ip;
	put_be16(udp, from->port);
	put_be16(udp + 2, to->port);
	put_be16(udp + 4, 8 + length);
	put_be16(udp + 6, 0);
	memcpy(udp + 8, bytes, kept);
	memset(udp + 8 + kept, 0, length - kept);
	check = ~sum(pseudo, udp, 8 + length) & 0xffff;
	put_be16(udp + 6, check ? check : 0xffff);
	put_packet(pcap, at_ns, packet, ip + 8 + length);
}

/* "192.0.2.1:4711", "[2001:db8::1]:4711" or "192.0.2.1 QPN 0x126701", as the trace has them. */
static void side_read(struct side *side, const char *address)
{
	char text[96], *at = text + (*address == '['), *qpn, *end;

	snprintf(text, sizeof(text), "%s", address);
	qpn = strstr(text, " QPN ");
	end = qpn ? qpn : strrchr(text, ':');
	if (!end)
		return;
	side->port = (uint16_t)(qpn ? strtoul(qpn + strlen(" QPN "), NULL, 16) >> 8 : strtoul(end + 1, NULL, 10));
	*end = '\0';
	at[strcspn(at, "%]")] = '\0';
	side->six = strchr(at, ':');
	inet_pton(side->six ? AF_INET6 : AF_INET, at, side->addr);
}

static void flow_open(struct pcap *pcap, uint32_t number, int64_t at_ns)
{
	const struct trace_conn *conn = &pcap->trace->conns[number];
	struct flow *flow = &pcap->flows[number];

	flow->open = true;
	side_read(&flow->side[0], conn->end[0].address);
	side_read(&flow->side[1], conn->end[1].address);
	if (flow->side[0].six != flow->side[1].six) { /* one of them is not known */
		flow->side[0].six = flow->side[1].six = true;
	}
	flow->side[0].port = (uint16_t)(PORT_FIRST + number % PORTS);
	put_tcp(pcap, at_ns, &flow->side[0], &flow->side[1], TCP_SYN, NULL, 0);
	put_tcp(pcap, at_ns, &flow->side[1], &flow->side[0], TCP_SYN | TCP_ACK, NULL, 0);
	put_tcp(pcap, at_ns, &flow->side[0], &flow->side[1], TCP_ACK, NULL, 0);
}

static void pcap_frame(struct pcap *pcap, const struct trace_frame *frame, int64_t at_ns)
{
	struct flow *flow = &pcap->flows[frame->conn];
	struct side *from, *to;
	uint8_t *bytes = trace_alloc(frame->length);

	if (!flow->open)
		flow_open(pcap, frame->conn, at_ns);
	from = &flow->side[frame->from];
	to = &flow->side[!frame->from];
	if (!from->begun)
		from->base = frame->stream_at;
	from->begun = true;
	from->sent = 1 + (uint32_t)(frame->stream_at - from->base); /* what is missing before it is seen to be */
	memcpy(bytes, frame->bytes, frame->kept);
	for (uint32_t at = 0; at < frame->length; at += SEGMENT)
		put_tcp(pcap, at_ns, from, to, TCP_PUSH | TCP_ACK, bytes + at,
			frame->length - at < SEGMENT ? frame->length - at : SEGMENT);
	free(bytes);
}

/* A datagram that both ends have noted is there twice, as in a capture of both. */
static void put_datagram(struct pcap *pcap, const struct trace_frame *frame, int64_t at_ns)
{
	struct side here = { .port = 0 }, peer = { .port = 0 };

	side_read(&here, pcap->trace->conns[frame->conn].end[0].address);
	side_read(&peer, frame->peer);
	here.six |= peer.six;
	peer.six = here.six;
	if (frame->sent_ns != TRACE_NEVER)
		put_udp(pcap, at_ns, &here, &peer, frame->bytes, frame->kept, frame->length);
	else
		put_udp(pcap, at_ns, &peer, &here, frame->bytes, frame->kept, frame->length);
}

int pcapng_write(const struct trace *trace, FILE *file)
{
	struct pcap pcap = { .trace = trace, .file = file };

	pcap.flows = trace_alloc(trace->conn_count * sizeof(*pcap.flows));
	put_heads(&pcap);
	for (uint32_t i = 0; i < trace->frame_count; i++) {
		const struct trace_frame *frame = &trace->frames[i];
		int64_t at_ns = frame->sent_ns != TRACE_NEVER ? frame->sent_ns : frame->received_ns;

		if (trace->conns[frame->conn].datagrams)
			put_datagram(&pcap, frame, at_ns);
		else
			pcap_frame(&pcap, frame, at_ns);
	}
	free(pcap.flows);
	return ferror(file) ? -1 : 0;
}
