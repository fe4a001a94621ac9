/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the store on PostgreSQL share.  pg_store.c has the calls
 * under way, call.c sends calls as SQL, result.c reads their results, examine.c
 * makes findings, notice.c reads notifications, setup.c prepares the
 * connection, successor.c looks at the other servers of the URL,
 * pg_connection.c makes and ends a connection, definition.c compares the
 * definitions of schemas, and pg_failure.c says what errors mean.  Each calls
 * only those behind it; what the loop reports goes up by three pointers.  Only
 * the loop waits for anything. */
#ifndef HF_ENGINES_POSTGRES_PG_PRIVATE_H
#define HF_ENGINES_POSTGRES_PG_PRIVATE_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "core/finding_list.h"
#include "engines/leased/leased_engine.h"
#include "engines/postgres/config.h"
#include "transport/resolver.h"

/* Size of a message about a failure, with the NUL. */
#define HF_PG_TEXT_BYTES 320

/* The most orphaned tickets that one renewal removes. */
#define HF_PG_ORPHANS_MAX 64

/* State of the connection. */
enum hf_pg_state {
    HF_PG_NONE,       /* no connection is wanted */
    HF_PG_FAILED,     /* there is no connection; the loop is to report that */
    HF_PG_RESOLVING,  /* the name of the host is being looked up */
    HF_PG_CONNECTING, /* libpq connects */
    HF_PG_PREPARING,  /* setup.c prepares it */
    /* It can be called.  hf_leased_up() follows, after the first look at the
     * other servers (successor.c). */
    HF_PG_UP,
};

/* The steps of setup.c, in this order. */
enum hf_pg_setup_step {
    HF_PG_STEP_SETTINGS, /* set our parameters, read what the server is, and
                          * check who can change the schemas */
    HF_PG_STEP_LOCK,     /* a schema is missing: lock, so that one client
                          * creates it */
    HF_PG_STEP_CREATE,   /* create what is missing */
    HF_PG_STEP_COMMIT,   /* end the transaction of the two steps before, and
                          * check that nobody else can change the schemas */
    HF_PG_STEP_CHECK,    /* check tables, and the functions of this version */
    HF_PG_STEP_LISTEN,   /* prepare the statements, and listen for notices */
    HF_PG_STEPS
};

/* What LOCK found missing, and CREATE creates. */
enum hf_pg_missing {
    HF_PG_MISSING_NOTHING,
    HF_PG_MISSING_TABLES,
    HF_PG_MISSING_FUNCTIONS,
    HF_PG_MISSING_BOTH,
};

/* libpq's socket in the loop.  It lives until the loop has closed the
 * handle. */
struct hf_pg_socket_poll {
    uv_poll_t poll;
    struct hf_store *store;
    int fd;
    int events; /* events that the loop polls for; 0: it does not poll */
};

/* The most bytes that are read before libpq has a complete result, or the
 * connection is made.  libpq itself has no bound. */
#define HF_PG_ANSWER_BYTES_MAX (16 << 20)
/* The most bytes that libpq may keep for a connection, including those of an
 * answer under way. */
#define HF_PG_KEPT_BYTES_MAX ((size_t)2 * HF_PG_ANSWER_BYTES_MAX)

