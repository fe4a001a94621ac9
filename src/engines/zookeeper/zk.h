/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of a ZooKeeper ensemble, without I/O: bytes and time in, bytes and
 * events out.  It makes no system call and has no clock, thread or descriptor,
 * so that the simulator, the fuzzers and the real transport drive the same
 * machine.
 *
 * Whoever drives it does this after each call:
 *
 *     hf_zk_link(zk, &number)     another number than before: drop the old
 *                                 connection; not NULL: begin a new one to it
 *     hf_zk_output(zk, &count)    write that, then hf_zk_written(zk, n)
 *     hf_zk_wake_at_ms(zk)        arm a timer, to call hf_zk_tick()
 *
 * Events and answers go to host->event(), from inside these calls, and may
 * lead back into hf_zk_request() and hf_zk_forget() from there.  .now_ms and
 * .loop of the host are not used: ${now_ms} is CLOCK_BOOTTIME, never less than
 * in the call before.
 */
#ifndef HF_ENGINES_ZOOKEEPER_ZK_H
#define HF_ENGINES_ZOOKEEPER_ZK_H

#include "core/engine.h"
#include "engines/zookeeper/config.h"

struct hf_zk;

/* A reply longer than this ends the connection: about 200,000 tickets of one
 * queue. */
#define HF_ZK_FRAME_MAX (16 << 20)

/* ${config} and ${host} are copied.  The first connection is wanted at once.
 * NULL for lack of memory. */
struct hf_zk *hf_zk_new(const struct hf_zk_config *config,
                        const struct hf_engine_host *host, uint64_t now_ms);

/* After CLOSED, or before anything was requested, or in a test: requests under
 * way are not answered. */
void hf_zk_free(struct hf_zk *zk);

/* As hf_engine_ops.request and .forget. */
void hf_zk_request(struct hf_zk *zk, struct hf_request *request,
                   uint64_t now_ms);
void hf_zk_forget(struct hf_zk *zk, struct hf_request *watch);

/* As hf_engine_ops.connect. */
void hf_zk_connect(struct hf_zk *zk, uint64_t now_ms);

/* The server to be connected to; NULL: none.  ${number} is that of the
 * connection, another one for each. */
const struct hf_zk_server *hf_zk_link(const struct hf_zk *zk, uint64_t *number);

/* Connection ${number} is there: bytes can be sent.  Calls about another than
 * the latest are without effect. */
void hf_zk_link_up(struct hf_zk *zk, uint64_t number, uint64_t now_ms);

/* It could not be made, or has ended: ${status} and ${why}, a text for people
 * without the server's name, are the link's.  NULL: the server ended it, and
 * did not say why. */
void hf_zk_link_down(struct hf_zk *zk, uint64_t number, uint64_t now_ms,
                     hf_status status, const char *why);

void hf_zk_receive(struct hf_zk *zk, uint64_t number, uint64_t now_ms,
                   const void *bytes, size_t count);

/* What is to be sent on the connection, valid until the next call; and that
 * the first ${count} bytes of it have been taken. */
const void *hf_zk_output(const struct hf_zk *zk, size_t *count);
void hf_zk_written(struct hf_zk *zk, size_t count);

void hf_zk_tick(struct hf_zk *zk, uint64_t now_ms);

/* When the next tick is wanted, HF_FOREVER if none; may be past. */
uint64_t hf_zk_wake_at_ms(const struct hf_zk *zk);

/* The traits of the engine, HF_ENGINE_... */
#define HF_ZK_TRAITS (HF_ENGINE_GONE_ADMITS | HF_ENGINE_LOOKS_AHEAD)

#endif
