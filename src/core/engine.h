/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine contract: what the core asks of the system that keeps the queues
 * (ZooKeeper, Redis, PostgreSQL, a directory).
 *
 * An engine translates requests into the protocol of its server, and answers
 * into events, and does nothing else.  Retry, deadlines, admission and
 * ownership belong to the core.
 *
 * Words: a *ticket* is an entry of a queue.  A *flag* belongs to nobody and
 * stays until it is cleared: BARRIER says that a barrier is set, READY that a
 * double barrier has begun a generation.  A flag is shown as a ticket of that
 * kind.
 *
 * Rules
 *
 *  - Every request except UNWATCH is answered by exactly one event that names
 *    it, either from inside hf_engine_ops.request or later.  The memory of the
 *    request belongs to the core.  It stays valid until the answer and may be
 *    gone afterwards; that of a WATCH or WATCH_QUEUE stays valid until its GONE
 *    or QUEUE_CHANGED, until the engine returns from the UNWATCH, or until the
 *    session is over.
 *  - A WATCH that was answered WATCHING is followed either by exactly one GONE,
 *    or by the core's UNWATCH, after which nothing comes.  UNWATCH also takes
 *    back a WATCH that has not been answered yet.
 *  - A WATCH_QUEUE that was answered LISTED is followed either by exactly one
 *    QUEUE_CHANGED, once the queue is not as listed, or by UNWATCH: a ticket
 *    has come or gone, or a write ticket has become a read ticket.  The queue
 *    may be empty, and need not exist yet.  QUEUE_CHANGED may also come for
 *    nothing.
 *  - A WATCH_QUEUE for a ticket that is kept until another one comes
 *    (hf_request_is_of_kept_ticket()) is answered FAILED{FATAL,
 *    HF_EUNSUPPORTED} by an engine where somebody may wait without a ticket. If
 *    the engine can watch no longer, it sends QUEUE_CHANGED.
 *  - A WATCH_QUEUE of leases with .weight is for somebody who waits for room
 *    for so many permits.  If the list leaves room for them, the core takes the
 *    watch back, and QUEUE_CHANGED need not come.
 *  - A WATCH_QUEUE of .ticket_kind BARRIER watches that flag alone.  It is
 *    answered LISTED with the flag, or with nothing if the barrier is clear.
 *    QUEUE_CHANGED may come when the flag has changed and must come when it is
 *    cleared.  The pair of id and token differs each time a flag is set.  No
 *    other request shows this flag.
 *  - With .ticket_kind PARTICIPANT an ENQUEUE, LIST or WATCH_QUEUE shows the
 *    participants that are there, each with its token, and no other tickets;
 *    and the flag READY, if a generation has begun.  The token of READY is
 *    greater than those of all participants that were there when it was set.
 *    A WATCH_QUEUE that showed any of these is followed by QUEUE_CHANGED once a
 *    participant has come or gone or a generation has begun.  No other request
 *    shows participants or READY.  A detailed LIST of them shows all that is
 *    known of each.
 *  - Watches survive SUSPENDED.  SESSION_LOST and CLOSED end them without an
 *    event.
 *  - Before an engine reports SESSION_LOST or CLOSED, it answers every request
 *    under way, if only by FAILED.
 *  - A new engine is CONNECTING.  CONNECTED, SUSPENDED and SESSION_LOST come as
 *    they happen, any number of times, until END was answered by CLOSED.
 *  - A GONE may overtake the answer to a LIST that was requested before it.
 *  - A GONE may name a ticket of this session, .first: it was the first ticket
 *    of its queue when the watched ticket had gone, and the removal is final.
 *    Nobody can appear ahead of that ticket while the connection lasts, so the
 *    core admits it without a new list.
 *  - An ENQUEUE that was answered FAILED{UNSURE} may still take effect, but no
 *    later than one session timeout after that answer, and not after the
 *    session has ended.  In an engine without leases it does not take effect
 *    after the next answer.
 *  - While not CONNECTED an engine may answer any request FAILED{RETRY}.  It
 *    answers so the requests that it had not begun when a connection ended.
 *  - The core requests the REMOVE of a ticket only while no ENQUEUE of it is
 *    under way.  Apart from that an engine may carry out a REMOVE, DOWNGRADE or
 *    PROVE ahead of requests that were made earlier.
 *  - A WATCH of one's own ticket that was answered WATCHING may be followed by
 *    any number of REVOKED: somebody asks the owner to release.  The watch goes
 *    on.  Requests to release that come close together may be reported as one,
 *    but none is lost while the session lives.  A request that was made before
 *    the WATCH is reported too, even if an earlier WATCH reported it; so is one
 *    that was made before or during a downgrade of the ticket.  A WATCH of a
 *    ticket of somebody else may also be followed by REVOKED; the core ignores
 *    it.
 *  - A snapshot need not have the payload of one's own ticket, nor that of
 *    another ticket that is not the first, nor the token of a ticket that is
 *    not one's own: "" and 0.  The snapshot of a detailed LIST has all that is
 *    known of every ticket, has no ticket of an owner that is known to be dead,
 *    and comes with the names of everything in the queue that is no ticket.
 *    Of a ticket outside of .texts it need not have the payload, nor what the
 *    engine can only read together with that: "" and 0.
 *  - An ENQUEUE or LIST of a MUTEX, READ, WRITE or ELECTION may be answered
 *    with the part of the queue that hf_admission_trim() keeps: the first
 *    ticket, one's own, and the nearest ones ahead that may block it.  Further
 *    tickets do no harm.
 *  - A LIST of such a ticket that was listed before may be answered from that
 *    earlier list, less the tickets that have been seen to go since.  WATCH may
 *    then answer GONE for some of them.  The engine must not do so if a ticket
 *    of another session has gone that may have left a reader in its place.
 *  - The order of leases is not needed.  Leases of others may have sequence 0,
 *    ahead of one's own.
 *  - A LEASE of several permits is one ticket, of which somebody may remove a
 *    part by force.  For its owner the ticket is then gone: GONE comes, no
 *    snapshot shows its id, and the permits that are left are counted under
 *    another id until the core requests its REMOVE.
 *  - An engine may show a mutex or a write ticket, one's own included, as
 *    EXCLUSIVE.
 *  - CONNECTION_ERROR may come whenever there is no connection.
 *  - A NAMES is repeated with the cursor of the page before until it is
 *    answered with no cursor.  These pages together name every queue at or
 *    below .queue that has a ticket from the first request to the last answer.
 *    Any other queue, of that name or below it, may be named or not, and any of
 *    them more than once; the program that runs the core drops repetitions.
 *    Queues of flags are not named.  A cursor is good for any session of the
 *    engine.
 *  - An EXAMINE may be requested at any time before the END, also while there
 *    is no session, because the reason may be what is looked for.  The engine
 *    may make connections of its own for it, each of which it ends within
 *    HF_EXAMINE_SERVER_MS.
 *  - GAVE_UP comes after a CONNECTION_ERROR, while there is no connection.
 *    Then the engine does not try to connect until hf_engine_ops.connect is
 *    called, or until another user of its session begins again.  A session that
 *    is alive then ends when its timeout is over.
 *  - The core does not watch a ticket while its DOWNGRADE is under way, but may
 *    request its REMOVE before that is answered.  The REMOVE then removes the
 *    ticket in either form.
 *  - The success of a queue is the last one that a holder has written there
 *    with WRITE_SUCCESS: a token, and when that was by the engine's clock.  It
 *    belongs to nobody, and stays when the session ends and when the queue is
 *    empty.  It is no ticket, and no list or NAMES shows it.  An engine may
 *    answer the two requests about it FAILED{FATAL, HF_EUNSUPPORTED}.
 *  - A READ_SUCCESS of a ticket that was admitted shows what every holder
 *    before it has had written.  Its .age_ms is by the engine's clock, however
 *    the wall clocks of clients are set.  A READ_SUCCESS without a ticket is
 *    for people; an engine that cannot read its clock then answers
 *    HF_SUCCESS_AGE_UNKNOWN.
 *  - A DESCRIBE may be under way when the REMOVE of its ticket is requested.
 *    It then does nothing, or is undone together with the ticket: it never
 *    brings a ticket back.  It is not under way together with a DOWNGRADE.  A
 *    request to release that came before the DESCRIBE and was not reported yet
 *    is reported all the same.
 *  - PROVEN may also come without a request: the engine has learnt it from
 *    other traffic.
 *  - Tickets belong to the session that enqueued them and go when it ends.
 *    Flags do not.
 */
