/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches: one for each HF_REQUEST_WATCH that was answered HF_EVENT_WATCHING,
 * and for each HF_REQUEST_WATCH_QUEUE that was answered HF_EVENT_LISTED and
 * waits for something.  It is the .engine_data of its request.
 *
 *     kind      what notifies it                             it is answered
 *     OWN       inotify: the FIFO, its directory             GONE, REVOKED
 *     OTHER     the FIFO of the ticket hangs up              GONE
 *     QUEUE     the FIFO of any ticket hangs up; inotify:    QUEUE_CHANGED
 *               the names in the directory and, if it has
 *               no tickets, in the one above it
 *     BARRIER   inotify: the link, its directory             QUEUE_CHANGED
 *
 * A hang-up is noticed by fifo_watch.c.  Where inotify has no room a timer
 * takes its place (inotify.c).  The end of a ticket of this session, and its
 * downgrade, need neither: they are reported by a call
 * (hf_file_queue_watches_changed(), hf_file_own_watch_blocker_gone()).
 */
#ifndef HF_ENGINES_FILE_WATCH_H
#define HF_ENGINES_FILE_WATCH_H

#include <time.h>

#include "base/tree.h"
#include "core/engine.h"
#include "core/ticket.h"

struct hf_file_fifo_watch;
struct hf_file_ticket;

enum hf_file_watch_kind {
    HF_FILE_WATCH_OWN,   /* a ticket of this session */
    HF_FILE_WATCH_OTHER, /* a ticket of another session */
    HF_FILE_WATCH_QUEUE, /* a queue, or the participants of a double barrier */
    HF_FILE_WATCH_BARRIER, /* a barrier that is set */
};
#define HF_FILE_WATCH_KINDS 4

enum hf_file_watch_state {
    /* Inotify and the timer do nothing for it: it needs neither, or it is
     * deferred. */
    HF_FILE_WATCH_UNARMED,
    /* It will be armed soon.  OWN: it is in .to_arm of the engine's inotify. */
    HF_FILE_WATCH_TO_ARM,
    HF_FILE_WATCH_ARMED, /* inotify watches all of it */
    HF_FILE_WATCH_TIMED, /* the timer has it checked */
    /* QUEUE, BARRIER: it is answered by the walk under way. */
    HF_FILE_WATCH_CHANGED,
};

/* What a watch of the kind OWN has. */
struct hf_file_own_watch {
    struct hf_file_ticket *ticket;
    struct hf_file_watch *next; /* in .watches of the ticket */
    struct hf_file_watch **link;
    /* The time of the ticket's FIFO that the core knows of: any other is
     * answered with HF_EVENT_REVOKED. */
    struct timespec reported_mtime;
    struct hf_file_watch *next_to_arm; /* TO_ARM: in .to_arm */
    struct hf_file_watch **to_arm;
};

/* What a watch of the kind OTHER has. */
struct hf_file_other_watch {
    struct hf_file_fifo_watch *fifo_watch; /* NULL: not yet */
    struct hf_tree_node by_position;       /* in .other_watches of the engine */
};

/* A queue of 10,000 tickets is to be watched without 10,000 descriptors. */
#define HF_FILE_QUEUE_FIFOS_MAX 64

/* What a watch of the kind QUEUE has. */
struct hf_file_queue_watch {
    /* One for each ticket of another session.  Only for the first
     * HF_FILE_QUEUE_FIFOS_MAX, unless of leases that somebody waits for, or of
     * participants: each takes a descriptor. */
    struct hf_file_fifo_watch *fifo_watches;
    /* What the core was shown, to distinguish a change from an event that
     * changed nothing.  How many tickets, READY included, and the greatest
     * number of them. */
    size_t count;
    uint64_t newest;
    /* A list had no tickets, so that the directory may be removed and made
     * anew at any time.  Then .wd is that of the directory above it. */
    bool empty;
    /* A ticket of this session was shown: somebody else may remove it. */
    bool has_own;
    /* A ticket of another session was shown that has no FIFO watch. */
    bool has_unwatched;
    /* The name that .wd waits for: that of the directory, or of a directory
     * above it that is missing too.  NULL: .wd has not been needed. */
    const char *awaited;
};

/* Allocated with the name of the directory. */
struct hf_file_watch {
    struct hf_engine *engine;
    struct hf_request *request;
    enum hf_file_watch_kind kind;
    enum hf_file_watch_state state;
    struct hf_file_watch *next; /* in .watches[kind] of the engine */
    struct hf_file_watch **link;
    uint64_t number; /* rises with each watch that is made; not 0 */
    /* The watch descriptors of inotify, for the FIFO, the link or, of a queue,
     * the directory above, and for the directory; -1: none.  In its trees
     * unless -1. */
    int wd;
    int dir_wd;
    struct hf_tree_node by_wd;
    struct hf_tree_node by_dir_wd;
    union {
        struct hf_file_own_watch own;
        struct hf_file_other_watch other;
        struct hf_file_queue_watch queue;
        struct hf_ticket_id barrier; /* the one that the core was shown */
    } as;
    char dir_name[];
};

/* Make ${other_watches}, which is zeroed, empty. */
void hf_file_watch_init_others(struct hf_tree *other_watches);

/* A watch for ${request}; NULL if memory runs out.  A watch of the kind OWN is
 * then to be set to its ticket, one of the kind OTHER to its FIFO watch, each
 * once. */
struct hf_file_watch *hf_file_watch_new(struct hf_engine *engine,
                                        struct hf_request *request,
                                        enum hf_file_watch_kind kind,
                                        const char *dir_name);
void hf_file_watch_set_own(struct hf_file_watch *watch,
                           struct hf_file_ticket *own_ticket);
void hf_file_watch_set_other(struct hf_file_watch *watch,
                             struct hf_file_fifo_watch *fifo_watch);

/* The first ticket in the queue of ${dir_name} that is another's and is
 * watched, or NULL. */
const struct hf_ticket *
hf_file_watch_first_other(const struct hf_engine *engine, const char *dir_name);

/* Put ${watch} into the list of those that are to be armed; take it out, if it
 * is in it. */
void hf_file_watch_add_to_arm(struct hf_file_watch *watch);
void hf_file_watch_cancel_arm(struct hf_file_watch *watch);

/* Free ${watch} and all that it uses.  The core gets no event. */
void hf_file_watch_end(struct hf_file_watch *watch);

/* The same, and answer HF_EVENT_GONE to the watch of a ticket,
 * HF_EVENT_QUEUE_CHANGED to any other. */
void hf_file_watch_answer(struct hf_file_watch *watch);

/* Answer all watches of ${kind} that are HF_FILE_WATCH_CHANGED. */
void hf_file_watches_answer_changed(struct hf_engine *engine,
                                    enum hf_file_watch_kind kind);

/* End all watches. */
void hf_file_watches_end_all(struct hf_engine *engine);

#endif
