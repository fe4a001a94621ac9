/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock, and the wait for it.
 *
 * A call that ends in _start calls back by a struct hf_done (client.h) when
 * what it began has ended:
 *
 *     static void on_acquired(void *arg, const struct hf_result *result)
 *     {
 *         struct job *job = arg;
 *
 *         if (result->status == HF_OK)
 *             job->grant = result->grant;
 *         else
 *             fprintf(stderr, "%s\n", result->text);
 *     }
 *
 *     status = hf_lock_acquire_start(
 *         lock, NULL, (struct hf_done){on_acquired, &job, NULL}, NULL);
 */
#ifndef HOLDFAST_LOCK_H
#define HOLDFAST_LOCK_H

#include <holdfast/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A name that can be acquired, and a kind.  It is not recursive: an acquire of
 * a lock that this program holds already waits for itself.  hf_mutex_open() is
 * for one that an owner may lock again. */
struct hf_lock;

/* What a lock is acquired for.  The kind belongs to the name: while tickets of
 * one kind are in its queue, another kind is refused with HF_EKIND.  Reading
 * and writing are one kind, of two handles. */
enum hf_kind {
    HF_KIND_MUTEX = 0,
    HF_KIND_READ = 1,  /* shared with other readers; waits for every writer that
                          came before, so that none starves */
    HF_KIND_WRITE = 2, /* alone */
    /* .permits of .limit, all of them or none.  With a .limit of 1 it is what
     * Curator calls an InterProcessSemaphoreMutex: it and a mutex of that name
     * do not exclude each other. */
    HF_KIND_SEMAPHORE = 3,
    HF_KIND_ELECTION = 4, /* a mutex, whose holder leads: hf_election_open() */
    /* Only in a struct hf_ticket_view: a mutex, a writer or a candidate of an
     * election, and the ticket does not say which (kazoo's do not). */
    HF_KIND_EXCLUSIVE = 15,
    /* The same: a participant of a double barrier, see
     * hf_double_barrier_participants(). */
    HF_KIND_PARTICIPANT = 16
};

/* The most permits that one acquire may take, and the most locks. */
#define HF_PERMITS_MAX 64
#define HF_LOCKS_MAX 64

struct hf_lock_opts {
    size_t size; /* set by HF_LOCK_OPTS_INIT */
    enum hf_kind kind;
    /* Of a semaphore; leave both at 1 for other kinds.  Each handle uses its
     * own .limit, so pass the same everywhere.  A handle that waits behind a
     * ticket with another limit logs a warning, once, and the text of
     * HF_ETIMEDOUT or HF_EBUSY has both. */
    uint32_t permits;
    uint32_t limit;
};
#define HF_LOCK_OPTS_INIT                                                      \
    {                                                                          \
        sizeof(struct hf_lock_opts), HF_KIND_MUTEX, 1, 1                       \
    }

/**
 * hf_lock_opts_init(opts, size):
 * As hf_client_opts_init(), to HF_LOCK_OPTS_INIT.
 *   Thread    any.
 */
HF_API void hf_lock_opts_init(struct hf_lock_opts *opts, size_t size)
    HF_NONNULL(1);

/* Bytes in the longest lock name and in its longest component. */
#define HF_NAME_BYTES 1024
#define HF_NAME_COMPONENT_BYTES 255

/**
 * hf_lock_open(client, name, opts, lock):
 * Set ${lock} to a handle for the lock called ${name}.  No request is made: a
 * lock exists as long as there is a ticket for it.
 *
 * Names are the same on every engine: up to HF_NAME_BYTES of valid UTF-8,
 * compared as bytes; components split by '/', each up to
 * HF_NAME_COMPONENT_BYTES; one leading '/' is dropped and a trailing one
 * refused; no empty component, ".", "..", control characters, nor what
 * ZooKeeper refuses (the private use area, U+FFF0 and above); none may look
 * like a ticket ("lock-0000000007") or begin with "holdfast-success-", and the
 * first must not be "zookeeper".  A name that looks like a URL with a password
 * is refused too.
 *
 * A lock is not recursive, and has no owner but the grant: an acquire of a lock
 * that this program, thread or handle holds waits for that grant to be
 * released, for ever if nobody else releases it.  hf_mutex_open() is for one
 * that an owner may lock again.
 *
 * A semaphore NAME has its tickets in NAME/locks and NAME/leases.  A lock may
 * have such a name too.  Where a lock and a semaphore meet in one of these
 * queues, the one that comes later fails with HF_EKIND.
 *   Ownership ${name} is copied.  ${lock} must be freed with
 *             hf_lock_free() and keeps the memory of ${client} alive.
 *   Fails     HF_EINVAL HF_ENAME HF_ECLOSED HF_EFORKED HF_ENOMEM.
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
 * hf_lock_last_success(lock, wait_ms, success):
 * Set ${success} to the last success of the name of ${lock}, for people:
 * without a grant of ${lock} it may be out of date when this returns.
 * In ZooKeeper, whose clock cannot be read without writing, the age is by the
 * clock of this machine.
 *   Time      at most ${wait_ms}.
 *   Fails     HF_ESTATE if ${lock} is a semaphore; HF_EUNSUPPORTED where the
 *             engine keeps no successes (etcd); HF_ETIMEDOUT HF_EUNREACHABLE
 *             HF_ECLOSED HF_EDENIED HF_EDIR HF_ELIMIT HF_ENOMEM HF_EPROTOCOL
 *             HF_EREENTRANT HF_EFORKED.
 */
