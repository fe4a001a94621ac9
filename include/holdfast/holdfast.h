/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holdfast: distributed locks for C.
 *
 * A lock is a fair queue of tickets that an engine (a directory on this
 * machine, ZooKeeper, Redis, PostgreSQL) keeps in order and clears of the dead.
 *
 *     struct hf_client *client;
 *     struct hf_lock *lock;
 *     struct hf_grant *grant;
 *
 *     if (hf_client_open(NULL, NULL, &client, NULL) == HF_OK) {
 *         hf_lock_open(client, "nightly-report", NULL, &lock);
 *         if (hf_acquire(lock, NULL, &grant) == HF_OK) {
 *             write_report(hf_grant_token(grant));
 *             hf_grant_release(grant);
 *         }
 *         hf_lock_free(lock);
 *         hf_client_close(client);
 *     }
 *
 * What holds for every call
 *
 * Threads    Any thread may make any call unless its entry says otherwise.
 *            A handle must not be used once the call that frees it has begun.
 *            No call is a cancellation point: a thread that is cancelled in
 *            one, waiting or not, ends after it.
 * Blocking   A call that waits is named without _start.  It is refused with
 *            HF_EREENTRANT inside a callback of this library and on the
 *            thread of a borrowed uv loop, where it could only wait for
 *            itself.
 * Callbacks  A call that returns anything but HF_OK never calls back.  One
 *            that returns HF_OK calls back exactly once, never from inside it,
 *            though another thread may be there before it has returned, and
 *            with no lock of the library held.  Where callbacks run is chosen
 *            when the client is opened (enum hf_delivery).  The .drop of a
 *            callback, if any, runs once when .arg is no longer needed, also
 *            when the call failed; it is a callback like the others.
 * Time       Names end in their unit.  An instant (_at_ms, safe_until_ms) is
 *            on CLOCK_BOOTTIME; a duration (_ms) starts at the call.  No wall
 *            clock decides anything; what is called _utc_ms is for people.
 * Failure    Every failure is an hf_status from one table.  The text of the
 *            last failure is kept on the handle it happened to.
 * fork       A child must not use its parent's handles: every call on one
 *            answers HF_EFORKED there, and nothing it does, exit included,
 *            disturbs the parent's locks.
 */
#ifndef HOLDFAST_HOLDFAST_H
#define HOLDFAST_HOLDFAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <holdfast/version.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(HF_BUILDING)
#define HF_API __attribute__((visibility("default")))
#else
#define HF_API
#endif

#define HF_NONNULL(...) __attribute__((nonnull(__VA_ARGS__)))
#define HF_MUST_CHECK __attribute__((warn_unused_result))

/* ------------------------------------------------------------- statuses -- */

/*
 * HF_STATUS_TABLE(X): X(name, number, class, retry, text).
 * Numbers are fixed for ever and never reused.
 */
#define HF_STATUS_TABLE(X)                                                     \
    X(HF_OK, 0, HF_CLASS_OK, HF_RETRY_NEVER, "success")                        \
    X(HF_EBUSY, 1, HF_CLASS_CONTENDED, HF_RETRY_LATER,                         \
      "another owner holds the lock")                                          \
    X(HF_ETIMEDOUT, 2, HF_CLASS_TIMEOUT, HF_RETRY_LATER,                       \
      "the wait ended before a grant")                                         \
    X(HF_ECANCELLED, 3, HF_CLASS_CANCELLED, HF_RETRY_LATER,                    \
      "the wait was cancelled")                                                \
    X(HF_ELOST, 4, HF_CLASS_LOST, HF_RETRY_NEVER,                              \
      "the grant was lost before it was released")                             \
    X(HF_EUNSURE, 5, HF_CLASS_UNKNOWN, HF_RETRY_CHECK,                         \
      "the request may or may not have taken effect")                          \
    X(HF_EUNREACHABLE, 6, HF_CLASS_UNAVAILABLE, HF_RETRY_LATER,                \
      "the engine could not be reached")                                       \
    X(HF_ECLOSED, 7, HF_CLASS_CANCELLED, HF_RETRY_NEVER,                       \
      "the client was closed")                                                 \
    X(HF_EINVAL, 8, HF_CLASS_USAGE, HF_RETRY_NEVER,                            \
      "an argument is not valid")                                              \
    X(HF_ENAME, 9, HF_CLASS_USAGE, HF_RETRY_NEVER,                             \
      "the lock name is not valid")                                            \
    X(HF_EURL, 10, HF_CLASS_USAGE, HF_RETRY_NEVER,                             \
      "the engine URL is not valid")                                           \
    X(HF_ESTATE, 11, HF_CLASS_USAGE, HF_RETRY_NEVER,                           \
      "the handle is in a state that does not allow this call")                \
    X(HF_EREENTRANT, 12, HF_CLASS_USAGE, HF_RETRY_NEVER,                       \
      "a call that waits was made where it could only wait for itself")        \
    X(HF_EFORKED, 13, HF_CLASS_USAGE, HF_RETRY_NEVER,                          \
      "the handle belongs to the parent process")                              \
    X(HF_EOWNER, 14, HF_CLASS_USAGE, HF_RETRY_NEVER,                           \
      "the caller does not own the mutex")                                     \
    X(HF_EKIND, 15, HF_CLASS_USAGE, HF_RETRY_NEVER,                            \
      "the name is in use for another kind of lock")                           \
    X(HF_EDENIED, 16, HF_CLASS_DENIED, HF_RETRY_NEVER,                         \
      "the engine refused access")                                             \
    X(HF_EFULL, 17, HF_CLASS_STORAGE, HF_RETRY_LATER,                          \
      "no space is left where the engine keeps its tickets")                   \
    X(HF_EDIR, 18, HF_CLASS_STORAGE, HF_RETRY_NEVER,                           \
      "the lock directory cannot be used")                                     \
    X(HF_ELIMIT, 19, HF_CLASS_RESOURCE, HF_RETRY_LATER,                        \
      "the process ran into a limit of the system")                            \
    X(HF_ENOMEM, 20, HF_CLASS_RESOURCE, HF_RETRY_LATER,                        \
      "memory could not be allocated")                                         \
    X(HF_EUNSUPPORTED, 21, HF_CLASS_UNSUPPORTED, HF_RETRY_NEVER,               \
      "this engine or build cannot do that")                                   \
    X(HF_EEXHAUSTED, 22, HF_CLASS_UNAVAILABLE, HF_RETRY_LATER,                 \
      "the sequence of the queue is exhausted")                                \
    X(HF_EPROTOCOL, 23, HF_CLASS_UNAVAILABLE, HF_RETRY_LATER,                  \
      "the engine answered something that makes no sense")                     \
    X(HF_EBUG, 24, HF_CLASS_BUG, HF_RETRY_NEVER, "a fault in holdfast itself") \
    X(HF_EGONE, 25, HF_CLASS_GONE, HF_RETRY_NEVER,                             \
      "the ticket is not in the queue")

/* clang-format off */
typedef enum hf_status {
#define HF_STATUS_ENUM_(name, number, class_, retry, text) name = number,
    HF_STATUS_TABLE(HF_STATUS_ENUM_)
#undef HF_STATUS_ENUM_
} hf_status;
/* clang-format on */

/* What kind of trouble a status is: switch on this. */
enum hf_class {
    HF_CLASS_OK = 0,
    HF_CLASS_CONTENDED = 1,   /* somebody else has it */
    HF_CLASS_TIMEOUT = 2,     /* time ran out */
    HF_CLASS_CANCELLED = 3,   /* this program gave up */
    HF_CLASS_LOST = 4,        /* ownership ended while in use */
    HF_CLASS_UNKNOWN = 5,     /* neither yes nor no */
    HF_CLASS_UNAVAILABLE = 6, /* the engine does not answer, or not sensibly */
    HF_CLASS_USAGE = 7,       /* the call was wrong; fix the program */
    HF_CLASS_DENIED = 8,      /* not permitted */
    HF_CLASS_STORAGE = 9,     /* the place for tickets is full or unusable */
    HF_CLASS_RESOURCE = 10,   /* memory, descriptors, processes */
    HF_CLASS_UNSUPPORTED = 11,
    HF_CLASS_BUG = 12,
    HF_CLASS_GONE = 13 /* what was named is not there, or not any more */
};

/* Whether the same call may do better another time. */
enum hf_retry {
    HF_RETRY_NEVER = 0, /* not without a change */
    HF_RETRY_LATER = 1, /* yes */
    HF_RETRY_CHECK = 2  /* look first: it may already have happened */
};

