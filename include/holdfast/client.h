/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client: the connection to an engine, its session, where callbacks run,
 * and the operations under way.
 */
#ifndef HOLDFAST_CLIENT_H
#define HOLDFAST_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <holdfast/status.h>
#include <holdfast/success.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Opaque: connection and session; a listener to its states; an operation under
 * way; what an operation may end with. */
struct hf_client;
struct hf_listener;
struct hf_op;
struct hf_grant;   /* <holdfast/grant.h> */
struct hf_tickets; /* <holdfast/tickets.h> */

/* No limit, as a duration; never, as an instant. */
#define HF_FOREVER UINT64_MAX

/* How an operation ended. */
struct hf_result {
    hf_status status;
    const char *text;       /* why it failed; "" if HF_OK */
    struct hf_grant *grant; /* of an acquire that gave HF_OK, else NULL; yours
                               to release */
    struct hf_tickets *tickets;  /* of a list that gave HF_OK, else NULL; yours
                                    to free */
    struct hf_names_page *names; /* of hf_names_next_start() that gave HF_OK, or
                                    NULL; yours to free */
    struct hf_findings *findings; /* of hf_client_examine_start() that gave
                                     HF_OK, else NULL; yours to free */
    struct hf_success success; /* of a read of it that gave HF_OK, else zeros */
};

/* Called once when an operation has ended.  ${result} is valid until .fn
 * returns.  If its status is not HF_OK, hf_last_error() has that status and the
 * text inside .fn.  .fn may be NULL where the end brings a status only: the end
 * is not reported then.  A call whose end brings a grant, tickets, names,
 * findings or a success refuses NULL with HF_EINVAL, because these would be
 * lost. */
struct hf_done {
    void (*fn)(void *arg, const struct hf_result *result);
    void *arg;
    void (*drop)(void *arg);
};

enum hf_state {
    HF_STATE_CONNECTING = 0, /* no session yet; of a struct hf_zookeeper also
                                after LOST, until there is another one */
    HF_STATE_CONNECTED = 1,
    HF_STATE_SUSPENDED = 2, /* link down; tickets may still live */
    HF_STATE_LOST = 3,      /* the session is over, its tickets are gone; of a
                               struct hf_client until there is another one */
    HF_STATE_CLOSED = 4     /* for good */
};

/**
 * hf_state_name(state):
 * "CONNECTED" and so on; "?" for a number that is no state.
 *   Thread    any.
 */
HF_API const char *hf_state_name(enum hf_state state);

/* A listener: called after the state of a client has changed.  A slow one may
 * miss states in between, but never the last one, nor that there was a LOST. */
struct hf_on_state {
    void (*fn)(void *arg, enum hf_state state);
    void *arg;
    void (*drop)(void *arg);
};

enum hf_log_level {
    HF_LOG_ERROR = 0,
    HF_LOG_WARNING = 1,
    HF_LOG_INFO = 2,
    HF_LOG_DEBUG = 3
};

/* A callback with what the library does, up to .level.  Lines wait in the queue
 * of callbacks, 256 at most; those that find no room are lost, and a line says
 * how many were.  Lines never hold secrets. */
struct hf_on_log {
    void (*fn)(void *arg, enum hf_log_level level, const char *line);
    void *arg;
    enum hf_log_level level;
};

/*
 * When to try again to make a connection: the first one, and each one that was
 * lost.  A try is one attempt at every server of the URL.  After a try that
 * failed there is a pause and then a retry, until a connection is there or the
 * policy gives up.  After a connection that lasted a second, retries are
 * counted from 0 again.
 *
 *     {50, 1000, HF_RECONNECT_UNLIMITED, HF_FOREVER, NULL, NULL}  the default
 *     {5000, 5000, 3, HF_FOREVER, NULL, NULL}        three times, 5 s apart
 *     {1000, 0, HF_RECONNECT_UNLIMITED, 60000, NULL, NULL}   for one minute
 *
 * The option retry= of a URL (docs/engines.md) overrides it.  The file engine
 * has no connection and does not use it.
 *
 * When the policy gives up, everything that waits ends with HF_EUNREACHABLE, or
 * with the status with which every server has failed, such as HF_EDENIED, and
 * with the text of the last failure.  No further attempt is made until the next
 * call that needs the engine: an acquire, a release, a downgrade, or a call
 * that reads or changes something else in the engine, begins again with a first
 * try.  A grant is not lost when the policy gives up: its holder is notified of
 * the loss when safe-until passes, and the session becomes HF_STATE_LOST when
 * it can no longer live.
 */