HF_API hf_status hf_lock_last_success(struct hf_lock *lock, uint64_t wait_ms,
                                      struct hf_success *success)
    HF_NONNULL(1, 3) HF_MUST_CHECK;

/**
 * hf_lock_last_success_start(lock, wait_ms, done):
 * Begin hf_lock_last_success().
 *   Callback  ${done} once, with HF_OK and .success or with a status.
 *   Fails     HF_EINVAL if ${done} has no function (see struct hf_done);
 *             HF_ESTATE HF_ECLOSED HF_ELIMIT HF_ENOMEM HF_EFORKED.
 */
HF_API hf_status hf_lock_last_success_start(struct hf_lock *lock,
                                            uint64_t wait_ms,
                                            struct hf_done done)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_lock_set_limit(lock, limit):
 * The semaphore ${lock} has ${limit} permits from now on, as far as this handle
 * goes: each wait through it is decided again.  Grants stay.
 *   Fails     HF_EINVAL if it is no semaphore, or ${limit} is less than the
 *             .permits that it takes; HF_EFORKED.
 */
HF_API hf_status hf_lock_set_limit(struct hf_lock *lock, uint32_t limit)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_lock_name(lock):
 * The name, without a leading '/'.
 *   Ownership ${lock}'s.
 */
HF_API const char *hf_lock_name(const struct hf_lock *lock) HF_NONNULL(1);

/* The state of a wait. */
struct hf_wait {
    uint32_t ahead;     /* tickets before ours; 0 when about to be granted */
    uint64_t waited_ms; /* since the acquire was started */
    /* What the owner at the head of the queue says of itself, as .owner of
     * struct hf_ticket_view. */
    const char *holder;
    /* How often the ticket was lost, with the session or because it was
     * evicted, and replaced by one at the tail. */
    uint32_t displaced;
    /* The name of the lock that is waited for.  Several locks are acquired one
     * after the other, so it is that of one of them. */
    const char *name;
};

/* Called while waiting: after the ticket is in the queue, and each time its
 * position was read again.  After a position was lost it is also called before
 * the callback of hf_lock_acquire_start(), so that the grant is not taken for
 * one in the old position. */
struct hf_on_wait {
    void (*fn)(void *arg, const struct hf_wait *wait);
    void *arg;
    void (*drop)(void *arg);
};

/* Called at most once, when a grant ends before it is released.  Here
 * hf_last_error() says why: HF_ELOST and, for instance, that the ticket was
 * evicted, or that the lease was not renewed in time; later hf_grant_check()
 * and the release fail with the same reason.  The handle must still be
 * released.  Not called once hf_grant_release() or hf_grant_release_start() has
 * been called. */
struct hf_on_loss {
    void (*fn)(void *arg, struct hf_grant *grant);
    void *arg;
    void (*drop)(void *arg);
};

/* Called each time another program asks for a grant to be released
 * (hf_lock_revoke(), Curator's Revoker), and right after a grant whose release
 * was asked for while it waited.  The callback may release ${grant}, here
 * without waiting or elsewhere and later, finish its work first, or do nothing:
 * the grant is not taken away.  Requests in quick succession may be reported as
 * one. */
struct hf_on_revoke {
    void (*fn)(void *arg, struct hf_grant *grant);
    void *arg;
    void (*drop)(void *arg);
};

/* The longest text of a ticket's owner, in bytes without a NUL. */
#define HF_OWNER_TEXT_BYTES 80

