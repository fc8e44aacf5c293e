# SPDX-License-Identifier: BSD-2-Clause
"""tries.py - what students make of the exercises: right programs that are not the solution, and wrong ones with what the check says.

Each is the solution with words exchanged. An exercise as it is given is a wrong one, too (lab.py)."""

import re

ENDS = re.compile("The program (hangs|gave up)|The (initiator|target) crashed")
CRASH = "*(volatile int *)8 = 0;\n\t"
HEAR_DONE = "lab_hear(lab, &done, sizeof(done));"

READ = ("{ struct fi_cq_entry entry; ssize_t got; do got = fi_cq_read(lab->cq, &entry, 1); while (got == -FI_EAGAIN); "
        "if (got != 1) exit(1); }")
FIRST_WRITE = ("MUST(fi_write(lab->ep, memory, ROOM, fi_mr_desc(mr), lab->peer, region.addr + GREETING, region.key, NULL));\n"
               "\tlab_wait(lab);\n")
FIRST_READ = "MUST(fi_read(lab->ep, memory + ANSWER, ROOM, fi_mr_desc(mr), lab->peer, region.addr + ANSWER, region.key, NULL));"
VIRTUAL = "if (lab->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR)\n\t\tregion.addr = (uintptr_t)memory;"
WRITEMSG = "MUST(fi_writemsg(lab->ep, &msg, FI_COMPLETION));\n\tlab_wait(lab);"
TWO_REMOTE = """		{ .addr = region->addr + FIRST + (uint64_t)at * RECORD, .len = RECORD, .key = region->key },
		{ .addr = region->addr + COUNT, .len = RECORD, .key = region->key },
"""
TWO_PUTS = """	put(lab, head, fi_mr_desc(head_mr), &region, 0);
	put(lab, body, fi_mr_desc(body_mr), &region, PART);
"""
INJECT = ("MUST(fi_inject_write(lab->ep, {0}, PART, lab->peer, region.addr + {1}, region.key));\n"
          "\t{{ struct fi_cq_entry entry; fi_cq_read(lab->cq, &entry, 1); }}\n")
TARGET_COUNTS = "MUST(fi_cntr_wait(lab->cntr, PIECES, PATIENCE_MS));\n\tfor (int i = 0; i < PIECES; i++)\n\t\there"
TARGET_LOOKS = "for (int i = 0; i < PIECES; i++)\n\t\there"
OWN_COUNT = "MUST(fi_cntr_wait(lab->cntr, PIECES, PATIENCE_MS));\n\tlab_hear(lab, &seen"
BIND = "MUST(fi_mr_bind(mr, &lab->ep->fid, 0));\n\tMUST(fi_mr_enable(mr));\n\tregion.key"
PAGE_COMES = "memset(heap + AT, 0, PAGE); /* this page is there from now on */\n"
REFRESH = "\tMUST(fi_mr_refresh(mr, &(struct iovec){ heap + AT, PAGE }, 1, 0));\n"
HEAP = "struct fid_mr *mr = lab_register(lab, heap, HEAP, FI_REMOTE_WRITE);"
RECORD_HERE = "lab_wait(lab); /* the completion of the receive: the record is here */"
FLAG_HERE = "for (volatile char *last = memory + FLAG + FLAG_BYTES - 1; !*last;)\n\t\t;\n\t"
JUDGE = "if (!lab_wait(lab))\n\t\t\twritten++;\n\t\telse\n\t\t\tprintf(\"the peer is gone\\n\");"
VERBS_READ = "post(lab, IBV_WR_RDMA_READ, mr, memory + ANSWER, &region, ANSWER);"
VERBS_WRITE = "post(lab, IBV_WR_RDMA_WRITE, mr, memory, &region, GREETING);\n\tlab_wait(lab);\n"
EXPECTS = "lab_ready_to_receive(lab, &peer, peer.psn);"
ROUTE = "\tMUST(rdma_resolve_route(id, 1000));\n\tlab_pass(lab, RDMA_CM_EVENT_ROUTE_RESOLVED);\n"
RECEIVE = "\tpost_receive(id, inbox_mr);\n"
GONE = "lab_pass(lab, RDMA_CM_EVENT_DISCONNECTED);\n\tMUST(rdma_disconnect"
CM_READ = "post(id, IBV_WR_RDMA_READ, mr, &region);\n\tlab_wait(lab);"
FROM_WC = "NEED(ibv_create_ah_from_wc(lab->pd, &wc, in->addr, 1));"
BY_HAND = ("NULL;\n\t\tstruct ibv_ah_attr back;\n\t\tMUST(ibv_init_ah_from_wc(lab->context, 1, &wc, in->addr, &back));\n"
           "\t\tah = NEED(ibv_create_ah(lab->pd, &back));")
