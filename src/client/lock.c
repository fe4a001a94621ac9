/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening, freeing and naming a lock.  A lock is a name, a kind and a reference
 * to its client; no request is made before an acquire.  And the tree of a
 * client's cohorts, by name, number of handoffs and .keep_ms.  These are part
 * of the key because a cohort has one of each for all of its waiters.
 */
#include "client/lock.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/container_of.h"
#include "base/error.h"
#include "base/list.h"
#include "base/memory.h"
#include "core/lock_name.h"
#include "operation/opts_compat.h"

/* -------------------------------------------------------------- cohorts -- */

/* What a cohort is found by. */
struct key {
    const char *name;
    uint32_t handoffs;
    uint64_t keep_ms;
};

static struct key key_of(const struct hf_client_cohort *client_cohort)
{
    const struct hf_cohort *cohort = &client_cohort->cohort;

    return (struct key){client_cohort->name, cohort->handoffs, cohort->keep_ms};
}

/* The order of the tree; ${a} is a struct key. */
static int compare_key(const void *a, const struct hf_tree_node *node)
{
    const struct key *key = a;
    const struct key other =
        key_of(container_of(node, const struct hf_client_cohort, node));

    if (key->handoffs != other.handoffs)
        return key->handoffs < other.handoffs ? -1 : 1;
    if (key->keep_ms != other.keep_ms)
        return key->keep_ms < other.keep_ms ? -1 : 1;
    return strcmp(key->name, other.name);
}

/* Add a cohort for ${key} to the tree, with no reference yet. */
static struct hf_client_cohort *new_client_cohort(struct hf_client *client,
                                                  const struct key *key)
{
    size_t bytes = strlen(key->name) + 1;
    struct hf_client_cohort *client_cohort =
        hf_alloc(sizeof(*client_cohort) + bytes);

    if (client_cohort == NULL)
        return NULL;
    memcpy(client_cohort->name, key->name, bytes);
    hf_cohort_init(&client_cohort->cohort, client_cohort->name, key->handoffs,
                   key->keep_ms);
    hf_tree_add(&client->cohorts, &client_cohort->node, key);
    return client_cohort;
}

static void free_cohort(struct hf_client *client,
                        struct hf_client_cohort *client_cohort)
{
    const struct key key = key_of(client_cohort);

    assert(client_cohort->references == 0);
    hf_cohort_free(&client->core, &client_cohort->cohort);
    hf_tree_remove(&client->cohorts, &client_cohort->node, &key);
    hf_free(client_cohort);
}

/* Take the first of the cohorts without a lock out of their list. */
static struct hf_client_cohort *take_unused(struct hf_client *client)
{
    struct hf_client_cohort *first = client->unused_cohorts.first;

    if (first != NULL) {
        HF_LIST_REMOVE(&client->unused_cohorts, first);
        first->is_unused = false;
    }
    return first;
}

/* ${client_cohort} has no lock: free it if it keeps no ticket.  Else that is
 * looked at again when other locks come and go. */
static void free_unless_kept(struct hf_client *client,
                             struct hf_client_cohort *client_cohort)
{
    if (client_cohort->references > 0 || client_cohort->is_unused)
        return;
    if (hf_cohort_is_idle(&client_cohort->cohort)) {
        free_cohort(client, client_cohort);
        return;
    }
    HF_LIST_APPEND(&client->unused_cohorts, client_cohort);
    client_cohort->is_unused = true;
}

/* Look at the oldest of the cohorts without a lock.  Each call may add one and
 * looks at two, so that the list does not grow with what was kept long ago. */
static void free_unused(struct hf_client *client)
{
    for (unsigned i = 0; i < 2; i++) {
        struct hf_client_cohort *first = take_unused(client);

        if (first != NULL)
            free_unless_kept(client, first);
    }
}

void hf_client_cohorts_free(struct hf_client *client)
{
    struct hf_client_cohort *first;

    while ((first = take_unused(client)) != NULL)
        free_cohort(client, first);
}

/* The cohort of ${key}, with one more reference.  It is created if the client
 * has none.  NULL if out of memory. */
static struct hf_client_cohort *get_cohort(struct hf_client *client,
                                           const struct key *key)
{
    struct hf_client_cohort *client_cohort;

    free_unused(client);
    client->cohorts.compare = compare_key;
    client_cohort = container_of_or_null(hf_tree_find(&client->cohorts, key),
                                         struct hf_client_cohort, node);
    if (client_cohort == NULL &&
        (client_cohort = new_client_cohort(client, key)) == NULL)
        return NULL;
    client_cohort->references++;
    return client_cohort;
}

