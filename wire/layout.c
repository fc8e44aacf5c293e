/* SPDX-License-Identifier: BSD-2-Clause */
/* layout.c - the offsets that PROTOCOL.md's tables give, held against frame.h. No code. */
#include "wire/rdma.h"

#define AT(type, member, offset) static_assert(offsetof(struct wire_##type, member) == (offset), #type "." #member)

AT(head, op, 0);
AT(head, flags, 1);
AT(head, zero, 2);
AT(head, payload, 4);
AT(head, seq, 8);
AT(head, ack, 16);
AT(head, digest, 24);

AT(trailer, status, 0);
AT(trailer, zero, 4);
AT(trailer, digest, 8);

AT(hello, magic, 0);
AT(hello, version_min, 8);
AT(hello, version_max, 10);
AT(hello, features, 12);
AT(hello, instance, 16);
AT(hello, expected, 32);
AT(hello, session, 48);
AT(hello, epoch, 56);
AT(hello, seen, 64);
AT(hello, verdict_seen, 72);
AT(hello, requests, 80);
AT(hello, reads, 84);
AT(hello, segment, 88);
AT(hello, family, 92);
AT(hello, port, 94);
AT(hello, addr, 96);
AT(hello, scope, 112);
AT(hello, known_port, 116);
AT(hello, zero, 118);

AT(bye, reason, 0);
AT(bye, zero, 4);
AT(bye, text, 8);

AT(ack, verdict, 0);

AT(challenge, nonce, 0);
AT(challenge, family, 32);
AT(challenge, port, 34);
AT(challenge, addr, 36);
AT(challenge, zero, 52);

AT(proof, proof, 0);

AT(pair, sq_psn, 0);
AT(pair, rq_psn, 4);
AT(pair, path_mtu, 8);
AT(pair, zero, 12);

AT(target, key, 0);
AT(target, key_tail, 8);
AT(target, auth, 16);
AT(target, addr, 24);

AT(write, to, 0);
AT(write, rest, 32);
AT(write, cq_data, 40);

AT(read, from, 0);
AT(read, length, 32);

AT(send, length, 0);
AT(send, tag, 8);
AT(send, cq_data, 16);
AT(send, auth, 24);

AT(rsend, rest, 0);
AT(rsend, cq_data, 8);
AT(rsend, auth, 16);
AT(rsend, invalidate, 24);
AT(rsend, zero, 28);

AT(atomic, to, 0);
AT(atomic, length, 32);
AT(atomic, cq_data, 40);
AT(atomic, kind, 48);
AT(atomic, op, 49);
AT(atomic, type, 50);
AT(atomic, zero, 51);

AT(cm, request, 0);
AT(cm, zero, 8);

AT(taken, ref, 0);
AT(taken, status, 8);
AT(taken, zero, 12);

AT(data, ref, 0);
AT(data, offset, 8);
AT(data, rest, 16);
AT(data, zero, 24);

AT(pull, ref, 0);
AT(pull, offset, 8);
AT(pull, length, 16);
AT(pull, zero, 24);

AT(rnr, ref, 0);
AT(rnr, wait_us, 8);
AT(rnr, zero, 12);

AT(nak, verdict, 0);
AT(nak, ref, 8);
AT(nak, cause, 16);
AT(nak, access, 20);
AT(nak, region, 24);
AT(nak, excess, 32);
AT(nak, age_ns, 40);
AT(nak, zero, 48);

AT(verdict, verdict, 0);
AT(verdict, ref, 8);

AT(datagram, magic, 0);
AT(datagram, version, 8);
AT(datagram, flags, 10);
AT(datagram, family, 12);
AT(datagram, port, 14);
AT(datagram, addr, 16);
AT(datagram, scope, 32);
AT(datagram, payload, 36);
AT(datagram, cq_data, 40);
AT(datagram, auth, 48);
AT(datagram, digest, 56);

AT(pair_datagram, dest_qpn, 0);
AT(pair_datagram, src_qpn, 4);
AT(pair_datagram, qkey, 8);
AT(pair_datagram, flow_label, 12);
AT(pair_datagram, traffic_class, 16);
AT(pair_datagram, hop_limit, 17);
AT(pair_datagram, sl, 18);
AT(pair_datagram, zero, 19);
AT(pair_datagram, dgid, 20);

AT(service, magic, 0);
AT(service, version, 8);
AT(service, kind, 10);
AT(service, port, 12);
AT(service, zero, 14);
AT(service, nonce, 16);
AT(service, family, 24);
AT(service, service, 26);
AT(service, addr, 28);
AT(service, digest, 44);

AT(rdma_request, version, 0);
AT(rdma_request, kind, 1);
AT(rdma_request, length, 2);
AT(rdma_request, qp_type, 3);
AT(rdma_request, qpn, 4);
AT(rdma_request, psn, 8);
AT(rdma_request, responder_resources, 12);
AT(rdma_request, initiator_depth, 13);
AT(rdma_request, flow_control, 14);
AT(rdma_request, retry_count, 15);
AT(rdma_request, rnr_retry_count, 16);
AT(rdma_request, srq, 17);
AT(rdma_request, zero, 18);
AT(rdma_request, ece_vendor, 20);
AT(rdma_request, ece_options, 24);
AT(rdma_request, from, 28);
AT(rdma_request, to, 48);

AT(rdma_address, family, 0);
AT(rdma_address, port, 2);
AT(rdma_address, addr, 4);

AT(rdma_reply, version, 0);
AT(rdma_reply, kind, 1);
AT(rdma_reply, length, 2);
AT(rdma_reply, zero, 3);
AT(rdma_reply, qpn, 4);
AT(rdma_reply, psn, 8);
AT(rdma_reply, responder_resources, 12);
AT(rdma_reply, initiator_depth, 13);
AT(rdma_reply, flow_control, 14);
AT(rdma_reply, rnr_retry_count, 15);
AT(rdma_reply, srq, 16);
AT(rdma_reply, zeros, 17);
AT(rdma_reply, ece_vendor, 20);
AT(rdma_reply, ece_options, 24);

AT(rdma_lookup, version, 0);
AT(rdma_lookup, kind, 1);
AT(rdma_lookup, length, 2);
AT(rdma_lookup, zero, 3);
AT(rdma_lookup, space, 4);
AT(rdma_lookup, zeros, 6);
AT(rdma_lookup, from, 8);
AT(rdma_lookup, to, 28);

AT(rdma_found, version, 0);
AT(rdma_found, kind, 1);
AT(rdma_found, length, 2);
AT(rdma_found, status, 3);
AT(rdma_found, qpn, 4);
AT(rdma_found, qkey, 8);

AT(rdma_word, version, 0);
AT(rdma_word, kind, 1);
AT(rdma_word, length, 2);
AT(rdma_word, zero, 3);
AT(rdma_word, reason, 4);
