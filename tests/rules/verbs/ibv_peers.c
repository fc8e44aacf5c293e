/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_peers.c - a peer in another process: V133 and V134. Each process opens the device after the fork. */
#include "tests/rules/verbs/vworld.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LENGTH = 64 };

/* What each side tells the other. */
struct card {
	uint32_t qp_num, rkey;
	uint64_t addr;
};

static struct card swap_cards(struct vworld *w, int fd)
{
	struct card own = { w->side[0].qp->qp_num, w->side[0].mr->rkey, (uintptr_t)w->side[0].bytes }, other;

	CHECK(send(fd, &own, sizeof(own), 0) == sizeof(own), "the peer is gone");
	CHECK(recv(fd, &other, sizeof(other), MSG_WAITALL) == sizeof(other), "the peer is gone");
	return other;
}

/* Both, of which each uses its side 0. */
static struct card meet(struct vworld *w, int fd)
{
	static const enum ibv_qp_state ways[] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS };
	struct card other = swap_cards(w, fd);
	char ready = 1;

	for (int i = 0; i < 3; i++) {
		struct ibv_qp_attr attr;
		int mask = v_attr(w, 0, ways[i], &attr);

		attr.dest_qp_num = other.qp_num;
		V_RC(0, ibv_modify_qp(w->side[0].qp, &attr, mask));
	}
	v_receive(w, 0, 4096, LENGTH, 1);
	CHECK(send(fd, &ready, 1, 0) == 1 && recv(fd, &ready, 1, 0) == 1, "the peer is gone");
	return other;
}

static void peer(int fd, bool stays)
{
	struct vwish wish = { .given = true, .retry_few = true };
	struct vworld w;
	char byte;

	v_open(&w, &wish);
	meet(&w, fd);
	v_done(w.side[0].recv_cq, 1, IBV_WC_SUCCESS);
	v_receive(&w, 0, 4096, LENGTH, 2);
	CHECK(send(fd, "", 1, 0) == 1, "the test is gone");
	CHECK(recv(fd, &byte, 1, 0) == 1, "the test is gone");
	if (!stays)
		raise(SIGKILL);
	CHECK(v_is(w.side[0].bytes, 0x22, LENGTH), "the bytes of a write have not arrived");
	v_close(&w);
	_exit(0);
}

/* The test's side: a message and a write, then `byte` tells the peer to end. */
static pid_t talk(struct vworld *w, bool stays, int *fd, struct card *other)
{
	struct vwish wish = { .given = true, .retry_few = true };
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	int ends[2];
	char byte;
	pid_t pid;

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "no socket pair");
	pid = fork();
	CHECK(pid >= 0, "fork: %s", strerror(errno));
	if (!pid) {
		close(ends[0]);
		peer(ends[1], stays);
	}
	close(ends[1]);
	*fd = ends[0];
	v_open(w, &wish);
	*other = meet(w, *fd);
	memset(w->side[0].bytes, 0x22, LENGTH);
	v_does(w, 0, IBV_WR_SEND, 0, LENGTH, IBV_WC_SUCCESS);
	CHECK(recv(*fd, &byte, 1, 0) == 1, "the peer is gone");
	wr = v_request(w, 0, IBV_WR_RDMA_WRITE, 0, LENGTH, &sge);
	wr.wr.rdma.rkey = other->rkey;
	wr.wr.rdma.remote_addr = other->addr;
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
	CHECK(send(*fd, "", 1, 0) == 1, "the peer is gone");
	return pid;
}

static int ended(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid, "waitpid: %s", strerror(errno));
	return status;
}

VTEST(V133_peers_may_be_processes)
{
	struct card other;
	struct vworld w;
	int fd, status;
	pid_t pid = talk(&w, true, &fd, &other);

	status = ended(pid);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status), "the peer ended with status 0x%x", (unsigned)status);
	v_close(&w);
	close(fd);
}

VTEST(V134_retries_to_a_process_that_was_killed_run_out)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	struct card other;
	struct vworld w;
	int fd, status;
	pid_t pid = talk(&w, false, &fd, &other);

	status = ended(pid);
	CHECK(WIFSIGNALED(status), "the peer ended with status 0x%x", (unsigned)status);
	wr = v_request(&w, 0, IBV_WR_RDMA_WRITE, 0, LENGTH, &sge);
	wr.wr.rdma.rkey = other.rkey;
	wr.wr.rdma.remote_addr = other.addr;
	v_send(w.side[0].qp, &wr);
	v_done(w.side[0].send_cq, 0, IBV_WC_RETRY_EXC_ERR);
	CHECK(v_state(w.side[0].qp) == IBV_QPS_ERR, "the queue pair goes on");
	v_close(&w);
	close(fd);
}
