/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SASL on one connection (RFC 4422, as ZOOKEEPER-938 carries it): behind the
 * ConnectResponse the client and the server send each other tokens, in rounds,
 * until both accept or one refuses.  This file has the state of that exchange.
 * The session does not read or make tokens, because a step of a mechanism may
 * take long or ask another server.  The session only says that a step is due,
 * and the driver does it.
 */
#ifndef HF_ZOOKEEPER_ZK_SASL_H
#define HF_ZOOKEEPER_ZK_SASL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <holdfast/status.h>

#define HF_ZK_SASL_NAME_BYTES 256

/* The longest token, and the most rounds.  A ticket of Kerberos has less than
 * 64 KiB, and a mechanism needs three rounds. */
#define HF_ZK_SASL_TOKEN_MAX (128 << 10)
#define HF_ZK_SASL_TOKENS_MAX 16

enum hf_zk_sasl_mechanism {
    HF_ZK_SASL_NONE,
    HF_ZK_SASL_DIGEST_MD5, /* the user and the password are .auth of the
                              session's configuration */
    HF_ZK_SASL_GSSAPI,     /* Kerberos */
};

/* The options of the URL about SASL. */
struct hf_zk_sasl_config {
    enum hf_zk_sasl_mechanism mechanism;
    char service[HF_ZK_SASL_NAME_BYTES]; /* of the servers' principals */
    char host[HF_ZK_SASL_NAME_BYTES];    /* of the servers' principals; "":
                                            chosen by the mechanism */
};

enum hf_zk_sasl_state {
    HF_ZK_SASL_OFF,      /* SASL is not used on this connection, or has ended */
    HF_ZK_SASL_STEP_DUE, /* the driver must do a step */
    HF_ZK_SASL_STEPPING, /* the driver is doing the step */
    HF_ZK_SASL_SENT,     /* a token was sent, which the server has not
                            answered */
};

/* The rounds of the current connection.  Others read .state. */
struct hf_zk_sasl {
    enum hf_zk_sasl_state state;
    bool done; /* the client has nothing more to say: the next answer ends the
                  rounds */
    unsigned rounds; /* tokens that were sent */
    int32_t xid;     /* of the last token that was sent */
    uint8_t *token;  /* the last token of the server; NULL: none */
    size_t count;
};

/* A step that is due.  .token is valid until the session is called again. */
struct hf_zk_sasl_step {
    bool first; /* the first step on the connection: there is no token of the
                   server yet */
    const void *token;
    size_t count;
};

/* The outcome of a step. */
struct hf_zk_sasl_result {
    hf_status status; /* HF_OK, or why the mechanism cannot go on: HF_EDENIED if
                         one side refuses the other */
    const char *why;  /* the text of a failure */
    const void *token; /* to be sent */
    size_t count;
    bool done; /* the mechanism needs no further token of the server.  If .count
                  is 0, too, SASL has ended */
};

#endif
