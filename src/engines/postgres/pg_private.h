/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store of leased tickets in PostgreSQL.  pg_connection.c makes and ends
 * the connection, setup.c prepares it, call.c says what a call is in SQL,
 * result.c what the server says to it, notice.c what it says unasked, and
 * pg_store.c has the calls that are under way.  Nothing waits for anything but
 * in the loop.
 */
#ifndef HF_ENGINES_POSTGRES_PG_PRIVATE_H
#define HF_ENGINES_POSTGRES_PG_PRIVATE_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "engines/leased/leased_engine.h"
#include "engines/postgres/config.h"
#include "transport/resolver.h"

/* What is said of trouble, with the NUL. */
#define HF_PG_TEXT_BYTES 320

/* As many tickets that nobody knows are taken out with one renewal. */
#define HF_PG_ORPHANS_MAX 64

enum hf_pg_state {
    HF_PG_NONE,       /* no connection is wanted */
    HF_PG_FAILED,     /* there is none, of which will be told */
    HF_PG_RESOLVING,  /* its name is being looked up */
    HF_PG_CONNECTING, /* libpq is at it */
    HF_PG_PREPARING,  /* setup.c is */
    HF_PG_UP,
};

enum hf_pg_setup_step {
    HF_PG_STEP_SETTINGS, /* ours, and who the server is */
    HF_PG_STEP_LOCK,     /* no schema: make it, unless somebody else does */
    HF_PG_STEP_CREATE,
    HF_PG_STEP_COMMIT, /* somebody else has */
    HF_PG_STEP_RIGHTS, /* that nobody else can change it */
    HF_PG_STEP_CHECK,  /* that it is ours */
    HF_PG_STEP_LISTEN,
    HF_PG_STEPS
};

/* A descriptor of libpq in the loop; lives until the loop has let go of it. */
struct hf_pg_socket_poll {
    uv_poll_t poll;
    struct hf_store *store;
    int fd;
    int events; /* that the loop tells of; 0: of none */
};

/* So much is read until libpq has a result that is whole, or the connection is
 * made: it would take in what a server sends for as long as that sends. */
#define HF_PG_ANSWER_BYTES_MAX (16 << 20)

struct hf_store {
    struct hf_engine *engine;
    struct hf_pg_config config;
    struct hf_resolver *resolver;
    struct hf_resolver_request ask;
    uv_idle_t later; /* active while a failure is to be told */
    enum hf_pg_state state;
    uint64_t number; /* of the connection, another one for each */
    char session[HF_STORE_SESSION_BYTES];
    size_t host_index; /* which of the hosts */
    PGconn *conn;
    struct hf_pg_socket_poll *socket_poll;
    size_t unread_bytes; /* that came since libpq last had something whole */
    enum hf_pg_setup_step step;
    /* What the server said last without having been asked; "": nothing. */
    char server_message[HF_PG_TEXT_BYTES];
    PGresult *result;   /* PREPARING: the last of the step */
    int backend;        /* the server's process; 0: not known yet */
    uint64_t server_ms; /* its clock, as heard last */
    bool warned;        /* of a server that does not write down at once */
    /* FAILED */
    hf_status status;
    char why[HF_PG_TEXT_BYTES];
    /* UP: calls that were sent, in order, .store_data being the next. */
    struct hf_store_call *first;
    struct hf_store_call *last;
    /* What the statement of the first call returned, NULL while it has not; and
     * why nobody knows whether that was committed, "" if nothing says so. */
    PGresult *statement_result;
    char unsure_why[HF_PG_TEXT_BYTES];
    /* The session's tickets that the last renewal found at the server and that
     * are in no stake: the removal of each was lost, as by a failover. */
    struct hf_ticket_id orphans[HF_PG_ORPHANS_MAX];
    size_t orphan_count;
};

/* ------------------------------------------------------------------ link -- */

void hf_pg_connect(struct hf_store *store, const char *session);

/* End the connection, if there is one, and tell nobody.  What the server has
 * not got yet it does not get. */
void hf_pg_disconnect(struct hf_store *store);

/* What the server says without having been asked is taken from now on. */
void hf_pg_set_message_receiver(struct hf_store *store);

/* Have the loop tell what there is to be read, and to be written if libpq has
 * something left. */
void hf_pg_flush_and_poll(struct hf_store *store);

/* From the loop: the connection has ended, is of no use, or could not be
 * made. */
void hf_pg_down(struct hf_store *store, hf_status status, const char *format,
                ...) __attribute__((format(printf, 3, 4)));

/* ----------------------------------------------------------------- setup -- */

/* The connection is there: prepare it, and say hf_leased_up(). */
void hf_pg_setup(struct hf_store *store);

/* There is something to be read. */
void hf_pg_setup_read(struct hf_store *store);

/* Does ${found}, which a server sent, differ from hf_pg_definition?  If so, set
 * ${text} to "it has" or "it lacks" and the line in question, cut if it is
 * long. */
bool hf_pg_definition_differs(const char *found, char text[HF_PG_TEXT_BYTES]);

/* ----------------------------------------------------------------- calls -- */

/* Send ${call}.  False for lack of memory, or if the connection has ended. */
bool hf_pg_call_send(struct hf_store *store, const struct hf_store_call *call);

/* There is something to be read, and answers perhaps. */
void hf_pg_calls_read(struct hf_store *store);

/* The server has said something, ${said}, by which the transaction of the first
 * call may not have been committed, or not for good. */
void hf_pg_set_unsure(struct hf_store *store, const PGresult *message);

/* Tell the leased client what ${result} answers to ${call}, whose transaction
 * has ended; ${doubt} is why nobody knows whether it was committed, "" if it
 * was.  False if the result makes no sense, with ${why}. */
bool hf_pg_answer_call(struct hf_store *store, struct hf_store_call *call,
                       const PGresult *result, const char *unsure_why,
                       char why[HF_PG_TEXT_BYTES]);

/* Tell what ${notice} says; one that makes no sense is passed over. */
void hf_pg_notice(struct hf_store *store, const PGnotify *notice);

/* --------------------------------------------------------------- trouble -- */

struct hf_pg_failure {
    enum hf_failure failure; /* of a call */
    hf_status status;
    bool ends_connection; /* the connection is of no use any more */
};

/* What an SQLSTATE, or NULL, means for who asked. */
struct hf_pg_failure hf_pg_failure(const char *state);

/* The status of a connection that is of no use because of that.  A state that
 * is not known may pass: it is no nonsense, which ends waits. */
hf_status hf_pg_connection_status(const char *state);

/* Copy the first line of ${from}, which a server sent, to ${to} of ${room}
 * bytes: without control characters, and cut, but in no character, if it does
 * not fit. */
void hf_pg_one_line(char *to, size_t room, const char *from);

/* Does a call that ${warning} came with count as committed all the same? */
bool hf_pg_is_harmless(const PGresult *warning);

/* What the server says in ${result}, in one line with its SQLSTATE. */
void hf_pg_format_error(const PGresult *result, char text[HF_PG_TEXT_BYTES]);

/* Why the connection could not be made or has ended: the status, and a line. */
hf_status hf_pg_connection_error(const struct hf_store *store,
                                 char text[HF_PG_TEXT_BYTES]);

#endif
