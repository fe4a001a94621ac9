/* SPDX-License-Identifier: Apache-2.0 */
/* Output is one growing buffer; the driver sends from its front.  Input is
 * collected until a frame is complete.  All complete frames are then taken and
 * consumed at once, so each byte is moved a bounded number of times.  If an
 * answer is too long, only its header is kept; its other bytes are counted and
 * dropped. */
#include "zookeeper/zk_wire.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"

#define LENGTH_BYTES 4

void hf_zk_wire_begin(struct hf_zk_wire *wire, uint64_t now_ms)
{
    assert(wire->first == NULL);
    wire->out.used = 0;
    wire->out.failed = false;
    wire->in_used = 0;
    wire->answer_max = 0;
    wire->to_drop = 0;
    wire->xid = 0;
    wire->pings = 0;
    wire->written_at_ms = wire->received_at_ms = now_ms;
}

void hf_zk_wire_free(struct hf_zk_wire *wire)
{
    hf_jute_free(&wire->out);
    hf_free(wire->in);
    *wire = (struct hf_zk_wire){0};
}

/* ----------------------------------------------------------------- calls -- */

size_t hf_zk_wire_begin_request(struct hf_zk_wire *wire, int32_t xid,
                                enum hf_zk_opcode opcode, uint64_t now_ms)
{
    size_t begin = hf_jute_begin_frame(&wire->out);

    hf_jute_put_int(&wire->out, xid);
    hf_jute_put_int(&wire->out, opcode);
    wire->written_at_ms = now_ms;
    return begin;
}

void hf_zk_wire_ping(struct hf_zk_wire *wire, uint64_t now_ms)
{
    assert(wire->pings < HF_ZK_PINGS_MAX);
    wire->pings_ms[wire->pings++] = now_ms;
    hf_jute_end_frame(&wire->out, hf_zk_wire_begin_request(wire, HF_ZK_XID_PING,
                                                           HF_ZK_PING, now_ms));
}

bool hf_zk_wire_ping_answered(struct hf_zk_wire *wire, uint64_t *sent_at_ms)
{
    if (wire->pings == 0)
        return false;
    *sent_at_ms = wire->pings_ms[0];
    wire->pings--;
    memmove(wire->pings_ms, wire->pings_ms + 1,
            wire->pings * sizeof wire->pings_ms[0]);
    return true;
}

void hf_zk_wire_auth(struct hf_zk_wire *wire, const char *scheme,
                     const void *bytes, size_t count, uint64_t now_ms)
{
    size_t begin =
        hf_zk_wire_begin_request(wire, HF_ZK_XID_AUTH, HF_ZK_AUTH, now_ms);

    hf_jute_put_int(&wire->out, 0);
    hf_jute_put_string(&wire->out, scheme);
    hf_jute_put_buffer(&wire->out, bytes, count);
    hf_jute_end_frame(&wire->out, begin);
}

/* Negative xids have special meanings. */
static int32_t next_xid(struct hf_zk_wire *wire)
{
    wire->xid = wire->xid == INT32_MAX ? 1 : wire->xid + 1;
    return wire->xid;
}

int32_t hf_zk_wire_sasl(struct hf_zk_wire *wire, const void *token,
                        size_t count, uint64_t now_ms)
{
    int32_t xid = next_xid(wire);
    size_t begin = hf_zk_wire_begin_request(wire, xid, HF_ZK_SASL, now_ms);

    assert(wire->first == NULL);
    hf_jute_put_buffer(&wire->out, token, count);
    hf_jute_end_frame(&wire->out, begin);
    return xid;
}

void hf_zk_wire_add_call(struct hf_zk_wire *wire, struct hf_zk_call *call)
{
    call->next = NULL;
    call->xid = next_xid(wire);
    if (wire->last != NULL)
        wire->last->next = call;
    else
        wire->first = call;
    wire->last = call;
    wire->calls++;
}

/* -------------------------------------------------------------------- in -- */

/* The length prefix of the frame at ${offset}; its four bytes must have
 * arrived. */
static int32_t length_at(const struct hf_zk_wire *wire, size_t offset)
{
    struct hf_jute_reader reader = {wire->in + offset, LENGTH_BYTES, false};

    return hf_jute_get_int(&reader);
}

bool hf_zk_wire_receive(struct hf_zk_wire *wire, const void *bytes,
                        size_t count)
{
    size_t dropped = count < wire->to_drop ? count : wire->to_drop;

    assert(wire->to_drop == 0 || wire->in_used == 0);
    wire->to_drop -= dropped;
    count -= dropped;
    if (count == 0)
        return true;
    if (!HF_ARRAY_ROOM(&wire->in, &wire->in_size, wire->in_used + count))
        return false;
    memcpy(wire->in + wire->in_used, (const uint8_t *)bytes + dropped, count);
    wire->in_used += count;
    return true;
}