/* Drop a reference.  With the last one the cohort has no waiter any more,
 * because each of its waiters has a grant, which keeps a lock alive. */
static void put_cohort(struct hf_client *client,
                       struct hf_client_cohort *client_cohort)
{
    assert(client_cohort->references > 0);
    client_cohort->references--;
    free_unless_kept(client, client_cohort);
    free_unused(client);
}

/* -------------------------------------------------------------- opening -- */

/* Each kind of lock, and the kind of its tickets.  The last two are only shown:
 * no lock is opened as one of them. */
static const struct {
    enum hf_kind kind;
    enum hf_ticket_kind ticket;
} kinds[] = {
    {HF_KIND_MUTEX, HF_TICKET_MUTEX},
    {HF_KIND_READ, HF_TICKET_READ},
    {HF_KIND_WRITE, HF_TICKET_WRITE},
    {HF_KIND_SEMAPHORE, HF_TICKET_LEASE},
    {HF_KIND_ELECTION, HF_TICKET_ELECTION},
    {HF_KIND_EXCLUSIVE, HF_TICKET_EXCLUSIVE},
    {HF_KIND_PARTICIPANT, HF_TICKET_PARTICIPANT},
};

enum hf_ticket_kind hf_kind_to_ticket(enum hf_kind kind)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i].kind == kind)
            return kinds[i].ticket;
    }
    return HF_TICKET_MUTEX;
}

enum hf_kind hf_kind_of_ticket(enum hf_ticket_kind ticket)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i].ticket == ticket)
            return kinds[i].kind;
    }
    return HF_KIND_MUTEX;
}

/* Set ${opts} to what ${given} says, check it, and set ${canonical} to the name
 * in its canonical form. */
static hf_status check_opts(struct hf_client *client, const char *name,
                            const struct hf_lock_opts *given,
                            struct hf_lock_opts *opts, const char **canonical,
                            struct hf_error *error)
{
    hf_status status = hf_opts_copy(&hf_lock_opts_type, given, opts, error);

    if (status != HF_OK)
        return status;
    if (opts->kind > HF_KIND_ELECTION)
        return hf_error_set(error, HF_EINVAL,
                            "the kind is %u; expected one of enum hf_kind, "
                            "%u at most",
                            (unsigned)opts->kind, (unsigned)HF_KIND_ELECTION);
    if (opts->permits == 0 || opts->permits > HF_PERMITS_MAX ||
        opts->limit < opts->permits)
        return hf_error_set(error, HF_EINVAL,
                            "%" PRIu32 " permits of %" PRIu32 "; expected 1 to "
                            "%d, and no more than there are",
                            opts->permits, opts->limit, HF_PERMITS_MAX);
    if (client->monitor.state != HF_MONITOR_OPEN)
        return hf_monitor_explain_closed(&client->monitor, "client", error);
    return hf_lock_name_check(name, canonical, error);
}

/* Write the name of the queue ${suffix} of ${lock} to ${at}, which is in the
 * memory behind its name.  Returns ${at}. */
static const char *write_queue_name(const struct hf_lock *lock, char *at,
                                    const char *suffix)
{
    size_t bytes = strlen(lock->name);

    memcpy(at, lock->name, bytes);
    memcpy(at + bytes, suffix, strlen(suffix) + 1);
    return at;
}

/* The name in metrics is behind the other names of a lock, in an allocation
 * that is larger by this, the room to align it included.  A lock of a client
 * that does not count has none. */
struct metrics_name {
    struct hf_metrics_name_ref ref;
    char text[HF_METRICS_NAME_BYTES];
    char alignment[sizeof(uint64_t)];
};

struct hf_metrics_name_ref *hf_lock_metrics_name(struct hf_lock *lock)
{
    size_t end = (size_t)(lock->lease_queue - (const char *)lock) +
                 strlen(lock->lease_queue) + 1;
    size_t rest = end % sizeof(uint64_t);

    return (void *)((char *)lock + end +
                    (rest != 0 ? sizeof(uint64_t) - rest : 0));
}

/* Ask the user for the name in metrics of ${lock}.  Without the client's lock,
 * because the user's function may wait.  Nobody but the caller knows ${lock}
 * yet. */
static void set_metrics_name(struct hf_lock *lock)
{
    struct metrics_name *name = (void *)hf_lock_metrics_name(lock);

    if (hf_client_metrics_on(lock->client))
        hf_client_metrics_name(lock->client, lock->name, name->text,
                               &name->ref);
}

/* The names of its two queues are in the same allocation and, if the client
 * counts, its name in metrics. */