/**
 * hf_status_name(status), hf_status_text(status):
 * The symbol ("HF_EBUSY") and a short sentence for ${status}.  A number that
 * is not in the table gives "HF_?" and "unknown status".
 *   Ownership static; never NULL.
 *   Thread    any; also async-signal-safe.
 */
HF_API const char *hf_status_name(hf_status status);
HF_API const char *hf_status_text(hf_status status);

/**
 * hf_status_class(status), hf_status_retry(status):
 * The class of ${status} and whether trying again can help.  A number that is
 * not in the table is HF_CLASS_BUG and HF_RETRY_NEVER.
 *   Thread    any; also async-signal-safe.
 */
HF_API enum hf_class hf_status_class(hf_status status);
HF_API enum hf_retry hf_status_retry(hf_status status);

/* A status with its story, in memory of the caller. */
#define HF_ERROR_TEXT_BYTES 480
struct hf_error {
    hf_status status;
    char text[HF_ERROR_TEXT_BYTES]; /* NUL-terminated, valid UTF-8, no secret */
};

/**
 * hf_version():
 * The version of the library in use, as HF_VERSION has it for the header.
 *   Thread    any.
 */
HF_API int hf_version(void);

/* --------------------------------------------------------- process-wide -- */

struct hf_allocator {
    void *(*allocate)(size_t bytes, void *arg);             /* as malloc */
    void *(*resize)(void *memory, size_t bytes, void *arg); /* as realloc */
    void (*release)(void *memory, void *arg); /* as free; never with NULL */
    void *arg;
};

/**
 * hf_set_allocator(allocator):
 * Have the library take its memory from ${allocator}.  libuv's own memory is
 * not covered; uv_replace_allocator() is for that.
 *   Ownership ${allocator} is copied; .arg must live as long as the process.
 *   Thread    the functions are called from any thread, several at once.
 *   Fails     HF_ESTATE once the library has allocated anything; HF_EINVAL if
 *             a function is NULL.
 */
HF_API hf_status hf_set_allocator(const struct hf_allocator *allocator)
    HF_NONNULL(1) HF_MUST_CHECK;

/* --------------------------------------------------------------- client -- */

/* Opaque: connection and session; a name you may want; proof that you were
 * admitted; an operation under way; locks counted per thread. */
struct hf_client;
struct hf_lock;
struct hf_grant;
struct hf_op;
struct hf_mutex;
struct hf_rwlock;
struct hf_election; /* a candidate for a leadership */
struct hf_barrier;
struct hf_double_barrier;
struct hf_tickets; /* a queue as it stood at one moment */

/* No limit, as a duration; never, as an instant. */
#define HF_FOREVER UINT64_MAX

/* How an operation ended. */
struct hf_result {
    hf_status status;
    const char *text;       /* the story of a failure; "" if HF_OK */
    struct hf_grant *grant; /* of an acquire that gave HF_OK, else NULL; yours
                               to release */
    struct hf_tickets *tickets; /* of a list that gave HF_OK, else NULL; yours
                                   to free */
};

/* Called once when an operation has ended.  ${result} is valid until it
 * returns.  .fn may be NULL: the end is then not told. */
struct hf_done {
    void (*fn)(void *arg, const struct hf_result *result);
    void *arg;
    void (*drop)(void *arg);
};

enum hf_state {
    HF_STATE_CONNECTING = 0, /* no session yet, or a new one after LOST */
    HF_STATE_CONNECTED = 1,
    HF_STATE_SUSPENDED = 2, /* link down; tickets may still live */
    HF_STATE_LOST = 3,      /* the session is over, its tickets are gone */
    HF_STATE_CLOSED = 4     /* for good */
};

/**
 * hf_state_name(state):
 * "CONNECTED" and so on; "?" for a number that is none.
 *   Thread    any.
 */
HF_API const char *hf_state_name(enum hf_state state);

/* Told after the state of a client changed.  A slow listener may miss states
 * in between, but never the last one nor a LOST. */
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

/* Told what the library does, up to .level.  Unlike other callbacks it runs
 * on whichever thread did it, several at once, with no lock held; it must not
 * call the library.  Lines never hold secrets. */
struct hf_on_log {
    void (*fn)(void *arg, enum hf_log_level level, const char *line);
    void *arg;
    enum hf_log_level level;
};

/* Where callbacks run; never mixed within a client.  The third way, a
 * borrowed uv loop, is hf_client_open_uv() in <holdfast/uv.h>. */
enum hf_delivery {
    HF_DELIVER_THREAD = 0,  /* a background thread of the client's own */
    HF_DELIVER_DISPATCH = 1 /* in hf_client_dispatch(), when hf_client_fd() is
                               readable */
};

struct hf_client_opts {
    size_t size; /* set by HF_CLIENT_OPTS_INIT; 0 is an error */
    enum hf_delivery delivery;
    /* How long the first connection may take before acquires that wait for it
     * end with HF_EUNREACHABLE.  Later outages are ridden out.  Who is
     * refused instead hears so at once: HF_EDENIED HF_EURL. */
    uint64_t connect_ms;
    struct hf_on_state on_state;
    struct hf_on_log on_log;
};
#define HF_CLIENT_OPTS_INIT                                                    \
    {                                                                          \
        sizeof(struct hf_client_opts), HF_DELIVER_THREAD, 15000,               \
            {NULL, NULL, NULL},                                                \
        {                                                                      \
            NULL, NULL, HF_LOG_WARNING                                         \
        }                                                                      \
    }

/**
 * hf_client_open(url, opts, client, error):
 * Set ${client} to a new client of the engine at ${url}, for instance
 * "file:/run/holdfast".  NULL asks the environment: HOLDFAST_URL, else "file:",
 * which stands for $HOLDFAST_DIR or, without it, a directory of this user's
 * own.  A session over a network is begun but not waited for: the first
 * acquire waits.
 *   Ownership ${url} and ${opts} (NULL: all defaults) are copied.  ${error}
 *             (may be NULL) is filled on failure.  ${client} wants
 *             hf_client_close().
 *   Callback  ${opts}->on_state, from then on.
 *   Fails     HF_EINVAL HF_EURL HF_EUNSUPPORTED HF_EDIR HF_EDENIED HF_EFULL
 *             HF_ELIMIT HF_ENOMEM; ${client} is then NULL.
 */
HF_API hf_status hf_client_open(const char *url,
                                const struct hf_client_opts *opts,
                                struct hf_client **client,
                                struct hf_error *error)
    HF_NONNULL(3) HF_MUST_CHECK;

/**
 * hf_client_close(client):
 * End the session and free ${client} (NULL is fine).  Waits end with
 * HF_ECLOSED, each grant that is still held hears LOST, and every callback has
 * returned before this does.  Locks and grants stay valid handles: free and
 * release them as usual.
 *   Time      a session over a network is told goodbye for at most a second.
 *   Fails     HF_EREENTRANT HF_EFORKED; ${client} then lives on.
 */
HF_API hf_status hf_client_close(struct hf_client *client);

/**
 * hf_client_close_start(client, done):
 * The same without waiting.  ${client} must not be used again, but for
 * hf_client_fd() and hf_client_dispatch() where they are what brings ${done}.
 *   Callback  once, after every other callback of ${client}.
 *   Fails     HF_ELIMIT HF_EFORKED; ${client} then lives on.
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
 * hf_client_describe(client, buffer, bytes):
 * Write one line about the engine in use to ${buffer}, cut to ${bytes} with
 * its NUL: scheme and place, never a secret ("file:/run/holdfast").
 *   Ownership ${buffer} is yours.
 */
HF_API void hf_client_describe(const struct hf_client *client, char *buffer,
                               size_t bytes) HF_NONNULL(1, 2);

/**
 * hf_client_error(client, error), hf_lock_error(lock, error):
 * Copy the last failure on this handle to ${error}: HF_OK and "" if there was
 * none.  The text begins with the name of the call.
 *   Ownership ${error} is yours.
 */
HF_API void hf_client_error(const struct hf_client *client,
                            struct hf_error *error) HF_NONNULL(1, 2);
HF_API void hf_lock_error(const struct hf_lock *lock, struct hf_error *error)
    HF_NONNULL(1, 2);

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
 * Run the callbacks that wait, here.  One that a callback adds is left for the
 * next call, so this always ends.
 *   Thread    one at a time.
 *   Fails     HF_ESTATE unless opened with HF_DELIVER_DISPATCH; HF_EREENTRANT
 *             from a callback; HF_EFORKED.
 */
