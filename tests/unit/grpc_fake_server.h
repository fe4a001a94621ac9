/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake server of gRPC in memory: a server session of nghttp2, which does what
 * a test says, and the connection of grpc/grpc.h that talks to it.
 */
#ifndef HF_TESTS_GRPC_FAKE_SERVER_H
#define HF_TESTS_GRPC_FAKE_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "grpc/grpc.h"

#define SERVER_STREAMS 64

/* A stream as the server sees it. */
struct server_stream {
    int32_t id;
    char path[64];
    char token[64];     /* "": none */
    char hasleader[16]; /* "": none */
    uint8_t *received;  /* all bytes of DATA */
    size_t received_bytes;
    size_t received_room;
    bool ended;     /* the client has ended its side */
    bool closed;    /* nobody knows it any more */
    uint32_t reset; /* the code of the client's RST_STREAM */
    uint8_t *output;
    size_t output_bytes;
    size_t output_sent;
    int trailers; /* grpc-status to send behind the output; -1: none yet */
    char message[64];
};

struct server;

/* A server that allows ${streams} at the same time, and a client with
 * ${message_bytes} that allows 8 calls. */
struct server *server_open(uint32_t streams, size_t message_bytes);
void server_close(struct server *server);

/* The connection of the client; freed by server_close() too, if not yet. */
struct hf_grpc *server_client(struct server *server);
void server_free_client(struct server *server);

/* Pass bytes in both directions until there are none.  False if the client's
 * connection has failed. */
bool server_pump(struct server *server);

/* Pass the client's bytes to the server only. */
void server_pump_requests(struct server *server);

/* The number of streams that arrived so far. */
size_t server_streams(const struct server *server);

/* The stream with the index ${index}, in the order of arrival. */
struct server_stream *server_stream(struct server *server, size_t index);

/* Begin the response; a message; the end. */
void server_headers(struct server *server, struct server_stream *stream,
                    const char *http_status, const char *content_type);
void server_message(struct server *server, struct server_stream *stream,
                    const void *bytes, size_t count);
void server_bytes(struct server *server, struct server_stream *stream,
                  const void *bytes, size_t count);
void server_trailers(struct server *server, struct server_stream *stream,
                     int status, const char *message);

/* Headers and trailers in one: an error. */
void server_trailers_only(struct server *server, struct server_stream *stream,
                          const char *status, const char *message);

void server_reset(struct server *server, struct server_stream *stream,
                  uint32_t error);
void server_goaway(struct server *server, int32_t last_id, uint32_t error,
                   const char *text);

#endif
