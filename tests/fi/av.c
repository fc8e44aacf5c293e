/* SPDX-License-Identifier: BSD-2-Clause */
/* av.c - address vectors: insertion in its forms, lookup, text, removal, events. */
#include "tests/fi/world.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

static void fill(struct sockaddr_in *addr, const char *host, uint16_t port)
{
	memset(addr, 0, sizeof(*addr));
	addr->sin_family = AF_INET;
	addr->sin_port = htons(port);
	inet_pton(AF_INET, host, &addr->sin_addr);
}

static void expect_text(struct fid_av *av, fi_addr_t index, const char *text)
{
	struct sockaddr_storage found;
	size_t length = sizeof(found), size = 64;
	char got[64];

	RC(0, fi_av_lookup(av, index, &found, &length));
	fi_av_straddr(av, &found, got, &size);
	cr_expect(!strcmp(got, text), "%s, expected %s", got, text);
	cr_expect(size == strlen(text) + 1);
}

static void open_v4(struct world *w, const struct want *want)
{
	setenv("FI_EMU_IFACE", "lo", 1); /* whose first address is IPv4 */
	world_open(w, want);
}

Test(fi_av, indices_count_up_and_removed_ones_are_free)
{
	struct sockaddr_in addr[3];
	fi_addr_t at[3] = { 9, 9, 9 };
	struct world w;

	open_v4(&w, &(struct want){ 0 });
	cr_expect(w.self == 0);
	for (int i = 0; i < 3; i++)
		fill(&addr[i], "127.0.0.1", (uint16_t)(5000 + i));
	RC(3, fi_av_insert(w.av, addr, 3, at, 0, NULL));
	cr_expect(at[0] == 1 && at[1] == 2 && at[2] == 3);
	expect_text(w.av, 2, "fi_sockaddr_in://127.0.0.1:5001");
	RC(0, fi_av_remove(w.av, &at[1], 1, 0));
	RC(-FI_EINVAL, fi_av_remove(w.av, &at[1], 1, 0));
	RC(1, fi_av_insert(w.av, &addr[1], 1, NULL, FI_MORE, NULL));
	expect_text(w.av, 2, "fi_sockaddr_in://127.0.0.1:5001");
	RC(-FI_EBADFLAGS, fi_av_remove(w.av, at, 1, 1));
	RC(0, fi_av_insert(w.av, NULL, 0, NULL, 0, NULL));
	world_close(&w);
}

/* fi_av(3) of 2.6: an index that is not set, or that no table can have, is -FI_EINVAL; the others of the call are removed. */
Test(fi_av, what_is_not_set_is_not_found)
{
	fi_addr_t absent[] = { 1, 33, FI_ADDR_NOTAVAIL, FI_ADDR_NOTAVAIL - 1 }, both[2] = { 7, 0 };
	struct sockaddr_in found;
	struct world w;
	size_t length;

	open_v4(&w, &(struct want){ 0 });
	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++) {
		length = sizeof(found);
		RC(-FI_EINVAL, fi_av_lookup(w.av, absent[i], &found, &length));
		cr_expect_eq(length, sizeof(found));
		RC(-FI_EINVAL, fi_av_remove(w.av, &absent[i], 1, 0));
	}
	RC(0, fi_av_lookup(w.av, w.self, &found, &length));
	RC(-FI_EINVAL, fi_av_remove(w.av, both, 2, 0));
	RC(-FI_EINVAL, fi_av_lookup(w.av, w.self, &found, &length));
	world_close(&w);
}

Test(fi_av, bad_addresses_are_told_one_by_one)
{
	struct sockaddr_in addr[3];
	fi_addr_t at[3];
	int errors[3] = { 99, 99, 99 };
	struct world w;

	open_v4(&w, &(struct want){ 0 });
	fill(&addr[0], "127.0.0.1", 5000);
	fill(&addr[1], "127.0.0.1", 0); /* nobody can listen there */
	fill(&addr[2], "127.0.0.1", 5002);
	RC(2, fi_av_insert(w.av, addr, 3, at, FI_SYNC_ERR, errors));
	cr_expect(at[0] == 1 && at[1] == FI_ADDR_NOTAVAIL && at[2] == 2);
	cr_expect(errors[0] == 0 && errors[1] == FI_EINVAL && errors[2] == 0);
	addr[0].sin_family = AF_UNIX;
	RC(0, fi_av_insert(w.av, addr, 1, at, 0, NULL));
	RC(-FI_EINVAL, fi_av_insert(w.av, addr, 1, at, FI_SYNC_ERR, NULL));
	RC(-FI_EINVAL, fi_av_insert(w.av, NULL, 1, at, 0, NULL));
	RC(-FI_EBADFLAGS, fi_av_insert(w.av, addr, 1, at, FI_AV_USER_ID, NULL));
	RC(-FI_EBADFLAGS, fi_av_insert(w.av, addr, 1, at, 1ull << 62, NULL));
	world_close(&w);
}