HF_API hf_status hf_client_dispatch(struct hf_client *client) HF_NONNULL(1);

/* ----------------------------------------------------------------- lock -- */

/* What a lock is wanted for.  The kind belongs to the name: while tickets of
 * one kind are in its queue, another kind is refused with HF_EKIND.  Reading
 * and writing are one kind, of two handles. */
enum hf_kind {
    HF_KIND_MUTEX = 0,
    HF_KIND_READ = 1,  /* shared with other readers; waits for every writer that
                          came before, so that none starves */
    HF_KIND_WRITE = 2, /* alone */
    HF_KIND_SEMAPHORE = 3, /* .permits of .limit, all of them or none.  With a
                              .limit of 1 it is what Curator calls an
                              InterProcessSemaphoreMutex: who holds a mutex of
                              that name does not keep it out, nor it them */
    HF_KIND_ELECTION = 4,  /* a mutex, whose holder leads: hf_election_open() */
    /* Only seen, in a struct hf_ticket_view: a mutex, a writer or one who
     * stands for election, and the ticket does not say which (kazoo's do not).
     */
    HF_KIND_EXCLUSIVE = 15,
    /* Or a party to a double barrier: hf_double_barrier_members() */
    HF_KIND_MEMBER = 16
};

/* The most permits that one acquire may take, and the most locks. */
#define HF_PERMITS_MAX 64
#define HF_LOCKS_MAX 64

struct hf_lock_opts {
    size_t size; /* set by HF_LOCK_OPTS_INIT; 0 is an error */
    enum hf_kind kind;
    /* Of a semaphore, else 1.  Each goes by its own .limit: say the same
     * everywhere. */
    uint32_t permits;
    uint32_t limit;
};
#define HF_LOCK_OPTS_INIT                                                      \
    {                                                                          \
        sizeof(struct hf_lock_opts), HF_KIND_MUTEX, 1, 1                       \
    }

/* Bytes in the longest lock name and in its longest component. */
#define HF_NAME_BYTES 1024
#define HF_NAME_COMPONENT_BYTES 255

/**
 * hf_lock_open(client, name, opts, lock):
 * Set ${lock} to a handle for the lock called ${name}.  No request is made: a
 * lock exists as long as somebody wants it.
 *
 * Names are the same on every engine: up to HF_NAME_BYTES of valid UTF-8,
 * compared as bytes; components split by '/', each up to
 * HF_NAME_COMPONENT_BYTES; one leading '/' is dropped and a trailing one
 * refused; no empty component, ".", "..", control characters, nor what
 * ZooKeeper refuses (the private use area, U+FFF0 and above); none may look
 * like a ticket ("lock-0000000007"), the last one must not be "locks" or
 * "leases", and the first must not be "zookeeper".
 *   Ownership ${name} is copied.  ${lock} wants hf_lock_free() and keeps the
 *             memory of ${client} alive.
 *   Fails     HF_EINVAL HF_ENAME HF_ECLOSED HF_EFORKED HF_ENOMEM; the text is
 *             at hf_client_error().
 */
HF_API hf_status hf_lock_open(struct hf_client *client, const char *name,
                              const struct hf_lock_opts *opts,
                              struct hf_lock **lock)
    HF_NONNULL(1, 2, 4) HF_MUST_CHECK;

/**
 * hf_lock_free(lock):
 * Free ${lock} (NULL is fine).  Operations under way and grants of it go on.
 */
HF_API void hf_lock_free(struct hf_lock *lock);

/**
 * hf_lock_set_limit(lock, limit):
 * Of the semaphore ${lock} there are ${limit} permits from now on, as far as
 * this handle goes: whoever waits through it looks again.  What is held stays.
 *   Fails     HF_EINVAL if it is no semaphore, or ${limit} less than it takes
 *             at once; HF_EFORKED.
 */
HF_API hf_status hf_lock_set_limit(struct hf_lock *lock, uint32_t limit)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_lock_name(lock):
 * The name, without a leading '/'.
 *   Ownership ${lock}'s.
 */
HF_API const char *hf_lock_name(const struct hf_lock *lock) HF_NONNULL(1);

/* Where a wait stands. */
struct hf_wait {
    uint32_t ahead;     /* tickets before ours; 0 when about to be granted */
    uint64_t waited_ms; /* since the acquire was started */
    const char *holder; /* what the owner at the head of the queue says of
                           itself, as .owner of struct hf_ticket_view */
    uint32_t displaced; /* how often the ticket was lost, with the session or
                           because somebody took it out, and another one had at
                           the tail */
};

/* Told while waiting: after the ticket is in the queue, and each time its
 * place was looked up again; of a place that was lost also before the callback
 * of hf_acquire_start(), lest the grant be taken for one in the old place. */
struct hf_on_wait {
    void (*fn)(void *arg, const struct hf_wait *wait);
    void *arg;
    void (*drop)(void *arg);
};

/* Told at most once, when a grant ends before it is released.  The handle
 * still wants its release.  Not called once hf_grant_release() or
 * hf_grant_release_start() has been called. */
struct hf_on_loss {
    void (*fn)(void *arg, struct hf_grant *grant);
    void *arg;
    void (*drop)(void *arg);
};

/* Told each time somebody asks for a grant to be released
 * (hf_lock_request_release(), Curator's Revoker), and right after a grant for
 * which that was asked while it waited.  It may release ${grant}, here without
 * waiting or elsewhere and later, finish its work first, or do nothing: nobody
 * takes the grant away.  Requests in quick succession may be told as one. */
struct hf_on_revoke {
    void (*fn)(void *arg, struct hf_grant *grant);
    void *arg;
    void (*drop)(void *arg);
};

/* The longest text of a ticket's owner, in bytes without a NUL. */
#define HF_OWNER_TEXT_BYTES 80

struct hf_acquire_opts {
    size_t size;      /* set by HF_ACQUIRE_OPTS_INIT; 0 is an error */
    uint64_t wait_ms; /* HF_FOREVER: no limit.  0: as hf_try_acquire() */
    struct hf_on_wait on_wait;
    uint64_t on_wait_every_ms; /* look the place up this often for on_wait; 0:
                                  only when it has to be looked up anyway */
    struct hf_on_loss on_loss;
    struct hf_on_revoke on_revoke;
    const char *text; /* a word to those who look at the queue, at most
                         HF_OWNER_TEXT_BYTES of UTF-8 without control
                         characters; NULL: none */
};
#define HF_ACQUIRE_OPTS_INIT                                                   \
    {                                                                          \
        sizeof(struct hf_acquire_opts), HF_FOREVER, {NULL, NULL, NULL}, 0,     \
            {NULL, NULL, NULL}, {NULL, NULL, NULL}, NULL                       \
    }

/**
 * hf_acquire(lock, opts, grant):
 * Wait in the queue of ${lock} until admitted and set ${grant}.  The queue is
 * fair: tickets are admitted in the order the engine took them in.  A wait
 * rides out a lost connection; after a lost session it goes on at the tail.
 *   Time      at most ${opts}->wait_ms for the grant.  An end without one
 *             comes after the engine answered that the ticket is gone, and at
 *             most a second late.
 *   Ownership ${opts} (NULL: wait for ever) is copied.  ${grant} wants
 *             hf_grant_release().
 *   Thread    any; the grant belongs to no thread.
 *   Fails     HF_ETIMEDOUT; HF_EBUSY if wait_ms is 0; HF_EUNREACHABLE if there
 *             never was a connection; HF_ECLOSED HF_EKIND HF_EDENIED HF_EDIR
 *             HF_EFULL HF_ELIMIT HF_ENOMEM HF_EEXHAUSTED HF_EPROTOCOL
 *             HF_EINVAL HF_EREENTRANT HF_EFORKED; HF_EUNSUPPORTED if the
 *             engine, as its URL has it, has no tickets of that kind.
 *             ${grant} is NULL.  No ticket is left in the queue unless the
 *             text says that it may stay there until the session ends: the
 *             engine gave no answer for a second (the link is down), or an
 *             enqueue that it never answered may still take effect.  Such a
 *             ticket is removed as soon as the engine answers again.
 */
HF_API hf_status hf_acquire(struct hf_lock *lock,
                            const struct hf_acquire_opts *opts,
                            struct hf_grant **grant)
    HF_NONNULL(1, 3) HF_MUST_CHECK;