#ifndef HF_CORE_ENGINE_H
#define HF_CORE_ENGINE_H

#include <holdfast/status.h>
#include <holdfast/success.h>

#include "core/effect.h"
#include "core/ticket.h"

struct hf_engine_host;
struct hf_url;

/* ------------------------------------------------------------- requests -- */

enum hf_request_kind {
    /* Put a ticket into the queue.  Its id is the key: if the request is
     * repeated for a ticket that is there, the engine finds it.  Answer:
     * ENQUEUED. */
    HF_REQUEST_ENQUEUE,
    /* List the queue as it is now, after every write of this session.  Answer:
     * LISTED. */
    HF_REQUEST_LIST,
    /* List the queue as it is now, and report when that has changed.  Answer:
     * LISTED. */
    HF_REQUEST_WATCH_QUEUE,
    /* Report when the ticket, which may be one's own, is gone or is no longer
     * of .ticket_kind because a write ticket has become a read ticket.  Answer:
     * WATCHING, or GONE. */
    HF_REQUEST_WATCH,
    /* Remove the ticket, wherever it is found by its id.  If .weight is given,
     * .found means that all these permits were there.  Answer: REMOVED. */
    HF_REQUEST_REMOVE,
    /* Have the server confirm the session by a committed write.  Answer:
     * PROVEN, or FAILED{RETRY} if the answer proves nothing. */
    HF_REQUEST_PROVE,
    /* Close the session: all its tickets go.  Answer: CLOSED. */
    HF_REQUEST_END,
    /* Make a write ticket of ours, which has been admitted, a read ticket: at
     * one instant, with its id, sequence and token unchanged.  If the request
     * is repeated, the engine finds that it is a read ticket.  Answer:
     * DOWNGRADED, or FAILED{FATAL, HF_ELOST} if the ticket is not there. */
    HF_REQUEST_DOWNGRADE,
    /* Ask the owner of the ticket to release it.  Answer: REVOKE_SENT. */
    HF_REQUEST_REVOKE,
    /* Write .payload in place of the text of a ticket of ours, and of what a
     * request to release may have written there.  For people only: sequence,
     * kind and token stay, and no watch fires.  May be repeated.  Answer:
     * DESCRIBED, or FAILED{FATAL} if the text cannot be changed. */
    HF_REQUEST_DESCRIBE,
    /* Set the flag .ticket_kind, if it is clear, with the id .ticket; clear it,
     * if it is set.  READY is never set by SET_FLAG, and is cleared only at an
     * instant at which there is no participant.  Answer: FLAG_UPDATED. */
    HF_REQUEST_SET_FLAG,
    HF_REQUEST_CLEAR_FLAG,
    /* Begin a generation of a double barrier: set the flag READY anew, at one
     * instant at which the ticket, a participant, and at least .limit
     * participants in all are there.  Answer: FLAG_UPDATED, or FAILED{RETRY} if
     * they are not, or may not be, there. */
    HF_REQUEST_NEW_GENERATION,
    /* Name the queues at or below .queue, a page at a time, see .names.  Only
     * reads.  Answer: NAMED, or FAILED{FATAL, HF_EUNSUPPORTED}. */
    HF_REQUEST_NAMES,
    /* Examine the service: its servers, settings, rights and clocks.  Only
     * reads.  .queue is "".  Answer: EXAMINED, or FAILED{RETRY} if nothing can
     * be said without a session, or FAILED{FATAL, HF_EUNSUPPORTED}. */
    HF_REQUEST_EXAMINE,
    /* Read the success of the queue.  .ticket is one of ours that was admitted
     * and excludes all others; all zero: none, and nothing is written to learn
     * the time.  Answer: SUCCESS_READ. */
    HF_REQUEST_READ_SUCCESS,
    /* Write .success_token and the present time of the engine's clock as the
     * success of the queue: at an instant at which our ticket, which was
     * admitted and excludes all others, is there, and only if no greater token
     * is there.  May be repeated.  Answer: SUCCESS_WRITTEN. */
    HF_REQUEST_WRITE_SUCCESS,
};

