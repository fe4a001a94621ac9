/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches: one for each HF_REQUEST_WATCH that was answered with
 * HF_EVENT_WATCHING, and one for each HF_REQUEST_WATCH_QUEUE that was answered
 * with HF_EVENT_LISTED and still waits for a change.  A watch is the
 * .engine_data of its request.
 *
 *  kind      what notifies it                           answered with
 *  OWN       inotify: the FIFO, its directory           GONE, REVOKED
 *  OTHER     the FIFO of the ticket hangs up            GONE
 *  QUEUE     the FIFO of any ticket hangs up; inotify:  QUEUE_CHANGED
 *            the names in the directory and, if it has
 *            no tickets, in the one above it
 *  BARRIER   inotify: the link, its directory           QUEUE_CHANGED
 *
 * fifo_watch.c notices a hang-up.  If the user has no inotify watch left, a
 * timer takes its place (inotify.c).  The end and the downgrade of a ticket of
 * this session need neither: they are reported by calls
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
    /* Neither inotify nor the timer works for this watch, because it needs
     * neither, or because it is deferred. */
    HF_FILE_WATCH_UNARMED,
    /* The watch will be armed soon.  OWN: it is in .to_arm of the engine's
     * inotify. */
    HF_FILE_WATCH_TO_ARM,
    HF_FILE_WATCH_ARMED, /* inotify watches all that this watch needs */
    HF_FILE_WATCH_TIMED, /* inotify does not; the timer checks it */
    /* QUEUE, BARRIER: something has changed, and
     * hf_file_watches_answer_changed() will answer the watch. */
    HF_FILE_WATCH_CHANGED,
};

/* The part of a watch of kind OWN. */
struct hf_file_own_watch {
    struct hf_file_ticket *ticket;
    struct hf_file_watch *next; /* in .watches of the ticket */
    struct hf_file_watch **link;
    /* The modification time of the ticket's FIFO that the core knows of.  Any
     * other time is reported with HF_EVENT_REVOKED. */
    struct timespec reported_mtime;
    /* TO_ARM: links in .to_arm of the engine's inotify */
    struct hf_file_watch *next_to_arm;
    struct hf_file_watch **to_arm;
};

/* The part of a watch of kind OTHER. */
struct hf_file_other_watch {
    struct hf_file_fifo_watch *fifo_watch; /* NULL: not set yet */
    struct hf_tree_node by_position;       /* in .other_watches of the engine */
};

/* The most FIFO watches of a queue watch, so that a queue of 10,000 tickets can
 * be watched without 10,000 descriptors. */
#define HF_FILE_QUEUE_FIFOS_MAX 64

/* The part of a watch of kind QUEUE. */
struct hf_file_queue_watch {
    /* The FIFO watches, one for each ticket of another session.  Each takes a
     * descriptor, so only the first HF_FILE_QUEUE_FIFOS_MAX tickets have one;
     * except for participants, and for leases that somebody waits for, which
     * all have one. */
    struct hf_file_fifo_watch *fifo_watches;
    /* What the core was shown, so that a real change can be distinguished from
     * an event that changed nothing: the number of tickets, READY included, and
     * the greatest sequence among them. */
    size_t count;
    uint64_t newest;
    /* A list had no tickets, so the directory may be removed and made again at
     * any time.  .wd is then that of the directory above. */
    bool empty;
    /* The core was shown a ticket of this session, which somebody else may
     * remove. */
    bool has_own;
    /* The core was shown a ticket of another session that has no FIFO watch. */
    bool has_unwatched;
    /* The name that .wd waits for: that of the directory, or of a directory
     * above it that is missing, too.  NULL: .wd was not needed yet. */
    const char *awaited;
};

/* A watch, allocated together with its .dir_name. */
struct hf_file_watch {
    struct hf_engine *engine;
    struct hf_request *request;
    enum hf_file_watch_kind kind;
    enum hf_file_watch_state state;
    struct hf_file_watch *next; /* in .watches[kind] of the engine */
    struct hf_file_watch **link;
    /* serial number, in the order in which watches are made; not 0 */
    uint64_t number;
    /* inotify watch descriptors.  .wd is that of the FIFO, of the symlink or,
     * for a queue, of the directory above; .dir_wd is that of the directory.
     * -1: there is none; otherwise the watch is in the tree for it. */
    int wd;
    int dir_wd;
    struct hf_tree_node by_wd;
    struct hf_tree_node by_dir_wd;
    union {
        struct hf_file_own_watch own;
        struct hf_file_other_watch other;
        struct hf_file_queue_watch queue;
        struct hf_ticket_id barrier; /* the barrier that the core was shown */
    } as;
    char dir_name[];
};

/* Initialize ${other_watches}, which is zeroed, without watches. */
void hf_file_watch_init_others(struct hf_tree *other_watches);

/* Make a watch for ${request}.  Returns NULL if memory runs out.  For kind OWN,
 * hf_file_watch_set_own() must then be called once, for kind OTHER
 * hf_file_watch_set_other(). */
struct hf_file_watch *hf_file_watch_new(struct hf_engine *engine,
                                        struct hf_request *request,
                                        enum hf_file_watch_kind kind,
                                        const char *dir_name);
void hf_file_watch_set_own(struct hf_file_watch *watch,
                           struct hf_file_ticket *own_ticket);
void hf_file_watch_set_other(struct hf_file_watch *watch,
                             struct hf_file_fifo_watch *fifo_watch);

/* Returns the first ticket in the queue of ${dir_name} that is another
 * session's and is watched, or NULL. */
const struct hf_ticket *
hf_file_watch_first_other(const struct hf_engine *engine, const char *dir_name);

/* Add ${watch} to the list .to_arm; or remove it, if it is in the list. */
void hf_file_watch_add_to_arm(struct hf_file_watch *watch);
void hf_file_watch_cancel_arm(struct hf_file_watch *watch);

/* Free ${watch} and all that it uses.  The core gets no event. */
void hf_file_watch_end(struct hf_file_watch *watch);

/* The same, but first answer a watch of a ticket with HF_EVENT_GONE, any other
 * watch with HF_EVENT_QUEUE_CHANGED. */
void hf_file_watch_answer(struct hf_file_watch *watch);

/* Answer all watches of ${kind} that are HF_FILE_WATCH_CHANGED. */
void hf_file_watches_answer_changed(struct hf_engine *engine,
                                    enum hf_file_watch_kind kind);

/* End all watches. */
void hf_file_watches_end_all(struct hf_engine *engine);

#endif
