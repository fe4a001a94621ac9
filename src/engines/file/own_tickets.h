/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tickets of this session.
 *
 * They are found by id, and those that wait also by their blocker, which is the
 * nearest ticket that keeps them from being admitted.  So the end of a ticket
 * leads to the tickets that it concerns, without a walk over all that wait.
 *
 * Is a ticket still in its queue?  Its path is checked and not the open FIFO,
 * because somebody may have removed the ticket, or moved its directory away
 * with the ticket in it.
 */
#ifndef HF_ENGINES_FILE_OWN_TICKETS_H
#define HF_ENGINES_FILE_OWN_TICKETS_H

#include <sys/stat.h>

#include "base/tree.h"
#include "core/engine.h"
#include "core/evicted_by.h"
#include "core/ticket.h"
#include "engines/file/file_names.h"

struct hf_file_watch;

/* A ticket of this session; allocated with its directory name. */
struct hf_file_ticket {
    struct hf_tree_node by_id;
    struct hf_ticket ticket;         /* .payload is "", it is not kept */
    char file[HF_TICKET_FILE_BYTES]; /* the name of its FIFO */
    int fifo;     /* open and locked: it keeps the ticket alive */
    bool copied;  /* copies of .fifo were given out (hf_engine_ops.hold) */
    dev_t device; /* of .fifo, to recognise it at its path */
    ino_t inode;
    /* The modification time of .fifo when it was made.  Any other time means
     * that somebody has touched the ticket to ask its owner to let go. */
    struct timespec created_mtime;
    /* The time of the FIFO when hf_file_ticket_presence() last found it; and
     * whether the last check found it at its path. */
    struct timespec last_mtime;
    bool present;
    /* Of the last list that the core was shown (predecessor.c): the ticket
     * right ahead of this one, .sequence 0 if there is none or it is not known;
     * and whether that one has gone and this one was present afterwards. */
    struct hf_ticket predecessor;
    bool predecessor_gone;
    /* What was in the way when this ticket was made, and its FIFO, open for
     * reading and found alive.  -1: there is no such FIFO, or a watch has taken
     * it. */
    struct hf_ticket_id probed;
    int probed_fifo;
    struct hf_ticket_id blocker;    /* all zero: nothing is in the way */
    struct hf_tree_node by_blocker; /* in a tree unless .blocker is zero */
    struct hf_file_watch *watches;  /* of this ticket, the newest first */
    char dir_name[];                /* of its lock's directory */
};

/* All tickets of a session. */
struct hf_file_tickets {
    struct hf_tree ids;     /* by id */
    struct hf_tree blocked; /* those that have a blocker, by it and by id */
};

/* Make ${tickets}, which is zeroed, empty. */
void hf_file_tickets_init(struct hf_file_tickets *tickets);

/* Note ${fifo_stat}, which is that of the FIFO before anybody else could touch
 * it. */
void hf_file_ticket_set_stat(struct hf_file_ticket *own_ticket,
                             const struct stat *fifo_stat);

/* Enter ${own_ticket}, which has no blocker and no watches; or take it out,
 * when it has no watches any more.  Its memory is the caller's. */
void hf_file_tickets_add(struct hf_file_tickets *tickets,
                         struct hf_file_ticket *own_ticket);
void hf_file_tickets_remove(struct hf_file_tickets *tickets,
                            struct hf_file_ticket *own_ticket);

/* From now on ${blocker} is the nearest ticket in the way of ${own_ticket};
 * NULL: there is none. */
void hf_file_tickets_set_blocker(struct hf_file_tickets *tickets,
                                 struct hf_file_ticket *own_ticket,
                                 const struct hf_ticket_id *blocker);

/* The first ticket, and the one after ${own_ticket}, by id; NULL: none. */
struct hf_file_ticket *
hf_file_tickets_first(const struct hf_file_tickets *tickets);
struct hf_file_ticket *
hf_file_tickets_after(const struct hf_file_tickets *tickets,
                      const struct hf_file_ticket *own_ticket);

/* The ticket after ${after} among those that have this ${blocker}; ${after}
 * NULL: the first of them.  NULL: there is none. */
struct hf_file_ticket *
hf_file_tickets_blocked_by(const struct hf_file_tickets *tickets,
                           const struct hf_ticket_id *blocker,
                           const struct hf_file_ticket *after);

/* The FIFO of ${blocker} that was opened when one of our tickets was made
 * behind it, so that a watch need not open it again.  It is the caller's from
 * now on.  -1: there is none. */
int hf_file_tickets_take_probed(const struct hf_file_tickets *tickets,
                                const struct hf_ticket_id *blocker);

/* The ticket of this session with this ${id}, or NULL. */
struct hf_file_ticket *hf_file_own_ticket(const struct hf_engine *engine,
                                          const struct hf_ticket_id *id);

/* -------------------------------------------------------------- presence -- */

enum hf_file_presence {
    HF_PRESENT,          /* its FIFO is at its path */
    HF_GONE,             /* it is not, for certain */
    HF_PRESENCE_UNKNOWN, /* the path cannot be examined just now */
};

/* Check the path of ${ticket}.  Sets its .present, and with HF_PRESENT its
 * .last_mtime. */
enum hf_file_presence hf_file_ticket_presence(const struct hf_engine *engine,
                                              struct hf_file_ticket *ticket);

/* The same; HF_PRESENCE_UNKNOWN counts as present, because a ticket is given up
 * only when it is known to be gone. */
bool hf_file_ticket_is_present(const struct hf_engine *engine,
                               struct hf_file_ticket *ticket);

/* Before a session removes a ticket that it evicts, it replaces the payload by
 * this text, followed by who it is and why. */
#define HF_FILE_EVICTED_BY "evicted by "

/* ${ticket} is gone, and its payload was not removed yet: set ${why} to what an
 * evicting session has left there for HF_EVENT_GONE, or to "". */
void hf_file_ticket_read_why(const struct hf_engine *engine,
                             const struct hf_file_ticket *ticket,
                             char why[HF_EVICTED_WHY_BYTES]);

/* Answer HF_EVENT_GONE to the watch of a ticket of this session, with ${why},
 * or with a text if all locks have been deleted or moved away. */
void hf_file_answer_own_gone(struct hf_engine *engine,
                             struct hf_request *request, const char *why);

/* Close the FIFO of ${own_ticket}, which wakes the next in line, and remove its
 * files, unless copies of its descriptor keep it in its queue.  True if it was
 * in its queue. */
bool hf_file_ticket_release(struct hf_engine *engine,
                            struct hf_file_ticket *own_ticket);

#endif