/* The .age_ms of a success, see above. */
#define HF_SUCCESS_AGE_UNKNOWN INT64_MIN

/* How long an EXAMINE waits for a server, in milliseconds. */
#define HF_EXAMINE_SERVER_MS 3000

/* An engine looks at about this many queues for a page of names.  One page is
 * one statement, or one reading of a directory. */
#define HF_NAMES_PAGE 4096

/* A walk over a tree of more nodes than this is refused, unless .all is set. */
#define HF_NAMES_WALK_MAX 100000

/* What a NAMES asks for. */
struct hf_names_request {
    const char *cursor;  /* as the answer before has it; its meaning is the
                            engine's, and it may have any bytes */
    size_t cursor_bytes; /* 0: the first page */
    bool all;            /* there is no bound to how much is looked at */
};

/* A queue that is named. */
struct hf_queue_name {
    const char *queue; /* of its tickets, as in a LIST; it need not be the name
                          of a lock */
    bool participants; /* a LIST of PARTICIPANT shows what is there */
};

/* The answer to a NAMES.  Memory of the engine, like a snapshot. */
struct hf_names_answer {
    const struct hf_queue_name *queues; /* in no order */
    size_t count;
    const char *cursor;  /* where the next page begins */
    size_t cursor_bytes; /* 0: this was the last page */
    uint64_t looked_at;  /* nodes, keys, rows or directories, for people */
    uint64_t unreadable; /* nodes that we may not read, among these */
};

