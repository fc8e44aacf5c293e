/* SPDX-License-Identifier: BSD-2-Clause */
/* page_data.c - a trace as the JSON that the page's scripts read
 *
 * Ops, frames, accesses and marks are columns: an array of numbers for each property, -1 where there is none. Strings are numbers
 * of one table. So 100,000 ops stay within a few megabytes, which a browser reads in well under a second. */
#include "tools/trace/page/page_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "wire/frame.h"

#define NOTHING (-1)

/* Of page_model.js: VERDICTS. */
enum page_verdict { VERDICT_DONE, VERDICT_REFUSED, VERDICT_FAILED, VERDICT_OPEN };

struct page_data {
	const struct trace *trace;
	FILE *to;
	struct text_table texts;
	uint32_t *told; /* refusal of each op that is shown with it, TRACE_NONE: none */
	uint32_t *lone; /* refusals of no op, which get rows behind the ops */
	uint32_t lone_count;
	bool untraced; /* some peer has no trace: it is one more process, behind the others */
};

/* A value of a column in a row. */
typedef int64_t (*page_cell)(struct page_data *page, uint32_t row);

struct page_column {
	const char *name;
	page_cell cell;
};

static int64_t data_text(struct page_data *page, const char *text)
{
	return *text ? (int64_t)text_table_add(&page->texts, text) : NOTHING;
}

static int64_t data_time(int64_t ns)
{
	return ns < 0 ? NOTHING : ns;
}

/* JavaScript's numbers are exact up to 2^53. */
static int64_t data_number(uint64_t number)
{
	return number > INT64_C(1) << 53 ? INT64_C(1) << 53 : (int64_t)number;
}

static int64_t data_process(struct page_data *page, uint32_t endpoint)
{
	if (endpoint == TRACE_NONE) {
		page->untraced = true;
		return page->trace->process_count;
	}
	return page->trace->endpoints[endpoint].process;
}

static const char *data_address(const struct page_data *page, const struct trace_op *op, uint32_t endpoint)
{
	const struct trace *trace = page->trace;

	if (endpoint != TRACE_NONE)
		return trace->endpoints[endpoint].address;
	if (op->conn == TRACE_NONE)
		return "";
	for (int end = 0; end < 2; end++)
		if (trace->conns[op->conn].end[end].endpoint == TRACE_NONE)
			return trace->conns[op->conn].end[end].address;
	return "";
}

static const struct trace_op *op_at(const struct page_data *page, uint32_t row)
{
	return row < page->trace->op_count ? &page->trace->ops[row] : NULL;
}

static const struct trace_refusal *refusal_at(const struct page_data *page, uint32_t row)
{
	uint32_t refusal = row < page->trace->op_count ? page->told[row] : page->lone[row - page->trace->op_count];

	return refusal == TRACE_NONE ? NULL : &page->trace->refusals[refusal];
}

static bool op_names_memory(const struct trace_op *op)
{
	return op->kind == TRACE_WRITE || op->kind == TRACE_READ || op->kind == TRACE_ATOMIC;
}

static int64_t op_kind(struct page_data *page, uint32_t row)
{
	const struct trace_op *op = op_at(page, row);

	if (!op)
		return data_text(page, "refusal");
	return data_text(page, op->kind == TRACE_SEND && op->tagged ? "tagged send" : trace_kind_name(op->kind));
}

static int64_t op_by(struct page_data *page, uint32_t row)
{
	const struct trace_op *op = op_at(page, row);

	return op ? data_process(page, op->initiator) : refusal_at(page, row)->process;
}

static int64_t op_to(struct page_data *page, uint32_t row)
{
	const struct trace_op *op = op_at(page, row);

	if (!op || (op->target == TRACE_NONE && op->conn == TRACE_NONE))
		return NOTHING;
	return data_process(page, op->target);
}

static int64_t op_posted(struct page_data *page, uint32_t row)
{
	const struct trace_op *op = op_at(page, row);

	return data_time(op ? op->posted_ns : refusal_at(page, row)->at_ns);
}