struct hf_reconnect {
    /* The pause before the first retry, at least 1 ms.  If pause_max_ms is
     * greater, pauses double up to that and are drawn from their upper half. */
    uint64_t pause_ms;
    uint64_t pause_max_ms;
    uint32_t retries;    /* 0: one try only; HF_RECONNECT_UNLIMITED */
    uint64_t elapsed_ms; /* no retry begins later than this after the first try
                            failed; HF_FOREVER: no limit */
    /* If not NULL, decides instead of .retries and the pauses: is there another
     * retry, after ${retries} of them and ${elapsed_ms} since the first try
     * failed?  It may change ${pause_ms}, which is .pause_ms.
     *   Thread    whichever the engine runs on, with locks of the library held:
     *             the answer decides the next step of the engine, so nothing
     *             goes on without it.  It must not call the library and must
     *             not block: one that depends on something slow reads a
     *             variable that another thread sets.  While it runs, every call
     *             on the client waits, no lease is renewed, and a loss is shown
     *             by nothing but safe-until, which passes. */
    bool (*fn)(void *arg, uint32_t retries, uint64_t elapsed_ms,
               uint64_t *pause_ms);
    void *arg; /* valid until hf_client_close() has returned */
};
#define HF_RECONNECT_UNLIMITED UINT32_MAX

/* Where callbacks run; never mixed within a client.  The third way, a
 * borrowed uv loop, is hf_client_open_uv() in <holdfast/uv.h>. */
enum hf_delivery {
    HF_DELIVER_THREAD = 0,  /* a background thread of the client's own */
    HF_DELIVER_DISPATCH = 1 /* in hf_client_dispatch(), when hf_client_fd() is
                               readable */
};

/* When the holder of a lock, a leader, or a participant inside a double barrier
 * is notified that this is over.  At SUSPENDED it is notified as soon as the
 * link is down, although its ticket may live and no other client has been
 * admitted; the ticket leaves its queue when the link is back.  (The ticket of
 * an hf_mutex stays if no thread holds it then and threads of this client wait
 * for it, or it is kept.)  Waits go on in either case.  On an engine without
 * sessions over a network there is no difference. */
enum hf_loss_at {
    HF_LOSS_AT_LOST = 0, /* when safe-until passes or the session is over; with
                            proof=lazy only the latter */
    HF_LOSS_AT_SUSPENDED = 1
};

/* What a client counts, combined with '|': see <holdfast/metrics.h>. */
enum hf_metrics_flag {
    HF_METRICS_NONE = 0,
    /* Count, for hf_client_stats() and hf_client_metrics_write(). */
    HF_METRICS_COUNT = 1,
    /* If HOLDFAST_METRICS_DIR is set, count and keep the numbers in a file in
     * that directory, for `holdfast metrics --dir`.  If that is not possible,
     * the log says why, and nothing else fails.  A set-user-id program ignores
     * the variable. */
    HF_METRICS_DIR = 2
};

/* What a lock called ${name} is called in metrics: ${name}, or a name that
 * several locks share; at most 255 bytes of it are kept.  NULL: it counts among
 * the others, and so does what is no UTF-8 or has control characters.  Called
 * once for each handle of a lock, by the call that opens it, with no lock of
 * the library held: while it blocks, that call alone waits.  The text is copied
 * when it has returned. */
struct hf_metrics_name {
    const char *(*fn)(void *arg, const char *name);
    void *arg; /* valid until hf_client_close() has returned */
};

enum hf_lock_event_kind {
    HF_LOCK_EVENT_ACQUIRED = 0, /* it was granted, or this candidate leads */
    HF_LOCK_EVENT_FAILED = 1,   /* the acquire has ended without a grant */
    HF_LOCK_EVENT_RELEASED = 2, /* a call releases it; other programs see that
                                   a moment later */
    HF_LOCK_EVENT_LOST = 3,     /* it was lost; or, after RELEASED, nothing has
                                   confirmed that its ticket was still there */
    HF_LOCK_EVENT_REVOKED = 4   /* somebody asks for its release */
};

/* What struct hf_on_event is called with.  An acquire of several locks has an
 * event for each, one after the other. */
struct hf_lock_event {
    enum hf_lock_event_kind kind;
    const char *name; /* of the lock, without a leading '/' */
    size_t index;     /* which of the locks it is, from 0 */
    size_t count;     /* how many locks the acquire is of */
    hf_status status; /* FAILED: how it has ended; else HF_OK */
    uint64_t token;   /* its fencing token; 0 if it was not granted */
    bool waited;      /* ACQUIRED, FAILED: others were ahead */
    /* In microseconds.  ACQUIRED, FAILED: from the call.  RELEASED, and LOST
     * that does not follow it: from the grant.  Else 0. */
    uint64_t duration_us;
};

