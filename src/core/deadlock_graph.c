/* SPDX-License-Identifier: Apache-2.0 */
/* Locks are found by name, and tickets by lock and first digits, in two hash
 * tables.  Indexes of locks stay when the array of locks moves. */
#include "core/deadlock_graph.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "core/ticket_text.h"

/* The most memory of one graph, without its tables. */
#define BYTES_MAX ((size_t)1 << 25)

/* ---------------------------------------------------------------- memory -- */

/* Something that was allocated. */
struct hf_deadlock_block {
    struct hf_deadlock_block *next;
    max_align_t bytes[];
};

/* Set .status to ${status}, and return false. */
static bool fail(struct hf_deadlock_graph *graph, hf_status status)
{
    graph->status = status;
    return false;
}

void *hf_deadlock_allocate(struct hf_deadlock_graph *graph, size_t bytes)
{
    struct hf_deadlock_block *block;

    graph->byte_count += bytes;
    if (graph->byte_count > BYTES_MAX) {
        fail(graph, HF_EFULL);
        return NULL;
    }
    if ((block = hf_alloc(sizeof *block + bytes)) == NULL) {
        fail(graph, HF_ENOMEM);
        return NULL;
    }
    block->next = graph->blocks;
    graph->blocks = block;
    return block->bytes;
}

void hf_deadlock_graph_free(struct hf_deadlock_graph *graph)
{
    struct hf_deadlock_block *next;

    for (; graph->blocks != NULL; graph->blocks = next) {
        next = graph->blocks->next;
        hf_free(graph->blocks);
    }
    hf_free(graph->locks);
    *graph = (struct hf_deadlock_graph){.count = 0};
}

/* ----------------------------------------------------------------- locks -- */

/* The bucket of the locks called ${name}. */
static size_t name_bucket(const char *name)
{
    return hf_hash_text(name) & (HF_DEADLOCK_NAME_BUCKETS - 1);
}

bool hf_deadlock_find_lock(const struct hf_deadlock_graph *graph,
                           const char *name, size_t *index)
{
    size_t next = graph->names[name_bucket(name)];

    for (; next != 0; next = graph->locks[*index].same_hash) {
        *index = next - 1;
        if (strcmp(graph->locks[*index].name, name) == 0)
            return true;
    }
    return false;
}

bool hf_deadlock_add_lock(struct hf_deadlock_graph *graph, const char *name,
                          size_t *index)
{
    size_t *bucket = &graph->names[name_bucket(name)];
    size_t bytes = strlen(name) + 1;
    char *copy;

    if (hf_deadlock_find_lock(graph, name, index))
        return true;
    if (graph->count == HF_DEADLOCK_QUEUES_MAX)
        return fail(graph, HF_EFULL);
    if (!HF_ARRAY_ROOM(&graph->locks, &graph->room, graph->count + 1))
        return fail(graph, HF_ENOMEM);
    if ((copy = hf_deadlock_allocate(graph, bytes)) == NULL)
        return false;
    memcpy(copy, name, bytes);
    *index = graph->count++;
    graph->locks[*index] =
        (struct hf_deadlock_lock){.name = copy, .same_hash = *bucket};
    *bucket = *index + 1;
    return true;
}

/* ----------------------------------------------------------------- holds -- */

bool hf_deadlock_begin_holds(struct hf_deadlock_graph *graph,
                             struct hf_deadlock_ticket *ticket, size_t count)
{
    assert(ticket->holds == NULL && ticket->hold_count == 0);
    if (count == 0)
        return false;
    ticket->holds = hf_deadlock_allocate(graph, count * sizeof *ticket->holds);
    return ticket->holds != NULL;
}

bool hf_deadlock_add_hold(struct hf_deadlock_graph *graph,
                          struct hf_deadlock_ticket *ticket, const char *name,
                          uint32_t id, bool possible)
{
    struct hf_deadlock_hold *hold = &ticket->holds[ticket->hold_count];

    assert(ticket->holds != NULL);
    if (graph->hold_count++ == HF_DEADLOCK_TICKETS_MAX)
        return fail(graph, HF_EFULL);
    if (graph->status != HF_OK ||
        !hf_deadlock_add_lock(graph, name, &hold->lock))
        return false;
    hold->id = id;
    hold->possible = possible;
    ticket->hold_count++;
    return true;
}

/* --------------------------------------------------------------- tickets -- */

