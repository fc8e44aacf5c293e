/* SPDX-License-Identifier: BSD-2-Clause */
/* process_front.h - what the front end hands to the services of a process: its words, its calls' names, its log, its settings.
 * A library has one front end, which defines process_front. Constant; its functions are called by any thread. */
#ifndef EMU_PROCESS_FRONT_H
#define EMU_PROCESS_FRONT_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/nic/base/op_kind.h"

struct front_end;

/* From the most urgent one; as the device's levels (nic.h). */
enum process_level { PROCESS_WARN, PROCESS_INFO, PROCESS_DEBUG };
/* What a line of log is about. */
enum process_subject { PROCESS_ITSELF, PROCESS_START, PROCESS_DEVICE };

/* Guesses at the region that was meant, each a sentence with its remedy (report_guess.c). */
enum process_guess {
	GUESS_DESCRIPTOR,     /* the key is the region's local descriptor */
	GUESS_ASKED,          /* the key is what the region asked for and did not get */
	GUESS_ADDRESS,        /* the key is an address in the region */
	GUESS_OWN_DESCRIPTOR, /* the key is the local descriptor of a region of the initiator's own process */
	GUESS_OWN_KEY,        /* the key is that of one */
	PROCESS_GUESSES
};

/* What fault plans and emuctl can do to a program of the front end beside what the device does (emu/process/faults). Names have
 * blanks between; the place of one among them, from 0, is the number of what it names. In a plan a name may lack its prefix. */
struct process_faults {
	const char *calls;    /* 64 at most */
	const char *statuses; /* of completions */
	const char *events;
	const char *status_prefix, *event_prefix;
	uint32_t events_of_qps, events_of_cqs; /* those that need one: a bit for each event */
	const char *cm_events, *cm_prefix;     /* of the connection manager */
	const uint32_t *cm_becomes;            /* for each of them, which others it may be in a plan: a bit for each */
	uint32_t cm_request, cm_rejected;      /* the one that a listener gets; the one that has a reason */
	/* Has it happen, to queue pair `qp` or queue `cq` (0: none is named). NULL, or words: why it cannot. With the driver role
	 * or without; not with a lock. */
	const char *(*event)(unsigned int event, uint64_t qp, uint64_t cq);
};

struct process_front {
	const struct front_end *device;      /* the words of refusals */
	const struct process_faults *faults; /* NULL: none, and plans that name some mean another library */
	const char *calls[OP_POSTED_KINDS];  /* that post an op of this kind */
	const char *receive_call;            /* that posts a receive, */
	const char *shared_receive_call;     /* and to a shared context */
	const char *call_prefixes[3];        /* of the calls that sentences name first; the first NULL ends them */
	const char *guesses[PROCESS_GUESSES];
	const char *settings_listed;       /* a sentence: where the settings are listed */
	const char *variables;             /* the beginning of its own variables, which emuctl lists beside FI_EMU_* */
	const char *library;               /* whose interface it is, */
	uint32_t (*library_version)(void); /* and the version that runs: major << 16 | minor */

	/* Does the log show lines of this level? */
	bool (*shows)(enum process_level level, enum process_subject subject);
	/* A line of log, without its end. In signal handlers, too; takes no lock of the process. */
	void (*log)(enum process_level level, enum process_subject subject, const char *text);
	/* Likewise for a call that is refused, at warn; `subsystem` is the front end's own number. */
	bool (*shows_calls)(int subsystem);
	void (*log_call)(int subsystem, const char *text);
	/* The value of a setting by its name, as "ports"; NULL: it is not set. Valid until the environment changes. */
	const char *(*setting)(const char *name);
	/* Likewise, of one that is on or off: -ENODATA: it is not set; -EINVAL: its value is neither. */
	int (*flag)(const char *name, bool *on);
};

extern const struct process_front process_front;

#endif
