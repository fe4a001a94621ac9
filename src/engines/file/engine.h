/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine of one client, as its parts see it: who has a ticket, who watches
 * what.  Everything here is used with the client's lock held, by whichever
 * thread calls into the engine or runs its loop.
 */
#ifndef HF_ENGINES_FILE_ENGINE_H
#define HF_ENGINES_FILE_ENGINE_H

#include <uv.h>

#include "core/tree.h"
#include "engines/file/file.h"
#include "engines/file/hang_up.h"
#include "engines/file/helper.h"
#include "engines/file/warm.h"

/* One of this session's own. */
struct hf_file_ticket {
    struct hf_tree_node by_id; /* first */
    struct hf_ticket ticket;   /* .payload is not kept */
    int fifo;
    bool held;    /* copies of .fifo were given out by hold() */
    dev_t device; /* of .fifo */
    ino_t inode;
    struct timespec made_at;    /* .fifo's time while nobody has touched it */
    struct timespec touched_at; /* the same when it was last looked at */
    bool present;               /* it was in its queue then, for certain */
    /* As the queue was when the core was last told of it: */
    struct hf_ticket before; /* right ahead; .sequence is 0 if nobody is */
    bool moved_up; /* .before has gone, and this was seen in its place after */
    /* What was in the way when this ticket came, and its FIFO, open and found
     * alive; -1: nothing, or a watch has taken it over. */
    struct hf_ticket_id found;
    int found_fifo;
    struct hf_ticket_id way; /* the nearest in the way; all zero if none is */
    struct hf_tree_node by_way;
    struct hf_watch *watches; /* of it, the newest first */
    char entry[];
};

/* own_tickets.c. */
struct hf_file_tickets {
    struct hf_tree ids;
    struct hf_tree ways; /* those that have one in the way, by it */
};

/* A WATCH that was answered WATCHING; its request's engine_data. */
struct hf_watch {
    struct hf_engine *engine;
    struct hf_request *request;
    struct hf_watch *next;
    struct hf_watch **link;
    struct hf_hang_up *hang_up;   /* of another's ticket, else NULL */
    struct hf_tree_node by_place; /* if so, in the engine's */
    uint64_t number;              /* in the order in which they were made */
    struct hf_file_ticket *own;   /* one's own, else NULL, and what follows */
    struct hf_watch *next_of_own;
    struct hf_watch **of_own;
    struct timespec seen; /* .own's time when it was last looked at */
    struct hf_watch
        *next_woken;         /* rested until now, and is about to be armed */
    struct hf_watch **woken; /* NULL: it is not */
    int ticket_wd;           /* -1: rests, or is looked at now and then */
    int dir_wd;
    struct hf_tree_node by_ticket_wd; /* while .ticket_wd is not -1 */
    struct hf_tree_node by_dir_wd;
};

/* A WATCH_QUEUE that was answered LISTED; its request's engine_data. */
struct hf_look {
    struct hf_engine *engine;
    struct hf_request *request;
    char entry[HF_ENTRY_BYTES];
    struct hf_hang_up *hang_ups; /* of others' tickets in it */
    bool changed;                /* about to be told so */
    /* Of members: how many tickets and marks were told, and the last one's
     * number. */
    size_t count;
    uint64_t newest;
    bool armed; /* the directory is watched, or looked at now and then */
    int dir_wd; /* -1: none, or looked at now and then */
    struct hf_look *next;
    struct hf_look **link;
};

/* A WATCH_QUEUE at a mark that is there; its request's engine_data. */
struct hf_mark_look {
    struct hf_engine *engine;
    struct hf_request *request;
    char entry[HF_ENTRY_BYTES];
    struct hf_ticket_id id; /* of the mark that was told */
    int mark_wd;            /* -1: looked at now and then */
    int dir_wd;
    bool changed; /* about to be told so */
    struct hf_mark_look *next;
    struct hf_mark_look **link;
};

