/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of transports share: a loop that is run as the host runs it, and a
 * server on 127.0.0.1 that does as it is told. */
#ifndef HF_TESTS_TRANSPORT_KIT_H
#define HF_TESTS_TRANSPORT_KIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "transport/connection.h"

/* ------------------------------------------------------------------ loop -- */

/* Work off what is ready, without sleeping. */
void kit_turn(uv_loop_t *loop);

/* Turn and sleep on the loop's descriptor until ${condition}; fails the test
 * after ten seconds. */
void kit_run_until(uv_loop_t *loop, bool (*condition)(void *arg), void *arg);

/* Close it; every handle must be closing already. */
void kit_loop_end(uv_loop_t *loop);

/* Descriptors and threads of this process. */
int kit_fds(void);
int kit_threads(void);
/* Until there are ${count} threads again, within ten seconds. */
void kit_await_threads(int count);

/* This program once more, as PROGRAM ${argument}: its wait status. */
int kit_run_self(const char *argument);

/* ---------------------------------------------------------------- server -- */

struct server {
    int listener; /* -1: none */
    uint16_t port;
    int fd; /* the connection that was accepted last; -1: none */
};

void server_listen(struct server *server, int backlog);
void server_accept(struct server *server); /* waits for one */
void server_send(struct server *server, const void *bytes, size_t count);
/* Wait for exactly so many bytes; what they are is in ${bytes}. */
void server_receive(struct server *server, void *bytes, size_t count);
/* How the connection ends: 0 at its end, else an errno.  Waits for it and drops
 * what comes before. */
int server_await_end(struct server *server);
void server_hang_up(struct server *server); /* an orderly end */
void server_reset(struct server *server);
void server_stop(struct server *server);

/* ---------------------------------------------------------------- client -- */

/* A link and what it told. */
struct client {
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
    unsigned told;                      /* calls of any kind */
    unsigned logged;                    /* lines */
    char log[HF_CONNECTION_TEXT_BYTES]; /* the last one */
    /* Where to close from inside the callback. */
    bool close_when_up;
    bool close_when_received;
    bool close_when_down;
};

void client_start(struct client *client);
/* False, with .why, if it fails at once. */
bool client_open(struct client *client, const char *host, uint16_t port);
void client_await_up(struct client *client);
void client_await_down(struct client *client);
void client_await_bytes(struct client *client, size_t count);
/* Send all of it, waiting for room. */
void client_send(struct client *client, const void *bytes, size_t count);
void client_close(struct client *client, enum hf_connection_close_mode end);
/* Free everything; checks that nothing is told any more. */
void client_stop(struct client *client);

#endif
