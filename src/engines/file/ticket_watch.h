/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watches of tickets: one for each HF_REQUEST_WATCH that was answered
 * HF_EVENT_WATCHING.
 *
 * A watch is either of a ticket of this session, which inotify watches
 * (own_watch.c), or of another's, whose FIFO hangs up (other_watch.c).  The
 * latter are also kept in the order of the queues, so that a ticket of this
 * session finds whether one ahead of it is watched.
 */
#ifndef HF_ENGINES_FILE_TICKET_WATCH_H
#define HF_ENGINES_FILE_TICKET_WATCH_H

#include <time.h>

#include "base/tree.h"
#include "core/engine.h"
#include "core/ticket.h"

struct hf_file_fifo_watch;
struct hf_file_ticket;

/* The .engine_data of its request. */
struct hf_file_ticket_watch {
    struct hf_engine *engine;
    struct hf_request *request;
    struct hf_file_ticket_watch *next; /* in .watches of the engine */
    struct hf_file_ticket_watch **link;
    uint64_t number; /* rises with each watch that is made; not 0 */

    /* Of another's ticket; NULL: it is of one of ours. */
    struct hf_file_fifo_watch *fifo_watch;
    struct hf_tree_node by_position; /* in .other_watches of the engine */

    /* Of one of our tickets; NULL: it is of another's. */
    struct hf_file_ticket *own_ticket;
    struct hf_file_ticket_watch *next_of_ticket; /* in .watches of the ticket */
    struct hf_file_ticket_watch **link_of_ticket;
    /* The time of the ticket's FIFO that the core knows of: any other is
     * answered with HF_EVENT_REVOKED. */
    struct timespec reported_mtime;
    /* In the list of watches that are to be armed; .to_arm is NULL if it is not
     * in that list. */
    struct hf_file_ticket_watch *next_to_arm;
    struct hf_file_ticket_watch **to_arm;
    /* The watch descriptors of inotify, for the FIFO and for its directory; -1:
     * none, because the watch is deferred or the timer does its work. */
    int ticket_wd;
    int dir_wd;
    struct hf_tree_node by_ticket_wd; /* in a tree unless .ticket_wd is -1 */
    struct hf_tree_node by_dir_wd;    /* in a tree unless .dir_wd is -1 */
};

/* Make ${other_watches}, which is zeroed, empty. */
void hf_file_ticket_watch_init_others(struct hf_tree *other_watches);

/* A watch for ${request}, of no ticket yet; NULL without memory. */
struct hf_file_ticket_watch *
hf_file_ticket_watch_new(struct hf_engine *engine, struct hf_request *request);

/* ${watch} is of ${own_ticket}; or of another's ticket, that of its
 * .fifo_watch, which is set.  One of these, once. */
void hf_file_ticket_watch_set_own(struct hf_file_ticket_watch *watch,
                                  struct hf_file_ticket *own_ticket);
void hf_file_ticket_watch_set_other(struct hf_file_ticket_watch *watch);

/* The first ticket in the queue of ${dir_name} that is another's and is
 * watched, or NULL. */
const struct hf_ticket *
hf_file_ticket_watch_first_other(const struct hf_engine *engine,
                                 const char *dir_name);

/* Take ${watch} out of the list of those that are to be armed, if it is in
 * it. */
void hf_file_ticket_watch_cancel_arm(struct hf_file_ticket_watch *watch);

/* Free ${watch} and all that it uses.  The core gets no event. */
void hf_file_ticket_watch_end(struct hf_file_ticket_watch *watch);

/* The same, and answer HF_EVENT_GONE. */
void hf_file_ticket_watch_answer_gone(struct hf_file_ticket_watch *watch);

#endif
