/* SPDX-License-Identifier: BSD-2-Clause */
/* lab.c - two processes with an endpoint each, and the line between them. */
#include "lab.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { API_MAJOR = 1, API_MINOR = 17, QUEUE = 64, NAME_BYTES = 256, NOTE_BYTES = 256 };

static const char *const names[] = { [LAB_INITIATOR] = "initiator", [LAB_TARGET] = "target" };
static int notes = -1; /* the file that LAB_NOTES names: `lab check` reads there what happened */
static const char *self = "";
static const char *volatile waits_in = "a loop of its own"; /* the call of this file that waits */

static void note(const char *format, ...)
{
	char text[NOTE_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (notes >= 0)
		dprintf(notes, "%s %s\n", self, text);
}

/* The alarm's handler. The process ends by the alarm all the same. */
static void note_hang(int number)
{
	const char *const words[] = { self, " hangs in ", waits_in, "\n" };
	struct iovec parts[4];

	for (int i = 0; i < 4; i++)
		parts[i] = (struct iovec){ (void *)words[i], strlen(words[i]) };
	if (notes >= 0 && writev(notes, parts, 4) < 0)
		notes = -1;
	raise(number); /* SA_RESETHAND: at the return from here the signal does what it does by default */
}

/* How the target has ended; the initiator calls it when the target has, or is about to. */
static int reap(struct lab *lab)
{
	int status;

	if (waitpid(lab->child, &status, 0) < 0)
		return errno;
	lab->child = 0;
	if (WIFSIGNALED(status))
		note("saw the target end by signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status))
		note("saw the target end with status %d", WEXITSTATUS(status));
	return status;
}

static void die(const char *what, const char *why)
{
	printf("%s: %s\n", what, why);
	exit(1);
}

static void die_alone(struct lab *lab)
{
	if (lab->child)
		reap(lab);
	die("the line", "the other process is gone");
}

long lab_must(const char *call, long result)
{
	if (result < 0)
		die(call, fi_strerror((int)-result));
	return result;
}

void lab_fork(struct lab *lab)
{
	const struct sigaction hang = { .sa_handler = note_hang, .sa_flags = SA_RESETHAND };
	const char *path = getenv("LAB_NOTES");
	int ends[2];

	memset(lab, 0, sizeof(*lab));
	setvbuf(stdout, NULL, _IOLBF, 0); /* so that the lines of both keep their order */
	if (path)
		notes = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		die("socketpair", strerror(errno));
	lab->child = fork();
	if (lab->child < 0)
		die("fork", strerror(errno));
	lab->side = lab->child ? LAB_INITIATOR : LAB_TARGET;
	self = names[lab->side];
	lab->line = ends[lab->side];
	close(ends[!lab->side]);
	sigaction(SIGALRM, &hang, NULL);
	/* The target's comes first, so that both can say where they waited. */
	alarm(LAB_PATIENCE_S - (lab->side == LAB_TARGET)); /* a process that waits for what never comes ends here */
}

void lab_tell(struct lab *lab, const void *what, size_t length)
{
	if (send(lab->line, what, length, MSG_NOSIGNAL) != (ssize_t)length)
		die_alone(lab);
}

void lab_hear(struct lab *lab, void *what, size_t length)
{
	const char *before = waits_in;

	waits_in = "lab_hear()";
	if (recv(lab->line, what, length, MSG_WAITALL) != (ssize_t)length)
		die_alone(lab);
	waits_in = before;
}

static struct fi_info *find_nic(int mr_mode)
{
	struct fi_info *hints = fi_allocinfo(), *info;

	if (!hints)
		die("fi_allocinfo", "out of memory");
	hints->caps = FI_MSG | FI_RMA | FI_RMA_EVENT;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode = mr_mode;
	/* Messages keep their order, and nothing else does. */
	hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
	note("asks for %s", fi_tostr(&mr_mode, FI_TYPE_MR_MODE));
	MUST(fi_getinfo(FI_VERSION(API_MAJOR, API_MINOR), NULL, NULL, 0, hints, &info));
	fi_freeinfo(hints);
	return info;
}

/* Each process sends the address of its endpoint to the other. */
static void meet(struct lab *lab)
{
	char mine[NAME_BYTES] = { 0 }, other[NAME_BYTES];
	size_t size = sizeof(mine);

	MUST(fi_getname(&lab->ep->fid, mine, &size));
	lab_tell(lab, mine, sizeof(mine));
	lab_hear(lab, other, sizeof(other));
	if (fi_av_insert(lab->av, other, 1, &lab->peer, 0, NULL) != 1)
		die("fi_av_insert", "this is no address");
}

void lab_open(struct lab *lab, int mr_mode, int counters)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_CONTEXT, .size = QUEUE };
	struct fi_cntr_attr cntr = { .events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_UNSPEC };
	struct fi_av_attr av = { .type = FI_AV_TABLE };

	lab->info = find_nic(mr_mode);
	MUST(fi_fabric(lab->info->fabric_attr, &lab->fabric, NULL));
	MUST(fi_domain(lab->fabric, lab->info, &lab->domain, NULL));
	MUST(fi_av_open(lab->domain, &av, &lab->av, NULL));
	MUST(fi_cq_open(lab->domain, &cq, &lab->cq, NULL));
	MUST(fi_endpoint(lab->domain, lab->info, &lab->ep, NULL));
	MUST(fi_ep_bind(lab->ep, &lab->av->fid, 0));
	MUST(fi_ep_bind(lab->ep, &lab->cq->fid, FI_TRANSMIT | FI_RECV));
	if (counters) {
		MUST(fi_cntr_open(lab->domain, &cntr, &lab->cntr, NULL));
		MUST(fi_ep_bind(lab->ep, &lab->cntr->fid, lab->side == LAB_INITIATOR ? FI_WRITE | FI_READ : FI_REMOTE_WRITE));
	}
	MUST(fi_enable(lab->ep));
	meet(lab);
}

