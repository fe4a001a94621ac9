/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine contract: what the core asks of a place where queues live.
 *
 * An engine turns requests into whatever its other side speaks, and answers
 * into events, and does nothing else: retry, deadlines, admission and
 * ownership are the core's.
 *
 * Rules
 *
 *  - Each request but FORGET is answered by exactly one event that names it,
 *    at once from inside hf_engine_ops.request or later.  The request's memory
 *    belongs to the core and stays put until then, and may be gone afterwards;
 *    that of a WATCH until GONE, or until the engine returns from the FORGET,
 *    or until the session is over.
 *  - A WATCH that was answered WATCHING is followed by exactly one GONE, or by
 *    the core's FORGET, after which nothing comes.  FORGET also takes back a
 *    WATCH that has not been answered yet.
 *  - A LOOK that was answered LISTED is followed by exactly one CHANGED, once a
 *    ticket has gone since that list, or by FORGET.  One that has come may be
 *    told as well.
 *  - A LOOK of .ticket_kind BARRIER is at that mark alone: LISTED with it, or
 *    with nothing where it is down, and CHANGED may be told when it has changed
 *    and must be when it is gone.  Each mark that was ever made has an id and a
 *    token of its own, taken together.  No other request shows such a mark.
 *  - With .ticket_kind PARTICIPANT an ENQUEUE, LIST or LOOK shows the
 *    participants that are there, each with its token, and no other tickets;
 *    and the mark READY, if the queue was stamped, as a ticket of that kind.
 *    Its token is greater than those of all participants that were there when
 *    it was made.  A LOOK that showed any of these is followed by CHANGED once
 *    a participant has come or gone or the queue has been stamped.
 *    No other request shows participants or that mark; a whole LIST of them
 *    shows of them all that there is to know.
 *  - Watches survive SUSPENDED; SESSION_LOST and CLOSED end them in silence.
 *  - Before SESSION_LOST or CLOSED is reported, every request that was under
 *    way has been answered, if only by FAILED.
 *  - A fresh engine is CONNECTING.  CONNECTED, SUSPENDED and SESSION_LOST come
 *    as they happen, for ever, until END was answered by CLOSED.
 *  - A GONE may overtake the answer to a LIST that was asked before it.
 *  - An ENQUEUE that was answered FAILED{UNSURE} may still take effect, though
 *    not later than one session timeout after that answer, nor after the
 *    session; without a lease, not after the next answer.
 *  - While not CONNECTED an engine may answer any request FAILED{RETRY}, and
 *    so those that it had not begun when a connection ended.
 *  - The core asks for the REMOVE of a ticket only when no ENQUEUE of it is
 *    under way.  Apart from that an engine may carry out a REMOVE, DOWNGRADE
 *    or PROVE ahead of requests that were asked for earlier.
 *  - A WATCH of one's own ticket that was answered WATCHING may hear REVOKED
 *    any number of times: somebody asks the owner to let go.  It goes on.
 *    Requests to let go that come close together may be told as one, none is
 *    lost while the session lives, and one made before the WATCH is told too,
 *    though an earlier WATCH may have told it; so is one made before, or while,
 *    the ticket was downgraded.
 *    A WATCH of another's ticket may hear REVOKED as well, where it means
 *    nothing.
 *  - A snapshot need not know the payload of one's own ticket, nor of another
 *    that is not the first, nor the token of any but one's own: "" and 0.  That
 *    of a whole LIST knows all that there is to know of every ticket, has no
 *    ticket of an owner that is known to be dead, and names what else is there.
 *  - An ENQUEUE or LIST of a MUTEX, READ, WRITE or ELECTION may be answered
 *    with the part of the queue that hf_admission_trim() leaves: the first
 *    ticket, one's own, and those of its nearest that may be in its way.  Any
 *    ticket that is shown beside these does no harm.
 *  - A LIST of these, of a ticket of ours that was listed before, may show
 *    ahead of it what was there then, less what has been seen to go: WATCH may
 *    find some of that GONE.  Not where a ticket of another session has gone
 *    that may have left a reader in its place.
 *  - Of leases it need not know the order: those of others may stand at 0,
 *    ahead of one's own.
 *  - A LEASE of several permits is one ticket, of which a part may be taken
 *    by force.  For its owner it is then gone: GONE comes, it is in no
 *    snapshot under its id, and what is left of it is counted, under another
 *    id, until the core asks for its REMOVE.
 *  - It may show a mutex or a write ticket, one's own included, as EXCLUSIVE.
 *  - CONNECTION_ERROR may come whenever there is no connection.
 *  - After GAVE_UP, which comes behind SUSPENDED and CONNECTION_ERROR, the
 *    engine makes no attempt to connect until hf_engine_ops.connect is called.
 *    A session that lives then ends in its time.
 *  - The core does not watch a ticket while it asks for its DOWNGRADE, but may
 *    ask for its REMOVE before that is answered: then no form of it is left.
 *  - A DESCRIBE may be under way while its ticket is asked to be withdrawn, and
 *    then does nothing or is undone with it: it never brings a ticket back.  It
 *    is not under way together with a DOWNGRADE.  A request to let go that came
 *    before it and was not told yet is told all the same.
 *  - PROVEN may also come unasked, with no request: what the engine learnt from
 *    other traffic.
 *  - Tickets belong to the session that enqueued them and go when it ends;
 *    marks do not.
 */