static int64_t op_sent_at(struct page_data *page, uint32_t row)
{
	const struct trace_op *op = op_at(page, row);

	return op ? data_time(op->sent_ns) : NOTHING;
}

static int64_t op_arrival(struct page_data *page, uint32_t row)
{
	const struct trace_op *op = op_at(page, row);

	return op ? data_time(op->received_ns) : NOTHING;
}

static int64_t op_answer(struct page_data *page, uint32_t row)
{
	const struct trace_op *op = op_at(page, row);

	return op ? data_time(op->answered_ns) : NOTHING;
}

static int64_t op_done(struct page_data *page, uint32_t row)
{
	const struct trace_op *op = op_at(page, row);

	return data_time(op ? op->completed_ns : refusal_at(page, row)->at_ns);
}

static int64_t op_verdict(struct page_data *page, uint32_t row)
{
	const struct trace_op *op = op_at(page, row);

	if (!op || op->outcome == TRACE_REFUSED || refusal_at(page, row))
		return VERDICT_REFUSED;
	return op->outcome == TRACE_DONE ? VERDICT_DONE : VERDICT_OPEN;
}

static int64_t op_status(struct page_data *page, uint32_t row)
{
	const struct trace_refusal *refusal = refusal_at(page, row);

	return refusal ? data_text(page, refusal->cause_name) : NOTHING;
}

static int64_t op_sentence(struct page_data *page, uint32_t row)
{
	const struct trace_refusal *refusal = refusal_at(page, row);

	return refusal ? data_text(page, refusal->text) : NOTHING;
}

static void key_words(uint64_t key, uint64_t tail, char *words, size_t size)
{
	if (tail)
		snprintf(words, size, "0x%" PRIx64 ":0x%" PRIx64, key, tail);
	else
		snprintf(words, size, "0x%" PRIx64, key);
}

static int64_t page_op_key(struct page_data *page, uint32_t row)
{
	const struct trace_op *op = op_at(page, row);
	char words[64];

	if (!op || !op_names_memory(op))
		return NOTHING;
	key_words(op->key, op->key_tail, words, sizeof(words));
	return data_text(page, words);
}

static int64_t op_length(struct page_data *page, uint32_t row)
{
	const struct trace_op *op = op_at(page, row);

	return op ? data_number(op->length) : 0;
}

/* Its number in the session. */
static int64_t op_request(struct page_data *page, uint32_t row)
{
	const struct trace_op *op = op_at(page, row);

	return op && op->seq ? data_number(op->seq) : NOTHING;
}

/* What has no column of its own. */
static int64_t op_note(struct page_data *page, uint32_t row)
{
	const struct trace_op *op = op_at(page, row);
	char words[512];
	size_t used;

	if (!op)
		return NOTHING;
	used = (size_t)snprintf(words, sizeof(words), "from %.100s to %.100s", data_address(page, op, op->initiator),
				data_address(page, op, op->target));
	if (op->tagged)
		used += (size_t)snprintf(words + used, sizeof(words) - used, ", tag 0x%" PRIx64, op->tag);
	if (op->has_cq_data)
		used += (size_t)snprintf(words + used, sizeof(words) - used, ", CQ data 0x%" PRIx64, op->cq_data);
	if (op->inject)
		snprintf(words + used, sizeof(words) - used, ", injected");
	return data_text(page, words);
}

static const struct page_column op_columns[] = {
	{ "kind", op_kind },
	{ "by", op_by },
	{ "to", op_to },
	{ "posted", op_posted },
	{ "sent", op_sent_at },
	{ "arrival", op_arrival },
	{ "answer", op_answer },
	{ "done", op_done },
	{ "verdict", op_verdict },
	{ "status", op_status },
	{ "sentence", op_sentence },
	{ "key", page_op_key },
	{ "length", op_length },
	{ "request", op_request },
	{ "note", op_note },
};

