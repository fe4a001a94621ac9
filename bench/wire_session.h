/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session on the bare wire: one blocking socket, frames that are written by
 * hand, nothing checked, nothing kept alive.  It is the least that a client of
 * ZooKeeper can do, and so the floor of the benches.
 */
#ifndef HF_BENCH_WIRE_SESSION_H
#define HF_BENCH_WIRE_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zookeeper/protocol.h"

struct wire {
    int fd;
    int32_t xid; /* of the last request */
    struct hf_jute_writer out;
    uint8_t in[65536];
    size_t from, till; /* what of .in was received and not read */
};

/* A new session with the server of 127.0.0.1:${port}; its end. */
struct wire *wire_open(int port);
void wire_close(struct wire *wire);

/* Begin a request of the next xid; hf_jute_end_frame() ends it. */
size_t wire_begin(struct wire *wire, enum hf_zk_opcode opcode);

/* Send all that was written. */
void wire_send(struct wire *wire);

/* Write a request: the node ${path} with ${data}, for everybody; its new
 * data; a list of it, or its data. */
void wire_create(struct wire *wire, const char *path, const char *data,
                 int32_t flags);
void wire_set(struct wire *wire, const char *path, const char *data);
void wire_read(struct wire *wire, enum hf_zk_opcode opcode, const char *path,
               bool watch);

/* Wait for the next ${count} bytes, valid until the next call. */
const uint8_t *wire_take(struct wire *wire, size_t count);

/* Wait for the next frame. */
struct hf_jute_reader wire_next_frame(struct wire *wire);

/* Wait for the next frame, which has ${xid} and no error.  Its body. */
struct hf_jute_reader wire_answer(struct wire *wire, int32_t xid);

/* Has a frame arrived that was not taken? */
bool wire_has_frame(const struct wire *wire);

#endif
