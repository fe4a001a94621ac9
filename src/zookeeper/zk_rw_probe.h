/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe for a server with a quorum while the session is connected to one
 * without.  The other servers of the list are asked one after the other, over a
 * second connection, so that reads go on meanwhile.  The question is the one
 * that the clients of ZooKeeper's own tree ask: the command "isro", which a
 * server answers with "rw" if it has a quorum, with "ro" if it is read-only,
 * and with "null" if it does not serve.  When all were asked without success
 * there is a pause, which doubles each time.
 *
 * The server of the session's connection is not asked: when it gets a quorum it
 * closes its connections.
 *
 * Nothing here does I/O or has a clock: answers and the time are passed in by
 * the session.
 */
#ifndef HF_ZOOKEEPER_ZK_RW_PROBE_H
#define HF_ZOOKEEPER_ZK_RW_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the driver sends on the second connection. */
#define HF_ZK_RW_PROBE_COMMAND "isro"

/* The pause before the servers are asked for the first time, and the longest
 * pause. */
#define HF_ZK_RW_PROBE_PAUSE_MS 1000
#define HF_ZK_RW_PROBE_PAUSE_MAX_MS 60000

/* How long a server may take, from the connection to the answer. */
#define HF_ZK_RW_PROBE_ATTEMPT_MS 2000

#define HF_ZK_RW_PROBE_ANSWER_BYTES 2

enum hf_zk_rw_probe_state {
    HF_ZK_RW_PROBE_ENDED,   /* ended, or not begun */
    HF_ZK_RW_PROBE_FOUND,   /* .server has a quorum */
    HF_ZK_RW_PROBE_PAUSING, /* until the servers are asked again */
    HF_ZK_RW_PROBE_ASKING,  /* .server is being asked */
};

/* The probe.  Others read the fields; only zk_rw_probe.c writes them.  Times
 * are of the driver's monotonic clock. */
struct hf_zk_rw_probe {
    enum hf_zk_rw_probe_state state;
    size_t server_count;
    size_t current;    /* the server that the session is connected to */
    size_t server;     /* the server that is asked, or was asked last */
    uint64_t number;   /* the number of the second connection; each connection
                          has a new one */
    uint64_t pause_ms; /* the next pause */
    uint64_t at_ms;    /* PAUSING: when to ask again; ASKING: when the attempt
                          ends */
    char answer[HF_ZK_RW_PROBE_ANSWER_BYTES];
    size_t answer_bytes;
};

/* Begin to probe, with a pause; ${current} is the index of the server that the
 * session is connected to.  With one server nothing is asked. */
void hf_zk_rw_probe_begin(struct hf_zk_rw_probe *probe, size_t server_count,
                          size_t current, uint64_t now_ms);
void hf_zk_rw_probe_end(struct hf_zk_rw_probe *probe);

/* Take ${count} ${bytes} of the answer.  True if the answer is complete and
 * says that the server has a quorum. */
bool hf_zk_rw_probe_received(struct hf_zk_rw_probe *probe, const void *bytes,
                             size_t count, uint64_t now_ms);

/* The server that is being asked could not be reached, or has closed the
 * connection: ask the next one. */
void hf_zk_rw_probe_failed(struct hf_zk_rw_probe *probe, uint64_t now_ms);

/* hf_zk_rw_probe_tick() does what is due at ${now_ms}.
 * hf_zk_rw_probe_wake_at_ms() returns when to call it next, or HF_FOREVER. */
void hf_zk_rw_probe_tick(struct hf_zk_rw_probe *probe, uint64_t now_ms);
uint64_t hf_zk_rw_probe_wake_at_ms(const struct hf_zk_rw_probe *probe);

#endif
