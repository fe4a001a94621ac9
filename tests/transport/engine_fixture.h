/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ZooKeeper engine with its loop and its host, which keeps the events; and
 * a fake ZooKeeper server that accepts a session, answers every call with
 * success and closes.
 */
#ifndef HF_TESTS_TRANSPORT_ENGINE_FIXTURE_H
#define HF_TESTS_TRANSPORT_ENGINE_FIXTURE_H

#include "base/engine_host.h"
#include "engines/zookeeper/zookeeper.h"
#include "link_fixture.h"

/* The password of the user "u".  No log line and no text may contain it. */
#define ENGINE_FIXTURE_PASSWORD "QJXZW"

/* How far a connection gets. */
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
/* Accept, receive and answer what there is, without a wait. */
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
/* Open the engine with the URL ${text}; a failure has its text in .error. */
hf_status engine_fixture_open(struct engine_fixture *fixture, const char *text);
/* Open it at the fake server with ENGINE_FIXTURE_PASSWORD.  ${options} is "" or
 * begins with '?'. */
void engine_fixture_open_at(struct engine_fixture *fixture,
                            const struct fake_zookeeper *zookeeper,
                            const char *options);
/* Run the loop and the fake server until ${what} is true. */
void engine_fixture_run_until(struct engine_fixture *fixture,
                              struct fake_zookeeper *zookeeper,
                              const bool *what);
/* END, and free the engine once it is closed.  The loop stays. */
void engine_fixture_end(struct engine_fixture *fixture,
                        struct fake_zookeeper *zookeeper);

#endif