struct hf_lock *hf_lock_new(struct hf_client *client, const char *name,
                            const struct hf_lock_opts *opts)
{
    size_t bytes = strlen(name) + 1;
    size_t locks_bytes = bytes + strlen(HF_QUEUE_LOCKS);
    size_t leases_bytes = bytes + strlen(HF_QUEUE_LEASES);
    bool counts = hf_client_metrics_on(client);
    struct hf_lock *lock =
        hf_alloc(sizeof(*lock) + bytes + locks_bytes + leases_bytes +
                 (counts ? sizeof(struct metrics_name) : 0));

    if (lock == NULL)
        return NULL;
    memcpy(lock->name, name, bytes);
    lock->entry_queue =
        write_queue_name(lock, lock->name + bytes, HF_QUEUE_LOCKS);
    lock->lease_queue = write_queue_name(lock, lock->name + bytes + locks_bytes,
                                         HF_QUEUE_LEASES);
    lock->kind = hf_kind_to_ticket(opts->kind);
    lock->permits = opts->permits;
    lock->limit = opts->limit;
    lock->references = 1;
    lock->client_cohort = NULL;
    lock->client = client;
    if (counts)
        *hf_lock_metrics_name(lock) =
            (struct hf_metrics_name_ref){.text = NULL};
    hf_monitor_reference(&client->monitor);
    return lock;
}

/* check_opts() makes ${name} canonical. */
hf_status hf_lock_open_for(struct hf_client *client, const char *api_name,
                           const char *name, const struct hf_lock_opts *given,
                           struct hf_lock **lock)
{
    struct hf_lock_opts opts;
    struct hf_error error = {0};
    hf_status status;

    *lock = NULL;
    if ((status = hf_monitor_enter(&client->monitor, api_name)) != HF_OK)
        return status;
    status = check_opts(client, name, given, &opts, &name, &error);
    if (status == HF_OK && (*lock = hf_lock_new(client, name, &opts)) == NULL)
        status = hf_error_set(&error, HF_ENOMEM, "out of memory");
    if (status != HF_OK)
        (void)hf_fail(api_name, &error);
    hf_monitor_leave(&client->monitor);
    if (status == HF_OK)
        set_metrics_name(*lock);
    return status;
}

hf_status hf_lock_open(struct hf_client *client, const char *name,
                       const struct hf_lock_opts *opts, struct hf_lock **lock)
{
    return hf_lock_open_for(client, "hf_lock_open", name, opts, lock);
}

/* Each lock keeps one reference to its cohort.  While a ticket is kept nothing
 * may be under way, and yet somebody must notice who else comes. */
hf_status hf_lock_join_cohort(struct hf_lock *lock, const char *api_name,
                              uint32_t handoffs, uint64_t keep_ms)
{
    const struct key key = {lock->name, handoffs, keep_ms};
    struct hf_monitor *monitor = &lock->client->monitor;
    struct hf_error error;
    hf_status status = hf_monitor_enter(monitor, api_name);

    if (status != HF_OK)
        return status;
    if (keep_ms > 0)
        status = hf_monitor_ensure_poller(monitor, &error);
    if (status == HF_OK &&
        (lock->client_cohort = get_cohort(lock->client, &key)) == NULL)
        status = hf_error_set(&error, HF_ENOMEM, "out of memory");
    if (status != HF_OK)
        (void)hf_fail(api_name, &error);
    hf_monitor_leave(monitor);
    return status;
}

void hf_lock_reference(struct hf_lock *lock)
{
    lock->references++;
}

/* The client is dereferenced and not released, because the caller holds its
 * lock. */
void hf_lock_dereference(struct hf_lock *lock)
{
    assert(lock->references > 0);
    if (--lock->references > 0)
        return;
    if (lock->client_cohort != NULL)
        put_cohort(lock->client, lock->client_cohort);
    hf_monitor_dereference(&lock->client->monitor);
    hf_free(lock);
}

void hf_lock_free(struct hf_lock *lock)
{
    struct hf_client *client;

    if (lock == NULL || hf_fork_is_child(&lock->client->monitor.fork))
        return;
    client = lock->client;
    hf_monitor_lock(&client->monitor);
    /* Keep the client until its lock is released, because the lock may be the
     * last that refers to it. */
    hf_monitor_reference(&client->monitor);
    hf_lock_dereference(lock);
    hf_monitor_unlock(&client->monitor);
    hf_monitor_release(&client->monitor);
}

const char *hf_lock_name(const struct hf_lock *lock)
{
    return lock->name;
}