LEVEL = ("FI_DELIVERY_COMPLETE", "FI_TRANSMIT_COMPLETE")
TOLD = "lab_hear(lab, &word, sizeof(word));"
FENCED_READ = """write_record(lab, mr, memory, &region, FI_TRANSMIT_COMPLETE);
	lab_wait(lab);
	struct iovec to = { memory + RECORD, 8 };
	struct fi_rma_iov from = { region.addr, 8, region.key };
	void *desc = fi_mr_desc(mr);
	struct fi_msg_rma msg = { .msg_iov = &to, .desc = &desc, .iov_count = 1, .addr = lab->peer, .rma_iov = &from, .rma_iov_count = 1 };

	MUST(fi_readmsg(lab->ep, &msg, FI_FENCE));
"""
SENDS = "wr.wr.ud.remote_qkey = QKEY;"

# Name: the exchanges of words; of a wrong one, what `lab check` says first, and the exchanges.
RIGHT = {
    "01-first-write": {
        "waits for both at the end": [(FIRST_WRITE, FIRST_WRITE.replace("\tlab_wait(lab);\n", "")),
                                      (FIRST_READ, FIRST_READ + "\n\tlab_wait(lab);")],
        "reads the queue itself": [("lab_wait(lab);", READ)],
    },
    "02-keys-and-rights": {
        "an inbox that can be read": [("inbox, LAB_BYTES, FI_REMOTE_WRITE", "inbox, LAB_BYTES, FI_REMOTE_WRITE | FI_REMOTE_READ")],
        "reads the board twice": [("if (!lab_wait(lab))\n", "lab_wait(lab);\n\tMUST(fi_read(lab->ep, memory, 64, fi_mr_desc(mr), lab->peer, "
                                   "place.board.addr, place.board.key, NULL));\n\tif (!lab_wait(lab))\n")],
    },
    "03-offset-or-address": {
        "a choice in one line": [(VIRTUAL, "region.addr = lab->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)memory : 0;")],
        "a function of its own": [(VIRTUAL, "region.addr = base(lab->info, memory);"),
                                  ("static void target(", "static uint64_t base(const struct fi_info *info, void *memory)\n{\n"
                                   "\treturn info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)memory : 0;\n}\n\n"
                                   "static void target(")],
    },
    "04-bounds-and-vectors": {
        "the count first": [(TWO_REMOTE, "".join(reversed(TWO_REMOTE.splitlines(True)))),
                            ("{ memory, RECORD }, { memory + RECORD, RECORD }", "{ memory + RECORD, RECORD }, { memory, RECORD }")],
        "the counts of vectors set later": [(".rma_iov_count = 2,", ".rma_iov_count = 1,"),
                                            (WRITEMSG, "msg.rma_iov_count++;\n\t" + WRITEMSG)],
    },
    "05-local-descriptors": {
        "one region for both": [("char *head = calloc(1, PART), *body = calloc(1, PART);", "char *head = calloc(2, PART), *body = head + PART;"),
                                ("head_mr = lab_register(lab, head, PART", "head_mr = lab_register(lab, head, 2 * PART"),
                                ("\tstruct fid_mr *body_mr = lab_register(lab, body, PART, FI_WRITE);\n", ""),
                                ("fi_mr_desc(body_mr)", "fi_mr_desc(head_mr)"), ("\tMUST(fi_close(&body_mr->fid));\n", ""),
                                ("\tfree(body);\n", "")],
        "one write of both": [(TWO_PUTS, "	struct iovec both[] = { { head, PART }, { body, PART } };\n"
                               "	void *descs[] = { fi_mr_desc(head_mr), fi_mr_desc(body_mr) };\n\n	(void)put;\n"
                               "	MUST(fi_writev(lab->ep, both, descs, 2, lab->peer, region.addr, region.key, NULL));\n	lab_wait(lab);\n")],
    },
    "06-counters": {
        "loops that read the counter": [("MUST(fi_cntr_wait(lab->cntr, PIECES, PATIENCE_MS));", "while (fi_cntr_read(lab->cntr) < PIECES)\n\t\t;")],
        "waits for one after another": [("MUST(fi_cntr_wait(lab->cntr, PIECES, PATIENCE_MS));",
                                         "for (int n = 1; n <= PIECES; n++)\n\t\tMUST(fi_cntr_wait(lab->cntr, n, PATIENCE_MS));")],
    },
    "07-endpoint-bound": {
        "a function of its own": [(BIND, "lend(lab, mr);\n\tregion.key"),
                                  ("static void target(", "static void lend(struct lab *lab, struct fid_mr *mr);\n\nstatic void target("),
                                  ("int main(void)", "static void lend(struct lab *lab, struct fid_mr *mr)\n{\n"
                                   "\tMUST(fi_mr_bind(mr, &lab->ep->fid, 0));\n\tMUST(fi_mr_enable(mr));\n}\n\nint main(void)")],
        "the results by hand": [(BIND, "if (fi_mr_bind(mr, &lab->ep->fid, 0) || fi_mr_enable(mr))\n\t\texit(1);\n\tregion.key")],
    },
    "08-mmu-notify": {
        "the page by a store": [(PAGE_COMES, "heap[AT] = 0;\n")],
        "tells of two pages": [(PAGE_COMES, "memset(heap + AT, 0, 2 * PAGE);\n"), ("{ heap + AT, PAGE }", "{ heap + AT, 2 * PAGE }")],
    },
    "09-order": {
        "looks at the flag first, and waits all the same": [(RECORD_HERE, FLAG_HERE + RECORD_HERE)],
        "reads the queue itself": [(RECORD_HERE, READ)],
    },
    "10-dead-peer": {
        "adds what the completion says": [(JUDGE, "written += !lab_wait(lab);")],
        "keeps what it says": [(JUDGE, "int why = lab_wait(lab);\n\n\t\tif (why == 0)\n\t\t\t++written;")],
    },
    "11-queue-pair": {
        "waits for both at the end": [(VERBS_WRITE, VERBS_WRITE.replace("\tlab_wait(lab);\n", "")), (VERBS_READ, VERBS_READ + "\n\tlab_wait(lab);")],
        "all rights": [("IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ", "IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC")],
    },
    "12-sequence-numbers": {
        "numbers of its own choice": [("lab_open(lab), peer;", "lab_open(lab), peer;\n\n\tmine.psn = lab->side == LAB_TARGET ? 7 : 8;")],
        "the same number for both": [(EXPECTS, "lab_ready_to_receive(lab, &peer, 0);"), ("lab_ready_to_send(lab, mine.psn);", "lab_ready_to_send(lab, 0);")],
    },
    "13-rdma-cm": {
        "a receive as soon as there is a queue pair": [(RECEIVE, ""), ("told.key = offered_mr->rkey;", "told.key = offered_mr->rkey;\n" + RECEIVE)],
        "reads first": [(CM_READ, ""), ("strcpy(memory, \"hello, server\");\n\tpost(id, IBV_WR_SEND, mr, &region);\n\tlab_wait(lab);\n\tlab_tell(lab, \"\", 1);\n",
                                       CM_READ + "\n\tprintf(\"initiator has: %s\\n\", memory);\n\tstrcpy(memory, \"hello, server\");\n"
                                       "\tpost(id, IBV_WR_SEND, mr, &region);\n\tlab_wait(lab);\n\tlab_tell(lab, \"\", 1);\n")],
    },
    "14-datagrams": {
        "a receive of a page": [("GRH + ROOM", "LAB_BYTES")],
        "an address handle by hand": [(FROM_WC, BY_HAND)],
    },
    "15-complete": {
        "a completion at the target": [(LEVEL[0], "FI_REMOTE_CQ_DATA"), (TOLD, "lab_wait(lab);"), ("\tchar word;\n", ""), ("\tlab_tell(lab, \"w\", 1);\n", "")],
        "a fenced read behind it": [("write_record(lab, mr, memory, &region, FI_DELIVERY_COMPLETE);\n", FENCED_READ), ("LAB_BYTES, FI_WRITE)", "LAB_BYTES, FI_WRITE | FI_READ)"),
                                    ("FI_REMOTE_WRITE)", "FI_REMOTE_WRITE | FI_REMOTE_READ)")],
    },
}