/* How removal of one's own tickets is noticed: see own.c. */
struct hf_own_watching {
    int inotify_fd; /* -1: none */
    int timer_fd;   /* -1: none; looks at what inotify has no room for */
    uv_poll_t inotify;
    uv_poll_t timer;
    uv_timer_t wake; /* arms what was woken */
    bool wake_made;  /* .wake is a handle */
    struct hf_watch *woken;
    struct hf_tree
        ticket_wds;         /* the watches of one's own, by .ticket_wd, ... */
    struct hf_tree dir_wds; /* ... and by .dir_wd */
    int root_wd; /* the directories above all tickets; -1: not watched */
    int locks_wd;
    bool warned;
};

struct hf_engine {
    struct hf_engine_host host;
    struct hf_site site;
    char *description;
    struct hf_descriptors descriptors;
    struct hf_place *place; /* NULL: a client that looks found none */
    struct hf_warm warm;
    struct hf_file_tickets tickets;
    struct hf_watch *watches;
    struct hf_tree others; /* the watches of others' tickets, by place */
    uint64_t watch_number; /* of the last watch */
    struct hf_look *looks;
    struct hf_mark_look *mark_looks;
    struct hf_own_watching own;
    struct hf_helper helper;
    struct hf_job *jobs;        /* with the helper */
    struct hf_listing *listing; /* the last one told, NULL: none */
    struct hf_request *end;     /* waits for the jobs; NULL: none */
    bool ended;
    bool undurable_told;
    unsigned handles; /* closing; memory is freed with the last */
    bool freeing;
};

/* Answer ${request} with an event that carries nothing else. */
void hf_engine_answer(struct hf_engine *engine, struct hf_request *request,
                      enum hf_event_kind kind);
/* The same, and whether the ticket was there. */
void hf_engine_answer_found(struct hf_engine *engine,
                            struct hf_request *request, enum hf_event_kind kind,
                            bool found);
void hf_engine_fail(struct hf_engine *engine, struct hf_request *request,
                    enum hf_failure failure, const struct hf_error *error);
/* FAILED: what passes by itself is worth a retry; what the user must mend is
 * not. */
void hf_engine_refuse(struct hf_engine *engine, struct hf_request *request,
                      const struct hf_error *error);

/* others.c: WITHDRAW and REVOKE of a ticket that is not the session's own, or
 * need not be. */
void hf_engine_evict(struct hf_engine *engine, struct hf_request *request);
void hf_engine_revoke(struct hf_engine *engine, struct hf_request *request);
/* Take the tickets of the dead out of ${listing}, and out of the directory. */
void hf_engine_bury(struct hf_engine *engine, struct hf_listing *listing);

/* requests.c: ENQUEUE, LIST and WITHDRAW. */
void hf_engine_enqueue(struct hf_engine *engine, struct hf_request *request);
void hf_engine_list(struct hf_engine *engine, struct hf_request *request);
void hf_engine_withdraw(struct hf_engine *engine, struct hf_request *request);

/* work.c: ENQUEUE of a ticket that is not there, NEW_GENERATION, CLEAR_FLAG of
 * READY. */
void hf_engine_work(struct hf_engine *engine, struct hf_request *request);
/* Warn, once, where numbers would not survive a reboot. */
void hf_engine_tell_undurable(struct hf_engine *engine);
/* All jobs of the helper have been told of; carries out ${engine}->end. */
void hf_engine_jobs_done(struct hf_engine *engine);

/* ahead.c: the ticket ${gone} of another is in its queue no more.  Comes after
 * hf_own_moved_up(). */
void hf_ahead_gone(struct hf_engine *engine, const struct hf_ticket_id *gone);
/* Note who is ahead of the ticket that ${request} is about, and leave
 * of ${listing}, which is to be its answer, what decides on that. */
void hf_ahead_note(struct hf_engine *engine, const struct hf_request *request,
                   struct hf_listing *listing);
/* Is it known without a list that nobody is? */
bool hf_ahead_is_nobody(struct hf_engine *engine,
                        const struct hf_request *request);

