/* SPDX-License-Identifier: BSD-2-Clause */
/* vworld.h - what the tests of verbs are written with: an open device, and two RC queue pairs of one process that are each other's
 * peers. Each side has queues and a region of its own. Failures end the test. */
#ifndef TESTS_RULES_VERBS_VWORLD_H
#define TESTS_RULES_VERBS_VWORLD_H

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <string.h>

#include "tests/rules/harness/check.h"
#include "tests/rules/harness/rule_test.h"

enum {
	V_SPAN = 1 << 20, /* bytes of a side's region */
	V_WR = 16,        /* requests and receives of a queue pair */
	V_SGE = 2,
	V_INLINE = 32,
	V_CQE = 64,
	V_PSN = 0x4321,
	V_QKEY = 0x11111111,
	V_READS = 4,
	V_SGE_MOST = 256, /* a device's max_sge, for lists that are one too long */
	V_ALL = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
};

/* What the options of emu_rules have chosen: NULL is the first device; -1 is the first GID of IPv4, or else the first. */
struct vchoice {
	const char *device;
	int gid;
};
extern struct vchoice vchoice;

/* Finds the device, and its name in *device. NULL, or why there is none. */
const char *v_find_device(const char **device);

/* What a test asks for beside the usual. Side 0 sends, as a rule, and side 1 is its target. */
struct vwish {
	bool given;                      /* always true */
	enum ibv_qp_type type[2];        /* 0: RC. UD: both, and each sends to the other */
	bool two_pds;                    /* side 1 has a PD of its own */
	bool unsignaled;                 /* only requests with IBV_SEND_SIGNALED complete */
	bool channel;                    /* the queues of both sides tell the channel */
	bool srq;                        /* side 1 receives from a shared queue */
	bool rnr_few, retry_few;         /* retries run out soon; else RNR's never */
	bool reads_none;                 /* side 1 answers no READ */
	bool qp_ex;                      /* side 0 has the calls of ibv_wr_post */
	unsigned qp_without, mr_without; /* rights that side 1 does not give */
};

struct vside {
	struct ibv_pd *pd;
	struct ibv_cq *send_cq, *recv_cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	unsigned char *bytes; /* V_SPAN of them */
};

struct vworld {
	struct vwish wish;
	struct ibv_context *context;
	struct ibv_device_attr device;
	struct ibv_port_attr port;
	struct ibv_comp_channel *channel;
	struct ibv_ah *ah;     /* UD: to this port, in the PD of side 0 */
	struct ibv_srq *srq;   /* V_WR receives, in the PD of side 1 */
	struct ibv_xrcd *xrcd; /* where side 1 is of type XRC_RECV; then srq is of it */
	uint32_t srqn;         /* its number, which requests name */
	struct vside side[2];
};

/* The device, with a PD for side 0. */
void v_open_device(struct vworld *w);
void v_close_device(struct vworld *w);
/* And all that belongs to the sides; the queue pairs are in RESET. Each closing must succeed. */
void v_open(struct vworld *w, const struct vwish *wish);
void v_meet(struct vworld *w);
void v_close(struct vworld *w);

/* The path to this port. */
void v_path(struct vworld *w, struct ibv_ah_attr *path);

/* A queue pair and a region in addition to those of a side, which the caller destroys. */
struct ibv_qp *v_qp(struct vworld *w, int side, const struct ibv_qp_cap *cap);
struct ibv_mr *v_region(struct ibv_pd *pd, void *addr, size_t length, unsigned access);

/* The attributes for a state, which the caller may change, with the number of the peer; the mask. */
int v_attr(struct vworld *w, int side, enum ibv_qp_state state, struct ibv_qp_attr *attr);
void v_to(struct vworld *w, int side, enum ibv_qp_state state);
void v_connect(struct vworld *w, struct ibv_qp *one, struct ibv_qp *other); /* both in RESET, of any side */
enum ibv_qp_state v_state(struct ibv_qp *qp);                               /* as queried */

/* A request: `length` bytes of the side's memory from 0, to or from `at` in the other's. */
struct ibv_send_wr v_request(struct vworld *w, int side, enum ibv_wr_opcode opcode, uint64_t at, uint32_t length,
			     struct ibv_sge *sge);
void v_send(struct ibv_qp *qp, struct ibv_send_wr *wr);
void v_post(struct vworld *w, int side, enum ibv_wr_opcode opcode, uint64_t at, uint32_t length, uint64_t wr_id);
/* A receive into `length` bytes of the side's memory from `at`. */
void v_receive(struct vworld *w, int side, uint64_t at, uint32_t length, uint64_t wr_id);

struct ibv_wc v_next(struct ibv_cq *cq);
struct ibv_wc v_done(struct ibv_cq *cq, uint64_t wr_id, enum ibv_wc_status status);
void v_none(struct ibv_cq *cq, const char *what);
/* One request that must end so. */
void v_does(struct vworld *w, int side, enum ibv_wr_opcode opcode, uint64_t at, uint32_t length, enum ibv_wc_status status);
/* A write and a message of side 0 arrive: all is well. */
void v_works(struct vworld *w);
bool v_is(const unsigned char *bytes, unsigned char value, size_t length);

/* The next event of this type, acknowledged; others are passed over. */
struct ibv_async_event v_event(struct vworld *w, enum ibv_event_type type);
/* No event of this type is there now. */
void v_no_event(struct vworld *w, enum ibv_event_type type);

/* A call that returns an errno, or NULL and errno. */
#define V_RC(want, call) v_rc(__FILE__, __LINE__, #call, call, want)
void v_rc(const char *file, int line, const char *call, int got, int want);
#define V_NULL(want, call)                                                                                             \
	do {                                                                                                           \
		void *v_got;                                                                                           \
                                                                                                                       \
		errno = 0;                                                                                             \
		v_got = call;                                                                                          \
		CHECK(!v_got, "%s succeeded", #call);                                                                  \
		CHECK(errno == (want), "%s left errno %d (%s), expected %d (%s)", #call, errno, strerror(errno), want, \
		      strerror(want));                                                                                 \
	} while (0)

#define VTEST(name)             \
	static void name(void); \
	RULE_TEST(name, name)   \
	static void name(void)

/* With the device alone. */
#define VDEVICE(name)                              \
	static void name##_with(struct vworld *w); \
	static void name(void)                     \
	{                                          \
		struct vworld w;                   \
                                                   \
		v_open_device(&w);                 \
		name##_with(&w);                   \
		v_close_device(&w);                \
	}                                          \
	RULE_TEST(name, name)                      \
	static void name##_with(struct vworld *w)

#define V_SIDES(name, connect, ...)                                 \
	static void name##_with(struct vworld *w);                  \
	static void name(void)                                      \
	{                                                           \
		struct vwish wish = { .given = true, __VA_ARGS__ }; \
		struct vworld w;                                    \
                                                                    \
		v_open(&w, &wish);                                  \
		if (connect)                                        \
			v_meet(&w);                                 \
		name##_with(&w);                                    \
		v_close(&w);                                        \
	}                                                           \
	RULE_TEST(name, name)                                       \
	static void name##_with(struct vworld *w)
/* With both queue pairs in RTS; in RESET. The wish follows, as initializers. */
#define VPAIR(name, ...) V_SIDES(name, true, __VA_ARGS__)
#define VRESET(name, ...) V_SIDES(name, false, __VA_ARGS__)

#endif
