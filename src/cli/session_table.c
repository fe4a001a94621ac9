/* SPDX-License-Identifier: Apache-2.0 */
/* A tree of tickets, and the names that they share. */
#include "cli/session_table.h"

#include <string.h>

#include <holdfast/tickets.h>

#include "base/container_of.h"
#include "base/memory.h"
#include "core/ticket_text.h"

/* A bit in .number of a ticket that waits. */
#define WAITS (UINT64_C(1) << 63)

/* What the tree is ordered by. */
struct key {
    uint64_t session;
    uint64_t number; /* from 1 on, in the order of adding; with WAITS if the
                        ticket waits */
};

struct session_ticket {
    struct hf_tree_node node;
    struct key key;
    uint32_t id; /* the first digits */
    struct hf_session_name *name;
};

static int compare(const void *key, const struct hf_tree_node *node)
{
    const struct key *a = key,
                     *b = &container_of(node, const struct session_ticket, node)
                               ->key;

    if (a->session != b->session)
        return a->session < b->session ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

/* The first ticket after ${key} in the tree; NULL: there is none. */
static struct session_ticket *after(const struct hf_session_table *table,
                                    const struct key *key)
{
    return container_of_or_null(hf_tree_after(&table->tickets, key),
                                struct session_ticket, node);
}

/* ${text} as a name of the table: the last one that was added if it is the
 * same, else a new one; NULL: no memory. */
static struct hf_session_name *name_of(struct hf_session_table *table,
                                       const char *text)
{
    struct hf_session_name *name = table->names;
    size_t bytes = strlen(text) + 1;

    if (name != NULL && strcmp(name->text, text) == 0)
        return name;
    if ((name = hf_alloc(sizeof *name + bytes)) == NULL)
        return NULL;
    name->next = table->names;
    memcpy(name->text, text, bytes);
    table->names = name;
    return name;
}

static size_t count(const struct hf_session_table *table)
{
    return table->tickets.root != NULL ? table->tickets.root->count : 0;
}

void hf_session_table_add(struct hf_session_table *table, const char *name,
                          const struct hf_ticket_view *view)
{
    struct session_ticket *ticket;
    struct hf_ticket_id id;

    if (view->session == 0 || view->kind == HF_KIND_ELECTION ||
        view->kind == HF_KIND_PARTICIPANT ||
        hf_ticket_text_is_ours(view->owner) ||
        !hf_ticket_id_parse(&id, view->id, strlen(view->id)))
        return;
    if (count(table) == HF_SESSION_TICKETS_MAX ||
        (ticket = hf_alloc(sizeof *ticket)) == NULL) {
        table->cut = true;
        return;
    }
    if ((ticket->name = name_of(table, name)) == NULL) {
        hf_free(ticket);
        table->cut = true;
        return;
    }
    ticket->key.session = view->session;
    ticket->key.number = (count(table) + 1) | (view->holds ? 0 : WAITS);
    ticket->id = hf_ticket_text_hold_id(&id);
    table->tickets.compare = compare;
    hf_tree_add(&table->tickets, &ticket->node, &ticket->key);
}

/* Finds nothing if the session holds ${lock} itself: that would be a cycle of
 * threads of one session. */
size_t
hf_session_table_find(void *arg, uint64_t session, const char *lock,
                      struct hf_session_hold holds[HF_DEADLOCK_SESSION_HOLDS])
{
    struct hf_session_table *table = arg;
    struct key key = {session, 0};
    const struct session_ticket *ticket;
    size_t found = 0;

    while ((ticket = after(table, &key)) != NULL &&
           ticket->key.session == session && ticket->key.number < WAITS) {
        if (strcmp(ticket->name->text, lock) == 0)
            return 0;
        if (found == HF_DEADLOCK_SESSION_HOLDS) {
            table->cut = true;
            return 0;
        }
        holds[found++] =
            (struct hf_session_hold){ticket->name->text, ticket->id};
        key = ticket->key;
    }
    return found;
}

hf_status hf_session_table_for_each(struct hf_session_table *table,
                                    hf_status (*visit)(void *arg,
                                                       const char *name,
                                                       struct hf_error *error),
                                    void *arg, struct hf_error *error)
{
    struct hf_session_hold holds[HF_DEADLOCK_SESSION_HOLDS];
    struct key key = {0, 0};
    struct session_ticket *ticket;
    hf_status status = HF_OK;

    while (status == HF_OK && (ticket = after(table, &key)) != NULL) {
        struct hf_session_name *name = ticket->name;

        key = ticket->key;
        if (key.number < WAITS || name->visited ||
            hf_session_table_find(table, key.session, name->text, holds) == 0)
            continue;
        name->visited = true;
        status = visit(arg, name->text, error);
    }
    return status;
}

void hf_session_table_free(struct hf_session_table *table)
{
    struct hf_session_name *next;

    while (table->tickets.root != NULL) {
        struct session_ticket *ticket =
            container_of(table->tickets.root, struct session_ticket, node);

        hf_tree_remove(&table->tickets, &ticket->node, &ticket->key);
        hf_free(ticket);
    }
    for (; table->names != NULL; table->names = next) {
        next = table->names->next;
        hf_free(table->names);
    }
}