/* Answer with the queue, and remember it: a WATCH of somebody in it follows. */
void hf_engine_tell_queue(struct hf_engine *engine, struct hf_request *request,
                          enum hf_event_kind kind, struct hf_listing *listing);

/* own_tickets.c: the session's own ticket, or NULL. */
struct hf_file_ticket *hf_engine_own(const struct hf_engine *engine,
                                     const struct hf_ticket_id *id);
/* Zeroed before. */
void hf_file_tickets_init(struct hf_file_tickets *tickets);
/* ${own} is there, ${made} being its FIFO before anybody could touch it. */
void hf_file_ticket_is_made(struct hf_file_ticket *own,
                            const struct stat *made);
/* ${own}, with nothing in its way and no watches; and what none watches. */
void hf_file_tickets_add(struct hf_file_tickets *tickets,
                         struct hf_file_ticket *own);
void hf_file_tickets_remove(struct hf_file_tickets *tickets,
                            struct hf_file_ticket *own);
/* ${way} is the nearest in the way of ${own}; NULL: none is. */
void hf_file_tickets_set_way(struct hf_file_tickets *tickets,
                             struct hf_file_ticket *own,
                             const struct hf_ticket_id *way);
/* Walk through all, by id; NULL: there is no other. */
struct hf_file_ticket *
hf_file_tickets_first(const struct hf_file_tickets *tickets);
struct hf_file_ticket *
hf_file_tickets_after(const struct hf_file_tickets *tickets,
                      const struct hf_file_ticket *own);
/* The FIFO of ${way}, if that was found alive when a ticket came behind it:
 * open for reading, and the caller's from now on.  Else -1. */
int hf_file_tickets_take_found(const struct hf_file_tickets *tickets,
                               const struct hf_ticket_id *way);
/* Walk through those that ${way} is in the way of; ${after} NULL: the first. */
struct hf_file_ticket *
hf_file_tickets_behind(const struct hf_file_tickets *tickets,
                       const struct hf_ticket_id *way,
                       const struct hf_file_ticket *after);

/* Take it out of its queue and free it; was it still there? */
bool hf_engine_drop(struct hf_engine *engine, struct hf_file_ticket *own);

/* The queue, or its members, as ${request} means them. */
enum hf_listing_of hf_engine_listed_for(const struct hf_request *request);

/* The tickets as they are; none where there is no directory.  With what the
 * owners of the first ${payloads} say and, of members, the mark; but not of
 * HF_LISTING_ALL.  One reference. */
hf_status hf_engine_read_queue(struct hf_engine *engine, const char *queue,
                               enum hf_listing_of of, size_t payloads,
                               struct hf_listing **listing,
                               struct hf_error *error);

/* Find ${id} in the queue called ${queue}: in the last list told, else in the
 * directory.  HF_OK with ${found}, which also holds where it is not there. */
hf_status hf_engine_find(struct hf_engine *engine, const char *queue,
                         const struct hf_ticket_id *id,
                         struct hf_ticket *ticket, bool *found,
                         struct hf_error *error);

/* describe.c: DESCRIBE. */
void hf_engine_describe(struct hf_engine *engine, struct hf_request *request);

/* downgrade.c: DOWNGRADE. */
void hf_engine_downgrade(struct hf_engine *engine, struct hf_request *request);

/* A handle of the engine's has been closed. */
void hf_engine_handle_closed(struct hf_engine *engine);

/* watch.c: WATCH of another's ticket, and the UNWATCH of any WATCH. */
void hf_watch_other(struct hf_engine *engine, struct hf_request *request);
void hf_watch_forget(struct hf_engine *engine, struct hf_request *request);

/* look.c: WATCH_QUEUE, and its UNWATCH. */
void hf_engine_look(struct hf_engine *engine, struct hf_request *request);
void hf_look_forget(struct hf_request *request);
void hf_look_end(struct hf_look *look);
/* A ticket of ${entry} is gone that nothing hangs up for. */
void hf_looks_changed(struct hf_engine *engine, const char *entry);
/* ${file} has come into the directory that is watched as ${wd}, or, if it is
 * NULL, something has come or gone; in any of them if ${all}. */
