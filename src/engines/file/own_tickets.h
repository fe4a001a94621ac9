/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tickets of this session.
 *
 * They are found by id.  Tickets that wait are also found by their blocker, the
 * nearest ticket that keeps them from being admitted.  So when a ticket ends,
 * the tickets that waited for it are found without a walk over all.
 *
 * Whether a ticket is still in its queue is checked at its path and not at the
 * open FIFO, because somebody may have removed the ticket, or moved its
 * directory away with the ticket in it.
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

/* A ticket of this session, allocated together with its .dir_name. */
struct hf_file_ticket {
    struct hf_tree_node by_id;
    /* .payload is "", because it is not needed */
    struct hf_ticket ticket;
    char file[HF_TICKET_FILE_BYTES]; /* file name of its FIFO */
    int fifo;     /* its FIFO, open and locked, which keeps the ticket alive */
    bool copied;  /* copies of .fifo were given out (hf_engine_ops.hold) */
    dev_t device; /* device and inode of .fifo, to recognise it at its path */
    ino_t inode;
    /* The modification time of .fifo when it was made.  Any other time means
     * that somebody has touched the ticket to ask its owner to release. */
    struct timespec created_mtime;
    /* The modification time of the FIFO when hf_file_ticket_presence() last
     * found it, and whether its last check found it. */
    struct timespec last_mtime;
    bool present;
    /* From the last list that the core was shown (predecessor.c): the ticket
     * right ahead of this one, with .sequence 0 if there is none or it is not
     * known.  .predecessor_gone: that ticket has gone, and this one was seen in
     * its queue after that. */
    struct hf_ticket predecessor;
    bool predecessor_gone;
    /* The ticket that this one had to wait for when it was made, and its FIFO,
     * open for reading.  -1: there is no such FIFO, or a watch has taken it. */
    struct hf_ticket_id probed;
    int probed_fifo;
    struct hf_ticket_id blocker;    /* all zero: nothing blocks this ticket */
    struct hf_tree_node by_blocker; /* in a tree unless .blocker is zero */
    struct hf_file_watch *watches;  /* watches of this ticket, newest first */
    char dir_name[];                /* of the directory of its lock */
};

/* All tickets of a session. */
struct hf_file_tickets {
    struct hf_tree ids; /* by id */
    /* tickets that have a blocker, by blocker and then by id */
    struct hf_tree blocked;
};

/* Initialize ${tickets}, which is zeroed, without tickets. */
void hf_file_tickets_init(struct hf_file_tickets *tickets);

/* Note the times and the inode of the FIFO.  ${fifo_stat} was read before
 * anybody else could touch it. */
void hf_file_ticket_set_stat(struct hf_file_ticket *own_ticket,
                             const struct stat *fifo_stat);

/* Add ${own_ticket}, which has no blocker and no watches.  Or remove it, when
 * it has no watches any more.  The caller keeps the memory. */
void hf_file_tickets_add(struct hf_file_tickets *tickets,
                         struct hf_file_ticket *own_ticket);
void hf_file_tickets_remove(struct hf_file_tickets *tickets,
                            struct hf_file_ticket *own_ticket);

/* Set the blocker of ${own_ticket}, the nearest ticket that it must wait for;
 * NULL: there is none. */
void hf_file_tickets_set_blocker(struct hf_file_tickets *tickets,
                                 struct hf_file_ticket *own_ticket,
                                 const struct hf_ticket_id *blocker);

/* Return the first ticket, or the one after ${own_ticket}, in the order of ids;
 * NULL: there is none. */
struct hf_file_ticket *
hf_file_tickets_first(const struct hf_file_tickets *tickets);
struct hf_file_ticket *
hf_file_tickets_after(const struct hf_file_tickets *tickets,
                      const struct hf_file_ticket *own_ticket);

/* Returns the ticket after ${after} among those that ${blocker} blocks; the
 * first one if ${after} is NULL.  Returns NULL if there is none. */
struct hf_file_ticket *
hf_file_tickets_blocked_by(const struct hf_file_tickets *tickets,
                           const struct hf_ticket_id *blocker,
                           const struct hf_file_ticket *after);

/* Returns the FIFO of ${blocker} that was opened when a ticket of ours was made
 * behind it, so that a watch need not open it again.  The caller owns it.  -1:
 * there is none. */
int hf_file_tickets_take_probed(const struct hf_file_tickets *tickets,
                                const struct hf_ticket_id *blocker);

/* Returns the ticket of this session with this ${id}, or NULL. */
struct hf_file_ticket *hf_file_own_ticket(const struct hf_engine *engine,
                                          const struct hf_ticket_id *id);

/* -------------------------------------------------------------- presence -- */

enum hf_file_presence {
    HF_PRESENT,          /* its FIFO is at its path */
    HF_GONE,             /* its FIFO is certainly not there */
    HF_PRESENCE_UNKNOWN, /* the path cannot be examined now */
};

/* Check whether the FIFO of ${ticket} is at its path.  Sets .present, and with
 * HF_PRESENT also .last_mtime. */
enum hf_file_presence hf_file_ticket_presence(const struct hf_engine *engine,
                                              struct hf_file_ticket *ticket);

/* Returns whether the ticket is not known to be gone.  HF_PRESENCE_UNKNOWN
 * counts as present, because a ticket is given up only if it is certainly
 * gone. */
bool hf_file_ticket_is_present(const struct hf_engine *engine,
                               struct hf_file_ticket *ticket);

/* A session that evicts a ticket first replaces its payload by this text,
 * followed by who it is and why it evicts. */
#define HF_FILE_EVICTED_BY "evicted by "

/* Set ${why} to the text for HF_EVENT_GONE that an evicting session has left in
 * the payload of ${ticket}, or to "".  The ticket must be gone and its payload
 * not removed yet. */
void hf_file_ticket_read_why(const struct hf_engine *engine,
                             const struct hf_file_ticket *ticket,
                             char why[HF_EVICTED_WHY_BYTES]);

/* Answer the watch ${request} of a ticket of this session with HF_EVENT_GONE
 * and ${why}.  If all locks were deleted or moved away, the text says that
 * instead. */
void hf_file_answer_own_gone(struct hf_engine *engine,
                             struct hf_request *request, const char *why);

/* Close the FIFO of ${own_ticket}, which wakes the session that waits for it,
 * and remove its files.  If copies of its descriptor exist, they keep the
 * ticket in its queue.  Returns whether the ticket was in its queue. */
bool hf_file_ticket_release(struct hf_engine *engine,
                            struct hf_file_ticket *own_ticket);

#endif
