/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/zookeeper/wire.h"

#include <assert.h>
#include <string.h>

#include "core/memory.h"
#include "engines/zookeeper/private.h"

#define LENGTH_BYTES 4
#define IN_LEAST 4096

void hf_zk_wire_begin(struct hf_zk_wire *wire, uint64_t now_ms)
{
    assert(wire->first == NULL);
    wire->out.used = 0;
    wire->out.failed = false;
    wire->in_used = 0;
    wire->xid = 0;
    wire->pings = 0;
    wire->written_at_ms = wire->heard_at_ms = now_ms;
}

void hf_zk_wire_free(struct hf_zk_wire *wire)
{
    hf_jute_free(&wire->out);
    hf_free(wire->in);
    *wire = (struct hf_zk_wire){0};
}

/* ------------------------------------------------------------------- out -- */

static size_t begin_request(struct hf_zk *zk, int32_t xid,
                            enum hf_zk_opcode opcode)
{
    size_t begin = hf_jute_begin_frame(&zk->wire.out);

    hf_jute_put_int(&zk->wire.out, xid);
    hf_jute_put_int(&zk->wire.out, opcode);
    zk->wire.written_at_ms = zk->now_ms;
    return begin;
}

static bool commits(enum hf_zk_opcode opcode)
{
    return opcode == HF_ZK_CREATE || opcode == HF_ZK_CREATE2 ||
           opcode == HF_ZK_CREATE_CONTAINER || opcode == HF_ZK_DELETE ||
           opcode == HF_ZK_SET_DATA;
}

size_t hf_zk_call_begin(struct hf_zk *zk, struct hf_zk_call *call,
                        enum hf_zk_opcode opcode)
{
    struct hf_zk_wire *wire = &zk->wire;

    assert(hf_zk_session_usable(&zk->session));
    /* Ids below zero have a meaning of their own. */
    wire->xid = wire->xid == INT32_MAX ? 1 : wire->xid + 1;
    call->next = NULL;
    call->xid = wire->xid;
    call->commits = commits(opcode);
    call->sent = hf_zk_proof_sent(&zk->proof, zk->now_ms);
    if (wire->last != NULL)
        wire->last->next = call;
    else
        wire->first = call;
    wire->last = call;
    wire->calls++;
    return begin_request(zk, call->xid, opcode);
}

void hf_zk_call_end(struct hf_zk *zk, size_t begin)
{
    hf_jute_end_frame(&zk->wire.out, begin);
}

void hf_zk_send_ping(struct hf_zk *zk)
{
    struct hf_zk_wire *wire = &zk->wire;

    assert(wire->pings < HF_ZK_PINGS_MAX);
    wire->pings_ms[wire->pings++] = zk->now_ms;
    hf_jute_end_frame(&wire->out,
                      begin_request(zk, HF_ZK_XID_PING, HF_ZK_PING));
}

void hf_zk_send_auth(struct hf_zk *zk)
{
    struct hf_jute_writer *out = &zk->wire.out;
    size_t begin = begin_request(zk, HF_ZK_XID_AUTH, HF_ZK_AUTH);

    hf_jute_put_int(out, 0);
    hf_jute_put_string(out, "digest");
    hf_jute_put_string(out, zk->config.auth);
    hf_jute_end_frame(out, begin);
}

void hf_zk_send_exists(struct hf_zk *zk, struct hf_zk_call *call,
                       const char *path)
{
    size_t begin = hf_zk_call_begin(zk, call, HF_ZK_EXISTS);

    hf_jute_put_string(&zk->wire.out, path);
    hf_jute_put_bool(&zk->wire.out, false);
    hf_zk_call_end(zk, begin);
}

void hf_zk_send_get_data(struct hf_zk *zk, struct hf_zk_call *call,
                         const char *path, bool watch)
{
    size_t begin = hf_zk_call_begin(zk, call, HF_ZK_GET_DATA);

    hf_jute_put_string(&zk->wire.out, path);
    hf_jute_put_bool(&zk->wire.out, watch);
    hf_zk_call_end(zk, begin);
}

void hf_zk_send_set_data(struct hf_zk *zk, struct hf_zk_call *call,
                         const char *path, const char *data, int32_t version)
{
    size_t begin = hf_zk_call_begin(zk, call, HF_ZK_SET_DATA);

    hf_jute_put_string(&zk->wire.out, path);
    hf_jute_put_string(&zk->wire.out, data);
    hf_jute_put_int(&zk->wire.out, version);
    hf_zk_call_end(zk, begin);
}