static const char *frame_name(uint8_t op)
{
	static const char *const names[] = {
		[WIRE_HELLO] = "HELLO",   [WIRE_BYE] = "BYE",       [WIRE_ACK] = "ACK",         [WIRE_CHALLENGE] = "CHALLENGE",
		[WIRE_PROOF] = "PROOF",   [WIRE_WRITE] = "WRITE",   [WIRE_READ] = "READ",       [WIRE_SEND] = "SEND",
		[WIRE_RTS] = "RTS",       [WIRE_ATOMIC] = "ATOMIC", [WIRE_CONNECT] = "CONNECT", [WIRE_ACCEPT] = "ACCEPT",
		[WIRE_REJECT] = "REJECT", [WIRE_TAKEN] = "TAKEN",   [WIRE_DATA] = "DATA",       [WIRE_PULL] = "PULL",
		[WIRE_RNR] = "RNR",       [WIRE_NAK] = "NAK",       [WIRE_PARK] = "PARK",       [WIRE_DONE] = "DONE",
		[WIRE_RESULT] = "RESULT", [WIRE_PAIR] = "PAIR",     [WIRE_RSEND] = "RSEND",
	};
	const char *name = op < sizeof(names) / sizeof(names[0]) ? names[op] : NULL;

	return op == 0 ? "datagram" : name ? name : "frame of another version";
}

static int64_t frame_op(struct page_data *page, uint32_t row)
{
	uint32_t op = page->trace->frames[row].of;

	return op == TRACE_NONE ? NOTHING : (int64_t)op;
}

static int64_t frame_type(struct page_data *page, uint32_t row)
{
	return data_text(page, frame_name(page->trace->frames[row].op));
}

static int64_t frame_end_at(struct page_data *page, uint32_t row, bool sender)
{
	const struct trace_frame *frame = &page->trace->frames[row];

	if (frame->conn == TRACE_NONE)
		return NOTHING;
	return data_process(page, page->trace->conns[frame->conn].end[(frame->from & 1) ^ !sender].endpoint);
}

static int64_t frame_by(struct page_data *page, uint32_t row)
{
	return frame_end_at(page, row, true);
}

static int64_t frame_to(struct page_data *page, uint32_t row)
{
	return frame_end_at(page, row, false);
}

static int64_t frame_sent(struct page_data *page, uint32_t row)
{
	return data_time(page->trace->frames[row].sent_ns);
}

static int64_t frame_received(struct page_data *page, uint32_t row)
{
	return data_time(page->trace->frames[row].received_ns);
}

static int64_t frame_bytes(struct page_data *page, uint32_t row)
{
	return page->trace->frames[row].length;
}

static const struct page_column frame_columns[] = {
	{ "op", frame_op },     { "type", frame_type },         { "by", frame_by },       { "to", frame_to },
	{ "sent", frame_sent }, { "received", frame_received }, { "bytes", frame_bytes },
};

static int64_t access_op(struct page_data *page, uint32_t row)
{
	uint32_t op = page->trace->accesses[row].op;

	return op == TRACE_NONE ? NOTHING : (int64_t)op;
}

static int64_t page_access_region(struct page_data *page, uint32_t row)
{
	uint32_t region = page->trace->accesses[row].region;

	return region == TRACE_NONE ? NOTHING : (int64_t)region;
}

/* One before the region's start has wrapped round: it is negative. */
static int64_t access_offset(struct page_data *page, uint32_t row)
{
	uint64_t offset = page->trace->accesses[row].offset;

	return offset > UINT64_MAX / 2 ? -data_number(-offset) : data_number(offset);
}

static int64_t access_length(struct page_data *page, uint32_t row)
{
	return data_number(page->trace->accesses[row].length);
}

static int64_t access_refused(struct page_data *page, uint32_t row)
{
	return page->trace->accesses[row].refused;
}

static int64_t access_time(struct page_data *page, uint32_t row)
{
	return data_time(page->trace->accesses[row].at_ns);
}