struct hf_finding_list;
struct hf_operation;
struct hf_own_ticket;

/* A request from the core to the engine.  Embedded in the object of the core
 * that makes it.  The core sets every field but .engine_data and .host. */
struct hf_request {
    enum hf_request_kind kind;
    /* ENQUEUE, WATCH, DESCRIBE: the kind of the ticket.  SET_FLAG, CLEAR_FLAG:
     * the flag.  WATCH_QUEUE: BARRIER, PARTICIPANT, or 0 for a queue of
     * tickets.  LIST: the kind of the ticket; if .detailed, PARTICIPANT or 0.
     */
    enum hf_ticket_kind ticket_kind;
    /* ENQUEUE, LIST: how many permits a LEASE is to have, else 1.  A LIST needs
     * it for a ticket whose enqueue got no answer, because a part of its
     * permits may have been removed.  REMOVE: how many permits it had; 0: that
     * does not matter.  WATCH_QUEUE: for how many permits the core waits to
     * have room; 0: it does not. */
    uint32_t weight;
    /* ENQUEUE of a LEASE, WATCH_QUEUE: the permits of the semaphore as far as
     * the client knows; 0: not given.  An engine that knows another number
     * answers FAILED{FATAL, HF_EKIND}.  NEW_GENERATION: the participants that
     * must be there. */
    uint32_t limit;
    /* ENQUEUE of a LEASE: our ticket in the entry mutex in front of it, which
     * is HELD; zero: there is no entry mutex.  An engine whose queue of leases
     * has no order creates nothing unless that ticket still exists. */
    struct hf_ticket_id entry_mutex;
    const char *queue; /* the lock's name; NAMES: "" for all */
    struct hf_ticket_id ticket;
    const char *payload; /* ENQUEUE, DOWNGRADE, DESCRIBE; never NULL */
    union {              /* by the kind */
        /* REMOVE for an operation, of a ticket of any session: who evicts it,
         * and why, at most HF_EVICTED_BY_BYTES; NULL: nothing is said.  What
         * the engine can do to let its owner know this must not delay the
         * removal or the GONE, nor make them fail. */
        const char *evicted_by;
        const struct hf_names_request *names; /* NAMES */
        uint64_t success_token;               /* WRITE_SUCCESS */
        /* LIST that is .detailed: the tickets whose texts are wanted. */
        const struct hf_text_range *texts;
    };
    bool detailed; /* LIST of a whole queue for people; .ticket is unused */
    /* For the core only; but an engine may look whether .operation is NULL.
     * Then a REMOVE of one's own ticket is the wish of its owner, who relies on
     * it no more; else it is an eviction. */
    bool busy;                        /* the engine has not answered it */
    struct hf_own_ticket *own_ticket; /* it is this ticket's, or an operation's;
                                         both NULL: it is the session's */
    struct hf_operation *operation;
    struct hf_effect effect; /* by which it is handed to the engine, or taken
                                back */
    /* For the engine only, from the request to its answer (of a WATCH or
     * WATCH_QUEUE: to its end).  The core sets it to NULL for each request. */
    void *engine_data;
    /* For the host only: its list of requests without an answer.  Both are NULL
     * in a new request. */
    struct {
        struct hf_request *next;
        struct hf_request **link; /* NULL: it is not in the list */
    } host;
};