/* The store: one connection, and the calls under way on it. */
struct hf_store {
    struct hf_engine *engine;
    /* Called by pg_connection.c, set by pg_store.c.  .on_connected: libpq has
     * connected, and the state is PREPARING.  .on_input: there is input, and
     * the state is PREPARING or UP.  Both may end the connection. */
    void (*on_connected)(struct hf_store *store);
    void (*on_input)(struct hf_store *store);
    /* The connection could not be made or has ended, and is closed. */
    void (*on_down)(struct hf_store *store, hf_status status, const char *why);
    struct hf_pg_config config;
    struct hf_resolver *resolver;
    struct hf_resolver_request ask;
    uv_idle_t later; /* active while a failure is to be reported */
    enum hf_pg_state state;
    /* serial number of the connection: shows that a callback has ended it */
    uint64_t number;
    char session[HF_STORE_SESSION_BYTES];
    size_t host_index; /* index of the host that is used, or tried next */
    PGconn *conn;
    struct hf_pg_socket_poll *socket_poll;
    size_t unread_bytes; /* received since libpq last had a complete result */
    /* Received on this connection, less what came out of libpq as results,
     * notifications and messages.  The rest are parameters of the server
     * (ParameterStatus), which libpq keeps, each name once, for as long as the
     * connection lasts. */
    size_t kept_bytes;
    enum hf_pg_setup_step step;
    enum hf_pg_missing missing;
    /* The last message that the server sent unasked, before it closed the
     * connection; or "". */
    char server_message[HF_PG_TEXT_BYTES];
    PGresult *result; /* PREPARING: the last result of the step */
    int backend;      /* process id at the server; 0: unknown */
    /* the server's clock as last read, in milliseconds since 1970 */
    uint64_t server_ms;
    bool warned; /* about fsync=off, once */
    /* FAILED: what is to be reported. */
    hf_status status;
    char why[HF_PG_TEXT_BYTES];
    /* UP: calls that were sent and not answered, oldest first, linked by
     * .store_data. */
    struct hf_store_call *first;
    struct hf_store_call *last;
    /* The result of the statement of the first call; NULL while it has not
     * come. And why the transaction of that call may not be committed, or not
     * be durable; "" if nothing says so. */
    PGresult *statement_result;
    char unsure_why[HF_PG_TEXT_BYTES];
    /* Tickets of the session that the last renewal found at the server and that
     * are in no ticket set.  The removal of each was lost, as in a failover. */
    struct hf_ticket_id orphans[HF_PG_ORPHANS_MAX];
    size_t orphan_count;
    /* successor.c; NULL: the URL has one server, or there is no memory. */
    struct hf_pg_look *look;
};

/* What a look for a successor is at. */
enum hf_pg_look_phase {
    HF_PG_LOOK_STOPPED, /* our connection is not up */
    HF_PG_LOOK_IDLE,    /* a round begins at .at_ms */
    HF_PG_LOOK_ASKING,  /* .connection asks a server, until .at_ms or
                           .round_ends_ms */
};

/* A look for a server that was promoted in place of ours: successor.c. */
struct hf_pg_look {
    /* A connection of pg_connection.c; its config and resolver are those of
     * the store .ours. */
    struct hf_store connection;
    struct hf_store *ours;
    enum hf_pg_look_phase phase;
    uint64_t at_ms;
    uint64_t round_ends_ms;
    /* Called when the first round of a connection has found no successor;
     * NULL: that was done. */
    void (*then)(struct hf_store *store);
    size_t host; /* index of the host that is asked, or was asked last */
    /* What each host has said in this round. */
    struct hf_pg_timeline {
        bool answered;
        uint64_t timeline; /* 0: it is a standby */
    } hosts[HF_PG_HOSTS_MAX];
    /* The highest timeline that is known, and the host that had it. */
    uint64_t highest;
    size_t highest_host;
};

/* ------------------------------------------------------------ connection -- */

/* Begin to connect, for ${session}: hf_store_ops.connect. */
void hf_pg_connect(struct hf_store *store, const char *session);

/* End the connection, if there is one, without a report.  What was not sent yet
 * is not sent. */
void hf_pg_disconnect(struct hf_store *store);

/* ${result}, or ${notice}, has come out of libpq: subtract the bytes that it
 * took on the connection from .kept_bytes. */
void hf_pg_count_result(struct hf_store *store, const PGresult *result);
void hf_pg_count_notification(struct hf_store *store, const PGnotify *notice);

/* Receive the messages that the server sends unasked. */
void hf_pg_set_message_receiver(struct hf_store *store);

/* The server sent ${message}, which means that the transaction of the first
 * call may not be committed, or not durably. */
void hf_pg_set_unsure(struct hf_store *store, const PGresult *message);

/* Send what libpq has buffered, and let the loop poll for input, and for output
 * if something is left. */
void hf_pg_flush_and_poll(struct hf_store *store);

/* Called from the loop: the connection has ended, or cannot be used, or could
 * not be made.  Closes it, and calls .on_down with the formatted text. */
void hf_pg_down(struct hf_store *store, hf_status status, const char *format,
                ...) __attribute__((format(printf, 3, 4)));

/* ------------------------------------------------------------- successor -- */

/* The connection can be used: look from now on whether another server of the
 * URL was promoted in place of the one that we use.  ${then} is called when
 * the first look has found none; at once if the URL has one server, or memory
 * runs out.  If a look finds one, the connection ends, and the next one goes
 * there. */
void hf_pg_successor_watch(struct hf_store *store,
                           void (*then)(struct hf_store *store));