#ifndef HF_CORE_ENGINE_H
#define HF_CORE_ENGINE_H

#include <holdfast/holdfast.h>

#include "core/ticket.h"
#include "core/url.h"

/* ------------------------------------------------------------- requests -- */

enum hf_request_kind {
    /* Put a ticket into the queue, its id being the key: asked again for one
     * that is there already, the engine finds it.  ENQUEUED. */
    HF_REQUEST_ENQUEUE,
    /* The queue as it is now, after every write of this session.  LISTED. */
    HF_REQUEST_LIST,
    /* The queue as it is now, and tell when a ticket has gone.  LISTED. */
    HF_REQUEST_WATCH_QUEUE,
    /* Tell when the ticket is gone, one's own included, or is not of that kind
     * any more: a write ticket that has become a read ticket.  WATCHING or
     * GONE. */
    HF_REQUEST_WATCH,
    /* Take the ticket out, wherever it is found by its id.  REMOVED.  If
     * .weight is given, .found means that all these permits were there. */
    HF_REQUEST_REMOVE,
    /* Make the other side confirm the session by a committed write.  PROVEN,
     * or FAILED{RETRY} where the answer proves nothing. */
    HF_REQUEST_PROVE,
    /* Say goodbye: all tickets of the session go.  CLOSED. */
    HF_REQUEST_END,
    /* Make a write ticket of ours, which has been admitted, a read ticket: at
     * one instant, with id, sequence and token as they were.  Asked again for
     * one that is a read ticket already, the engine finds it so.  DOWNGRADED,
     * or FAILED{FATAL, HF_ELOST} where it is not there. */
    HF_REQUEST_DOWNGRADE,
    /* Ask the ticket's owner, whoever it is, to let go.  ASKED. */
    HF_REQUEST_REVOKE,
    /* Put .payload in the place of the text of a ticket of ours, and of what a
     * request to let go may have put there.  For people only: the place, the
     * kind and the token stay, and nobody is woken.  Asked again, the engine
     * finds it so.  DESCRIBED; FAILED{FATAL} where the text cannot be
     * changed. */
    HF_REQUEST_DESCRIBE,
    /* See that the mark of .ticket_kind is there, made with .ticket for an id
     * where it is not; and that it is not.  READY is not raised, and is
     * lowered only at an instant at which no participant is there.  MARKED. */
    HF_REQUEST_SET_FLAG,
    HF_REQUEST_CLEAR_FLAG,
    /* Make the mark READY anew, at one instant at which the ticket, a
     * participant, and so many as .limit in all are there.  MARKED;
     * FAILED{RETRY} where they are not, or may not be. */
    HF_REQUEST_NEW_GENERATION,
};

struct hf_operation;
struct hf_own_ticket;