static size_t ticket_bucket(size_t lock, uint32_t id)
{
    uint64_t hash = ((uint64_t)lock << 32 | id) * UINT64_C(0x9E3779B97F4A7C15);

    return (hash >> 40) & (HF_DEADLOCK_BUCKETS - 1);
}

/* True, except for a reader behind a reader. */
bool hf_deadlock_stands_in_way(const struct hf_deadlock_ticket *ahead,
                               const struct hf_deadlock_ticket *ticket)
{
    return ticket->kind != HF_TICKET_READ || ahead->kind != HF_TICKET_READ;
}

void hf_deadlock_index_queue(struct hf_deadlock_graph *graph, size_t lock,
                             enum hf_deadlock_role role)
{
    struct hf_deadlock_queue *queue = &graph->locks[lock].queues[role];
    bool only_readers = true;

    for (size_t i = 0; i < queue->count; i++) {
        struct hf_deadlock_ticket *ticket = &queue->tickets[i];
        bool reads = ticket->kind == HF_TICKET_READ;
        bool is_admitted =
            role == HF_DEADLOCK_LEASES ||
            (role == HF_DEADLOCK_LOCK && (i == 0 || (reads && only_readers)));
        struct hf_deadlock_ticket **bucket = &graph->tickets[ticket_bucket(
            lock, hf_ticket_text_hold_id(&ticket->id))];

        only_readers = only_readers && reads;
        ticket->state = is_admitted ? HF_DEADLOCK_ADMITTED : HF_DEADLOCK_WAITS;
        ticket->lock = lock;
        ticket->role = role;
        ticket->index = i;
        ticket->same_hash = *bucket;
        *bucket = ticket;
    }
}

void hf_deadlock_index_all(struct hf_deadlock_graph *graph)
{
    memset(graph->tickets, 0, sizeof graph->tickets);
    for (size_t i = 0; i < graph->count; i++) {
        for (int role = 0; role < HF_DEADLOCK_ROLES; role++)
            hf_deadlock_index_queue(graph, i, (enum hf_deadlock_role)role);
    }
}

/* The first ticket of ${lock} that begins with ${id}, from ${ticket} on in its
 * bucket; NULL: none. */
static struct hf_deadlock_ticket *find_like(struct hf_deadlock_ticket *ticket,
                                            size_t lock, uint32_t id)
{
    while (ticket != NULL &&
           (ticket->lock != lock || hf_ticket_text_hold_id(&ticket->id) != id))
        ticket = ticket->same_hash;
    return ticket;
}

struct hf_deadlock_ticket *
hf_deadlock_first_like(const struct hf_deadlock_graph *graph, size_t lock,
                       uint32_t id)
{
    return find_like(graph->tickets[ticket_bucket(lock, id)], lock, id);
}

struct hf_deadlock_ticket *
hf_deadlock_next_like(const struct hf_deadlock_ticket *ticket)
{
    return find_like(ticket->same_hash, ticket->lock,
                     hf_ticket_text_hold_id(&ticket->id));
}

struct hf_deadlock_ticket *
hf_deadlock_find_ticket(const struct hf_deadlock_graph *graph, size_t lock,
                        enum hf_deadlock_role role,
                        const struct hf_ticket_id *id)
{
    struct hf_deadlock_ticket *ticket =
        hf_deadlock_first_like(graph, lock, hf_ticket_text_hold_id(id));

    while (ticket != NULL &&
           (ticket->role != role || !hf_ticket_id_equal(&ticket->id, id)))
        ticket = hf_deadlock_next_like(ticket);
    return ticket;
}

struct hf_deadlock_queue *
hf_deadlock_queue_of(const struct hf_deadlock_graph *graph,
                     const struct hf_deadlock_ticket *ticket)
{
    return &graph->locks[ticket->lock].queues[ticket->role];
}

struct hf_deadlock_ticket *
hf_deadlock_next_ticket(const struct hf_deadlock_graph *graph,
                        const struct hf_deadlock_ticket *ticket)
{
    size_t lock = ticket != NULL ? ticket->lock : 0;
    int role = ticket != NULL ? (int)ticket->role : 0;
    size_t index = ticket != NULL ? ticket->index + 1 : 0;

    for (; lock < graph->count; lock++) {
        for (; role < HF_DEADLOCK_ROLES; role++) {
            struct hf_deadlock_queue *queue = &graph->locks[lock].queues[role];

            if (index < queue->count)
                return &queue->tickets[index];
            index = 0;
        }
        role = 0;
    }
    return NULL;
}