void hf_zk_send_get_children(struct hf_zk *zk, struct hf_zk_call *call,
                             const char *path, bool watch)
{
    size_t begin = hf_zk_call_begin(zk, call, HF_ZK_GET_CHILDREN);

    hf_jute_put_string(&zk->wire.out, path);
    hf_jute_put_bool(&zk->wire.out, watch);
    hf_zk_call_end(zk, begin);
}

void hf_zk_send_sync(struct hf_zk *zk, struct hf_zk_call *call,
                     const char *path)
{
    size_t begin = hf_zk_call_begin(zk, call, HF_ZK_SYNC);

    hf_jute_put_string(&zk->wire.out, path);
    hf_zk_call_end(zk, begin);
}

/* The record of a DELETE or a CHECK. */
static void put_versioned(struct hf_zk *zk, const char *path, int32_t version)
{
    hf_jute_put_string(&zk->wire.out, path);
    hf_jute_put_int(&zk->wire.out, version);
}

void hf_zk_send_delete(struct hf_zk *zk, struct hf_zk_call *call,
                       const char *path)
{
    size_t begin = hf_zk_call_begin(zk, call, HF_ZK_DELETE);

    put_versioned(zk, path, HF_ZK_ANY_VERSION);
    hf_zk_call_end(zk, begin);
}

/* Who may do what: everybody, or whoever has our credentials. */
static void put_acl(struct hf_jute_writer *out, bool private_nodes)
{
    hf_jute_put_int(out, 1);
    hf_jute_put_int(out, HF_ZK_PERMISSIONS_ALL);
    hf_jute_put_string(out, private_nodes ? "auth" : "world");
    hf_jute_put_string(out, private_nodes ? "" : "anyone");
}

static void put_create(struct hf_zk *zk, const char *path, const char *data,
                       enum hf_zk_create_flags flags)
{
    struct hf_jute_writer *out = &zk->wire.out;

    hf_jute_put_string(out, path);
    hf_jute_put_string(out, data);
    put_acl(out, zk->config.private_nodes);
    hf_jute_put_int(out, (int32_t)flags);
}

void hf_zk_send_create(struct hf_zk *zk, struct hf_zk_call *call,
                       enum hf_zk_opcode opcode, const char *path,
                       const char *data, enum hf_zk_create_flags flags)
{
    size_t begin = hf_zk_call_begin(zk, call, opcode);

    put_create(zk, path, data, flags);
    hf_zk_call_end(zk, begin);
}

/* ----------------------------------------------------------------- multi -- */

static void put_header(struct hf_zk *zk, int32_t type, bool done)
{
    hf_jute_put_int(&zk->wire.out, type);
    hf_jute_put_bool(&zk->wire.out, done);
    hf_jute_put_int(&zk->wire.out, -1);
}

void hf_zk_multi_create(struct hf_zk *zk, const char *path, const char *data,
                        enum hf_zk_create_flags flags)
{
    put_header(zk, HF_ZK_CREATE, false);
    put_create(zk, path, data, flags);
}

void hf_zk_multi_delete(struct hf_zk *zk, const char *path, int32_t version)
{
    put_header(zk, HF_ZK_DELETE, false);
    put_versioned(zk, path, version);
}

void hf_zk_multi_check(struct hf_zk *zk, const char *path)
{
    put_header(zk, HF_ZK_CHECK, false);
    put_versioned(zk, path, HF_ZK_ANY_VERSION);
}

void hf_zk_multi_end(struct hf_zk *zk, size_t begin)
{
    put_header(zk, -1, true);
    hf_zk_call_end(zk, begin);
}

/* What the header of a result says of the whole: the error of what failed.  In
 * front of that one those that were undone again have none. */
static enum hf_zk_error get_error(struct hf_jute_reader *body, bool *undone)
{
    int32_t error = hf_jute_get_int(body);

    *undone = true;
    if (body->failed || error > 0)
        return HF_ZK_NONSENSE;
    return (enum hf_zk_error)error;
}

size_t hf_zk_multi_culprit(const struct hf_jute_reader *body)
{
    struct hf_jute_reader rest = *body;
    size_t nth = 0;
    bool undone;

    for (;; nth++) {
        (void)hf_jute_get_int(&rest);
        (void)hf_jute_get_bool(&rest);
        (void)hf_jute_get_int(&rest);
        if (rest.failed || get_error(&rest, &undone) != HF_ZK_OK)
            return nth;
    }
}

