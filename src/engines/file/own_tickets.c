/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session's own tickets, by id, and those that wait by the ticket that is
 * nearest in their way: so that the end of one ticket leads to those that it
 * concerns, and not to all that wait.
 */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "engines/file/engine.h"

static struct hf_file_ticket *of_id(const struct hf_tree_node *node)
{
    return (struct hf_file_ticket *)(void *)node; /* it is the first */
}

static struct hf_file_ticket *of_way(const struct hf_tree_node *node)
{
    size_t offset = offsetof(struct hf_file_ticket, by_way);

    if (node == NULL)
        return NULL;
    return (struct hf_file_ticket *)(void *)((char *)node - offset);
}

static int compare_ids(const void *id, const struct hf_tree_node *node)
{
    return memcmp(id, &of_id(node)->ticket.id, sizeof(struct hf_ticket_id));
}

struct way_key {
    struct hf_ticket_id way;
    struct hf_ticket_id id;
};

static int compare_ways(const void *a, const struct hf_tree_node *node)
{
    const struct hf_file_ticket *own = of_way(node);
    const struct way_key *key = a;
    int order = memcmp(&key->way, &own->way, sizeof(key->way));

    return order != 0 ? order
                      : memcmp(&key->id, &own->ticket.id, sizeof(key->id));
}

static struct way_key key_of(const struct hf_file_ticket *own)
{
    return (struct way_key){own->way, own->ticket.id};
}

void hf_file_tickets_init(struct hf_file_tickets *tickets)
{
    tickets->ids.compare = compare_ids;
    tickets->ways.compare = compare_ways;
}

static bool has_way(const struct hf_file_ticket *own)
{
    static const struct hf_ticket_id none;

    return !hf_ticket_id_equal(&own->way, &none);
}

void hf_file_ticket_is_made(struct hf_file_ticket *own, const struct stat *made)
{
    own->device = made->st_dev;
    own->inode = made->st_ino;
    own->made_at = made->st_mtim;
    own->touched_at = made->st_mtim;
}

void hf_file_tickets_add(struct hf_file_tickets *tickets,
                         struct hf_file_ticket *own)
{
    assert(!has_way(own) && own->watches == NULL);
    hf_tree_add(&tickets->ids, &own->by_id, &own->ticket.id);
}

void hf_file_tickets_remove(struct hf_file_tickets *tickets,
                            struct hf_file_ticket *own)
{
    hf_file_tickets_set_way(tickets, own, NULL);
    hf_tree_remove(&tickets->ids, &own->by_id, &own->ticket.id);
}

void hf_file_tickets_set_way(struct hf_file_tickets *tickets,
                             struct hf_file_ticket *own,
                             const struct hf_ticket_id *way)
{
    struct way_key key = key_of(own);

    if (has_way(own))
        hf_tree_remove(&tickets->ways, &own->by_way, &key);
    own->way = way != NULL ? *way : (struct hf_ticket_id){{0}};
    key = key_of(own);
    if (has_way(own))
        hf_tree_add(&tickets->ways, &own->by_way, &key);
}

struct hf_file_ticket *
hf_file_tickets_first(const struct hf_file_tickets *tickets)
{
    static const struct hf_ticket_id none;

    return of_id(hf_tree_after(&tickets->ids, &none));
}

struct hf_file_ticket *
hf_file_tickets_after(const struct hf_file_tickets *tickets,
                      const struct hf_file_ticket *own)
{
    return of_id(hf_tree_after(&tickets->ids, &own->ticket.id));
}

struct hf_file_ticket *
hf_file_tickets_behind(const struct hf_file_tickets *tickets,
                       const struct hf_ticket_id *way,
                       const struct hf_file_ticket *after)
{
    const struct way_key key = {
        *way, after != NULL ? after->ticket.id : (struct hf_ticket_id){{0}}};
    struct hf_file_ticket *own = of_way(hf_tree_after(&tickets->ways, &key));

    return own != NULL && hf_ticket_id_equal(&own->way, way) ? own : NULL;
}

int hf_file_tickets_take_found(const struct hf_file_tickets *tickets,
                               const struct hf_ticket_id *way)
{
    struct hf_file_ticket *own = hf_file_tickets_behind(tickets, way, NULL);
    int fifo = -1;

    if (own != NULL && hf_ticket_id_equal(&own->found, way)) {
        fifo = own->found_fifo;
        own->found_fifo = -1;
    }
    return fifo;
}

struct hf_file_ticket *hf_engine_own(const struct hf_engine *engine,
                                     const struct hf_ticket_id *id)
{
    return of_id(hf_tree_find(&engine->tickets.ids, id));
}
