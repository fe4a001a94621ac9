/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in of grpc/grpc.h for tests of a session: its calls go to a list,
 * from which a test, as the server, takes messages and answers them.  There are
 * no frames.  What the server does takes effect in hf_grpc_receive(), as on a
 * connection.
 */
#ifndef HF_TESTS_ETCD_FAKE_GRPC_H
#define HF_TESTS_ETCD_FAKE_GRPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "grpc/grpc.h"

#define FAKE_MESSAGES 64

/* A message of the client. */
struct fake_message {
    unsigned char *bytes;
    size_t count;
};

/* A call that runs, as the server sees it. */
struct fake_call {
    struct hf_grpc_call *call;
    const char *method;
    char token[64]; /* "": none */
    bool hasleader;
    bool unsent; /* the client's bytes were not taken yet */
    struct fake_message messages[FAKE_MESSAGES]; /* that were not taken */
    size_t message_count;
    struct fake_call *next;
};

/* The connection that there is, or NULL; tests have one at a time. */
struct hf_grpc *fake_grpc(void);

/* The calls of ${grpc} that run, the oldest first. */
struct fake_call *fake_calls(struct hf_grpc *grpc);

/* Remove the first message of ${call}; the caller frees its bytes. */
struct fake_message fake_take(struct fake_call *call);

/* What the server does in the next hf_grpc_receive(): sends a message, ends the
 * call, says that it goes away, or breaks the connection. */
void fake_send(struct fake_call *call, const void *bytes, size_t count);
void fake_end(struct fake_call *call, const struct hf_grpc_result *result);
void fake_go_away(struct hf_grpc *grpc);
void fake_break(struct hf_grpc *grpc, const char *failure);

/* From now on calls and messages are not taken to be sent. */
void fake_hold(struct hf_grpc *grpc, bool hold);

#endif
