/* SPDX-License-Identifier: Apache-2.0 */
/* One connection: frames in and out, and the calls that wait for an answer.  A
 * server answers the requests of a session in their order. */
#ifndef HF_ZOOKEEPER_ZK_WIRE_H
#define HF_ZOOKEEPER_ZK_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zookeeper/proof.h"
#include "zookeeper/protocol.h"

struct hf_zk_call;

/* A reply longer than this ends the connection: about 200,000 tickets of one
 * queue. */
#define HF_ZK_FRAME_MAX (16 << 20)

struct hf_zk_reply {
    enum hf_zk_error error; /* or a number that we do not know */
    int64_t zxid; /* the last transaction that the server had carried out: that
                     of the request itself if it was one */
    struct hf_jute_reader body;
};

/* Called once, when the answer comes or the connection ends.  The call is the
 * callee's again. */
typedef void hf_zk_answered(void *user, struct hf_zk_call *call,
                            const struct hf_zk_reply *reply);

/* A request under way, embedded in what waits for it. */
struct hf_zk_call {
    struct hf_zk_call *next;
    hf_zk_answered *answered;
    void *user;  /* whose call it is */
    void *owner; /* what it is embedded in */
    int32_t xid;
    bool commits; /* it is a transaction if it succeeds; of a multi its body
                     says whether it did */
    struct hf_zk_proof_sent sent;
};

#define HF_ZK_PINGS_MAX 8

struct hf_zk_wire {
    struct hf_jute_writer out;
    uint8_t *in; /* what came in and was not worked off */
    size_t in_used;
    size_t in_size;
    int32_t xid; /* of the last call, from 1 */
    struct hf_zk_call *first;
    struct hf_zk_call *last;
    unsigned calls;                     /* so many are under way */
    uint64_t pings_ms[HF_ZK_PINGS_MAX]; /* when those unanswered were sent */
    size_t pings;
    uint64_t written_at_ms;  /* when something was last put out */
    uint64_t received_at_ms; /* when something last came in */
};

/* A new connection.  No call is under way. */
void hf_zk_wire_begin(struct hf_zk_wire *wire, uint64_t now_ms);
void hf_zk_wire_free(struct hf_zk_wire *wire);

/* Put out the header of a request; its record follows, and
 * hf_jute_end_frame(). */
size_t hf_zk_wire_begin_request(struct hf_zk_wire *wire, int32_t xid,
                                enum hf_zk_opcode opcode, uint64_t now_ms);

/* Requests that are no calls: nobody waits for their answer.  False if no ping
 * was sent that could be answered. */
void hf_zk_wire_ping(struct hf_zk_wire *wire, uint64_t now_ms);
bool hf_zk_wire_ping_answered(struct hf_zk_wire *wire, uint64_t *sent_at_ms);
void hf_zk_wire_auth(struct hf_zk_wire *wire, const char *auth,
                     uint64_t now_ms);

/* ${call} gets its id, and waits for its answer behind all others. */
void hf_zk_wire_add_call(struct hf_zk_wire *wire, struct hf_zk_call *call);

/* Take ${count} bytes in; false for lack of memory or for a frame longer than
 * HF_ZK_FRAME_MAX, whose length is then in ${length}. */
bool hf_zk_wire_receive(struct hf_zk_wire *wire, const void *bytes,
                        size_t count, int32_t *length);

/* The next whole frame, which stays valid until bytes are taken in again;
 * false if there is none.  ${offset} begins at 0 and is moved on. */
bool hf_zk_wire_next_frame(const struct hf_zk_wire *wire, size_t *offset,
                           struct hf_jute_reader *frame);

/* Forget the first ${offset} bytes. */
void hf_zk_wire_consume(struct hf_zk_wire *wire, size_t offset);

/* The first call or, unless ${in_turn}, any, if it has the id ${xid}, taken off
 * the list; else NULL. */
struct hf_zk_call *hf_zk_wire_take_call(struct hf_zk_wire *wire, int32_t xid,
                                        bool in_order);

/* Answer every call with HF_ZK_DISCONNECTED. */
void hf_zk_wire_fail_calls(struct hf_zk_wire *wire);

#endif