/**
 * hf_try_acquire(lock, grant):
 * As hf_acquire(), but HF_EBUSY where it would wait for another owner.
 *   Time      one answer of the engine, at most connect_ms of the client; for
 *             HF_EBUSY one more, to the removal of its ticket.
 */
HF_API hf_status hf_try_acquire(struct hf_lock *lock, struct hf_grant **grant)
    HF_NONNULL(1, 2) HF_MUST_CHECK;

/**
 * hf_acquire_start(lock, opts, done, op):
 * Begin hf_acquire().  Set ${op}, if not NULL, to a handle for
 * hf_op_cancel() that wants hf_op_free().
 *   Time      ${opts}->wait_ms counts from this call.
 *   Ownership ${opts} is copied.
 *   Callback  ${done} once, with HF_OK and a grant or with a status that
 *             hf_acquire() fails with; ${opts}->on_wait before it;
 *             ${opts}->on_loss after it.
 *   Fails     HF_EINVAL HF_ECLOSED HF_EFORKED HF_ENOMEM.
 */
HF_API hf_status hf_acquire_start(struct hf_lock *lock,
                                  const struct hf_acquire_opts *opts,
                                  struct hf_done done, struct hf_op **op)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_acquire_all(locks, count, opts, grant):
 * As hf_acquire(), of all ${count} ${locks}, of any kinds, or none.  They are
 * taken one after the other in the order of their names, whatever their order
 * here, so that callers never wait for each other in a circle; what was taken
 * is given back, last first, if the rest is not had in time.  Should one be
 * lost meanwhile all are taken from the start.  Of ${grant} everything holds
 * for all of them: it is lost with the first that is.
 *   Time      at most ${opts}->wait_ms, for all.
 *   Ownership ${locks} is borrowed for the call.
 *   Fails     as hf_acquire(); HF_EINVAL if there are none or more than
 *             HF_LOCKS_MAX, one is given twice, or is of another client.  The
 *             text is at hf_lock_error() of the first.
 */
HF_API hf_status hf_acquire_all(struct hf_lock *const *locks, size_t count,
                                const struct hf_acquire_opts *opts,
                                struct hf_grant **grant)
    HF_NONNULL(1, 4) HF_MUST_CHECK;

/**
 * hf_acquire_all_start(locks, count, opts, done, op):
 * Begin hf_acquire_all(), as hf_acquire_start() begins hf_acquire().
 */
HF_API hf_status hf_acquire_all_start(struct hf_lock *const *locks,
                                      size_t count,
                                      const struct hf_acquire_opts *opts,
                                      struct hf_done done, struct hf_op **op)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_op_cancel(op):
 * Ask the operation to end.  Its callback comes as usual: with HF_ECANCELLED,
 * once its ticket is gone as with hf_acquire(), or, if the grant won the race,
 * with HF_OK and a grant to release.
 * Idempotent; without effect when the operation has ended.
 */
HF_API void hf_op_cancel(struct hf_op *op) HF_NONNULL(1);

/**
 * hf_op_free(op):
 * Give up the handle (NULL is fine).  The operation itself goes on.
 */
HF_API void hf_op_free(struct hf_op *op);

/* ---------------------------------------------------------------- grant -- */

/**
 * hf_grant_token(grant):
 * The fencing token: greater than that of every earlier ticket of this lock
 * that was granted, ever.  Hand it to the resource with each write and let the
 * resource refuse a lower one than it has seen: only that covers a process or
 * machine that was paused past its lease.  Of several locks, that of the first
 * that was asked for.
 *   Thread    any; also async-signal-safe.
 */
HF_API uint64_t hf_grant_token(const struct hf_grant *grant) HF_NONNULL(1);

/**
 * hf_grant_token_of(grant, lock):
 * The fencing token for ${lock}, one of those that ${grant} is of; else 0.
 *   Thread    any; also async-signal-safe.
 */
HF_API uint64_t hf_grant_token_of(const struct hf_grant *grant,
                                  const struct hf_lock *lock) HF_NONNULL(1, 2);

/**
 * hf_grant_safe_until_ms(grant):
 * The instant on CLOCK_BOOTTIME, in milliseconds, before which nobody else can
 * have been admitted.  It moves forward while the session lives; 0 once the
 * grant is lost; HF_FOREVER on an engine without leases, where only the end of
 * the ticket itself ends the grant.
 *   Thread    any; also async-signal-safe.
 */
HF_API uint64_t hf_grant_safe_until_ms(const struct hf_grant *grant)
    HF_NONNULL(1);

/**
 * hf_grant_check(grant):
 * Take in what the engine has said so far, then answer HF_OK if ${grant} is
 * valid, HF_ELOST if not.  Good advice, not a fence: it can be out of date
 * when it returns.
 *   Fails     HF_ELOST HF_EFORKED.
 */
HF_API hf_status hf_grant_check(struct hf_grant *grant) HF_NONNULL(1);

/**
 * hf_grant_loss_fd(grant, fd):
 * Set ${fd} to a descriptor that becomes readable, and stays so, when ${grant}
 * is lost.  Made on the first request; close-on-exec.  Do not read it.
 *   Ownership ${grant}'s, until the release.
 *   Fails     HF_ELIMIT HF_EFORKED.
 */
HF_API hf_status hf_grant_loss_fd(struct hf_grant *grant, int *fd)
    HF_NONNULL(1, 2) HF_MUST_CHECK;

/**
 * hf_grant_hold_fd(grant, fd):
 * Set ${fd} to a new descriptor that keeps the ticket in the queue: nobody
 * else is admitted while any copy of it is open in any process, even after
 * hf_grant_release() or the death of this one.  Close-on-exec.
 *   Ownership ${fd} is yours to close.
 *   Fails     HF_EUNSUPPORTED on engines with sessions; HF_ELOST HF_ELIMIT
 *             HF_EFORKED.
 */
HF_API hf_status hf_grant_hold_fd(struct hf_grant *grant, int *fd)
    HF_NONNULL(1, 2) HF_MUST_CHECK;

/**
 * hf_grant_hold_fd_of(grant, lock, fd):
 * The same for the ticket of ${lock}, one of several; hf_grant_hold_fd() is
 * about the first that was asked for.
 *   Fails     also HF_EINVAL if ${grant} is not of ${lock}.
 */
HF_API hf_status hf_grant_hold_fd_of(struct hf_grant *grant,
                                     const struct hf_lock *lock, int *fd)
    HF_NONNULL(1, 2, 3) HF_MUST_CHECK;

/**
 * hf_grant_downgrade(grant):
 * Make the grant of a writer one of a reader, in its place: no other writer
 * comes in between, readers right behind it enter, and the token stays.  There
 * is no way back: a reader that wants to write could wait for another one that
 * wants the same; release, and acquire as a writer.
 *   Time      one answer of the engine; while cut off, until it answers or the
 *             session is over.
 *   Fails     HF_ELOST if ${grant} is, or gets, lost; HF_ESTATE if it is not a
 *             writer's, or of several locks, or this is under way, or
 *             hf_grant_hold_fd() gave out its descriptor; HF_EDENIED HF_EDIR
 *             HF_EFULL HF_ELIMIT if the engine cannot; HF_EREENTRANT
 *             HF_EFORKED.  But for HF_ELOST it is then a writer's as before.
 */
HF_API hf_status hf_grant_downgrade(struct hf_grant *grant) HF_NONNULL(1);

/**
 * hf_grant_downgrade_start(grant, done):
 * Begin hf_grant_downgrade().
 *   Callback  ${done} once, with HF_OK or with a status that
 *             hf_grant_downgrade() fails with; HF_ECANCELLED if ${grant} is
 *             released before.
 *   Fails     HF_ELOST HF_ESTATE HF_ECLOSED HF_ELIMIT HF_EFORKED.
 */
HF_API hf_status hf_grant_downgrade_start(struct hf_grant *grant,
                                          struct hf_done done)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_grant_release(grant):
 * Leave the queue and free ${grant}, whatever the status.  HF_OK means that
 * the engine confirmed the removal of this very ticket: it was in the queue
 * until this call, nobody it excludes had been admitted, and the next one in
 * line may enter.
 *   Time      one answer of the engine; while cut off, until it answers or the
 *             session is over, which is bounded by the session timeout.
 *   Ownership ${grant} is consumed (not with HF_EREENTRANT and HF_EFORKED).
 *   Fails     HF_ELOST if the grant had been lost before this call, or if
 *             that cannot be excluded: the session ended before the engine
 *             answered, or the answer to a first removal was lost and the
 *             ticket was gone afterwards.  HF_EDENIED if the engine let us in
 *             and does not let us out: the ticket is then there until the
 *             client is closed, unless that changes.  HF_EREENTRANT
 *             HF_EFORKED.
 */
