/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the store on PostgreSQL share:
 *
 *   pg_store.c       the calls under way
 *   call.c           sends calls as SQL
 *   result.c         reads their results
 *   examine.c        makes findings
 *   notice.c         reads notifications
 *   setup.c          prepares a new connection
 *   successor.c      looks at the other servers of the URL
 *   pg_connection.c  makes and ends a connection
 *   definition.c     compares the definitions of schemas
 *   pg_failure.c     classifies errors
 *
 * A file calls only functions of files below it; what the loop reports is
 * passed up by three pointers.  Nothing but the loop waits. */
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
    HF_PG_FAILED,     /* there is no connection; the loop will report that */
    HF_PG_RESOLVING,  /* the name of the host is being looked up */
    HF_PG_CONNECTING, /* libpq connects */
    HF_PG_PREPARING,  /* setup.c prepares the connection */
    /* Calls can be sent.  hf_leased_up() follows after the first look at the
     * other servers (successor.c). */
    HF_PG_UP,
};

/* The steps of setup.c, in this order. */
enum hf_pg_setup_step {
    /* set our parameters, read what the server is, and check who can change the
     * schemas */
    HF_PG_STEP_SETTINGS,
    /* a schema is missing: take a lock, so that only one client creates it */
    HF_PG_STEP_LOCK,
    HF_PG_STEP_CREATE, /* create what is missing */
    /* end the transaction of the two steps before, and check that nobody else
     * can change the schemas */
    HF_PG_STEP_COMMIT,
    /* check the tables, and the functions of this version */
    HF_PG_STEP_CHECK,
    HF_PG_STEP_LISTEN, /* prepare the statements, and listen for notices */
    HF_PG_STEPS
};

/* What the step LOCK found missing, so that CREATE creates it. */
enum hf_pg_missing {
    HF_PG_MISSING_NOTHING,
    HF_PG_MISSING_TABLES,
    HF_PG_MISSING_FUNCTIONS,
    HF_PG_MISSING_BOTH,
};

/* The poll handle for libpq's socket.  It lives until the loop has closed
 * it. */
struct hf_pg_socket_poll {
    uv_poll_t poll;
    struct hf_store *store;
    int fd;
    int events; /* events that the loop polls for; 0: it does not poll */
};

/* The most bytes that are read until libpq has a complete result or the
 * connection is made.  libpq itself has no bound. */
#define HF_PG_ANSWER_BYTES_MAX (16 << 20)
/* The most bytes that libpq may keep for a connection, including those of an
 * incomplete answer. */
#define HF_PG_KEPT_BYTES_MAX ((size_t)2 * HF_PG_ANSWER_BYTES_MAX)

/* The store: one connection, and the calls under way on it.  Only the functions
 * of these files write it. */
struct hf_store {
    struct hf_engine *engine;
    /* Functions that pg_connection.c calls; each may end the connection.
     * .on_connected: libpq has connected, and the state is PREPARING.
     * .on_input: there is input in the state PREPARING or UP. */
    void (*on_connected)(struct hf_store *store);
    void (*on_input)(struct hf_store *store);
    /* The connection could not be made or has ended, and is closed already. */
    void (*on_down)(struct hf_store *store, hf_status status, const char *why);
    struct hf_pg_config config;
    struct hf_resolver *resolver;
    struct hf_resolver_request ask;
    /* active while a failure is to be reported from the loop */
    uv_idle_t later;
    enum hf_pg_state state;
    /* serial number of the connection; a change shows that a callback has ended
     * it */
    uint64_t number;
    char session[HF_STORE_SESSION_BYTES];
    /* index of the host that is used, or that is tried next */
    size_t host_index;
    PGconn *conn;
    struct hf_pg_socket_poll *socket_poll;
    /* bytes received since libpq last had a complete result */
    size_t unread_bytes;
    /* Bytes received on this connection, less those that came out of libpq as
     * results, notifications and messages.  The rest are parameters of the
     * server (ParameterStatus), which libpq keeps as long as the connection
     * lasts, each name once. */
    size_t kept_bytes;
    enum hf_pg_setup_step step;
    enum hf_pg_missing missing;
    /* The last message that the server sent unasked, before it closed the
     * connection; or "". */
    char server_message[HF_PG_TEXT_BYTES];
    PGresult *result; /* PREPARING: the last result of the present step */
    int backend;      /* process id at the server; 0: unknown */
    /* the server's clock as last read, in milliseconds since 1970 */
    uint64_t server_ms;
    bool warned; /* the warning about fsync=off was logged */
    /* FAILED: the failure that is reported. */
    hf_status status;
    char why[HF_PG_TEXT_BYTES];
    /* UP: calls that were sent and are not answered, oldest first, linked by
     * .store_data. */
    struct hf_store_call *first;
    struct hf_store_call *last;
    /* The result of the statement of the first call; NULL until it has come.
     * And why the transaction of that call may not be committed or not be
     * durable; "": no sign of that. */
    PGresult *statement_result;
    char unsure_why[HF_PG_TEXT_BYTES];
    /* Tickets of the session that the last renewal found at the server but that
     * are in no ticket set.  Their removal was lost, for instance in a
     * failover, so the next renewal removes them. */
    struct hf_ticket_id orphans[HF_PG_ORPHANS_MAX];
    size_t orphan_count;
    /* The look of successor.c.  NULL if the URL has one server, or if memory
     * ran out. */
    struct hf_pg_look *look;
};