static const struct page_column access_columns[] = {
	{ "op", access_op },         { "region", page_access_region }, { "offset", access_offset },
	{ "length", access_length }, { "refused", access_refused },    { "time", access_time },
};

/* Marks: the lines of the logs, then each end of each connection. */
static const struct trace_conn *mark_conn(const struct page_data *page, uint32_t row)
{
	return &page->trace->conns[(row - page->trace->log_count) / 2];
}

static int64_t mark_time(struct page_data *page, uint32_t row)
{
	if (row < page->trace->log_count)
		return data_time(page->trace->logs[row].at_ns);
	return data_time(mark_conn(page, row)->end[(row - page->trace->log_count) % 2].opened_ns);
}

static int64_t mark_process(struct page_data *page, uint32_t row)
{
	uint32_t endpoint;

	if (row < page->trace->log_count)
		return page->trace->logs[row].process;
	endpoint = mark_conn(page, row)->end[(row - page->trace->log_count) % 2].endpoint;
	return endpoint == TRACE_NONE ? NOTHING : (int64_t)page->trace->endpoints[endpoint].process;
}

static int64_t mark_text(struct page_data *page, uint32_t row)
{
	char words[160];

	if (row < page->trace->log_count)
		return data_text(page, page->trace->logs[row].text);
	snprintf(words, sizeof(words), mark_conn(page, row)->datagrams ? "port open" : "connected to %.100s",
		 mark_conn(page, row)->end[(row - page->trace->log_count) % 2 ^ 1].address);
	return data_text(page, words);
}

static const struct page_column mark_columns[] = { { "time", mark_time }, { "process", mark_process }, { "text", mark_text } };

#define COLUMNS(columns) columns, sizeof(columns) / sizeof((columns)[0])

static void columns_write(struct page_data *page, const struct page_column *columns, size_t count, uint32_t rows)
{
	for (size_t i = 0; i < count; i++) {
		fprintf(page->to, "%s\"%s\":[", i > 0 ? ",\n" : "", columns[i].name);
		for (uint32_t row = 0; row < rows; row++)
			fprintf(page->to, "%s%" PRId64, row > 0 ? "," : "", columns[i].cell(page, row));
		putc(']', page->to);
	}
}

/* Addresses have 64 bits, which JavaScript's numbers have not. */
static void addresses_write(struct page_data *page, uint32_t rows)
{
	fputs(",\n\"addr\":[", page->to);
	for (uint32_t row = 0; row < rows; row++) {
		const struct trace_op *op = op_at(page, row);

		if (op && op_names_memory(op))
			fprintf(page->to, "%s\"0x%" PRIx64 "\"", row > 0 ? "," : "", op->addr);
		else
			fprintf(page->to, "%s\"\"", row > 0 ? "," : "");
	}
	putc(']', page->to);
}

static void process_write(struct page_data *page, const struct trace_process *process)
{
	FILE *to = page->to;
	const char *slash = strrchr(process->program, '/');

	fputs("{\"name\":", to);
	text_write(slash && slash[1] ? slash + 1 : process->program, to);
	fputs(",\"program\":", to);
	text_write(process->program, to);
	fprintf(to, ",\"pid\":%" PRIu32 ",\"host\":", process->pid);
	text_write(process->host, to);
	fputs(",\"file\":", to);
	text_write(process->file, to);
	if (process->error_ns == TRACE_NEVER)
		fputs(",\"clock\":\"its clock could not be compared\"", to);
	else if (process->error_ns > 0)
		fprintf(to, ",\"clock\":\"its clock is known to %" PRId64 " ns\"", process->error_ns);
	if (process->partial) {
		fputs(",\"partial\":", to);
		text_write(*process->note ? process->note : "some of its events are missing", to);
	} else if (process->killed) {
		fputs(",\"partial\":\"was killed, or still ran\"", to);
	}
	putc('}', to);
}