HF_API hf_status hf_grant_release(struct hf_grant *grant) HF_NONNULL(1);

/**
 * hf_grant_release_start(grant, done):
 * Begin hf_grant_release().
 *   Ownership ${grant} is consumed, unless this fails.
 *   Callback  ${done} once, with HF_OK, HF_ELOST or HF_EDENIED.
 *   Fails     HF_ECLOSED if ${done} has a function and the client, being
 *             closed, nowhere to call it; HF_EFORKED.
 */
HF_API hf_status hf_grant_release_start(struct hf_grant *grant,
                                        struct hf_done done)
    HF_NONNULL(1) HF_MUST_CHECK;

/* ---------------------------------------------------------------- queue -- */

/* A ticket in a queue.  The text is the snapshot's. */
struct hf_ticket_view {
    const char *id; /* what hf_lock_evict() and hf_lock_request_release() call
                       it; the same for as long as it is in the queue */
    enum hf_kind kind;
    uint32_t permits; /* of a semaphore, 0 while it waits: its ticket does not
                         say; else 1 */
    bool holds;     /* the rule admits it: it holds the lock, or is about to */
    bool own;       /* this client's */
    uint64_t token; /* its fencing token; 0 if unknown */
    /* How long ago its owner began to wait, where that can be told: on one
     * machine since it was booted.  HF_FOREVER if not. */
    uint64_t age_ms;
    /* When it was made, in milliseconds since 1970, by the wall clock of its
     * owner or of the engine; 0 if nobody said.  For people: clocks differ. */
    uint64_t created_utc_ms;
    const char *dialect; /* whose layout it is in: "holdfast" on files,
                            "curator", "kazoo" and so on in ZooKeeper */
    /* What its owner says of itself, "" if nothing.  Ours says, with values
     * percent-encoded outside [A-Za-z0-9._-],
     *     host= pid= command= thread= since= at= text=
     * others say whatever they like.  Curator's Revoker, and
     * hf_lock_request_release() in ZooKeeper, overwrite it with "__REVOKE__".
     * Valid UTF-8, but anything in it: do not print it as it is. */
    const char *owner;
};

/**
 * hf_tickets_count(tickets), hf_tickets_at(tickets, place):
 * How many there are; the one at ${place}, from 0, in queue order; NULL beyond
 * the last.
 *   Ownership ${tickets}'.
 */
HF_API size_t hf_tickets_count(const struct hf_tickets *tickets) HF_NONNULL(1);
HF_API const struct hf_ticket_view *
hf_tickets_at(const struct hf_tickets *tickets, size_t place) HF_NONNULL(1);

/**
 * hf_tickets_foreign(tickets, n):
 * The name of the ${n}th thing, from 0, that is where tickets are and is none
 * in any layout; it has no say in who is admitted.  NULL beyond the last.
 *   Ownership ${tickets}'.
 */
HF_API const char *hf_tickets_foreign(const struct hf_tickets *tickets,
                                      size_t n) HF_NONNULL(1);

/**
 * hf_tickets_free(tickets):
 * Free ${tickets} (NULL is fine).
 */
HF_API void hf_tickets_free(struct hf_tickets *tickets);

/**
 * hf_lock_tickets(lock, wait_ms, tickets),
 * hf_lock_holders(lock, wait_ms, tickets),
 * hf_lock_waiters(lock, wait_ms, tickets):
 * Set ${tickets} to the queue of ${lock} as it stands, or to those in it that
 * hold the lock, or to those that wait.  No ticket is taken for that, and the
 * kind of ${lock} does not matter, but that it is a semaphore or none.  Of a
 * semaphore there are first those that have permits, each a ticket whatever
 * their number, and then those that wait.  The two are looked at one after the
 * other: who gets its permits that moment may be in both.  One of Curator's
 * that is next in line has its lease already, and counts among those who hold.
 *   Time      at most ${wait_ms}; HF_FOREVER: no limit but that of the first
 *             connection.
 *   Ownership ${tickets} wants hf_tickets_free().
 *   Fails     HF_ETIMEDOUT HF_EUNREACHABLE HF_ECLOSED HF_EDENIED HF_EDIR
 *             HF_ELIMIT HF_ENOMEM HF_EPROTOCOL HF_EREENTRANT HF_EFORKED;
 *             ${tickets} is then NULL.
 */
HF_API hf_status hf_lock_tickets(struct hf_lock *lock, uint64_t wait_ms,
                                 struct hf_tickets **tickets)
    HF_NONNULL(1, 3) HF_MUST_CHECK;
HF_API hf_status hf_lock_holders(struct hf_lock *lock, uint64_t wait_ms,
                                 struct hf_tickets **tickets)
    HF_NONNULL(1, 3) HF_MUST_CHECK;
HF_API hf_status hf_lock_waiters(struct hf_lock *lock, uint64_t wait_ms,
                                 struct hf_tickets **tickets)
    HF_NONNULL(1, 3) HF_MUST_CHECK;

/**
 * hf_lock_tickets_start(lock, wait_ms, done),
 * hf_lock_holders_start(lock, wait_ms, done),
 * hf_lock_waiters_start(lock, wait_ms, done):
 * Begin hf_lock_tickets() and so on.
 *   Callback  ${done} once, with HF_OK and .tickets or with a status.
 *   Fails     HF_EINVAL if ${done} has no function; HF_ECLOSED HF_ELIMIT
 *             HF_ENOMEM HF_EFORKED.
 */
HF_API hf_status hf_lock_tickets_start(struct hf_lock *lock, uint64_t wait_ms,
                                       struct hf_done done)
    HF_NONNULL(1) HF_MUST_CHECK;
HF_API hf_status hf_lock_holders_start(struct hf_lock *lock, uint64_t wait_ms,
                                       struct hf_done done)
    HF_NONNULL(1) HF_MUST_CHECK;
HF_API hf_status hf_lock_waiters_start(struct hf_lock *lock, uint64_t wait_ms,
                                       struct hf_done done)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_lock_evict(lock, id, wait_ms):
 * Take the ticket called ${id} out of the queue of ${lock} by force, whosever
 * it is.  One of ours hears: a holder that its grant is lost, a waiter that it
 * is displaced (struct hf_wait), for it goes to the tail of the queue.  The
 * next one may enter before the evicted holder has heard, or while it goes on
 * because it cannot hear: only its token tells the two apart.
 *   Time      at most ${wait_ms}.  After HF_ETIMEDOUT and HF_ECLOSED it may
 *             have been taken out, or may yet be.
 *   Fails     HF_EGONE if it is not there; HF_EINVAL if ${id} is no id; and as
 *             hf_lock_tickets().
 */
HF_API hf_status hf_lock_evict(struct hf_lock *lock, const char *id,
                               uint64_t wait_ms) HF_NONNULL(1, 2) HF_MUST_CHECK;

/**
 * hf_lock_request_release(lock, id, wait_ms):
 * Ask the owner of the ticket called ${id}, or of each that holds ${lock} if
 * that is NULL, to let go.  HF_OK says that they were asked; what they make of
 * it is theirs (struct hf_on_revoke; in ZooKeeper also a Revocable of
 * Curator's).  Programs of kazoo and go-zookeeper do not listen.
 *   Time      at most ${wait_ms}, for all of them together.
 *   Fails     HF_EGONE if there is none to ask; else as hf_lock_evict().
 */
HF_API hf_status hf_lock_request_release(struct hf_lock *lock, const char *id,
                                         uint64_t wait_ms)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_lock_evict_start(lock, id, wait_ms, done),
 * hf_lock_request_release_start(lock, id, wait_ms, done):
 * Begin hf_lock_evict() and hf_lock_request_release().
 *   Ownership ${id} is copied.
 *   Callback  ${done} once.
 *   Fails     HF_EINVAL HF_ECLOSED HF_ELIMIT HF_ENOMEM HF_EFORKED.
 */
HF_API hf_status hf_lock_evict_start(struct hf_lock *lock, const char *id,
                                     uint64_t wait_ms, struct hf_done done)
    HF_NONNULL(1, 2) HF_MUST_CHECK;