Test(fi_av, by_name_and_symmetric)
{
	fi_addr_t at[4];
	struct world w;

	open_v4(&w, &(struct want){ 0 });
	RC(1, fi_av_insertsvc(w.av, "127.0.0.1", "5000", at, 0, NULL));
	expect_text(w.av, at[0], "fi_sockaddr_in://127.0.0.1:5000");
	RC(0, fi_av_insertsvc(w.av, "no.such.host.invalid", "5000", at, 0, NULL));
	cr_expect(at[0] == FI_ADDR_NOTAVAIL);
	RC(-FI_EINVAL, fi_av_insertsvc(w.av, NULL, "5000", at, 0, NULL));
	RC(4, fi_av_insertsym(w.av, "10.1.255.255", 2, "5000", 2, at, 0, NULL));
	expect_text(w.av, at[0], "fi_sockaddr_in://10.1.255.255:5000");
	expect_text(w.av, at[1], "fi_sockaddr_in://10.1.255.255:5001");
	expect_text(w.av, at[2], "fi_sockaddr_in://10.2.0.0:5000");
	expect_text(w.av, at[3], "fi_sockaddr_in://10.2.0.0:5001");
	RC(-FI_EINVAL, fi_av_insertsym(w.av, "255.255.255.255", 2, "5000", 1, at, 0, NULL));
	RC(-FI_EINVAL, fi_av_insertsym(w.av, "host", 2, "5000", 1, at, 0, NULL));
	world_close(&w);
}

Test(fi_av, lookup_and_text_are_cut_not_overrun)
{
	char buffer[24] = "xxxxxxxxxxxxxxxxxxxxxxx";
	size_t length = 4;
	struct sockaddr_in addr;
	struct world w;

	open_v4(&w, &(struct want){ 0 });
	RC(0, fi_av_lookup(w.av, w.self, buffer, &length));
	cr_expect(length == sizeof(struct sockaddr_in) && buffer[4] == 'x');
	RC(-FI_EINVAL, fi_av_lookup(w.av, 77, buffer, &length));
	RC(-FI_EINVAL, fi_av_lookup(w.av, FI_ADDR_UNSPEC, buffer, &length));
	memset(buffer, 'x', sizeof(buffer));
	fill(&addr, "127.0.0.1", 5000);
	length = 8;
	cr_expect(fi_av_straddr(w.av, &addr, buffer, &length) == buffer);
	cr_expect(!strcmp(buffer, "fi_sock") && buffer[8] == 'x');
	cr_expect(length == sizeof("fi_sockaddr_in://127.0.0.1:5000"));
	world_close(&w);
}

Test(fi_av, opened_with_events_it_reports_to_the_queue)
{
	struct sockaddr_in addr[2];
	struct fi_eq_err_entry error = { 0 };
	struct fi_eq_entry entry;
	fi_addr_t at[2];
	uint32_t event;
	struct world w;
	int context;

	setenv("FI_EMU_IFACE", "lo", 1);
	world_open_disabled(&w, &(struct want){ .av_flags = FI_EVENT });
	fill(&addr[0], "127.0.0.1", 0);
	fill(&addr[1], "127.0.0.1", 5000);
	RC(-FI_ENOEQ, fi_av_insert(w.av, addr, 2, at, 0, &context));
	RC(-FI_EBADFLAGS, w.av->fid.ops->bind(&w.av->fid, &w.eq->fid, 1));
	RC(0, w.av->fid.ops->bind(&w.av->fid, &w.eq->fid, 0));
	RC(0, fi_av_insert(w.av, addr, 2, at, 0, &context));
	RC(-FI_EAVAIL, fi_eq_read(w.eq, &event, &entry, sizeof(entry), 0));
	RC(sizeof(error), fi_eq_readerr(w.eq, &error, 0));
	cr_expect(error.fid == &w.av->fid && error.context == &context && error.data == 0 && error.err == FI_EINVAL);
	RC(sizeof(entry), fi_eq_read(w.eq, &event, &entry, sizeof(entry), 0));
	cr_expect(event == FI_AV_COMPLETE && entry.fid == &w.av->fid && entry.context == &context && entry.data == 1);
	cr_expect(at[0] == FI_ADDR_NOTAVAIL && at[1] == 0);
	RC(-FI_EBUSY, fi_close(&w.eq->fid));
	RC(-FI_EBUSY, fi_close(&w.av->fid));
	world_close(&w);
}

Test(fi_av, attributes)
{
	struct fi_av_attr attr = { .type = FI_AV_UNSPEC };
	struct fid_av *av;
	struct world w;

	open_v4(&w, &(struct want){ 0 });
	RC(0, fi_av_open(w.domain, &attr, &av, NULL));
	cr_expect(attr.type == FI_AV_TABLE || attr.type == FI_AV_MAP);
	RC(0, fi_close(&av->fid));
	attr = (struct fi_av_attr){ .rx_ctx_bits = 17 };
	RC(-FI_EINVAL, fi_av_open(w.domain, &attr, &av, NULL));
	attr = (struct fi_av_attr){ .rx_ctx_bits = -1 };
	RC(-FI_EINVAL, fi_av_open(w.domain, &attr, &av, NULL));
	attr = (struct fi_av_attr){ .type = 9 };
	RC(-FI_EINVAL, fi_av_open(w.domain, &attr, &av, NULL));
	attr = (struct fi_av_attr){ .flags = 1 };
	RC(-FI_EBADFLAGS, fi_av_open(w.domain, &attr, &av, NULL));
	RC(-FI_EINVAL, fi_av_open(w.domain, NULL, &av, NULL));
	world_close(&w);
}
