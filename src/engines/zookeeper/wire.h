/* SPDX-License-Identifier: Apache-2.0 */
/* One connection: frames in and out, and the calls that wait for an answer.  A
 * server answers the requests of a session in their order. */
#ifndef HF_ENGINES_ZOOKEEPER_WIRE_H
#define HF_ENGINES_ZOOKEEPER_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engines/zookeeper/proof.h"
#include "engines/zookeeper/protocol.h"

struct hf_zk;
struct hf_zk_call;

struct hf_zk_reply {
    enum hf_zk_error error; /* or a number that we do not know */
    int64_t zxid; /* the last transaction that the server had carried out: that
                     of the request itself if it was one */
    struct hf_jute_reader body;
};

/* Called once, from inside hf_zk_receive() or when the connection ends.  The
 * call is the callee's again. */
typedef void hf_zk_answered(struct hf_zk *zk, struct hf_zk_call *call,
                            const struct hf_zk_reply *reply);

/* A request under way, embedded in what waits for it. */
struct hf_zk_call {
    struct hf_zk_call *next;
    hf_zk_answered *answered;
    void *owner;
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
    uint64_t written_at_ms; /* when something was last put out */
    uint64_t heard_at_ms;   /* when something last came in */
};

/* A new connection.  No call is under way. */
void hf_zk_wire_begin(struct hf_zk_wire *wire, uint64_t now_ms);
void hf_zk_wire_free(struct hf_zk_wire *wire);

/* Write the header of a request, and end its record.  .answered and .owner of
 * ${call} are set; between the two the record is put into ${zk}->wire.out. */
size_t hf_zk_call_begin(struct hf_zk *zk, struct hf_zk_call *call,
                        enum hf_zk_opcode opcode);
void hf_zk_call_end(struct hf_zk *zk, size_t begin);

/* Requests that are no calls: nobody waits for their answer. */
void hf_zk_send_ping(struct hf_zk *zk);
void hf_zk_send_auth(struct hf_zk *zk);

/* A request whose record is a path and, if the opcode has one, a flag or a
 * version. */
void hf_zk_send_exists(struct hf_zk *zk, struct hf_zk_call *call,
                       const char *path);
void hf_zk_send_get_data(struct hf_zk *zk, struct hf_zk_call *call,
                         const char *path, bool watch);
/* BAD_VERSION if the node has another version than that. */
#define HF_ZK_ANY_VERSION (-1)
void hf_zk_send_set_data(struct hf_zk *zk, struct hf_zk_call *call,
                         const char *path, const char *data, int32_t version);
void hf_zk_send_get_children(struct hf_zk *zk, struct hf_zk_call *call,
                             const char *path, bool watch);
void hf_zk_send_sync(struct hf_zk *zk, struct hf_zk_call *call,
                     const char *path);
void hf_zk_send_delete(struct hf_zk *zk, struct hf_zk_call *call,
                       const char *path);
void hf_zk_send_create(struct hf_zk *zk, struct hf_zk_call *call,
                       enum hf_zk_opcode opcode, const char *path,
                       const char *data, enum hf_zk_create_flags flags);

/* A multi, all or nothing: begun and ended as any call, between the two its
 * operations. */
void hf_zk_multi_create(struct hf_zk *zk, const char *path, const char *data,
                        enum hf_zk_create_flags flags);
void hf_zk_multi_delete(struct hf_zk *zk, const char *path, int32_t version);
void hf_zk_multi_check(struct hf_zk *zk, const char *path);
void hf_zk_multi_end(struct hf_zk *zk, size_t begin);

/* What became of it: the error of the operation that failed, or
 * HF_ZK_NONSENSE.  With HF_ZK_OK exactly ${count} of its operations, none or
 * all, were creates: the ${paths} they made.  Servers answer create2 in a multi
 * as create, without a Stat. */
enum hf_zk_error hf_zk_multi_result(const struct hf_jute_reader *body,
                                    struct hf_jute_piece *paths, size_t count);

/* Which of its operations it was, counted from 0; of a multi that failed. */
size_t hf_zk_multi_culprit(const struct hf_jute_reader *body);

/* Take ${count} bytes in; false for lack of memory or for a frame longer than
 * HF_ZK_FRAME_MAX, whose length is then in ${length}. */
bool hf_zk_wire_take_in(struct hf_zk_wire *wire, const void *bytes,
                        size_t count, int32_t *length);

/* The next whole frame, which stays valid until bytes are taken in again;
 * false if there is none.  ${offset} begins at 0 and is moved on. */
bool hf_zk_wire_next_frame(const struct hf_zk_wire *wire, size_t *offset,
                           struct hf_jute_reader *frame);

/* Forget the first ${offset} bytes. */
void hf_zk_wire_worked_off(struct hf_zk_wire *wire, size_t offset);

/* The first call or, unless ${in_turn}, any, if it has the id ${xid}, taken off
 * the list; else NULL. */
struct hf_zk_call *hf_zk_wire_answered_call(struct hf_zk_wire *wire,
                                            int32_t xid, bool in_turn);

/* Answer every call with HF_ZK_CUT. */
void hf_zk_wire_cut(struct hf_zk *zk);

#endif