/* The connection has ended: look no more. */
void hf_pg_successor_stop(struct hf_store *store);

/* hf_store_ops.wake_at_ms and .tick, and what .after_fork and .free do. */
uint64_t hf_pg_successor_wake_at_ms(const struct hf_store *store);
void hf_pg_successor_tick(struct hf_store *store);
void hf_pg_successor_after_fork(const struct hf_store *store);
void hf_pg_successor_free(struct hf_store *store);

/* ----------------------------------------------------------------- setup -- */

/* The connection is there: begin to prepare it.  Ends with hf_leased_up() or
 * hf_pg_down(). */
void hf_pg_setup(struct hf_store *store);

/* PREPARING: there is input. */
void hf_pg_setup_read(struct hf_store *store);

/* Does ${found}, from a server, differ from hf_pg_definition?  If ${functions}
 * is false, it is no difference that the functions are missing.  If it
 * differs, ${text} becomes "it has" or "it lacks" with the first such line,
 * cut if it is long. */
bool hf_pg_definition_differs(const char *found, bool functions,
                              char text[HF_PG_TEXT_BYTES]);

/* ----------------------------------------------------------------- calls -- */

/* Send ${call}.  False if memory runs out or the connection has ended. */
bool hf_pg_call_send(struct hf_store *store, const struct hf_store_call *call);

/* UP: there is input, perhaps with results and notices. */
void hf_pg_calls_read(struct hf_store *store);

/* Answer ${call}, whose transaction has ended, by ${result}.  ${unsure_why}
 * says why it is unknown whether the transaction was committed; "" if it was.
 * False, with ${why}, if ${result} gives no answer, because it is malformed,
 * comes from another connection of a pooler, or needs too much memory: the
 * connection has to end. */
bool hf_pg_answer_call(struct hf_store *store, struct hf_store_call *call,
                       const PGresult *result, const char *unsure_why,
                       char why[HF_PG_TEXT_BYTES]);

/* Send what an EXAMINE asks.  False as hf_pg_call_send(). */
bool hf_pg_examine_send(PGconn *conn);

/* Write the address of the server of ${conn} to the ${bytes} of ${text}, as
 * host:port. */
void hf_pg_server_format(const PGconn *conn, char *text, size_t bytes);

/* Add to ${list} what the connection shows; and the finding ${text} of
 * sql/examine.sql. */
void hf_pg_examine_begin(const struct hf_store *store,
                         struct hf_finding_list *list);
void hf_pg_examine_add(const struct hf_store *store,
                       struct hf_finding_list *list, uint64_t severity,
                       const char *text);

/* Pass ${notice} on to the leased client; ignored if it is malformed. */
void hf_pg_notice(struct hf_store *store, const PGnotify *notice);

/* -------------------------------------------------------------- failures -- */

/* What an error of the server means. */
struct hf_pg_failure {
    enum hf_failure failure; /* of a call */
    hf_status status;
    bool ends_connection; /* the connection cannot be used any more */
};

/* What an SQLSTATE means; NULL: the connection ended. */
struct hf_pg_failure hf_pg_failure(const char *state);

/* The status of a connection that cannot be used because of the SQLSTATE
 * ${state}.  An unknown one may pass, so it becomes HF_EUNREACHABLE and not
 * HF_EPROTOCOL, which ends waits. */
hf_status hf_pg_connection_status(const char *state);

/* The status of a connection that failed with a message of libpq whose first
 * line is ${line}. */
hf_status hf_pg_libpq_status(const char *line);

/* The key of entry ${index} of the two tables of failures: an SQLSTATE (or its
 * first characters), or a part of a text of libpq.  NULL behind the last
 * entry. */
const char *hf_pg_cause(size_t index);

/* Copy the first line of ${from}, which a server sent, to ${to}: without
 * control characters, and cut between characters if it is longer than ${room} -
 * 1 bytes. */
void hf_pg_one_line(char *to, size_t room, const char *from);

/* Is a call committed and durable although ${warning} came with it? */
bool hf_pg_is_harmless(const PGresult *warning);

/* The server's error in ${result} in one line, with its SQLSTATE. */
void hf_pg_format_error(const PGresult *result, char text[HF_PG_TEXT_BYTES]);

/* Write why the connection could not be made or has ended to ${text}, in one
 * line, and return the status for that. */
hf_status hf_pg_connection_error(const struct hf_store *store,
                                 char text[HF_PG_TEXT_BYTES]);

#endif