HF_API hf_status hf_lock_request_release_start(struct hf_lock *lock,
                                               const char *id, uint64_t wait_ms,
                                               struct hf_done done)
    HF_NONNULL(1) HF_MUST_CHECK;

/* ------------------------------------------------------------- election -- */

/* Told about a leadership of ours, which has the fencing token ${token}. */
struct hf_on_election {
    void (*fn)(void *arg, struct hf_election *election, uint64_t token);
    void *arg;
    void (*drop)(void *arg);
};

/* Told when a candidature has ended for good without having been resigned;
 * ${why} is valid until it returns.  hf_election_run() stands again, from here
 * as well. */
struct hf_on_ended {
    void (*fn)(void *arg, struct hf_election *election,
               const struct hf_error *why);
    void *arg;
    void (*drop)(void *arg);
};

struct hf_election_opts {
    size_t size; /* set by HF_ELECTION_OPTS_INIT; 0 is an error */
    /* HF_KIND_ELECTION, which is Curator's LeaderLatch in ZooKeeper; or
     * HF_KIND_MUTEX, whose queue Curator's LeaderSelector and kazoo's Election
     * use, and any mutex of that name. */
    enum hf_kind kind;
    const char *text; /* as in struct hf_acquire_opts */
    /* We lead, and lead no more.  They come by turns, on_elected first; of what
     * was over before it could be told neither is.  on_deposed comes ahead of
     * whatever else follows from the same loss.  Not for a resignation. */
    struct hf_on_election on_elected;
    struct hf_on_election on_deposed;
    /* Somebody asks us to let go while we lead, or asked while we waited: as
     * struct hf_on_revoke. */
    struct hf_on_election on_revoke;
    struct hf_on_ended on_ended;
};
#define HF_ELECTION_OPTS_INIT                                                  \
    {                                                                          \
        sizeof(struct hf_election_opts), HF_KIND_ELECTION, NULL,               \
            {NULL, NULL, NULL}, {NULL, NULL, NULL}, {NULL, NULL, NULL},        \
        {                                                                      \
            NULL, NULL, NULL                                                   \
        }                                                                      \
    }

/**
 * hf_election_open(client, name, opts, election):
 * Set ${election} to a possible candidate for the leadership of ${name}.  No
 * request is made.
 *   Ownership as hf_lock_open(); ${opts} (NULL: all defaults) are copied, .text
 *             included.  ${election} wants hf_election_free().
 *   Callback  those of ${opts}, between hf_election_run() and the end of
 *             hf_election_resign() or the call of hf_election_free().
 *   Fails     as hf_lock_open().
 */
HF_API hf_status hf_election_open(struct hf_client *client, const char *name,
                                  const struct hf_election_opts *opts,
                                  struct hf_election **election)
    HF_NONNULL(1, 2, 4) HF_MUST_CHECK;

/**
 * hf_election_free(election):
 * Free ${election} (NULL is fine); it resigns in the background if it stands.
 * A callback that runs meanwhile, elsewhere, goes on; .drop comes after it.
 */
HF_API void hf_election_free(struct hf_election *election);

/**
 * hf_election_run(election):
 * Stand for the leadership, in the background: take a place in the queue, lead
 * when it is our turn, and stand again at the tail whenever the leadership or
 * the session is lost, until hf_election_resign().  HF_OK if it stands already.
 *   Callback  on_elected, on_deposed and on_revoke; on_ended with what
 *             hf_acquire() fails with, HF_ECLOSED included.
 *   Fails     HF_ESTATE while a resignation is under way; HF_ECLOSED HF_ELIMIT
 *             HF_ENOMEM HF_EFORKED.
 */
HF_API hf_status hf_election_run(struct hf_election *election)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_election_resign(election):
 * Stand and lead no more.  HF_OK means that nothing of ${election} is in the
 * queue or can appear there, that none of its callbacks runs, and that none
 * will before the next hf_election_run(); also if it did not stand.
 *   Time      as hf_grant_release(), and until a callback of ${election} that
 *             runs has returned.
 *   Fails     HF_ESTATE if this is under way; HF_EDENIED if the engine let us
 *             in and does not let us out: the ticket is then there until the
 *             client is closed, unless that changes; HF_EREENTRANT HF_EFORKED.
 */
HF_API hf_status hf_election_resign(struct hf_election *election) HF_NONNULL(1);

/**
 * hf_election_resign_start(election, done):
 * Begin hf_election_resign().  ${election} leads no more when this returns.
 *   Callback  ${done} once, with HF_OK or HF_EDENIED.
 *   Fails     HF_ESTATE HF_ELIMIT HF_EFORKED; HF_ECLOSED if ${done} has a
 *             function and the client, being closed, nowhere to call it.
 */
HF_API hf_status hf_election_resign_start(struct hf_election *election,
                                          struct hf_done done)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_election_is_leader(election), hf_election_token(election),
 * hf_election_safe_until_ms(election):
 * Whether we lead; the fencing token of our leadership, 0 if we do not lead;
 * until when nobody else can, as hf_grant_safe_until_ms(), 0 if we do not lead.
 * They change before on_elected and on_deposed are told.  For what the first
 * one says use the token: see hf_grant_token().
 *   Thread    any; also async-signal-safe.
 */
HF_API bool hf_election_is_leader(const struct hf_election *election)
    HF_NONNULL(1);
HF_API uint64_t hf_election_token(const struct hf_election *election)
    HF_NONNULL(1);
HF_API uint64_t hf_election_safe_until_ms(const struct hf_election *election)
    HF_NONNULL(1);

/**
 * hf_election_leader(election, wait_ms, tickets),
 * hf_election_candidates(election, wait_ms, tickets):
 * Set ${tickets} to the ticket of whoever leads, none if nobody does, or to
 * those of all candidates, the leader first.  Whether ${election} stands does
 * not matter.
 *   Time, Ownership, Fails  as hf_lock_tickets().
 */
HF_API hf_status hf_election_leader(struct hf_election *election,
                                    uint64_t wait_ms,
                                    struct hf_tickets **tickets)
    HF_NONNULL(1, 3) HF_MUST_CHECK;
HF_API hf_status hf_election_candidates(struct hf_election *election,
                                        uint64_t wait_ms,
                                        struct hf_tickets **tickets)
    HF_NONNULL(1, 3) HF_MUST_CHECK;

/**
 * hf_election_leader_start(election, wait_ms, done),
 * hf_election_candidates_start(election, wait_ms, done):
 * Begin them, as hf_lock_tickets_start().
 */
HF_API hf_status hf_election_leader_start(struct hf_election *election,
                                          uint64_t wait_ms, struct hf_done done)
    HF_NONNULL(1) HF_MUST_CHECK;
HF_API hf_status hf_election_candidates_start(struct hf_election *election,
                                              uint64_t wait_ms,
                                              struct hf_done done)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_election_error(election, error):
 * As hf_lock_error().
 */
HF_API void hf_election_error(const struct hf_election *election,
                              struct hf_error *error) HF_NONNULL(1, 2);

/* ------------------------------------------------------ reentrant mutex -- */

struct hf_mutex_opts {
    size_t size; /* set by HF_MUTEX_OPTS_INIT; 0 is an error */
    /* Who the caller is, for programs whose tasks are not threads (fibres,
     * coroutines); called on each operation.  NULL: the calling thread. */
    uint64_t (*owner)(void *arg);
    void *owner_arg;
};
#define HF_MUTEX_OPTS_INIT                                                     \
    {                                                                          \
        sizeof(struct hf_mutex_opts), NULL, NULL                               \
    }

/**
 * hf_mutex_open(client, name, opts, mutex):
 * Set ${mutex} to the lock called ${name}, counted per owner: an owner that
 * locks it again counts up, without traffic.
 *
 * Owners that want one name through one client, by this handle or another,
 * queue here, in order, and one ticket stands for all of them.  It passes from
 * one to the next without traffic, at most 16 times; then, or once somebody has
 * asked for it to be released, it is given back and another is taken at the
 * tail of the queue, so that whoever waits elsewhere gets a turn.  What a
 * ticket says of its owner is about the one that was first in line when it was
 * made.
 *   Ownership as hf_lock_open(); ${mutex} wants hf_mutex_free().
 *   Fails     as hf_lock_open().
 */
HF_API hf_status hf_mutex_open(struct hf_client *client, const char *name,
                               const struct hf_mutex_opts *opts,
                               struct hf_mutex **mutex)
    HF_NONNULL(1, 2, 4) HF_MUST_CHECK;

