/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A seat for the ZooKeeper engine: a loop, a host that notes what it hears, and
 * a peer that greets, answers everything with success and closes.
 */
#ifndef HF_TESTS_TRANSPORT_ENGINE_FIXTURE_H
#define HF_TESTS_TRANSPORT_ENGINE_FIXTURE_H

#include "engines/zookeeper/zookeeper.h"
#include "link_fixture.h"

/* Of the user "u"; nothing that is logged or told may have it. */
#define ENGINE_FIXTURE_PASSWORD "QJXZW"

enum fake_zookeeper_mode {
    REFUSES,
    KEEPS_SILENT,
    HANGS_UP,
    ACCEPTS,
    FAKE_ZOOKEEPER_MODES,
};

struct fake_zookeeper {
    struct fake_server server;
    enum fake_zookeeper_mode fake_zookeeper_mode;
    bool session_accepted;
    unsigned char bytes[8192];
    size_t used;
    bool received_password;
};

void fake_zookeeper_start(struct fake_zookeeper *zookeeper,
                          enum fake_zookeeper_mode fake_zookeeper_mode);
/* Do what there is to do, without waiting. */
void fake_zookeeper_serve(struct fake_zookeeper *zookeeper);

struct engine_fixture {
    uv_loop_t loop;
    struct hf_engine_host host;
    const struct hf_engine_ops *ops;
    struct hf_engine *engine;
    struct hf_error error;
    unsigned events;
    bool connected;
    bool closed;
};

void engine_fixture_start(struct engine_fixture *fixture);
/* .error tells why not. */
hf_status engine_fixture_open(struct engine_fixture *fixture, const char *text);
/* At ${peer}, with the password; ${options} begin with '?' or are "". */
void engine_fixture_open_at(struct engine_fixture *fixture,
                            const struct fake_zookeeper *zookeeper,
                            const char *options);
/* Until ${what} becomes true, the peer doing its part. */
void engine_fixture_run_until(struct engine_fixture *fixture,
                              struct fake_zookeeper *zookeeper,
                              const bool *what);
/* END, and free the engine once it is closed; the loop stays. */
void engine_fixture_end(struct engine_fixture *fixture,
                        struct fake_zookeeper *zookeeper);

#endif