/* The state of a look for a successor. */
enum hf_pg_look_phase {
    HF_PG_LOOK_STOPPED, /* our connection is not up */
    HF_PG_LOOK_IDLE,    /* the next round begins at .at_ms */
    /* .connection asks a server, until .at_ms or .round_ends_ms */
    HF_PG_LOOK_ASKING,
};

/* A look for a server that was promoted in place of ours: successor.c. */
struct hf_pg_look {
    /* A connection of pg_connection.c, with the config and resolver of the
     * store .ours. */
    struct hf_store connection;
    struct hf_store *ours;
    enum hf_pg_look_phase phase;
    uint64_t at_ms;
    uint64_t round_ends_ms;
    /* Called when the first round after a connection was made has found no
     * successor.  NULL: it was called. */
    void (*then)(struct hf_store *store);
    size_t host; /* index of the host that is asked or was asked last */
    /* What each host has answered in this round. */
    struct hf_pg_timeline {
        bool answered;
        uint64_t timeline; /* 0: it is a standby */
    } hosts[HF_PG_HOSTS_MAX];
    /* The highest timeline that was seen, and the host that had it. */
    uint64_t highest;
    size_t highest_host;
};

/* ------------------------------------------------------------ connection -- */

/* Begin to connect, for ${session}: hf_store_ops.connect. */
void hf_pg_connect(struct hf_store *store, const char *session);

/* End the connection, if there is one, without a report.  Nothing more is
 * sent. */
void hf_pg_disconnect(struct hf_store *store);

/* Subtract from .kept_bytes what ${result}, or ${notice}, took on the
 * connection, because it has come out of libpq. */
void hf_pg_count_result(struct hf_store *store, const PGresult *result);
void hf_pg_count_notification(struct hf_store *store, const PGnotify *notice);

/* Have the messages received that the server sends unasked. */
void hf_pg_set_message_receiver(struct hf_store *store);

/* Note from ${message} of the server that the transaction of the first call may
 * not be committed, or not durably. */
void hf_pg_set_unsure(struct hf_store *store, const PGresult *message);

/* Send what libpq has buffered, and let the loop poll for input, and for output
 * if something is left. */
void hf_pg_flush_and_poll(struct hf_store *store);

/* Close the connection, because it has ended, cannot be used, or could not be
 * made, and call .on_down with the formatted text.  Called from the loop
 * only. */
void hf_pg_down(struct hf_store *store, hf_status status, const char *format,
                ...) __attribute__((format(printf, 3, 4)));

/* ------------------------------------------------------------- successor -- */

/* Begin to look from time to time whether another server of the URL was
 * promoted in place of ours.  ${then} is called when the first look has found
 * none; or at once, if the URL has one server or memory runs out.  If a look
 * finds one, our connection is ended and the next one goes there. */
void hf_pg_successor_watch(struct hf_store *store,
                           void (*then)(struct hf_store *store));

/* Stop to look, because the connection has ended. */
void hf_pg_successor_stop(struct hf_store *store);

/* Functions for hf_store_ops: .wake_at_ms and .tick, and a part of .after_fork
 * and .free. */
uint64_t hf_pg_successor_wake_at_ms(const struct hf_store *store);
void hf_pg_successor_tick(struct hf_store *store);
void hf_pg_successor_after_fork(const struct hf_store *store);
void hf_pg_successor_free(struct hf_store *store);