struct hf_request {
    enum hf_request_kind kind;
    /* ENQUEUE, WATCH, DESCRIBE; RAISE and LOWER: of the mark; LOOK: of a mark,
     * PARTICIPANT, or 0; LIST: of the ticket, or, of a whole one, PARTICIPANT
     * or another. */
    enum hf_ticket_kind ticket_kind;
    /* ENQUEUE, LIST: of a LEASE how many permits it is to have, else 1.  A LIST
     * needs it for a ticket that it does not know: whose enqueue got no answer,
     * and of which a part may have been taken.  REMOVE: how many it had; 0:
     * that does not matter. */
    uint32_t weight;
    /* ENQUEUE of a LEASE, LOOK: so many permits there are, as far as the asker
     * knows by now; 0: it does not say.  An engine that has a number of its own
     * answers FAILED{FATAL, HF_EKIND} to another.  STAMP: so many participants.
     */
    uint32_t limit;
    const char *queue; /* the lock's name */
    struct hf_ticket_id ticket;
    const char *payload; /* ENQUEUE, DOWNGRADE, DESCRIBE; never NULL */
    bool detailed;       /* LIST: for people; .ticket is nobody's */
    bool busy;           /* the core's own: asked and not answered */
    /* The core's own: whose it is, the session's if both are NULL. */
    struct hf_own_ticket *own_ticket;
    struct hf_operation *operation;
    struct hf_effect *effect; /* where it waits to be taken */
    /* The engine's own, from the request to its answer (a WATCH: to its end).
     * The core sets it to NULL when it asks. */
    void *engine_data;
};

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
    /* From the user. */
    HF_EVENT_ACQUIRE,
    HF_EVENT_START_OPERATION,
    HF_EVENT_CANCEL_OPERATION,
    HF_EVENT_CANCEL,
    HF_EVENT_RELEASE,
    HF_EVENT_SET_LIMIT,
    HF_EVENT_DOWNGRADE,
    HF_EVENT_CHECK, /* is the session that we hold in proven? */
    HF_EVENT_CLOSE,
    /* From the clock. */
    HF_EVENT_TICK,
};

enum hf_failure {
    HF_FAILURE_RETRY,  /* it did not happen; later it may */
    HF_FAILURE_UNSURE, /* it may have happened, or may yet */
    HF_FAILURE_FATAL,  /* it did not happen and will not */
};

struct hf_event {
    enum hf_event_kind kind;
    uint64_t now_ms; /* CLOCK_BOOTTIME; never less than in the event before */
    union {
        struct {
            /* The shortest lease that may be in force, of all that the session
             * was granted; HF_FOREVER where tickets live as long as the process
             * and safe-until has no meaning.  From ${anchor_ms}, and from the
             * sending of the resume that is accepted by this, the session lasts
             * at least so long. */
            uint64_t timeout_ms;
            uint64_t anchor_ms; /* the session is confirmed as of this instant:
                                   at best when the accepted request was sent */
            bool resumed;       /* the same session: its tickets still live */
            /* Safe-until is proven when it is wanted, and not all the time:
             * grants outlast it, and end with the session.  The engine then
             * says SESSION_LOST no later than a lease, less the margin for
             * clocks, after the sending of what was answered last. */
            bool lazy;
        } connected;
        struct {
            /* A resume was sent at ${sent_at_ms}; whatever it yields, the
             * session will last at least ${least_timeout_ms} from there and
             * perhaps no longer.  That stays so, also after CONNECTED, until
             * something sent no earlier is proven. */
            uint64_t sent_at_ms;
            uint64_t least_timeout_ms;
        } resuming;
        struct {
            const char *text; /* why there is no connection, never NULL: for
                                 the errors of those who wait in vain */
            hf_status status; /* and theirs, while there was none yet; HF_OK:
                                 HF_EUNREACHABLE */
            bool final; /* waiting does not mend it, because all servers say so:
                           ends at once what waits for the first connection */
        } connection_error;
        struct {
            /* The policy of reconnecting has ended the attempts: after that
             * many retries, ${elapsed_ms} after the first try failed. */
            uint32_t retries;
            uint64_t elapsed_ms;
        } gave_up;
        struct {
            struct hf_request *request;  /* answered by this event */
            struct hf_snapshot snapshot; /* ENQUEUED: as it stood just after
                                            the ticket went in, LISTED */
            /* LISTED of a whole LIST: names of what is there and no ticket;
             * like the snapshot, the engine's. */
            const char *const *unknown;
            size_t unknown_count;
            uint64_t anchor_ms;      /* PROVEN: the session is confirmed as
                                        of this instant */
            bool found;              /* REMOVED, ASKED, MARKED: it was
                                        there before; DESCRIBED: it is */
            enum hf_failure failure; /* FAILED */
            hf_status status;        /* FAILED, and SESSION_LOST */
            const char *text;        /* FAILED: the message, never NULL;
                                        SESSION_LOST: why; GONE of one's own
                                        ticket: why, where more is known than
                                        that it is gone.  Else NULL or "" */
        } answer;
        struct hf_acquisition *acquisition; /* WANT CANCEL RELEASE
                                               DOWNGRADE */
        struct hf_operation *operation;     /* OPERATE, CANCEL_OPERATION */
        struct {
            struct hf_acquisition *acquisition; /* a lease */
            uint32_t permits; /* so many there are from now on */
        } limit;
    } as;
};