void hf_looks_heard(struct hf_engine *engine, int wd, bool all,
                    const char *file);

/* mark.c: SET_FLAG, CLEAR_FLAG, WATCH_QUEUE at a mark and its UNWATCH. */
void hf_engine_raise(struct hf_engine *engine, struct hf_request *request);
void hf_engine_lower(struct hf_engine *engine, struct hf_request *request);
void hf_engine_look_at_mark(struct hf_engine *engine,
                            struct hf_request *request);
void hf_mark_look_forget(struct hf_request *request);
void hf_mark_look_end(struct hf_mark_look *look);
/* Those whose mark, or whose directory, is watched as ${wd}, or all if ${all},
 * may have changed. */
void hf_marks_heard(struct hf_engine *engine, int wd, bool all);

/* own.c: have the mark of ${look} watched, or looked at by a timer; false if
 * neither can be had.  And no longer, ${look} being out of the engine's list.
 */
bool hf_own_arm_mark(struct hf_mark_look *look);
void hf_own_forget_mark(const struct hf_mark_look *look);

/* own.c: the same for the directory of the members ${look} is at; true also
 * where there is none, and then it is not armed.  Asked again, it sees whether
 * that is still the one: else .dir_wd is another. */
bool hf_own_arm_look(struct hf_look *look);
void hf_own_forget_look(const struct hf_look *look);

/* own.c: WATCH of one's own, and the end of all of that. */
void hf_watch_own(struct hf_engine *engine, struct hf_request *request,
                  struct hf_file_ticket *ticket);
void hf_own_forget(struct hf_watch *watch);
void hf_own_close(struct hf_engine *engine);
/* own_wds.c. */
void hf_own_wds_init(struct hf_own_watching *own);
/* ROOT was opened anew: its directories are other ones. */
void hf_own_place_opened(struct hf_engine *engine);
/* Is the ticket still in its queue, in the directory at its path?  Yes where it
 * cannot be told. */
bool hf_own_present(const struct hf_engine *engine,
                    struct hf_file_ticket *ticket);
/* Answer GONE to the watch of a ticket of our own, and why if that is known. */
void hf_own_answer_gone(struct hf_engine *engine, struct hf_request *request);
/* Tell what inotify knows by now; and what a look at those of one's own shows
 * that ${gone} was in the way of, which rest no longer.  To be done before its
 * GONE is told: a ticket that was removed first must not be admitted on the
 * strength of it. */
void hf_own_drain(struct hf_engine *engine);
/* own_wake.c. */
void hf_own_moved_up(struct hf_engine *engine, const struct hf_ticket_id *gone);
/* Have the kernel close the ticket's descriptor before inotify's, which takes
 * it ten milliseconds, when this process is killed. */
void hf_own_put_above(struct hf_engine *engine, struct hf_file_ticket *ticket);
/* own_wake.c: a watch of another's ticket in ${entry} was taken back: those of
 * one's own that waited behind it no longer rest. */
void hf_own_wake(struct hf_engine *engine, const char *entry);

/* watch.c: take ${watch} out and free it.  With _gone the core hears GONE. */
struct hf_watch *hf_watch_new(struct hf_engine *engine,
                              struct hf_request *request);
/* It is of ${own}. */
void hf_watch_is_of_own(struct hf_watch *watch, struct hf_file_ticket *own);
/* The first of others' tickets in ${entry} that is watched, or NULL. */
const struct hf_ticket *hf_watch_first_other(const struct hf_engine *engine,
                                             const char *entry);
/* Keep the watches of others' tickets by place. */
void hf_watch_others_init(struct hf_tree *others);
void hf_watch_end(struct hf_watch *watch);
void hf_watch_gone(struct hf_watch *watch);

#endif
