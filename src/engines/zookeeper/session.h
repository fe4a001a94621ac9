/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session and the connections that carry it: which server, the greeting,
 * the first of the two clocks (is the link alive, may the session be), and the
 * goodbye.
 *
 * Each server grants a timeout of its own, within its limits.  The leader
 * counts the one of the last server that it heard of the session from, and a
 * new leader the one of the session's creation.  A server that was left may be
 * heard late, and a resume without an answer may be carried out late.  So the
 * session goes by the shortest that any of them may bring: for how long it is
 * safe, how often it is heard of, and when it is lost.
 */
#ifndef HF_ENGINES_ZOOKEEPER_SESSION_H
#define HF_ENGINES_ZOOKEEPER_SESSION_H

#include <holdfast/holdfast.h>

#include "core/attempt.h"
#include "core/engine.h"
#include "engines/zookeeper/config.h"
#include "engines/zookeeper/wire.h"

enum hf_zk_session_state {
    HF_ZK_IDLE,     /* the policy gave up: waits for hf_zk_connect() */
    HF_ZK_WAITING,  /* for the next attempt to connect */
    HF_ZK_OPENING,  /* a connection is being made */
    HF_ZK_GREETING, /* it is there, and so is our ConnectRequest */
    HF_ZK_UP,       /* accepted */
    HF_ZK_ENDING,   /* we have said goodbye */
    HF_ZK_ENDED,
};

/* A server for TLS closes a connection without it in silence, as one without a
 * quorum does.  So, before there ever was a session, each server that does so
 * is asked once: the next connection to it begins with TLS' own goodbye, which
 * a server for TLS answers with its own, and any other with nothing. */
enum hf_zk_tls_question {
    HF_ZK_TLS_UNASKED,
    HF_ZK_TLS_ASK, /* on the next connection */
    HF_ZK_TLS_ASKED,
};

struct hf_zk_session {
    unsigned state;
    /* The session: .id is 0 while there is none. */
    int64_t id;
    uint8_t password[HF_ZK_PASSWORD_BYTES];
    uint64_t timeout_ms; /* the shortest that may be in force */
    uint64_t least_ms;   /* the shortest ever granted, to any session */
    int64_t zxid;        /* all events up to this transaction have come */
    /* Link alive: when the last answered request was sent, and a timeout.
     * Later than this the session is no more for us. */
    uint64_t alive_until_ms;
    /* The connection. */
    uint64_t number;
    size_t server; /* its index */
    enum hf_zk_tls_question tls[HF_ZK_SERVERS_MAX];
    struct hf_attempts attempts;
    size_t silences;   /* of them, since there was a session, those in which
                          nothing was heard */
    uint64_t up_at_ms; /* since when it is UP */
    uint64_t greeted_at_ms;
    uint64_t until_ms; /* WAITING: the next attempt; OPENING, GREETING, ENDING:
                          the end of our patience */
    /* The goodbye. */
    struct hf_request *end;
    bool cutting; /* drop or lose is telling: an END waits for them */
    struct hf_zk_call end_call;
    char trouble[HF_ERROR_TEXT_BYTES]; /* why there is no connection, or "" */
    /* Of each server's last trouble, since there was a session: a list of dead
     * ones must not fill the log with what it says already. */
    uint64_t logged[HF_ZK_SERVERS_MAX];
};

struct hf_zk;

/* Want the first connection. */
void hf_zk_session_begin(struct hf_zk *zk);

/* As hf_engine_ops.connect. */
void hf_zk_session_connect(struct hf_zk *zk);

/* May calls be made? */
bool hf_zk_session_usable(const struct hf_zk_session *session);

/* Is a connection there, or wanted? */
bool hf_zk_session_linked(const struct hf_zk_session *session);

/* The connection is there. */
void hf_zk_session_greet(struct hf_zk *zk);

/* How a TLS record begins that is an alert, RFC 8446, 5.1: 0x15 and a version,
 * which differs, and the first byte of its length. */
#define HF_ZK_TLS_ALERT 0x15030100

#define HF_ZK_NOT_ZOOKEEPER                                                    \
    "an answer that is not ZooKeeper's; see whether the port is right"

/* The connection was closed without a word, and there is no session. */
void hf_zk_session_closed_silently(struct hf_zk *zk);

/* The answer to our greeting. */
void hf_zk_session_greeted(struct hf_zk *zk, struct hf_jute_reader *frame);

/* A request sent at ${sent_at_ms} has been answered. */
void hf_zk_session_answered(struct hf_zk *zk, uint64_t sent_at_ms);

/* The connection has ended, or is of no use any more, for the reason given.
 * HF_EUNREACHABLE: trying again may help by itself. */
void hf_zk_session_drop(struct hf_zk *zk, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void hf_zk_session_drop_as(struct hf_zk *zk, hf_status status,
                           const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The session is over: every ticket has gone or will go. */
void hf_zk_session_lose(struct hf_zk *zk, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* HF_REQUEST_END */
void hf_zk_session_end(struct hf_zk *zk, struct hf_request *request);

void hf_zk_session_tick(struct hf_zk *zk);
uint64_t hf_zk_session_wake_at_ms(const struct hf_zk *zk);

#endif
