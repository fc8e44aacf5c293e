// SPDX-License-Identifier: BSD-2-Clause
// gloo.cc - one rank of several that send to each other over gloo's transport ibverbs: gloo RANK RANKS FOLDER GID_INDEX
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "gloo/rendezvous/context.h"
#include "gloo/rendezvous/file_store.h"
#include "gloo/transport/ibverbs/device.h"

enum { INTS = 100000, ROUNDS = 5 };

struct exchange {
	std::vector<int> out, in;
	std::unique_ptr<gloo::transport::Buffer> to, from;
};

int main(int, char **argv)
{
	const int rank = atoi(argv[1]), ranks = atoi(argv[2]);
	gloo::transport::ibverbs::attr attr;
	attr.name = "emu0";
	attr.port = 1;
	attr.index = atoi(argv[4]);
	auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
	gloo::rendezvous::FileStore store(argv[3]);
	auto device = gloo::transport::ibverbs::CreateDevice(attr);
	context->connectFullMesh(store, device);

	std::vector<exchange> all(ranks);
	for (int peer = 0; peer < ranks; peer++) {
		if (peer == rank)
			continue;
		exchange &with = all[peer];
		with.out.assign(INTS, 0);
		with.in.assign(INTS, 0);
		with.to = context->getPair(peer)->createSendBuffer(0, with.out.data(), INTS * sizeof(int));
		with.from = context->getPair(peer)->createRecvBuffer(0, with.in.data(), INTS * sizeof(int));
	}
	for (int round = 1; round <= ROUNDS; round++) {
		for (int peer = 0; peer < ranks; peer++) {
			if (peer == rank)
				continue;
			all[peer].out.assign(INTS, 100 * round + rank);
			all[peer].to->send();
		}
		for (int peer = 0; peer < ranks; peer++) {
			if (peer == rank)
				continue;
			all[peer].to->waitSend();
			all[peer].from->waitRecv();
			for (int value : all[peer].in)
				if (value < 100 * round + peer)
					return printf("round %d: rank %d got %d of %d\n", round, rank, value, peer), 1;
		}
	}
	/* Its destructors are not run: those of pairs do not wait for gloo's own thread, which may be at one's completions. */
	const std::string done = "done";
	std::vector<std::string> names;
	store.set(done + std::to_string(rank), std::vector<char>(1));
	for (int peer = 0; peer < ranks; peer++)
		names.push_back(done + std::to_string(peer));
	store.wait(names);
	fflush(stdout);
	_Exit(0);
}