static void processes_write(struct page_data *page)
{
	for (uint32_t i = 0; i < page->trace->process_count; i++) {
		if (i > 0)
			fputs(",\n", page->to);
		process_write(page, &page->trace->processes[i]);
	}
	if (page->untraced)
		fprintf(page->to, "%s{\"name\":\"peer without a trace\"}", page->trace->process_count ? ",\n" : "");
}

static void region_write(struct page_data *page, const struct trace_region *region)
{
	static const char *const names[] = { "REMOTE_READ", "REMOTE_WRITE", "LOCAL_READ", "LOCAL_WRITE" };
	const char *comma = "";
	char key[64];

	key_words(region->key, region->key_tail, key, sizeof(key));
	fprintf(page->to, "{\"process\":%" PRIu32 ",\"key\":\"%s\",\"addr\":\"0x%" PRIx64 "\",\"length\":%" PRId64 ",\"access\":[",
		region->process, key, region->addr, data_number(region->length));
	for (unsigned i = 0; i < 4; i++)
		if (region->rights & 1u << i) {
			fprintf(page->to, "%s\"%s\"", comma, names[i]);
			comma = ",";
		}
	fprintf(page->to, "],\"opened\":%" PRId64 ",\"closed\":%" PRId64 "%s}", data_time(region->opened_ns),
		data_time(region->closed_ns), region->assumed ? ",\"assumed\":true" : "");
}

/* Which refusal each op is told with: its own, or the first that names it. */
static int refusals_assign(struct page_data *page)
{
	const struct trace *trace = page->trace;

	page->told = malloc((trace->op_count + (size_t)1) * sizeof(*page->told));
	page->lone = malloc((trace->refusal_count + (size_t)1) * sizeof(*page->lone));
	if (!page->told || !page->lone)
		return -ENOMEM;
	for (uint32_t i = 0; i < trace->op_count; i++)
		page->told[i] = trace->ops[i].outcome == TRACE_REFUSED ? trace->ops[i].refusal : TRACE_NONE;
	for (uint32_t i = 0; i < trace->refusal_count; i++) {
		uint32_t op = trace->refusals[i].op;

		if (op == TRACE_NONE)
			page->lone[page->lone_count++] = i;
		else if (page->told[op] == TRACE_NONE)
			page->told[op] = i;
	}
	return 0;
}

static void tables_write(struct page_data *page)
{
	const struct trace *trace = page->trace;
	uint32_t ops = trace->op_count + page->lone_count;

	fprintf(page->to, "{\"emu_trace_page\":1,\"origin_ns\":\"%" PRIu64 "\",\n\"ops\":{", trace->epoch_ns);
	columns_write(page, COLUMNS(op_columns), ops);
	addresses_write(page, ops);
	fputs("},\n\"frames\":{", page->to);
	columns_write(page, COLUMNS(frame_columns), trace->frame_count);
	fputs("},\n\"accesses\":{", page->to);
	columns_write(page, COLUMNS(access_columns), trace->access_count);
	fputs("},\n\"marks\":{", page->to);
	columns_write(page, COLUMNS(mark_columns), trace->log_count + 2 * trace->conn_count);
	fputs("},\n\"regions\":[", page->to);
	for (uint32_t i = 0; i < trace->region_count; i++) {
		if (i > 0)
			fputs(",\n", page->to);
		region_write(page, &trace->regions[i]);
	}
	fputs("],\n\"processes\":[", page->to);
	processes_write(page); /* behind the columns, which find out whether there are peers without a trace */
	fputs("],\n\"strings\":", page->to);
	text_table_write(&page->texts, page->to);
	fputs("}\n", page->to);
}

int page_data_write(const struct trace *trace, FILE *to)
{
	struct page_data page = { .trace = trace, .to = to };
	int ret = refusals_assign(&page);

	if (!ret) {
		tables_write(&page);
		ret = page.texts.failed ? -ENOMEM : 0;
	}
	text_table_fini(&page.texts);
	free(page.told);
	free(page.lone);
	return ret;
}