WRONG = {
    "01-first-write": {
        "does not read": ("The answer has not been read", [(FIRST_READ + "\n\tlab_wait(lab);", "strcpy(memory + ANSWER, \"hello, initiator\");")]),
        "does not write": ("The greeting is not in", [(FIRST_WRITE, ""), ("strcpy(memory + ANSWER, \"hello, initiator\");\n\tlab_tell",
                                                       "strcpy(memory, \"hello, target\");\n\tstrcpy(memory + ANSWER, \"hello, initiator\");\n\tlab_tell")]),
        "reads elsewhere": ("The answer has not been read", [("region.addr + ANSWER, region.key", "region.addr + ANSWER + 1, region.key")]),
        "crashes": ("The target crashed: SIGSEGV", [(HEAR_DONE, CRASH + HEAR_DONE)]),
    },
    "02-keys-and-rights": {
        "a board of both rights": ("Somebody scribbled", [("board, LAB_BYTES, FI_REMOTE_READ", "board, LAB_BYTES, FI_REMOTE_READ | FI_REMOTE_WRITE")]),
        "rights the wrong way round": ("The board cannot be read", [("inbox, LAB_BYTES, FI_REMOTE_WRITE", "inbox, LAB_BYTES, FI_REMOTE_READ"),
                                                                    ("board, LAB_BYTES, FI_REMOTE_READ", "board, LAB_BYTES, FI_REMOTE_WRITE")]),
        "does not scribble": ("The NIC refused no write", [("strcpy(memory, \"scribbles\"); /* what a board must not take: leave this as it is */\n"
                                                            "\tMUST(fi_write(lab->ep, memory, 64, fi_mr_desc(mr), lab->peer, place.board.addr, place.board.key, NULL));\n"
                                                            "\tlab_wait(lab);\n", "")]),
        "crashes": ("The initiator crashed: SIGSEGV", [("strcpy(memory, \"a letter\");", CRASH + "strcpy(memory, \"a letter\");")]),
    },
    "03-offset-or-address": {
        "always the virtual address": ("Where addresses are offsets", [(VIRTUAL, "region.addr = (uintptr_t)memory;")]),
        "the address of the pointer": ("Where addresses are virtual ones", [("(uintptr_t)memory;", "(uintptr_t)&memory;")]),
        "the quarters backwards": ("Where addresses are virtual ones", [("(uint64_t)i * QUARTER", "(uint64_t)(QUARTERS - 1 - i) * QUARTER")]),
        "does not say that it is done": ("The program gave up with status 1: the line: the other process is gone", [("\tlab_tell(lab, \"\", 1);\n", "")]),
    },
    "04-bounds-and-vectors": {
        "two writes": ("A record and the count must go", [(WRITEMSG, "msg.iov_count = msg.rma_iov_count = 1;\n\t" + WRITEMSG +
                                                           "\n\tmsg.msg_iov = local + 1;\n\tmsg.rma_iov = remote + 1;\n\t" + WRITEMSG)]),
        "a larger region": ("The last record is not", [("calloc(1, LAB_BYTES), done", "calloc(2, LAB_BYTES), done"),
                                                       ("memory, LAB_BYTES, FI_REMOTE_WRITE", "memory, 2 * LAB_BYTES, FI_REMOTE_WRITE"),
                                                       ("(uint64_t)at * RECORD", "(uint64_t)(at + 1) * RECORD")]),
        "no count": ("The last record is not", [(".iov_count = 2", ".iov_count = 1"), (".rma_iov_count = 2", ".rma_iov_count = 1")]),
        "over the count": ("The last record is not", [("region->addr + FIRST + (uint64_t)at", "region->addr + (uint64_t)at")]),
    },
    "05-local-descriptors": {
        "the head's descriptor for both": ("Head and body are not both", [("fi_mr_desc(body_mr), &region", "fi_mr_desc(head_mr), &region")]),
        "injects": ("Head and body are not both", [(TWO_PUTS, "\t(void)put;\n\t" + INJECT.format("head", 0) + "\t" + INJECT.format("body", "PART"))]),
        "the key as a descriptor": ("Head and body are not both", [("fi_mr_desc(body_mr), &region", "(void *)(uintptr_t)fi_mr_key(body_mr), &region")]),
        "a NIC without FI_MR_LOCAL": ("Leave FI_MR_LOCAL", [("FI_MR_LOCAL | ", "")]),
    },
    "06-counters": {
        "the target sleeps": ("When the pieces take 4 s", [(TARGET_COUNTS, "sleep(1);\n\t" + TARGET_LOOKS), ("#include \"lab.h\"", "#include \"lab.h\"\n#include <unistd.h>")]),
        "the target waits for two": ("The target looks before", [(TARGET_COUNTS, TARGET_COUNTS.replace("PIECES, PAT", "2, PAT"))]),
        "the region closes at once": ("The initiator closes its region", [(OWN_COUNT, "MUST(fi_close(&mr->fid));\n\tlab_hear(lab, &seen"),
                                                                          ("sizeof(seen));\n\tMUST(fi_close(&mr->fid));", "sizeof(seen));"),
                                                                          (TARGET_COUNTS, TARGET_COUNTS.replace("PIECES, PAT", "2, PAT"))]),
        "a piece too few": ("The program gave up with status 1", [("i < PIECES; i++)\n\t\tMUST(fi_write", "i < PIECES - 1; i++)\n\t\tMUST(fi_write")]),
    },
    "07-endpoint-bound": {
        "is not enabled": ("The greeting is not in", [(BIND, "MUST(fi_mr_bind(mr, &lab->ep->fid, 0));\n\tregion.key")]),
        "is not bound": ("The program gave up with status 1: fi_mr_enable", [(BIND, "MUST(fi_mr_enable(mr));\n\tregion.key")]),
        "a NIC without FI_MR_ENDPOINT": ("Leave FI_MR_ENDPOINT", [(" | FI_MR_ENDPOINT", ""), (BIND, "region.key"),
                                                                  ("\tMUST(fi_mr_bind(mr, &lab->ep->fid, 0)); /* the initiator's own region is right */\n"
                                                                   "\tMUST(fi_mr_enable(mr));\n", "")]),
        "crashes": ("The initiator crashed: SIGSEGV", [("strcpy(memory, \"hello", CRASH + "strcpy(memory, \"hello")]),
    },
    "08-mmu-notify": {
        "the page first": ("Leave the order of the registration", [(PAGE_COMES, "\n"), (HEAP, "struct fid_mr *mr = (memset(heap + AT, 0, PAGE), "
                                                                    "lab_register(lab, heap, HEAP, FI_REMOTE_WRITE));")]),
        "all pages before it": ("The greeting is not in the page", [("{ heap + AT, PAGE }", "{ heap, AT }")]),
        "another page": ("The greeting is not in the page", [("{ heap + AT, PAGE }", "{ heap + AT + PAGE, PAGE }")]),
        "a NIC that wants all pages": ("Leave FI_MR_MMU_NOTIFY", [("FI_MR_MMU_NOTIFY", "FI_MR_ALLOCATED"), (HEAP, "struct fid_mr *mr = (memset(heap, 0, "
                                                                  "HEAP), lab_register(lab, heap, HEAP, FI_REMOTE_WRITE));"), (REFRESH, "")]),
    },
    "09-order": {
        "sleeps": ("When the message takes 4 s", [(RECORD_HERE, "sleep(1);"), ("sizeof(seen));", "sizeof(seen));\n"),
                                                  ("#include \"lab.h\"", "#include \"lab.h\"\n#include <unistd.h>")]),
        "looks at the flag, and sleeps": ("When the message takes 4 s", [(RECORD_HERE, FLAG_HERE + "sleep(1);"),
                                                                        ("#include \"lab.h\"", "#include \"lab.h\"\n#include <unistd.h>")]),
        "waits for nothing": ("The target read the record", [(RECORD_HERE, "")]),
        "waits once too often": ("The program hangs: the target was still in lab_wait()", [(RECORD_HERE, RECORD_HERE + "\n\tlab_wait(lab);")]),
    },
    "10-dead-peer": {
        "knows it beforehand": ("Where the first write is refused", [("printf(\"%d of 2 writes are done\\n\", written);", "printf(\"1 of 2 writes are done\\n\");"),
                                                                     ("written++", "(void)written"), ("int written = 0;", "const int written = 0;")]),
        "counts the first": ("Where the first write is refused", [(JUDGE, "lab_wait(lab);\n\t\twritten += !i;")]),
        "counts what failed": ("Where the first write is refused", [("if (!lab_wait(lab))", "if (lab_wait(lab))")]),
        "posts one": ("The report should have one finding", [("i < 2; i++", "i < 1; i++")]),
    },
    "11-queue-pair": {
        "does not read": ("The answer has not been read", [(VERBS_READ + "\n\tlab_wait(lab);", "strcpy(memory + ANSWER, \"hello, initiator\");")]),
        "a region without a right": ("The answer has not been read", [(" | IBV_ACCESS_REMOTE_READ;", ";")]),
        "its own rkey": ("The greeting is not in", [("(uint32_t)region->key;", "mr->rkey;")]),
        "no local right": ("The program gave up with status 1: emu: warn: ibv_reg_mr", [("IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE", "IBV_ACCESS_REMOTE_WRITE")]),
    },
    "12-sequence-numbers": {
        "both wrong": ("The greeting is not in", [(EXPECTS, "lab_ready_to_receive(lab, &peer, mine.psn);"), ("lab_ready_to_send(lab, mine.psn);", "lab_ready_to_send(lab, mine.psn + 1);")]),
        "one side alone": ("The greeting is not in", [(EXPECTS, "lab_ready_to_receive(lab, &peer, lab->side == LAB_TARGET ? mine.psn : peer.psn);")]),
        "does not send": ("The program gave up with status 1: emu: warn: ibv_post_send", [("\tlab_ready_to_send(lab, mine.psn);\n", "")]),
        "does not wait": ("The NIC's report is not empty", [("\tlab_wait(lab);\n", "")]),
    },
    "13-rdma-cm": {
        "a receive that comes late": ("The client's message has not come", [(RECEIVE, ""), (GONE, "post_receive(id, inbox_mr);\n\t" + GONE)]),
        "no route": ("The program hangs: the target was still in lab_event()", [(ROUTE, "")]),
        "the lkey": ("The client has not read", [("offered_mr->rkey", "offered_mr->lkey")]),
        "a server that answers no READ": ("The client has not read", [(", .responder_resources = 1", "")]),
        "keeps an event": ("The program hangs: the initiator was still in rdma_destroy_id()", [("\tMUST(rdma_ack_cm_event(event)); /* which", "\t/* which")]),
    },
    "14-datagrams": {
        "a receive of the message alone": ("The question has not come", [("GRH + ROOM", "ROOM")]),
        "another Q_Key": ("The question has not come", [(SENDS, SENDS.replace("QKEY", "QKEY + 1"))]),
        "takes the GRH for the message": ("The question has not come", [("(const char *)mr->addr + GRH", "(const char *)mr->addr")]),
        "answers itself": ("No answer has come back", [("wc.src_qp", "lab->qp->qp_num")]),
        "to nobody": ("The program gave up with status 1: emu: warn: ibv_post_send", [("wr.wr.ud.ah = ah;", "(void)ah;")]),
    },
    "15-complete": {
        "sleeps": ("When the bytes take 4 s", [LEVEL, (TOLD, TOLD + "\n\tsleep(1);"), ("#include \"lab.h\"", "#include \"lab.h\"\n#include <unistd.h>")]),
        "looks at the first byte": ("The target was told of the record before", [LEVEL, (TOLD, TOLD + "\n\twhile (!memory[0])\n\t\t;")]),
        "looks at the last byte": ("The target was told of the record before", [LEVEL, (TOLD, TOLD + "\n\twhile (!memory[RECORD - 1])\n\t\t;")]),
        "waits for its source": ("The target was told of the record before", [("FI_DELIVERY_COMPLETE", "FI_INJECT_COMPLETE")]),
    },
}
