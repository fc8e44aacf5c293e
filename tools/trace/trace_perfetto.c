/* SPDX-License-Identifier: BSD-2-Clause */
/* trace_perfetto.c - the trace event format of Chrome and Perfetto: ops, and arrows to their targets. */
#include <inttypes.h>
#include <string.h>

#include "tools/trace/trace_out.h"

struct out {
	const struct trace *trace;
	FILE *file;
	bool any;
};

static void perfetto_string(FILE *file, const char *text)
{
	putc('"', file);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(file, "\\%c", c);
		else if (c < ' ' || c > '~')
			fprintf(file, "\\u%04x", c); /* of bytes that are no ASCII nothing is known */
		else
			putc(c, file);
	}
	putc('"', file);
}

/* Begins an event: the phase, time and place. */
static void perfetto_begin(struct out *out, const char *phase, int64_t at_ns, uint32_t endpoint)
{
	const struct trace_endpoint *ep = &out->trace->endpoints[endpoint];

	fprintf(out->file, "%s{\"ph\":\"%s\",\"ts\":%" PRId64 ".%03d,\"pid\":%u,\"tid\":%u", out->any ? ",\n" : "", phase,
		at_ns / 1000, (int)(at_ns % 1000), ep->process + 1, ep->number + 1);
	out->any = true;
}

static void put_names(struct out *out)
{
	const struct trace *trace = out->trace;

	for (uint32_t i = 0; i < trace->process_count; i++) {
		const struct trace_process *process = &trace->processes[i];

		fprintf(out->file,
			"%s{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"args\":{\"name\":", out->any ? ",\n" : "", i + 1);
		out->any = true;
		perfetto_string(out->file, process->program);
		fprintf(out->file, ",\"host\":");
		perfetto_string(out->file, process->host);
		fprintf(out->file, ",\"process\":%u,\"partial\":%s}}", process->pid, process->partial ? "true" : "false");
	}
	for (uint32_t i = 0; i < trace->endpoint_count; i++) {
		fprintf(out->file,
			"%s{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":", out->any ? ",\n" : "",
			trace->endpoints[i].process + 1, trace->endpoints[i].number + 1);
		out->any = true;
		perfetto_string(out->file, trace->endpoints[i].address);
		fprintf(out->file, "}}");
	}
}

static void put_args(struct out *out, const struct trace_op *op)
{
	static const char *const outcomes[] = { "open", "done", "refused" };

	fprintf(out->file,
		",\"args\":{\"seq\":%" PRIu64 ",\"length\":%" PRIu64 ",\"outcome\":\"%s\",\"key\":\"0x%" PRIx64
		"\",\"addr\":\"0x%" PRIx64 "\"",
		op->seq, op->length, outcomes[op->outcome], op->key, op->addr);
	if (op->inject)
		fputs(",\"inject\":true", out->file);
	if (op->refusal != TRACE_NONE) {
		fputs(",\"refusal\":", out->file);
		perfetto_string(out->file, out->trace->refusals[op->refusal].text);
	}
	fputs("}}", out->file);
}

/* From one time to another: ops overlap, so each is a track of its own beside its endpoint's. */
static void put_span(struct out *out, uint32_t number, const struct trace_op *op, uint32_t endpoint, int64_t from, int64_t to,
		     const char *side)
{
	if (endpoint == TRACE_NONE || from == TRACE_NEVER)
		return;
	perfetto_begin(out, "b", from, endpoint);
	fprintf(out->file, ",\"cat\":\"%s\",\"id\":\"%s%u\",\"name\":\"%s%s\"", side, side, number, trace_kind_name(op->kind),
		op->outcome == TRACE_REFUSED ? " refused" : "");
	put_args(out, op);
	perfetto_begin(out, "e", to == TRACE_NEVER || to < from ? from : to, endpoint);
	fprintf(out->file, ",\"cat\":\"%s\",\"id\":\"%s%u\",\"name\":\"%s%s\"}", side, side, number, trace_kind_name(op->kind),
		op->outcome == TRACE_REFUSED ? " refused" : "");
}

/* An arrow begins and ends at a slice: a short one for the request's frame at each end. */
static void put_arrow(struct out *out, uint32_t number, const struct trace_op *op)
{
	if (op->initiator == TRACE_NONE || op->target == TRACE_NONE || op->sent_ns == TRACE_NEVER || op->received_ns == TRACE_NEVER)
		return;
	perfetto_begin(out, "X", op->sent_ns, op->initiator);
	fprintf(out->file, ",\"dur\":0.001,\"cat\":\"frame\",\"name\":\"%s sent\"}", trace_kind_name(op->kind));
	perfetto_begin(out, "s", op->sent_ns, op->initiator);
	fprintf(out->file, ",\"cat\":\"request\",\"id\":%u,\"name\":\"%s\"}", number, trace_kind_name(op->kind));
	perfetto_begin(out, "X", op->received_ns, op->target);
	fprintf(out->file, ",\"dur\":0.001,\"cat\":\"frame\",\"name\":\"%s received\"}", trace_kind_name(op->kind));
	perfetto_begin(out, "f", op->received_ns, op->target);
	fprintf(out->file, ",\"bp\":\"e\",\"cat\":\"request\",\"id\":%u,\"name\":\"%s\"}", number, trace_kind_name(op->kind));
}

static void put_refusal(struct out *out, const struct trace_refusal *refusal)
{
	fprintf(out->file,
		"%s{\"ph\":\"i\",\"s\":\"p\",\"ts\":%" PRId64
		".%03d,\"pid\":%u,\"tid\":0,\"cat\":\"refusal\",\"name\":\"refused: %s\",\"args\":{\"text\":",
		out->any ? ",\n" : "", refusal->at_ns / 1000, (int)(refusal->at_ns % 1000), refusal->process + 1,
		refusal->cause_name);
	out->any = true;
	perfetto_string(out->file, refusal->text);
	fputs("}}", out->file);
}

int perfetto_write(const struct trace *trace, FILE *file)
{
	struct out out = { .trace = trace, .file = file };

	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", file);
	put_names(&out);
	for (uint32_t i = 0; i < trace->op_count; i++) {
		const struct trace_op *op = &trace->ops[i];

		put_span(&out, i, op, op->initiator, op->posted_ns != TRACE_NEVER ? op->posted_ns : op->sent_ns, op->completed_ns,
			 "op");
		put_span(&out, i, op, op->target, op->received_ns, op->answered_ns, "served");
		put_arrow(&out, i, op);
	}
	for (uint32_t i = 0; i < trace->refusal_count; i++)
		put_refusal(&out, &trace->refusals[i]);
	fputs("\n]}\n", file);
	return ferror(file) ? -1 : 0;
}