struct hf_acquire_opts {
    size_t size;      /* set by HF_ACQUIRE_OPTS_INIT */
    uint64_t wait_ms; /* HF_FOREVER: no limit.  0: as hf_lock_try_acquire() */
    struct hf_on_wait on_wait;
    uint64_t on_wait_every_ms; /* read the position this often for on_wait; 0:
                                  only when it has to be looked up anyway */
    struct hf_on_loss on_loss;
    struct hf_on_revoke on_revoke;
    /* A text for people who list the queue, at most HF_OWNER_TEXT_BYTES of
     * UTF-8 without control characters; NULL: none. */
    const char *text;
    /* The number of the owner: hf_owner_self(), or one of the program's own; 0:
     * not known.  With a number, the ticket lists what else this owner holds
     * through this client (holds=, see hf_owner_text_get()), because queues
     * then show who waits for whom.  An owner waits for one acquire at a time
     * and releases nothing meanwhile.  All handles of a client share these
     * numbers; hf_mutex and hf_rwlock use those of their .owner. */
    uint64_t owner;
    /* Look for deadlocks while it waits, if .owner, which must be given, holds
     * something else through this client: after 1 s, and then after 2, 4 ... 60
     * s more.  A look lists the queues of the locks that the owner holds, then
     * those of the locks that their waiters hold, and so on, and its own queue
     * if that may be part of a deadlock.  It makes up to 4096 lists, of up to
     * 65,536 tickets in all, and the same again if they seem to be a deadlock.
     * Of the acquires of a deadlock that look, the one with the highest token
     * fails with HF_EDEADLK, and its text names all of them as far as there is
     * room.  A deadlock is found if each ticket of it says what its owner
     * holds; so a ticket of another program, or one that threads share
     * (.handoffs, .keep_ms), counts as one that can go on.  An owner that asks
     * for what it holds itself fails at once, unless .wait_ms is 0. */
    bool detect_deadlock;
};
#define HF_ACQUIRE_OPTS_INIT                                                   \
    {                                                                          \
        sizeof(struct hf_acquire_opts), HF_FOREVER, {NULL, NULL, NULL}, 0,     \
            {NULL, NULL, NULL}, {NULL, NULL, NULL}, NULL, 0, false             \
    }

/**
 * hf_acquire_opts_init(opts, size):
 * As hf_client_opts_init(), to HF_ACQUIRE_OPTS_INIT.
 *   Thread    any.
 */
HF_API void hf_acquire_opts_init(struct hf_acquire_opts *opts, size_t size)
    HF_NONNULL(1);

/**
 * hf_lock_acquire(lock, opts, grant):
 * Wait in the queue of ${lock} until admitted and set ${grant}.  The queue is
 * fair: tickets are admitted in the order in which the engine accepted them,
 * and those of one client enter it in the order in which their acquires were
 * begun.  A ticket whose request failed may be overtaken by those that were
 * under way beside it, and after eight failures by any.  A wait survives a lost
 * connection; after a lost session it goes on at the tail.
 *   Time      at most ${opts}->wait_ms for the grant.  An end without one comes
 *             after the engine answered that the ticket is gone, and at most a
 *             second late.
 *   Ownership ${opts} (NULL: wait for ever) is copied.  ${grant} must be
 *             released with hf_grant_release().
 *   Thread    any; the grant belongs to no thread.
 *   Fails     HF_ETIMEDOUT; HF_EBUSY if wait_ms is 0; HF_EDEADLK with
 *             .detect_deadlock; HF_EUNREACHABLE if there never was a
 *             connection, if the policy for reconnecting gave up (struct
 *             hf_reconnect), or if wait_ms is 0 and the engine gave no answer;
 *             HF_ECLOSED HF_EKIND HF_EDENIED HF_EDIR HF_EURL HF_EFULL HF_ELIMIT
 *             HF_ENOMEM HF_EEXHAUSTED HF_EPROTOCOL HF_EINVAL HF_EREENTRANT
 *             HF_EFORKED; HF_EUNSUPPORTED if the engine, as its URL has it, has
 *             no tickets of that kind.  ${grant} is NULL.  No ticket is left in
 *             the queue unless the text says that it may stay there until the
 *             session ends: the engine gave no answer for a second (the link is
 *             down), or an enqueue that it never answered may still take
 *             effect.  Such a ticket is removed as soon as the engine answers
 *             again.
 */
HF_API hf_status hf_lock_acquire(struct hf_lock *lock,
                                 const struct hf_acquire_opts *opts,
                                 struct hf_grant **grant)
    HF_NONNULL(1, 3) HF_MUST_CHECK;

