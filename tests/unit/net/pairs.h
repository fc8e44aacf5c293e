/* SPDX-License-Identifier: BSD-2-Clause */
/* pairs.h - the link that is under test, in one thread with a fake device: its listener, and pairs of conns that are connected
 * through it. A failure ends the test. test_lines.c tests what holds for every stream, by the kind that `local` names. */
#ifndef EMU_TESTS_PAIRS_H
#define EMU_TESTS_PAIRS_H

#include "emu/net/link/tcp_line.h"
#include "emu/nic/base/limits.h"
#include "fake.h"

enum { MOST_POLLS = SLICE_SHM + 1 }; /* until the sockets have been asked, where there are shared segments */

extern const bool local; /* tcp_config's; each program of tests says which */

extern struct tcp *tcp;
extern struct ep ep;
extern struct sockaddr_storage at; /* of ep */
extern void *listener;
extern int log_lines, kicks;

void open_link(void); /* with a listener at 127.0.0.1 */
void open_at(const char *address);
void listen_at(const char *address); /* of a link that is open */
void close_link(void);

struct conn *dial(void);              /* to ep */
void finish(const struct conn *conn); /* its dial */
void pair(struct conn **one, struct conn **two);
/* With a shared segment from the first bytes on, which go the way that HELLO does; and nothing is on its way. */
void pair_with_shm(struct conn **one, struct conn **two);
bool is_unix(const struct line *line); /* its socket */
void await(int set);                   /* blocks until the set has something */
void next_events(void);                /* likewise for lines that are open, and delivers it */

void send_text(struct conn *conn, const char *text);
void expect_text(struct conn *conn, const char *text);
size_t fill(struct conn *conn); /* sends until nothing goes any more; how much */
size_t drain(struct conn *conn, size_t bytes);
/* fill()s, has not read what two sends, and closes. */
size_t close_full(struct conn *one, struct conn *two);
void expect_end(struct conn *conn); /* nothing more comes before it */

#endif