/* How many of the pages are in memory. */
static size_t pages_there(void *memory, size_t length)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)memory / page * page;
	const size_t pages = ((uintptr_t)memory + length - begin + page - 1) / page;
	unsigned char there[pages];
	size_t count = 0;

	if (mincore((void *)begin, pages * page, there))
		return 0;
	for (size_t i = 0; i < pages; i++)
		count += there[i] & 1;
	return count;
}

struct fid_mr *lab_register(struct lab *lab, void *memory, size_t length, uint64_t access)
{
	static uint64_t asked = 1;
	struct fid_mr *mr;

	note("registers %zu B, of which %zu pages are there", length, pages_there(memory, length));
	MUST(fi_mr_reg(lab->domain, memory, length, access, 0, asked++, 0, &mr, NULL));
	return mr;
}

int lab_wait(struct lab *lab)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_entry entry;
	const char *before = waits_in;
	ssize_t got;

	waits_in = "lab_wait()";
	do
		got = fi_cq_read(lab->cq, &entry, 1);
	while (got == -FI_EAGAIN);
	waits_in = before;
	if (got == 1)
		return 0;
	if (got != -FI_EAVAIL)
		die("fi_cq_read", fi_strerror((int)-got));
	MUST(fi_cq_readerr(lab->cq, &error, 0));
	printf("error: %s\n", fi_cq_strerror(lab->cq, error.prov_errno, error.err_data, NULL, 0));
	return error.prov_errno;
}

int lab_close(struct lab *lab)
{
	MUST(fi_close(&lab->ep->fid));
	if (lab->cntr)
		MUST(fi_close(&lab->cntr->fid));
	MUST(fi_close(&lab->cq->fid));
	MUST(fi_close(&lab->av->fid));
	MUST(fi_close(&lab->domain->fid));
	MUST(fi_close(&lab->fabric->fid));
	fi_freeinfo(lab->info);
	close(lab->line);
	waits_in = "lab_close(), for the target";
	return lab->child && reap(lab);
}