/* Is ${request} the WATCH_QUEUE of a ticket that is kept until another one
 * comes?  Those of leases have a weight, those of operations no ticket. */
static inline bool
hf_request_is_of_kept_ticket(const struct hf_request *request)
{
    return request->kind == HF_REQUEST_WATCH_QUEUE &&
           request->own_ticket != NULL && request->ticket_kind == 0 &&
           request->weight == 0;
}

/* --------------------------------------------------------------- events -- */

enum hf_event_kind {
    /* From the engine: the session. */
    HF_EVENT_CONNECTED,
    HF_EVENT_SUSPENDED,
    HF_EVENT_RESUMING,
    HF_EVENT_CONNECTION_ERROR,
    HF_EVENT_GAVE_UP,
    HF_EVENT_SESSION_LOST,
    HF_EVENT_CLOSED,
    /* From the engine: answers. */
    HF_EVENT_ENQUEUED,
    HF_EVENT_LISTED,
    HF_EVENT_QUEUE_CHANGED,
    HF_EVENT_WATCHING,
    HF_EVENT_GONE,
    HF_EVENT_REMOVED,
    HF_EVENT_PROVEN,
    HF_EVENT_DOWNGRADED,
    HF_EVENT_FAILED,
    HF_EVENT_REVOKED,
    HF_EVENT_REVOKE_SENT,
    HF_EVENT_DESCRIBED,
    HF_EVENT_FLAG_UPDATED,
    HF_EVENT_NAMED,
    HF_EVENT_EXAMINED,
    HF_EVENT_SUCCESS_READ,
    HF_EVENT_SUCCESS_WRITTEN,
    /* From the user. */
    HF_EVENT_ACQUIRE,
    HF_EVENT_START_OPERATION,
    HF_EVENT_CANCEL_OPERATION,
    HF_EVENT_CANCEL,
    HF_EVENT_RELEASE,
    HF_EVENT_SET_LIMIT,
    HF_EVENT_DOWNGRADE,
    HF_EVENT_DESCRIBE, /* what the ticket by which it waits says has changed */
    HF_EVENT_CHECK,    /* have a lazy session proven, if we hold something */
    HF_EVENT_CLOSE,
    /* From the clock. */
    HF_EVENT_TICK,
};

/* How a request FAILED. */
enum hf_failure {
    HF_FAILURE_RETRY,  /* it did not happen; a retry may succeed */
    HF_FAILURE_UNSURE, /* it may have happened, or may happen yet */
    HF_FAILURE_FATAL,  /* it did not happen, and no retry will succeed */
};