/**
 * hf_mutex_free(mutex):
 * Free ${mutex} (NULL is fine); what is still locked is released.
 *   Thread    no other thread may be in a call on ${mutex}.
 */
HF_API void hf_mutex_free(struct hf_mutex *mutex);

/**
 * hf_mutex_lock(mutex), hf_mutex_trylock(mutex),
 * hf_mutex_timedlock(mutex, wait_ms):
 * Become the owner, or count up if the caller is it already.  A count belongs
 * to a ticket: when that was lost this answers HF_ELOST until the owner has
 * unlocked as often as it locked.
 *   Time      for ever; one answer of the engine, and none while another owner
 *             of this client has it or waits for it; ${wait_ms}.
 *   Fails     as hf_acquire(), and HF_ELOST.
 */
HF_API hf_status hf_mutex_lock(struct hf_mutex *mutex)
    HF_NONNULL(1) HF_MUST_CHECK;
HF_API hf_status hf_mutex_trylock(struct hf_mutex *mutex)
    HF_NONNULL(1) HF_MUST_CHECK;
HF_API hf_status hf_mutex_timedlock(struct hf_mutex *mutex, uint64_t wait_ms)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_mutex_unlock(mutex):
 * Count down; at zero, release, or pass it on to the owner that is next here.
 * A mutex that is passed on keeps its ticket, so nothing is asked of the
 * engine: HF_OK then means that no loss was known.
 *   Fails     HF_EOWNER if the caller is not the owner; HF_ELOST, having
 *             counted down, if the grant was lost or as hf_grant_release();
 *             HF_EREENTRANT HF_EFORKED.
 */
HF_API hf_status hf_mutex_unlock(struct hf_mutex *mutex) HF_NONNULL(1);

/**
 * hf_mutex_token(mutex):
 * The fencing token of the caller's grant; 0 if the caller is not the owner.
 * Owners of one client to whom one ticket was passed on have the same: let the
 * resource accept an equal one.  Between them there is nothing to fence off:
 * each has it until it unlocks.
 */
HF_API uint64_t hf_mutex_token(struct hf_mutex *mutex) HF_NONNULL(1);

/* ----------------------------------------------------- read/write lock -- */

struct hf_rwlock_opts {
    size_t size; /* set by HF_RWLOCK_OPTS_INIT; 0 is an error */
    /* As in struct hf_mutex_opts. */
    uint64_t (*owner)(void *arg);
    void *owner_arg;
};
#define HF_RWLOCK_OPTS_INIT                                                    \
    {                                                                          \
        sizeof(struct hf_rwlock_opts), NULL, NULL                              \
    }

/**
 * hf_rwlock_open(client, name, opts, rwlock):
 * Set ${rwlock} to the read/write lock called ${name}, counted per owner.  An
 * owner that writes may also read: that counts, without traffic.
 *   Ownership as hf_lock_open(); ${rwlock} wants hf_rwlock_free().
 *   Fails     as hf_lock_open().
 */
HF_API hf_status hf_rwlock_open(struct hf_client *client, const char *name,
                                const struct hf_rwlock_opts *opts,
                                struct hf_rwlock **rwlock)
    HF_NONNULL(1, 2, 4) HF_MUST_CHECK;

/**
 * hf_rwlock_free(rwlock):
 * Free ${rwlock} (NULL is fine); what is still locked is released.
 *   Thread    no other thread may be in a call on ${rwlock}.
 */
HF_API void hf_rwlock_free(struct hf_rwlock *rwlock);

/**
 * hf_rwlock_rdlock(rwlock), hf_rwlock_tryrdlock(rwlock),
 * hf_rwlock_timedrdlock(rwlock, wait_ms):
 * Become a reader, or count up if the caller reads or writes already.  A count
 * belongs to a ticket: when that was lost this answers HF_ELOST until the owner
 * has unlocked as often as it locked.
 *   Time      for ever; one answer of the engine; ${wait_ms}.
 *   Fails     as hf_acquire(), and HF_ELOST.
 */
HF_API hf_status hf_rwlock_rdlock(struct hf_rwlock *rwlock)
    HF_NONNULL(1) HF_MUST_CHECK;
HF_API hf_status hf_rwlock_tryrdlock(struct hf_rwlock *rwlock)
    HF_NONNULL(1) HF_MUST_CHECK;
HF_API hf_status hf_rwlock_timedrdlock(struct hf_rwlock *rwlock,
                                       uint64_t wait_ms)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_rwlock_wrlock(rwlock), hf_rwlock_trywrlock(rwlock),
 * hf_rwlock_timedwrlock(rwlock, wait_ms):
 * Become the writer, or count up if the caller is it already.
 *   Time      for ever; one answer of the engine; ${wait_ms}.
 *   Fails     HF_EREENTRANT, at once, if the caller only reads: it could only
 *             wait for itself; unlock the read first.  As hf_acquire(), and
 *             HF_ELOST as hf_rwlock_rdlock().
 */
HF_API hf_status hf_rwlock_wrlock(struct hf_rwlock *rwlock)
    HF_NONNULL(1) HF_MUST_CHECK;
HF_API hf_status hf_rwlock_trywrlock(struct hf_rwlock *rwlock)
    HF_NONNULL(1) HF_MUST_CHECK;
HF_API hf_status hf_rwlock_timedwrlock(struct hf_rwlock *rwlock,
                                       uint64_t wait_ms)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_rwlock_rdunlock(rwlock), hf_rwlock_wrunlock(rwlock):
 * Take back one read, or one write.  With the last of both the lock is
 * released; with the last write, while reads remain, the grant is downgraded:
 * the caller goes on reading, with the same token, and nobody wrote in between.
 *   Time      one answer of the engine where it releases or downgrades.
 *   Fails     HF_EOWNER if the caller has none of that sort; HF_ELOST, having
 *             counted down, if the grant was lost; what hf_grant_downgrade()
 *             fails with, having counted down: others then wait on, until all
 *             is unlocked; HF_EREENTRANT HF_EFORKED.
 */
HF_API hf_status hf_rwlock_rdunlock(struct hf_rwlock *rwlock) HF_NONNULL(1);
HF_API hf_status hf_rwlock_wrunlock(struct hf_rwlock *rwlock) HF_NONNULL(1);

/**
 * hf_rwlock_token(rwlock):
 * The fencing token of the caller's grant; 0 if the caller has none.
 */
HF_API uint64_t hf_rwlock_token(struct hf_rwlock *rwlock) HF_NONNULL(1);

/* -------------------------------------------------------------- barrier -- */

/*
 * A barrier holds up whoever waits at it for as long as it is up.  Anybody may
 * raise it and anybody lower it; it belongs to nobody and outlives the client
 * that raised it: in ZooKeeper it is a persistent node, the one that Curator's
 * DistributedBarrier makes, and on files it stays as long as the directory
 * does, which on a tmpfs is until the machine goes down.
 */

/**
 * hf_barrier_open(client, name, barrier):
 * Set ${barrier} to a handle for the barrier called ${name}.  No request is
 * made: it is down unless somebody has raised it.  Names are those of locks;
 * give a barrier one of its own, that no lock has nor any name below it.
 *   Ownership ${name} is copied.  ${barrier} wants hf_barrier_free() and keeps
 *             the memory of ${client} alive.
 *   Fails     as hf_lock_open(); the text is at hf_client_error().
 */
HF_API hf_status hf_barrier_open(struct hf_client *client, const char *name,
                                 struct hf_barrier **barrier)
    HF_NONNULL(1, 2, 3) HF_MUST_CHECK;

/**
 * hf_barrier_free(barrier):
 * Free ${barrier} (NULL is fine).  The barrier stays as it is, and operations
 * under way go on.
 */
HF_API void hf_barrier_free(struct hf_barrier *barrier);

/**
 * hf_barrier_error(barrier, error):
 * Copy the last failure on ${barrier} to ${error}, as hf_lock_error() does.
 *   Ownership ${error} is yours.
 */
HF_API void hf_barrier_error(const struct hf_barrier *barrier,
                             struct hf_error *error) HF_NONNULL(1, 2);