/* --------------------------------------------------------------- vtable -- */

struct hf_tls_ops;

/* What an engine may ask of whoever runs it.  All calls are made, and all
 * functions of the vtable called, with the client's lock held. */
struct hf_engine_host {
    /* Hand an event to the core; ${event}->now_ms is filled in. */
    void (*event)(void *host, struct hf_event *event);
    /* CLOCK_BOOTTIME in milliseconds. */
    uint64_t (*now_ms)(void *host);
    /* The loop to put handles on, made on the first request; NULL if it can't
     * be made.  Its uv timers stop in suspend: use timerfd. */
    struct uv_loop_s *(*loop)(void *host);
    /* The filter of transport/tls.h, whose module is loaded on the first
     * request: HF_EUNSUPPORTED, naming what is missing.  NULL where there is
     * no TLS to be had. */
    hf_status (*tls)(void *host, const struct hf_tls_ops **tls,
                     struct hf_error *error);
    void (*log)(void *host, enum hf_log_level level, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
    /* The policy of reconnecting, from the user; NULL: the default.  The URL
     * may say another: hf_reconnect_choose(). */
    const struct hf_reconnect *reconnect;
    /* Where a module takes its memory from, whose copy of core/memory.h does
     * not know; NULL: from where that takes it. */
    const struct hf_allocator *allocator;
    void *host;
    /* No request but LIST will come, and nothing is to be made for it. */
    bool list_only;
};

enum {
    /* Nobody can appear ahead of a ticket once it was listed, so a GONE of the
     * last one in the way admits without a new list. */
    HF_ENGINE_GONE_ADMITS = 1,
    /* A list is dear: keep a second watch one further ahead and refresh the
     * list in the background, so that the last step needs none. */
    HF_ENGINE_WATCHES_TWO = 2,
};

struct hf_engine;

struct hf_engine_ops {
    unsigned abi;       /* HF_ENGINE_ABI; a module of another is refused */
    const char *scheme; /* "file" */
    unsigned traits;    /* HF_ENGINE_... */
    /* Check ${url}'s options, make what must exist, begin to connect.
     * Ownership: ${host} is copied; ${url} is borrowed for the call.
     * On failure fill ${error} and leave nothing behind. */
    hf_status (*open)(const struct hf_url *url,
                      const struct hf_engine_host *host,
                      struct hf_engine **engine, struct hf_error *error);
    /* Carry out ${request}.  Cannot fail: answers FAILED instead. */
    void (*request)(struct hf_engine *engine, struct hf_request *request);
    /* Take back a WATCH or LOOK. */
    void (*unwatch)(struct hf_engine *engine, struct hf_request *watch);
    /* Begin to connect again after GAVE_UP; nothing otherwise.  NULL: the
     * engine never says GAVE_UP. */
    void (*connect)(struct hf_engine *engine);
    /* A new close-on-exec descriptor that keeps the ticket alive. */
    hf_status (*hold)(struct hf_engine *engine,
                      const struct hf_ticket_id *ticket, int *fd);
    /* "file:/run/holdfast": scheme and place, no secret. */
    const char *(*describe)(const struct hf_engine *engine);
    /* In the child of a fork: close every descriptor and touch nothing else.
     * Only async-signal-safe calls; memory is not freed. */
    void (*after_fork)(struct hf_engine *engine);
    /* After CLOSED: begin to free.  Handles are closed on the loop, and memory
     * may live on until their close callbacks ran. */
    void (*free)(struct hf_engine *engine);
};
#define HF_ENGINE_ABI 10

/* The one symbol a module exports, of type struct hf_engine_ops. */
#define HF_ENGINE_MODULE_SYMBOL "hf_engine_module"

#endif