enum hf_zk_error hf_zk_multi_result(const struct hf_jute_reader *body,
                                    struct hf_jute_piece *paths, size_t count)
{
    struct hf_jute_reader rest = *body;
    enum hf_zk_error error = HF_ZK_OK;
    bool done = false, undone = false;
    size_t made = 0;

    while (!done && error == HF_ZK_OK) {
        int32_t type = hf_jute_get_int(&rest);

        done = hf_jute_get_bool(&rest);
        (void)hf_jute_get_int(&rest);
        if (rest.failed)
            return HF_ZK_NONSENSE;
        if (done || type == HF_ZK_DELETE || type == HF_ZK_CHECK)
            continue;
        if (type == HF_ZK_ERROR_RESULT) {
            error = get_error(&rest, &undone);
        } else if (type == HF_ZK_CREATE && made < count) {
            paths[made++] = hf_jute_get_buffer(&rest);
        } else {
            return HF_ZK_NONSENSE;
        }
    }
    if (error == HF_ZK_OK && (undone || made != count))
        return HF_ZK_NONSENSE;
    return error;
}

/* -------------------------------------------------------------------- in -- */

static bool make_room(struct hf_zk_wire *wire, size_t count)
{
    size_t size = wire->in_size < IN_LEAST ? IN_LEAST : wire->in_size;
    uint8_t *in;

    while (size - wire->in_used < count)
        size *= 2;
    if (size == wire->in_size)
        return true;
    if ((in = hf_realloc(wire->in, size)) == NULL)
        return false;
    wire->in = in;
    wire->in_size = size;
    return true;
}

/* The length in front of the frame at ${offset}, which must be there. */
static int32_t length_at(const struct hf_zk_wire *wire, size_t offset)
{
    struct hf_jute_reader reader = {wire->in + offset, LENGTH_BYTES, false};

    return hf_jute_get_int(&reader);
}

bool hf_zk_wire_take_in(struct hf_zk_wire *wire, const void *bytes,
                        size_t count, int32_t *length)
{
    size_t offset = 0;

    *length = 0;
    if (!make_room(wire, count))
        return false;
    memcpy(wire->in + wire->in_used, bytes, count);
    wire->in_used += count;
    while (wire->in_used - offset >= LENGTH_BYTES) {
        *length = length_at(wire, offset);
        if (*length < 0 || *length > HF_ZK_FRAME_MAX)
            return false;
        offset += LENGTH_BYTES + (size_t)*length;
        if (offset > wire->in_used)
            break;
    }
    return true;
}

bool hf_zk_wire_next_frame(const struct hf_zk_wire *wire, size_t *offset,
                           struct hf_jute_reader *frame)
{
    size_t left = wire->in_used - *offset;
    size_t length;

    if (left < LENGTH_BYTES)
        return false;
    length = (size_t)length_at(wire, *offset);
    if (left - LENGTH_BYTES < length)
        return false;
    frame->bytes = wire->in + *offset + LENGTH_BYTES;
    frame->left = length;
    frame->failed = false;
    *offset += LENGTH_BYTES + length;
    return true;
}

void hf_zk_wire_worked_off(struct hf_zk_wire *wire, size_t offset)
{
    assert(offset <= wire->in_used);
    wire->in_used -= offset;
    if (offset > 0 && wire->in_used > 0)
        memmove(wire->in, wire->in + offset, wire->in_used);
}

/* Take the call behind ${before}, NULL: the first, off the list. */
static struct hf_zk_call *take_off(struct hf_zk_wire *wire,
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

struct hf_zk_call *hf_zk_wire_answered_call(struct hf_zk_wire *wire,
                                            int32_t xid, bool in_turn)
{
    struct hf_zk_call *before = NULL;
    struct hf_zk_call *call = wire->first;

    while (!in_turn && call != NULL && call->xid != xid) {
        before = call;
        call = call->next;
    }
    if (call == NULL || call->xid != xid)
        return NULL;
    return take_off(wire, before);
}

void hf_zk_wire_cut(struct hf_zk *zk)
{
    struct hf_zk_reply reply = {.error = HF_ZK_CUT};
    struct hf_zk_call *call;

    while (zk->wire.first != NULL) {
        call = take_off(&zk->wire, NULL);
        call->answered(zk, call, &reply);
    }
}