/**
 * hf_barrier_raise(barrier, wait_ms), hf_barrier_lower(barrier, wait_ms):
 * See that it is up, or down, whoever made it so and whether or not it was
 * before.
 *   Time      at most ${wait_ms}; HF_FOREVER: no limit but that of the first
 *             connection.  After HF_ETIMEDOUT and HF_ECLOSED it may have
 *             been done, or may yet be.
 *   Fails     HF_EKIND if, in ZooKeeper, its node has others below it;
 *             HF_ETIMEDOUT HF_EUNREACHABLE HF_ECLOSED HF_EDENIED HF_EDIR
 *             HF_EFULL HF_ELIMIT HF_ENOMEM HF_EPROTOCOL HF_EREENTRANT
 *             HF_EFORKED.
 */
HF_API hf_status hf_barrier_raise(struct hf_barrier *barrier, uint64_t wait_ms)
    HF_NONNULL(1) HF_MUST_CHECK;
HF_API hf_status hf_barrier_lower(struct hf_barrier *barrier, uint64_t wait_ms)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_barrier_wait(barrier, wait_ms):
 * Wait until it was down at some moment since this call; at once if it is.
 * Whatever wakes the wait, it looks before it ends: it rides out a lost
 * connection and a lost session.
 *   Time      at most ${wait_ms}; 0: one answer of the engine, at most
 *             connect_ms of the client.
 *   Fails     HF_ETIMEDOUT; HF_EBUSY if ${wait_ms} is 0 and it is up; and as
 *             hf_barrier_raise().
 */
HF_API hf_status hf_barrier_wait(struct hf_barrier *barrier, uint64_t wait_ms)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_barrier_raise_start(barrier, wait_ms, done),
 * hf_barrier_lower_start(barrier, wait_ms, done),
 * hf_barrier_wait_start(barrier, wait_ms, done, op):
 * Begin hf_barrier_raise() and so on.  Set ${op}, if not NULL, to a handle for
 * hf_op_cancel() that wants hf_op_free().
 *   Callback  ${done} once, with HF_OK or with a status; HF_ECANCELLED from a
 *             wait that was cancelled.
 *   Fails     HF_ECLOSED HF_ELIMIT HF_ENOMEM HF_EFORKED.
 */
HF_API hf_status hf_barrier_raise_start(struct hf_barrier *barrier,
                                        uint64_t wait_ms, struct hf_done done)
    HF_NONNULL(1) HF_MUST_CHECK;
HF_API hf_status hf_barrier_lower_start(struct hf_barrier *barrier,
                                        uint64_t wait_ms, struct hf_done done)
    HF_NONNULL(1) HF_MUST_CHECK;
HF_API hf_status hf_barrier_wait_start(struct hf_barrier *barrier,
                                       uint64_t wait_ms, struct hf_done done,
                                       struct hf_op **op)
    HF_NONNULL(1) HF_MUST_CHECK;

/* ------------------------------------------------------- double barrier -- */

/*
 * A double barrier has its parties begin together and end together: they enter
 * once so many are there, and leave once all who were let in want to.  Whatever
 * wakes somebody, he goes on only for what he then sees: to enter, that so many
 * were there at one time since he came; to leave, that nobody of his round is
 * there.  Who comes when the others are in, and makes them so many, is let in
 * to them.  In ZooKeeper it is what Curator's DistributedDoubleBarrier makes.
 */

/* The most parties that one waits for. */
#define HF_PARTIES_MAX 128

/**
 * hf_double_barrier_open(client, name, parties, barrier):
 * Set ${barrier} to a handle for one party to the double barrier called
 * ${name}, outside of it.  No request is made.  Names are those of locks; give
 * it one of its own, that no lock has nor any name below it, and the same
 * ${parties} everywhere.
 *   Ownership ${name} is copied.  ${barrier} wants hf_double_barrier_free() and
 *             keeps the memory of ${client} alive.
 *   Fails     as hf_lock_open(); HF_EINVAL if ${parties} is 0 or more than
 *             HF_PARTIES_MAX.  The text is at hf_client_error().
 */
HF_API hf_status hf_double_barrier_open(struct hf_client *client,
                                        const char *name, uint32_t parties,
                                        struct hf_double_barrier **barrier)
    HF_NONNULL(1, 2, 4) HF_MUST_CHECK;

/**
 * hf_double_barrier_free(barrier):
 * Free ${barrier} (NULL is fine).  Who is inside is taken out and waits for
 * nobody; what is under way goes on, and who then would be inside is not.
 */
HF_API void hf_double_barrier_free(struct hf_double_barrier *barrier);

/**
 * hf_double_barrier_error(barrier, error):
 * Copy the last failure on ${barrier} to ${error}, as hf_lock_error() does.
 *   Ownership ${error} is yours.
 */
HF_API void hf_double_barrier_error(const struct hf_double_barrier *barrier,
                                    struct hf_error *error) HF_NONNULL(1, 2);

/**
 * hf_double_barrier_enter(barrier, wait_ms):
 * Come, and wait until all parties have.  A lost connection is ridden out;
 * after a lost session it comes anew.  Unless this is HF_OK, it is outside, and
 * taken out of those who are counted as soon as the engine can be asked to.
 *   Time      at most ${wait_ms}; 0: one answer of the engine, at most
 *             connect_ms of the client.
 *   Fails     HF_ETIMEDOUT; HF_EBUSY if ${wait_ms} is 0 and too few are there;
 *             HF_ESTATE unless it is outside; HF_EUNREACHABLE HF_ECLOSED
 *             HF_EDENIED HF_EDIR HF_EFULL HF_ELIMIT HF_ENOMEM HF_EPROTOCOL
 *             HF_EREENTRANT HF_EFORKED HF_EUNSUPPORTED.
 */
HF_API hf_status hf_double_barrier_enter(struct hf_double_barrier *barrier,
                                         uint64_t wait_ms)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_double_barrier_leave(barrier, wait_ms):
 * Wait until all who were let in with this one, or before, leave too, or are
 * gone: who dies, or loses his session, holds up nobody.  Whatever the answer,
 * but for HF_ESTATE, HF_EREENTRANT and HF_EFORKED, it then is outside.
 *   Time      at most ${wait_ms}, and what it takes to be taken out, as with
 *             hf_grant_release(); 0: without waiting for others.
 *   Fails     HF_ELOST if the session was lost since it entered, or its ticket
 *             was not confirmed to be there (see hf_grant_release()), so that
 *             the others may have left without it; HF_ETIMEDOUT, or HF_EBUSY if
 *             ${wait_ms} is 0, if others are there; HF_ESTATE unless it is
 *             inside; else as hf_double_barrier_enter().
 */
HF_API hf_status hf_double_barrier_leave(struct hf_double_barrier *barrier,
                                         uint64_t wait_ms)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_double_barrier_members(barrier, wait_ms, members),
 * hf_double_barrier_members_start(barrier, wait_ms, done):
 * Set ${members} to those who are there now, in the order in which they came,
 * as hf_lock_tickets() does; .holds of those who have been let in.
 *   Ownership ${members} wants hf_tickets_free().
 *   Callback  ${done} once, with the list or with a status; it must have a
 *             function.
 *   Fails     as hf_lock_tickets(), and with HF_EUNSUPPORTED where the engine
 *             has no double barriers.
 */
HF_API hf_status hf_double_barrier_members(struct hf_double_barrier *barrier,
                                           uint64_t wait_ms,
                                           struct hf_tickets **members)
    HF_NONNULL(1, 3) HF_MUST_CHECK;
HF_API hf_status hf_double_barrier_members_start(
    struct hf_double_barrier *barrier, uint64_t wait_ms, struct hf_done done)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_double_barrier_enter_start(barrier, wait_ms, done, op),
 * hf_double_barrier_leave_start(barrier, wait_ms, done, op):
 * Begin hf_double_barrier_enter() and so on.  Set ${op}, if not NULL, to a
 * handle for hf_op_cancel() that wants hf_op_free().
 *   Callback  ${done} once, with HF_OK or with a status, and without a grant;
 *             HF_ECANCELLED if it was cancelled: it is outside.  It is inside,
 *             or outside, from the call of ${done} on.
 *   Fails     HF_ESTATE HF_ECLOSED HF_ELIMIT HF_ENOMEM HF_EFORKED.
 */
HF_API hf_status hf_double_barrier_enter_start(
    struct hf_double_barrier *barrier, uint64_t wait_ms, struct hf_done done,
    struct hf_op **op) HF_NONNULL(1) HF_MUST_CHECK;
HF_API hf_status hf_double_barrier_leave_start(
    struct hf_double_barrier *barrier, uint64_t wait_ms, struct hf_done done,
    struct hf_op **op) HF_NONNULL(1) HF_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