/* The kind of the frame of ${length} bytes, of which ${arrived} are there.
 * Only answers to calls have positive xids. */
static enum hf_zk_frame_kind kind_of(const struct hf_zk_wire *wire,
                                     int32_t length,
                                     struct hf_jute_reader arrived)
{
    bool answers = wire->answer_max > 0;
    size_t most = answers ? wire->answer_max : HF_ZK_FRAME_MAX;

    if (length < 0 || length > (answers ? HF_ZK_DROPPED_MAX : HF_ZK_FRAME_MAX))
        return HF_ZK_FRAME_INVALID;
    if ((size_t)length > most) {
        if (arrived.left < HF_ZK_HEADER_BYTES)
            return HF_ZK_FRAME_NONE;
        if (hf_jute_get_int(&arrived) > 0)
            return HF_ZK_FRAME_TOO_LONG;
        if (length > HF_ZK_FRAME_MAX)
            return HF_ZK_FRAME_INVALID;
    }
    return arrived.left < (size_t)length ? HF_ZK_FRAME_NONE
                                         : HF_ZK_FRAME_ENTIRE;
}

/* Take the header of the answer ${frame}, and drop the bytes behind it: those
 * that have arrived, by moving ${offset}, and those to come. */
static void drop_answer(struct hf_zk_wire *wire, struct hf_zk_frame *frame,
                        size_t *offset)
{
    size_t length = (size_t)frame->length;
    size_t arrived = frame->bytes.left < length ? frame->bytes.left : length;

    frame->bytes.left = HF_ZK_HEADER_BYTES;
    wire->to_drop = length - arrived;
    *offset += LENGTH_BYTES + arrived;
}

struct hf_zk_frame hf_zk_wire_next_frame(struct hf_zk_wire *wire,
                                         size_t *offset)
{
    struct hf_zk_frame frame = {.kind = HF_ZK_FRAME_NONE};
    size_t left = wire->in_used - *offset;

    if (left < LENGTH_BYTES)
        return frame;
    frame.length = length_at(wire, *offset);
    frame.bytes.bytes = wire->in + *offset + LENGTH_BYTES;
    frame.bytes.left = left - LENGTH_BYTES;
    frame.kind = kind_of(wire, frame.length, frame.bytes);
    if (frame.kind == HF_ZK_FRAME_TOO_LONG)
        drop_answer(wire, &frame, offset);
    if (frame.kind == HF_ZK_FRAME_ENTIRE) {
        frame.bytes.left = (size_t)frame.length;
        *offset += LENGTH_BYTES + frame.bytes.left;
    }
    return frame;
}

void hf_zk_wire_consume(struct hf_zk_wire *wire, size_t offset)
{
    assert(offset <= wire->in_used);
    wire->in_used -= offset;
    if (offset > 0 && wire->in_used > 0)
        memmove(wire->in, wire->in + offset, wire->in_used);
}

/* Unlink and return the call after ${before}, or the first call for NULL. */
static struct hf_zk_call *unlink_call(struct hf_zk_wire *wire,
                                      struct hf_zk_call *before)
{
    struct hf_zk_call **link = before != NULL ? &before->next : &wire->first;
    struct hf_zk_call *call = *link;

    *link = call->next;
    if (wire->last == call)
        wire->last = before;
    call->next = NULL;
    wire->calls--;
    return call;
}

struct hf_zk_call *hf_zk_wire_take_call(struct hf_zk_wire *wire, int32_t xid,
                                        bool in_order)
{
    struct hf_zk_call *before = NULL;
    struct hf_zk_call *call = wire->first;

    while (!in_order && call != NULL && call->xid != xid) {
        before = call;
        call = call->next;
    }
    if (call == NULL || call->xid != xid)
        return NULL;
    return unlink_call(wire, before);
}

void hf_zk_wire_put_back(struct hf_zk_wire *wire, struct hf_zk_call *call)
{
    call->next = wire->first;
    wire->first = call;
    if (wire->last == NULL)
        wire->last = call;
    wire->calls++;
}

void hf_zk_wire_fail_calls(struct hf_zk_wire *wire)
{
    struct hf_zk_reply reply = {.error = HF_ZK_DISCONNECTED};
    struct hf_zk_call *call;

    while (wire->first != NULL) {
        call = unlink_call(wire, NULL);
        call->answered(call->user, call, &reply);
    }
}