/* Called with each event that metrics count of locks: each acquire that is
 * granted or fails, each release, loss and request to release, in their order,
 * one call at a time.  It is a callback like the others: it comes a moment
 * after the event, which other calls and callbacks may show before.  While it
 * blocks up to 65,536 events wait; those that find no room are left out, and
 * the log says how many.  ${event} is valid until it returns.  It is not called
 * after the last callback of hf_client_close(), and costs nothing where it is
 * not set. */
struct hf_on_event {
    void (*fn)(void *arg, const struct hf_lock_event *event);
    void *arg; /* valid until hf_client_close() has returned */
};

struct hf_client_opts {
    size_t size; /* set by HF_CLIENT_OPTS_INIT */
    enum hf_delivery delivery;
    /* How long the first connection may take, in milliseconds, before acquires
     * that wait for it end with HF_EUNREACHABLE.  Waits survive later outages.
     * If waiting does not help, because all servers refuse the client
     * (HF_EDENIED), are not what the URL says (HF_EURL), cannot be used
     * (HF_EUNSUPPORTED) or answer nonsense (HF_EPROTOCOL), the acquires end at
     * once; docs/engines.md has a table of the causes.  This limits how long
     * calls wait, .reconnect how often connections are tried; the one that
     * ends first ends the wait. */
    uint64_t connect_ms;
    struct hf_on_state on_state;
    struct hf_on_log on_log;
    struct hf_reconnect reconnect;
    enum hf_loss_at loss_at;
    uint64_t metrics;                    /* enum hf_metrics_flag */
    struct hf_metrics_name metrics_name; /* .fn is NULL: the name itself */
    struct hf_on_event on_event;         /* whatever .metrics says */
};
#define HF_CLIENT_OPTS_INIT                                                    \
    {                                                                          \
        sizeof(struct hf_client_opts), HF_DELIVER_THREAD, 15000,               \
            {NULL, NULL, NULL}, {NULL, NULL, HF_LOG_WARNING},                  \
            {50, 1000, HF_RECONNECT_UNLIMITED, HF_FOREVER, NULL, NULL},        \
            HF_LOSS_AT_LOST, HF_METRICS_NONE, {NULL, NULL},                    \
        {                                                                      \
            NULL, NULL                                                         \
        }                                                                      \
    }

/**
 * hf_client_opts_init(opts, size):
 * Set ${opts} to HF_CLIENT_OPTS_INIT, for a program in a language that has not
 * the macros of C.  ${size} is the size of the struct as the program knows it,
 * and becomes .size: no more than that is written, and fields that this library
 * does not know are 0.
 *   Thread    any.
 */
HF_API void hf_client_opts_init(struct hf_client_opts *opts, size_t size)
    HF_NONNULL(1);

/**
 * hf_client_open(url, opts, client):
 * Set ${client} to a new client of the engine at ${url}, for instance
 * "file:/run/holdfast".  NULL asks the environment: HOLDFAST_URL or, where
 * there is no such variable, "file:", which stands for $HOLDFAST_DIR or,
 * without it, a directory of this user's own.  A variable that is empty is
 * refused, because no engine is to be used by accident.  A session over a
 * network is begun but not waited for: the first acquire waits.
 *   Ownership ${url} and ${opts} (NULL: all defaults) are copied.  ${client}
 *             must be closed with hf_client_close().
 *   Callback  ${opts}->on_state, from then on.
 *   Fails     HF_EINVAL HF_EURL HF_EUNSUPPORTED HF_EDIR HF_EDENIED HF_EFULL
 *             HF_ELIMIT HF_ENOMEM; ${client} is then NULL.
 */
HF_API hf_status hf_client_open(const char *url,
                                const struct hf_client_opts *opts,
                                struct hf_client **client)
    HF_NONNULL(3) HF_MUST_CHECK;

/**
 * hf_client_close(client):
 * End the session and free ${client} (NULL is fine).  Waits end with
 * HF_ECLOSED, each grant that is still held is lost and its user is notified,
 * and every callback has returned before this does.  Locks and grants stay
 * valid handles: free and release them as usual.
 *   Time      as long as the server goes on to remove locks.  The wait ends
 *             when it is silent for a second; with more than 128 locks, for a
 *             third of a lease.
 *   Fails     HF_EREENTRANT HF_EFORKED; ${client} is then not closed.
 */
HF_API hf_status hf_client_close(struct hf_client *client);

/**
 * hf_client_close_start(client, done):
 * The same without waiting.  ${client} must not be used again, but for
 * hf_client_fd() and hf_client_dispatch() where these bring ${done}.
 *   Callback  once, after every other callback of ${client}.
 *   Fails     HF_ELIMIT HF_EFORKED; ${client} is then not closed.
 */