/* ----------------------------------------------------------------- setup -- */

/* Begin to prepare the new connection.  This ends with hf_leased_up() or
 * hf_pg_down(). */
void hf_pg_setup(struct hf_store *store);

/* Read input in the state PREPARING. */
void hf_pg_setup_read(struct hf_store *store);

/* Returns whether ${found}, a definition that a server sent, differs from
 * hf_pg_definition.  If ${functions} is false, missing functions are no
 * difference.  If it differs, ${text} becomes "it has" or "it lacks" with the
 * first such line, which is cut if it is long. */
bool hf_pg_definition_differs(const char *found, bool functions,
                              char text[HF_PG_TEXT_BYTES]);

/* ----------------------------------------------------------------- calls -- */

/* Send ${call}.  Returns false if memory runs out or the connection has
 * ended. */
bool hf_pg_call_send(struct hf_store *store, const struct hf_store_call *call);

/* Read input in the state UP: results and notices. */
void hf_pg_calls_read(struct hf_store *store);

/* Answer ${call}, whose transaction has ended, with ${result}.  ${unsure_why}
 * is why it is not known whether the transaction was committed; "": it was.
 *
 * If ${result} gives no answer, returns false with ${why}, and the connection
 * must be ended: the result is malformed, comes from another connection of a
 * pooler, or memory ran out. */
bool hf_pg_answer_call(struct hf_store *store, struct hf_store_call *call,
                       const PGresult *result, const char *unsure_why,
                       char why[HF_PG_TEXT_BYTES]);

/* Send the query of an EXAMINE.  Returns false as hf_pg_call_send() does. */
bool hf_pg_examine_send(PGconn *conn);

/* Write the address of the server of ${conn} to the ${bytes} of ${text}, as
 * host:port. */
void hf_pg_server_format(const PGconn *conn, char *text, size_t bytes);

/* hf_pg_examine_begin() adds to ${list} what the connection shows.
 * hf_pg_examine_add() adds a finding of sql/examine.sql, ${text}. */
void hf_pg_examine_begin(const struct hf_store *store,
                         struct hf_finding_list *list);
void hf_pg_examine_add(const struct hf_store *store,
                       struct hf_finding_list *list, uint64_t severity,
                       const char *text);

/* Pass ${notice} on to the leased client.  If it is malformed, it is
 * ignored. */
void hf_pg_notice(struct hf_store *store, const PGnotify *notice);

/* -------------------------------------------------------------- failures -- */

/* What an error of the server means. */
struct hf_pg_failure {
    enum hf_failure failure; /* how a call fails */
    hf_status status;
    bool ends_connection; /* the connection cannot be used any more */
};

/* Returns the meaning of an SQLSTATE; NULL: the connection has ended. */
struct hf_pg_failure hf_pg_failure(const char *state);

/* Returns the status of a connection that cannot be used because of the
 * SQLSTATE ${state}.  An unknown error may pass, so it becomes HF_EUNREACHABLE
 * and not HF_EPROTOCOL, which ends all waits. */
hf_status hf_pg_connection_status(const char *state);

/* Returns the status of a connection that failed with a message of libpq;
 * ${line} is its first line. */
hf_status hf_pg_libpq_status(const char *line);

/* Returns the key of entry ${index} of the two tables of failures: an SQLSTATE
 * (or its first characters), or a part of a text of libpq.  NULL: there are no
 * more entries. */
const char *hf_pg_cause(size_t index);

/* Copy the first line of ${from}, which a server sent, to ${to}: without
 * control characters, and cut between characters if it is longer than ${room} -
 * 1 bytes. */
void hf_pg_one_line(char *to, size_t room, const char *from);

/* Returns whether a call is committed and durable although ${warning} came with
 * it. */
bool hf_pg_is_harmless(const PGresult *warning);

/* Write the server's error in ${result} to ${text}, in one line with its
 * SQLSTATE. */
void hf_pg_format_error(const PGresult *result, char text[HF_PG_TEXT_BYTES]);

/* Write to ${text}, in one line, why the connection could not be made or has
 * ended.  Returns the status. */
hf_status hf_pg_connection_error(const struct hf_store *store,
                                 char text[HF_PG_TEXT_BYTES]);

#endif