/* The input of the core, from its engine, its user or its clock. */
struct hf_event {
    enum hf_event_kind kind;
    uint64_t now_ms; /* CLOCK_BOOTTIME; never less than in the event before */
    union {
        struct {
            /* The shortest lease that may be in force, of all that the session
             * was granted; HF_FOREVER if tickets live as long as the process
             * and safe-until has no meaning.  The session lasts at least that
             * long from ${anchor_ms}, and from the sending of the resume that
             * this event accepts. */
            uint64_t timeout_ms;
            uint64_t anchor_ms; /* the session is confirmed as of this instant:
                                   at best when the accepted request was sent */
            /* By how many percent the clock that counts the lease may be fast;
             * the core keeps hf_margin_ms() back.  Of no meaning without a
             * lease. */
            uint64_t clock_drift;
            bool resumed; /* the same session: its tickets still live */
            /* The session is proven when somebody needs it, and not all the
             * time: grants outlast safe-until and end with the session.  The
             * engine then reports SESSION_LOST no later than one lease, less
             * the margin for clocks, after the sending of the request that was
             * answered last. */
            bool lazy;
            /* A proof is requested this often while it is needed; 0: every
             * quarter of ${timeout_ms}. */
            uint64_t proof_ms;
        } connected;
        struct {
            /* A resume was sent at ${sent_at_ms}.  Whatever its outcome, the
             * session lasts at least ${least_timeout_ms} from then, and perhaps
             * no longer.  That holds, also after CONNECTED, until something
             * that was sent no earlier is proven. */
            uint64_t sent_at_ms;
            uint64_t least_timeout_ms;
        } resuming;
        struct {
            const char *text; /* why there is no connection, never NULL; part
                                 of the error of a wait that ends meanwhile */
            hf_status status; /* of that error, if there never was a
                                 connection; HF_OK: HF_EUNREACHABLE */
            bool final; /* all servers say so and waiting does not help: ends
                           at once what waits for the first connection */
        } connection_error;
        struct {
            /* The policy of reconnecting allows no further attempt: after
             * ${retries} retries, ${elapsed_ms} after the first one failed. */
            uint32_t retries;
            uint64_t elapsed_ms;
        } gave_up;
        struct {
            struct hf_request *request;  /* that this event answers */
            struct hf_snapshot snapshot; /* ENQUEUED: the queue just after the
                                            ticket went in; LISTED */
            /* LISTED of a detailed LIST: the names of what is in the queue and
             * is no ticket.  Memory of the engine, like the snapshot. */
            const char *const *unknown;
            size_t unknown_count;
            const struct hf_names_answer *names;    /* NAMED */
            const struct hf_finding_list *findings; /* EXAMINED.  Memory of the
                                                       engine, as above */
            uint64_t anchor_ms; /* PROVEN: the session is confirmed as of
                                   this instant */
            /* REMOVED, REVOKE_SENT: the ticket was there.  FLAG_UPDATED: the
             * flag was there before.  DESCRIBED: the ticket is there.
             * SUCCESS_WRITTEN: the success was written. */
            bool found;
            /* GONE: the ticket that is the first one since; all zero: not
             * known. */
            struct hf_ticket_id first;
            struct hf_success success; /* SUCCESS_READ */
            enum hf_failure failure;   /* FAILED */
            hf_status status;          /* FAILED, SESSION_LOST */
            /* FAILED: the message, never NULL.  SESSION_LOST: why.  GONE of
             * one's own ticket: why, if more is known than that it is gone.
             * Else NULL or "". */
            const char *text;
        } answer;
        struct hf_acquisition *acquisition; /* ACQUIRE, CANCEL, RELEASE,
                                               DOWNGRADE, DESCRIBE */
        struct hf_operation *operation; /* START_OPERATION, CANCEL_OPERATION */
        struct {
            struct hf_acquisition *acquisition; /* a lease */
            uint32_t permits; /* of its semaphore from now on */
        } limit;
    } as;
};

