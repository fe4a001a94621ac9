/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of transports share: a loop that is run as the host runs it, and a
 * server on 127.0.0.1 that does as it is told. */
#ifndef HF_TESTS_TRANSPORT_LINK_FIXTURE_H
#define HF_TESTS_TRANSPORT_LINK_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "transport/connection.h"

/* ------------------------------------------------------------------ loop -- */

/* Work off what is ready, without sleeping. */
void loop_turn(uv_loop_t *loop);

/* Turn and sleep on the loop's descriptor until ${condition}; fails the test
 * after ten seconds. */
void loop_run_until(uv_loop_t *loop, bool (*condition)(void *arg), void *arg);

/* Close it; every handle must be closing already. */
void loop_end(uv_loop_t *loop);

/* Descriptors and threads of this process. */
int count_fds(void);
int count_threads(void);
/* Until there are ${count} threads again, within ten seconds. */
void await_threads(int count);

/* ---------------------------------------------------------------- server -- */

struct fake_server {
    int listener; /* -1: none */
    uint16_t port;
    int fd; /* the connection that was accepted last; -1: none */
};

void fake_server_listen(struct fake_server *server, int backlog);
void fake_server_accept(struct fake_server *server); /* waits for one */
void fake_server_send(struct fake_server *server, const void *bytes,
                      size_t count);
/* Wait for exactly so many bytes; what they are is in ${bytes}. */
void fake_server_receive(struct fake_server *server, void *bytes, size_t count);
/* How the connection ends: 0 at its end, else an errno.  Waits for it and drops
 * what comes before. */
int fake_server_await_end(struct fake_server *server);
void fake_server_hang_up(struct fake_server *server); /* an orderly end */
void fake_server_reset(struct fake_server *server);
void fake_server_stop(struct fake_server *server);

/* ---------------------------------------------------------------- client -- */

/* A link and what it told. */
struct link_fixture {
    uv_loop_t loop;
    struct hf_resolver *resolver;
    struct hf_connection *link;
    struct hf_connection_config way;
    bool up;
    bool down;
    bool writable;
    hf_status status; /* of .why */
    char why[HF_CONNECTION_TEXT_BYTES];
    size_t received;
    char bytes[4096];                   /* of the last call, from its start */
    char last[16];                      /* of all that was received */
    unsigned callbacks;                 /* calls of any kind */
    unsigned logged;                    /* lines */
    char log[HF_CONNECTION_TEXT_BYTES]; /* the last one */
    /* Where to close from inside the callback. */
    bool close_when_up;
    bool close_when_received;
    bool close_when_down;
};

void link_fixture_start(struct link_fixture *fixture);
/* False, with .why, if it fails at once. */
bool link_fixture_open(struct link_fixture *fixture, const char *host,
                       uint16_t port);
void link_fixture_await_up(struct link_fixture *fixture);
void link_fixture_await_down(struct link_fixture *fixture);
void link_fixture_await_bytes(struct link_fixture *fixture, size_t count);
/* Send all of it, waiting for room. */
void link_fixture_send(struct link_fixture *fixture, const void *bytes,
                       size_t count);
void link_fixture_close(struct link_fixture *fixture,
                        enum hf_connection_close_mode end);
/* Free everything; checks that nothing is told any more. */
void link_fixture_stop(struct link_fixture *fixture);

#endif
