/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A seat for the ZooKeeper engine: a loop, a host that notes what it hears, and
 * a peer that greets, answers everything with success and closes.
 */
#ifndef HF_TESTS_TRANSPORT_SEAT_H
#define HF_TESTS_TRANSPORT_SEAT_H

#include "engines/zookeeper/zookeeper.h"
#include "kit.h"

/* Of the user "u"; nothing that is logged or told may have it. */
#define SEAT_PASSWORD "QJXZW"

enum manner {
    REFUSES,
    KEEPS_SILENT,
    HANGS_UP,
    GREETS,
    MANNERS,
};

struct peer {
    struct server server;
    enum manner manner;
    bool greeted;
    unsigned char bytes[8192];
    size_t used;
    bool heard_password;
};

void peer_start(struct peer *peer, enum manner manner);
/* Do what there is to do, without waiting. */
void peer_serve(struct peer *peer);

struct seat {
    uv_loop_t loop;
    struct hf_engine_host host;
    const struct hf_engine_ops *ops;
    struct hf_engine *engine;
    struct hf_error error;
    unsigned events;
    bool connected;
    bool closed;
};

void seat_start(struct seat *seat);
/* .error tells why not. */
hf_status seat_open(struct seat *seat, const char *text);
/* At ${peer}, with the password; ${options} begin with '?' or are "". */
void seat_open_at(struct seat *seat, const struct peer *peer,
                  const char *options);
/* Until ${what} becomes true, the peer doing its part. */
void seat_run_until(struct seat *seat, struct peer *peer, const bool *what);
/* END, and free the engine once it is closed; the loop stays. */
void seat_end(struct seat *seat, struct peer *peer);

#endif
