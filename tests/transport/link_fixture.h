/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of connections share: a libuv loop that is run as a client of the
 * library runs it, a fake server on 127.0.0.1, and a link to it. */
#ifndef HF_TESTS_TRANSPORT_LINK_FIXTURE_H
#define HF_TESTS_TRANSPORT_LINK_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "transport/connection.h"

/* ------------------------------------------------------------------ loop -- */

/* Run what is ready, without a wait. */
void loop_turn(uv_loop_t *loop);

/* Run the loop, and wait on its descriptor, until ${condition} is true.  Fails
 * the test after a minute. */
void loop_run_until(uv_loop_t *loop, bool (*condition)(void *arg), void *arg);

/* Close the loop.  Fails the test if a handle is open. */
void loop_end(uv_loop_t *loop);

/* How many descriptors and threads this process has. */
int count_fds(void);
int count_threads(void);
/* Wait until there are ${count} threads; fails the test after a minute. */
void await_threads(int count);

/* ---------------------------------------------------------------- server -- */

/* A server that does what the test says, one call at a time.  Calls block, and
 * fail the test after a minute. */
struct fake_server {
    int listener; /* -1: none */
    uint16_t port;
    int fd; /* the connection that was accepted last; -1: none */
};

void fake_server_listen(struct fake_server *server, int backlog);
void fake_server_accept(struct fake_server *server); /* waits for one */
void fake_server_send(struct fake_server *server, const void *bytes,
                      size_t count);
/* Receive ${count} bytes. */
void fake_server_receive(struct fake_server *server, void *bytes, size_t count);
/* Drop what comes until the client ends the connection: 0, or the errno that it
 * ended with. */
int fake_server_await_end(struct fake_server *server);
void fake_server_hang_up(struct fake_server *server); /* an orderly end */
void fake_server_reset(struct fake_server *server);
void fake_server_stop(struct fake_server *server);

/* ---------------------------------------------------------------- client -- */

/* A link to a fake server, with its own loop and resolver, and what its
 * callbacks were called with. */
struct link_fixture {
    uv_loop_t loop;
    struct hf_resolver *resolver;
    struct hf_connection *link;
    struct hf_connection_config way;
    bool up;
    bool down;
    bool writable;
    hf_status status; /* of on_down or of an open that failed, with .why */
    char why[HF_CONNECTION_TEXT_BYTES];
    size_t received;      /* bytes so far */
    char bytes[4096];     /* the first bytes of the last callback */
    char last[16];        /* the last bytes of all */
    unsigned callbacks;   /* of any kind */
    uint64_t resolver_ms; /* what the clock of .resolver shows */
    unsigned logged;      /* lines */
    char log[HF_CONNECTION_TEXT_BYTES]; /* the last one */
    /* Close the link from inside that callback. */
    bool close_when_up;
    bool close_when_received;
    bool close_when_down;
};

void link_fixture_start(struct link_fixture *fixture);
/* Begin to connect.  False, with .status and .why, if that fails at once. */
bool link_fixture_open(struct link_fixture *fixture, const char *host,
                       uint16_t port);
void link_fixture_await_up(struct link_fixture *fixture);
void link_fixture_await_down(struct link_fixture *fixture);
void link_fixture_await_bytes(struct link_fixture *fixture, size_t count);
/* Send all bytes, and wait for room where there is none. */
void link_fixture_send(struct link_fixture *fixture, const void *bytes,
                       size_t count);
void link_fixture_close(struct link_fixture *fixture,
                        enum hf_connection_close_mode end);
/* Free all, and check that no callback comes any more. */
void link_fixture_stop(struct link_fixture *fixture);

#endif