/* --------------------------------------------------------------- vtable -- */

/* Traits of an engine, by which the core saves requests. */
enum {
    /* Nobody can appear ahead of a ticket once it was listed, so the GONE of
     * the last blocking ticket admits without a new list. */
    HF_ENGINE_GONE_ADMITS = 1,
    /* A list is expensive: watch the second blocking ticket too, and refresh
     * the list in the background, so that the last GONE needs no list. */
    HF_ENGINE_WATCHES_TWO = 2,
};

struct hf_engine;
struct hf_zk_session;
struct hf_zk_io;
struct hf_zk_url_config;

/* What a handle of the ZooKeeper client needs to use an engine's session.  All
 * of it is the engine's, and valid until .free. */
struct hf_engine_session {
    struct hf_zk_session *session;
    struct hf_zk_io *io;
    const struct hf_zk_url_config *config;
};

/* Where a client is, for its log: what the tools of the service call its
 * session, and the server that it is connected to, as host:port.  "": none, or
 * not known. */
struct hf_origin {
    char session[40];
    char server[272];
};

/* The functions of an engine. */
struct hf_engine_ops {
    unsigned abi;       /* HF_ENGINE_ABI; a module of another is refused */
    const char *scheme; /* of its URLs: "file" */
    unsigned traits;    /* HF_ENGINE_... */
    /* Check the options of ${url}, create what must exist, begin to connect.
     * ${host} is copied; ${url} is borrowed for the call.  On failure fill in
     * ${error} and leave nothing behind. */
    hf_status (*open)(const struct hf_url *url,
                      const struct hf_engine_host *host,
                      struct hf_engine **engine, struct hf_error *error);
    /* Carry out ${request}.  Cannot fail: answers FAILED instead. */
    void (*request)(struct hf_engine *engine, struct hf_request *request);
    /* Take back a WATCH or WATCH_QUEUE. */
    void (*unwatch)(struct hf_engine *engine, struct hf_request *watch);
    /* Begin to connect again after GAVE_UP; else do nothing.  NULL: the engine
     * never reports GAVE_UP. */
    void (*connect)(struct hf_engine *engine);
    /* Set ${fd} to a new close-on-exec descriptor, the caller's, that keeps the
     * ticket alive until it is closed.  NULL: tickets belong to a session. */
    hf_status (*hold)(struct hf_engine *engine,
                      const struct hf_ticket_id *ticket, int *fd);
    /* The URL without options and secrets: "file:/run/holdfast". */
    const char *(*describe)(const struct hf_engine *engine);
    /* Set ${origin}, which is empty.  Asked when CONNECTED is reported.  NULL:
     * the engine has neither sessions nor servers. */
    void (*origin)(const struct hf_engine *engine, struct hf_origin *origin);
    /* Set ${session} to the session of the engine.  NULL, as .ticket_path
     * below, except in the engine for ZooKeeper. */
    void (*session)(struct hf_engine *engine,
                    struct hf_engine_session *session);
    /* The path of the node of ${ticket}, with the path of the URL; of a lease
     * that of its first node.  Valid until the next call of the engine.  NULL
     * if it is not known: the ticket is gone, or a downgrade may have given it
     * another one. */
    const char *(*ticket_path)(struct hf_engine *engine,
                               const struct hf_ticket_id *ticket);
    /* In the child of a fork: close every descriptor and touch nothing else.
     * Only async-signal-safe calls; memory is not freed. */
    void (*after_fork)(struct hf_engine *engine);
    /* After CLOSED: begin to free.  The engine closes its handles on the loop;
     * its memory may live on until their close callbacks have run. */
    void (*free)(struct hf_engine *engine);
};
#define HF_ENGINE_ABI 18

/* The one symbol that a module exports, of type struct hf_engine_ops. */
#define HF_ENGINE_MODULE_SYMBOL "hf_engine_module"

#endif