HF_API hf_status hf_client_close_start(struct hf_client *client,
                                       struct hf_done done)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_client_state(client):
 * The state of the session now.
 *   Thread    any.
 */
HF_API enum hf_state hf_client_state(const struct hf_client *client)
    HF_NONNULL(1);

/**
 * hf_client_add_listener(client, on_state, listener):
 * Notify ${on_state} of the states of ${client} from now on, after the
 * listeners that were added before; the first is that of struct hf_client_opts.
 * The present state is not reported: hf_client_state(), called after this,
 * returns it.
 *   Ownership ${listener} must be freed with hf_client_remove_listener(), or is
 *             freed with ${client} once that is closed.
 *   Callback  ${on_state}, from then on.
 *   Fails     HF_EINVAL if ${on_state} has no function; HF_ECLOSED HF_ENOMEM
 *             HF_EFORKED.
 */
HF_API hf_status hf_client_add_listener(struct hf_client *client,
                                        struct hf_on_state on_state,
                                        struct hf_listener **listener)
    HF_NONNULL(1, 3) HF_MUST_CHECK;

/**
 * hf_client_remove_listener(client, listener):
 * Free ${listener} (NULL is fine), one of those of ${client}.  None of its
 * calls comes after this: one that runs has returned, one that was queued does
 * not run, and its .drop has been called.  Inside a callback of this library
 * this does not wait: a call of ${listener} that runs then, this one or one on
 * another thread, goes on, and .drop comes right after it.
 *   Time      until a call of ${listener} that runs on another thread has
 *             returned.
 */
HF_API void hf_client_remove_listener(struct hf_client *client,
                                      struct hf_listener *listener)
    HF_NONNULL(1);

/**
 * hf_client_describe(client, buffer, bytes):
 * Write one line about the engine in use to ${buffer}, cut to ${bytes} with
 * its NUL: scheme and place, never a secret ("file:/run/holdfast").
 *   Ownership ${buffer} is yours.
 */
HF_API void hf_client_describe(const struct hf_client *client, char *buffer,
                               size_t bytes) HF_NONNULL(1, 2);

/**
 * hf_client_fd(client):
 * The descriptor that is readable while callbacks wait to be run, for a loop
 * of your own: level-triggered, close-on-exec.  Do not read, write or close
 * it.  -1 unless the client was opened with HF_DELIVER_DISPATCH.
 *   Ownership the client's, until it is closed.
 */
HF_API int hf_client_fd(const struct hf_client *client) HF_NONNULL(1);

/**
 * hf_client_dispatch(client):
 * Run the callbacks that wait, on this thread.  A callback that is added by one
 * of them is left for the next call, so this always ends.
 *   Thread    one at a time.
 *   Fails     HF_ESTATE unless opened with HF_DELIVER_DISPATCH; HF_EREENTRANT
 *             from a callback; HF_EFORKED.
 */
HF_API hf_status hf_client_dispatch(struct hf_client *client) HF_NONNULL(1);

/* ---------------------------------------------------- operations: hf_op -- */

/**
 * hf_op_cancel(op):
 * Ask the operation to end.  Its callback comes as usual: with HF_ECANCELLED,
 * once its ticket is gone as with hf_lock_acquire(), or, if it was granted
 * before, with HF_OK and a grant to release.  Idempotent; without effect when
 * the operation has ended.
 */
HF_API void hf_op_cancel(struct hf_op *op) HF_NONNULL(1);

/**
 * hf_op_free(op):
 * Free the handle (NULL is fine).  The operation itself goes on.
 */
HF_API void hf_op_free(struct hf_op *op);

/* --------------------------------------------------------- process-wide -- */

struct hf_allocator {
    void *(*allocate)(size_t bytes, void *arg);             /* as malloc */
    void *(*resize)(void *memory, size_t bytes, void *arg); /* as realloc */
    void (*release)(void *memory, void *arg); /* as free; never with NULL */
    void *arg;
};

/**
 * hf_set_allocator(allocator):
 * Have the library allocate its memory with ${allocator}.  The memory of libuv
 * is not covered; for that there is uv_replace_allocator().
 *   Ownership ${allocator} is copied; .arg must live as long as the process.
 *   Thread    the functions are called from any thread, several at once.
 *   Fails     HF_ESTATE once the library has allocated anything; HF_EINVAL if a
 *             function is NULL.
 */
HF_API hf_status hf_set_allocator(const struct hf_allocator *allocator)
    HF_NONNULL(1) HF_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
