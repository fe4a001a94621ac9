/* SPDX-License-Identifier: Apache-2.0 */
/* One connection at the level of frames: the bytes to be sent, the bytes
 * received, and the calls in flight.  A server answers the requests of a
 * session in order, so the calls form a queue. */
#ifndef HF_ZOOKEEPER_ZK_WIRE_H
#define HF_ZOOKEEPER_ZK_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zookeeper/proof.h"
#include "zookeeper/protocol.h"

struct hf_zk_call;

/* The longest frame that is not the answer to a call, and the default for the
 * longest answer to a call.  It is enough for about 200,000 tickets in one
 * queue. */
#define HF_ZK_FRAME_MAX (16 << 20)

/* An answer that is too long is read and dropped up to this length.  If a frame
 * is longer than this, the peer is taken not to be a ZooKeeper server. */
#define HF_ZK_DROPPED_MAX (1 << 30)

/* An answer begins with a header of this length: xid, zxid and error. */
#define HF_ZK_HEADER_BYTES 16

/* The answer to a call; valid only during the callback. */
struct hf_zk_reply {
    enum hf_zk_error error; /* may be a number that is not in the enum */
    int64_t zxid; /* the last transaction that the server has applied; the
                     request's own if it was a transaction */
    struct hf_jute_reader body; /* the record after the header */
};

/* Called once, when the answer arrives or the connection ends.  From then on
 * ${call} belongs to the callee again. */
typedef void hf_zk_answered(void *user, struct hf_zk_call *call,
                            const struct hf_zk_reply *reply);

/* A request in flight, embedded in the struct of its maker, which must not be
 * freed before .answered was called. */
struct hf_zk_call {
    struct hf_zk_call *next;
    hf_zk_answered *answered;
    void *user;  /* passed to .answered; the maker's own */
    void *owner; /* the struct that it is embedded in */
    int32_t xid;
    bool commits; /* if it succeeds, it was a transaction.  False for a multi,
                     because its body says whether it succeeded */
    struct hf_zk_proof_sent sent; /* send time, and what a transaction would
                                     prove */
};

/* Pings that may be unanswered at a time. */
#define HF_ZK_PINGS_MAX 8

/* The state of one connection.  Reset by hf_zk_wire_begin() for each new one.
 */
struct hf_zk_wire {
    struct hf_jute_writer out; /* bytes not sent yet */
    uint8_t *in;               /* bytes received and not consumed */
    size_t in_used;
    size_t in_size;
    size_t answer_max; /* the longest answer; 0 until the handshake is
                          answered */
    size_t to_drop;    /* bytes of a too long answer that are still to come */
    int32_t xid;       /* of the last call; the first one is 1 */
    struct hf_zk_call *first;
    struct hf_zk_call *last;
    unsigned calls;                     /* calls in flight */
    uint64_t pings_ms[HF_ZK_PINGS_MAX]; /* send times of the unanswered pings */
    size_t pings;
    uint64_t written_at_ms;  /* when a request was last written */
    uint64_t received_at_ms; /* when bytes last arrived */
};

/* Reset for a new connection.  No call may be in flight. */
void hf_zk_wire_begin(struct hf_zk_wire *wire, uint64_t now_ms);
void hf_zk_wire_free(struct hf_zk_wire *wire);

/* Write the header of a request and return its position.  Append the record,
 * then call hf_jute_end_frame() with that position. */
size_t hf_zk_wire_begin_request(struct hf_zk_wire *wire, int32_t xid,
                                enum hf_zk_opcode opcode, uint64_t now_ms);

/* Send a ping or a credential.  These requests are not calls.
 * hf_zk_wire_ping_answered() removes the oldest unanswered ping and sets
 * ${sent_at_ms} to its send time; it returns false if there is none. */
void hf_zk_wire_ping(struct hf_zk_wire *wire, uint64_t now_ms);
bool hf_zk_wire_ping_answered(struct hf_zk_wire *wire, uint64_t *sent_at_ms);
void hf_zk_wire_auth(struct hf_zk_wire *wire, const char *scheme,
                     const void *bytes, size_t count, uint64_t now_ms);

/* Write a request with the SASL token ${token}, and return its xid; the answer
 * has the same xid.  No call may be in flight. */
int32_t hf_zk_wire_sasl(struct hf_zk_wire *wire, const void *token,
                        size_t count, uint64_t now_ms);

/* Give ${call} its xid and append it to the calls in flight. */
void hf_zk_wire_add_call(struct hf_zk_wire *wire, struct hf_zk_call *call);

/* Append ${count} received bytes, without those of an answer that is too long.
 * False for lack of memory. */
bool hf_zk_wire_receive(struct hf_zk_wire *wire, const void *bytes,
                        size_t count);

enum hf_zk_frame_kind {
    HF_ZK_FRAME_NONE,     /* no frame: more bytes are needed */
    HF_ZK_FRAME_ENTIRE,   /* a frame */
    HF_ZK_FRAME_TOO_LONG, /* the header of an answer that is longer than
                             .answer_max; the rest is dropped */
    HF_ZK_FRAME_INVALID,  /* .length is negative or too great: the connection
                             must end */
};

struct hf_zk_frame {
    enum hf_zk_frame_kind kind;
    int32_t length;              /* as the server says; not set for NONE */
    struct hf_jute_reader bytes; /* only for ENTIRE and TOO_LONG; valid until
                                    bytes are received or consumed */
};

/* The frame at ${offset} of the input.  ${offset} is moved behind the frame.
 * An answer to a call may have .answer_max bytes, and any other frame
 * HF_ZK_FRAME_MAX. */
struct hf_zk_frame hf_zk_wire_next_frame(struct hf_zk_wire *wire,
                                         size_t *offset);

/* Remove the first ${offset} bytes of the input. */
void hf_zk_wire_consume(struct hf_zk_wire *wire, size_t offset);

/* Remove and return the call with the id ${xid}: if ${in_order}, only if it is
 * the first call.  NULL if there is none. */
struct hf_zk_call *hf_zk_wire_take_call(struct hf_zk_wire *wire, int32_t xid,
                                        bool in_order);

/* Make ${call}, which was taken, the first call in flight again. */
void hf_zk_wire_put_back(struct hf_zk_wire *wire, struct hf_zk_call *call);

/* Answer every call with HF_ZK_DISCONNECTED, in order. */
void hf_zk_wire_fail_calls(struct hf_zk_wire *wire);

#endif