/**
 * hf_lock_try_acquire(lock, grant):
 * As hf_lock_acquire(), but HF_EBUSY where it would wait for another owner.
 *   Time      one answer of the engine, and before it the answers to acquires
 *             of this client for the same name that are ahead; at most
 *             connect_ms of the client.  For HF_EBUSY one more answer, to the
 *             removal of its ticket.
 */
HF_API hf_status hf_lock_try_acquire(struct hf_lock *lock,
                                     struct hf_grant **grant)
    HF_NONNULL(1, 2) HF_MUST_CHECK;

/**
 * hf_lock_acquire_start(lock, opts, done, op):
 * Begin hf_lock_acquire().  Set ${op}, if not NULL, to a handle for
 * hf_op_cancel() that must be freed with hf_op_free().
 *   Time      ${opts}->wait_ms counts from this call.
 *   Ownership ${opts} is copied.
 *   Callback  ${done} once, with HF_OK and a grant or with a status that
 *             hf_lock_acquire() fails with; ${opts}->on_wait before it;
 *             ${opts}->on_loss after it.
 *   Fails     HF_EINVAL HF_ECLOSED HF_ELIMIT HF_ENOMEM HF_EFORKED; HF_EDEADLK
 *             if the owner would wait for itself (.detect_deadlock).
 */
HF_API hf_status hf_lock_acquire_start(struct hf_lock *lock,
                                       const struct hf_acquire_opts *opts,
                                       struct hf_done done, struct hf_op **op)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_locks_acquire(locks, count, opts, grant):
 * As hf_lock_acquire(), of all ${count} ${locks}, of any kinds, or none.  They
 * are acquired one after the other in the order of their names, whatever their
 * order here, so that callers never wait for each other in a cycle.  If the
 * others are not acquired in time, those that were are released, last first.
 * If one is lost meanwhile, all are acquired again from the start.  What is
 * said of a grant holds for all of them: ${grant} is lost with the first that
 * is.
 *   Time      at most ${opts}->wait_ms, for all.
 *   Ownership ${locks} is borrowed for the call.
 *   Fails     as hf_lock_acquire(); HF_EINVAL if there are none or more than
 *             HF_LOCKS_MAX, one is given twice, or is of another client.
 */
HF_API hf_status hf_locks_acquire(struct hf_lock *const *locks, size_t count,
                                  const struct hf_acquire_opts *opts,
                                  struct hf_grant **grant)
    HF_NONNULL(1, 4) HF_MUST_CHECK;

/**
 * hf_locks_acquire_start(locks, count, opts, done, op):
 * Begin hf_locks_acquire(), as hf_lock_acquire_start() begins
 * hf_lock_acquire().
 */
HF_API hf_status hf_locks_acquire_start(struct hf_lock *const *locks,
                                        size_t count,
                                        const struct hf_acquire_opts *opts,
                                        struct hf_done done, struct hf_op **op)
    HF_NONNULL(1) HF_MUST_CHECK;

/* What hf_lock_run() calls with the lock held; it returns what it likes. */
typedef int hf_lock_fn(void *arg, struct hf_grant *grant);

/**
 * hf_lock_run(url, name, wait_ms, fn, arg, result):
 * Call ${fn} with ${arg} and a grant of the lock called ${name}, on this
 * thread: open a client of the engine at ${url} as hf_client_open() does (NULL:
 * that of the environment), acquire the lock, call ${fn}, release the lock and
 * close the client.  HF_OK means that ${fn} was called and that the lock was
 * held until it had returned.  If ${result} is not NULL it is set to what ${fn}
 * has returned, and left as it is if ${fn} was not called.
 *   Time      at most ${wait_ms} for the grant, as hf_lock_acquire(); and that
 *             of ${fn}, hf_grant_release() and hf_client_close().
 *   Ownership the grant that ${fn} gets is released when it has returned; it
 *             must not release it, and may ask hf_grant_check() and others
 *             whether it still holds.
 *   Fails     before ${fn} is called, as hf_client_open(), hf_lock_open() and
 *             hf_lock_acquire(); after it has returned, as hf_grant_release():
 *             HF_ELOST if the grant was lost meanwhile.
 */
HF_API hf_status hf_lock_run(const char *url, const char *name,
                             uint64_t wait_ms, hf_lock_fn *fn, void *arg,
                             int *result) HF_NONNULL(2, 4) HF_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
