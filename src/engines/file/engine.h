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
#include "engines/file/dir_cache.h"
#include "engines/file/fifo_watch.h"
#include "engines/file/file.h"
#include "engines/file/worker_thread.h"

/* One of this session's own. */
struct hf_file_ticket {
    struct hf_tree_node by_id; /* first */
    struct hf_ticket ticket;   /* .payload is not kept */
    int fifo;
    bool held;    /* copies of .fifo were given out by hold() */
    dev_t device; /* of .fifo */
    ino_t inode;
    struct timespec
        created_mtime;          /* .fifo's time while nobody has touched it */
    struct timespec last_mtime; /* the same when it was last looked at */
    bool present;               /* it was in its queue then, for certain */
    /* As the queue was when the core was last told of it: */
    struct hf_ticket predecessor; /* right ahead; .sequence is 0 if nobody is */
    bool predecessor_gone; /* .before has gone, and this was seen in its place
                              after */
    /* What was in the way when this ticket came, and its FIFO, open and found
     * alive; -1: nothing, or a watch has taken it over. */
    struct hf_ticket_id probed;
    int probed_fifo;
    struct hf_ticket_id
        blocker; /* the nearest in the way; all zero if none is */
    struct hf_tree_node by_blocker;
    struct hf_ticket_watch *watches; /* of it, the newest first */
    char dir_name[];
};

/* own_tickets.c. */
struct hf_file_tickets {
    struct hf_tree ids;
    struct hf_tree blocked; /* those that have one in the way, by it */
};

/* A WATCH that was answered WATCHING; its request's engine_data. */
struct hf_ticket_watch {
    struct hf_engine *engine;
    struct hf_request *request;
    struct hf_ticket_watch *next;
    struct hf_ticket_watch **link;
    struct hf_fifo_watch *fifo_watch; /* of another's ticket, else NULL */
    struct hf_tree_node by_position;  /* if so, in the engine's */
    uint64_t number;                  /* in the order in which they were made */
    struct hf_file_ticket
        *own_ticket; /* one's own, else NULL, and what follows */
    struct hf_ticket_watch *next_of_ticket;
    struct hf_ticket_watch **link_of_ticket;
    struct timespec reported_mtime; /* .own's time when it was last looked at */
    struct hf_ticket_watch
        *next_to_arm; /* rested until now, and is about to be armed */
    struct hf_ticket_watch **to_arm; /* NULL: it is not */
    int ticket_wd; /* -1: rests, or is looked at now and then */
    int dir_wd;
    struct hf_tree_node by_ticket_wd; /* while .ticket_wd is not -1 */
    struct hf_tree_node by_dir_wd;
};

/* A WATCH_QUEUE that was answered LISTED; its request's engine_data. */
struct hf_file_queue_watch {
    struct hf_engine *engine;
    struct hf_request *request;
    char dir_name[HF_DIR_NAME_BYTES];
    struct hf_fifo_watch *fifo_watches; /* of others' tickets in it */
    bool changed;                       /* about to be told so */
    /* Of members: how many tickets and marks were told, and the last one's
     * number. */
    size_t count;
    uint64_t newest;
    bool armed; /* the directory is watched, or looked at now and then */
    int dir_wd; /* -1: none, or looked at now and then */
    struct hf_file_queue_watch *next;
    struct hf_file_queue_watch **link;
};

/* A WATCH_QUEUE at a mark that is there; its request's engine_data. */
struct hf_file_barrier_watch {
    struct hf_engine *engine;
    struct hf_request *request;
    char dir_name[HF_DIR_NAME_BYTES];
    struct hf_ticket_id id; /* of the mark that was told */
    int barrier_wd;         /* -1: looked at now and then */
    int dir_wd;
    bool changed; /* about to be told so */
    struct hf_file_barrier_watch *next;
    struct hf_file_barrier_watch **link;
};

/* inotify.c: how changes in the directories are noticed. */
struct hf_inotify {
    /* Something may have changed in what is watched as ${wd}, in anything if
     * ${all}; ${file} has come into that directory if it is not NULL. */
    void (*on_change)(struct hf_engine *engine, int wd, bool all,
                      const char *file);
    int inotify_fd; /* -1: none */
    int timer_fd;   /* -1: none; looks at what inotify has no room for */
    uv_poll_t inotify_poll;
    uv_poll_t timer_poll;
    uv_timer_t arm_timer; /* arms what was woken */
    bool arm_timer_made;  /* .wake is a handle */
    struct hf_ticket_watch *to_arm;
    struct hf_tree
        ticket_wds;         /* the watches of one's own, by .ticket_wd, ... */
    struct hf_tree dir_wds; /* ... and by .dir_wd */
    int root_wd; /* the directories above all tickets; -1: not watched */
    int locks_wd;
    bool warned;
};

struct hf_engine {
    struct hf_engine_host host;
    struct hf_root_settings settings;
    char *description;
    struct hf_descriptors descriptors;
    struct hf_root_dir *root_dir; /* NULL: a client that looks found none */
    struct hf_dir_cache dir_cache;
    struct hf_file_tickets tickets;
    struct hf_ticket_watch *watches;
    struct hf_tree other_watches; /* the watches of others' tickets, by place */
    uint64_t watch_number;        /* of the last watch */
    struct hf_file_queue_watch *queue_watches;
    struct hf_file_barrier_watch *barrier_watches;
    struct hf_inotify inotify;
    struct hf_worker_thread worker;
    struct hf_job *jobs;        /* with the helper */
    struct hf_listing *listing; /* the last one told, NULL: none */
    struct hf_request *end;     /* waits for the jobs; NULL: none */
    bool ended;
    bool warned_not_durable;
    unsigned handles; /* closing; memory is freed with the last */
    bool freeing;
};

/* answer.c: answer ${request} with an event that carries nothing else. */
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
void hf_engine_fail_by_status(struct hf_engine *engine,
                              struct hf_request *request,
                              const struct hf_error *error);

/* eviction.c: WITHDRAW and REVOKE of a ticket that is not the session's own, or
 * need not be. */
void hf_engine_evict(struct hf_engine *engine, struct hf_request *request);
void hf_engine_revoke(struct hf_engine *engine, struct hf_request *request);
/* Take the tickets of the dead out of ${listing}, and out of the directory. */
void hf_engine_remove_dead(struct hf_engine *engine,
                           struct hf_listing *listing);

/* locked_requests.c: ENQUEUE.  list.c: LIST.  remove.c: REMOVE. */
void hf_engine_enqueue(struct hf_engine *engine, struct hf_request *request);
void hf_engine_list(struct hf_engine *engine, struct hf_request *request);
void hf_engine_remove(struct hf_engine *engine, struct hf_request *request);

/* locked_requests.c: ENQUEUE of a ticket that is not there, NEW_GENERATION,
 * CLEAR_FLAG of READY. */
void hf_engine_run_locked(struct hf_engine *engine, struct hf_request *request);
/* Warn, once, where numbers would not survive a reboot. */
void hf_engine_warn_not_durable(struct hf_engine *engine);
/* session_end.c: END; and what is left of it when all jobs of the worker have
 * been answered. */
void hf_engine_end_session(struct hf_engine *engine,
                           struct hf_request *request);
void hf_engine_finish_end(struct hf_engine *engine);

/* predecessor.c: the ticket ${gone} of another is in its queue no more.  Comes
 * after hf_own_watch_blocker_gone(). */
void hf_predecessor_gone(struct hf_engine *engine,
                         const struct hf_ticket_id *gone);
/* Note who is ahead of the ticket that ${request} is about, and leave
 * of ${listing}, which is to be its answer, what decides on that. */
void hf_predecessor_note(struct hf_engine *engine,
                         const struct hf_request *request,
                         struct hf_listing *listing);
/* Is it known without a list that nobody is? */
bool hf_predecessor_own_is_first(struct hf_engine *engine,
                                 const struct hf_request *request);

/* Answer with the queue, and remember it: a WATCH of somebody in it follows. */
void hf_engine_answer_queue(struct hf_engine *engine,
                            struct hf_request *request, enum hf_event_kind kind,
                            struct hf_listing *listing);

/* own_tickets.c: the session's own ticket, or NULL. */
struct hf_file_ticket *hf_engine_own_ticket(const struct hf_engine *engine,
                                            const struct hf_ticket_id *id);
/* Zeroed before. */
void hf_file_tickets_init(struct hf_file_tickets *tickets);
/* ${own_ticket} is there, ${created} being its FIFO before anybody could touch
 * it. */
void hf_file_ticket_set_stat(struct hf_file_ticket *own_ticket,
                             const struct stat *fifo_stat);
/* ${own_ticket}, with nothing in its way and no watches; and what none watches.
 */
void hf_file_tickets_add(struct hf_file_tickets *tickets,
                         struct hf_file_ticket *own_ticket);
void hf_file_tickets_remove(struct hf_file_tickets *tickets,
                            struct hf_file_ticket *own_ticket);
/* ${blocker} is the nearest in the way of ${own_ticket}; NULL: none is. */
void hf_file_tickets_set_blocker(struct hf_file_tickets *tickets,
                                 struct hf_file_ticket *own_ticket,
                                 const struct hf_ticket_id *blocker);
/* Walk through all, by id; NULL: there is no other. */
struct hf_file_ticket *
hf_file_tickets_first(const struct hf_file_tickets *tickets);
struct hf_file_ticket *
hf_file_tickets_after(const struct hf_file_tickets *tickets,
                      const struct hf_file_ticket *own_ticket);
/* The FIFO of ${blocker}, if that was found alive when a ticket came behind it:
 * open for reading, and the caller's from now on.  Else -1. */
int hf_file_tickets_take_probed(const struct hf_file_tickets *tickets,
                                const struct hf_ticket_id *blocker);
/* Walk through those that ${blocker} is in the way of; ${after} NULL: the
 * first. */
struct hf_file_ticket *
hf_file_tickets_blocked_by(const struct hf_file_tickets *tickets,
                           const struct hf_ticket_id *blocker,
                           const struct hf_file_ticket *after);

/* Take it out of its queue and free it; was it still there? */
bool hf_engine_remove_own(struct hf_engine *engine,
                          struct hf_file_ticket *own_ticket);

/* The queue, or its members, as ${request} means them. */
enum hf_listing_scope hf_engine_listing_scope(const struct hf_request *request);

/* The tickets as they are; none where there is no directory.  With what the
 * owners of the first ${payloads} say and, of members, the mark; but not of
 * HF_LISTING_ALL.  One reference. */
hf_status hf_engine_read_queue(struct hf_engine *engine, const char *queue,
                               enum hf_listing_scope scope, size_t payloads,
                               struct hf_listing **listing,
                               struct hf_error *error);

/* Find ${id} in the queue called ${queue}: in the last list told, else in the
 * directory.  HF_OK with ${found}, which also holds where it is not there. */
hf_status hf_engine_find_ticket(struct hf_engine *engine, const char *queue,
                                const struct hf_ticket_id *id,
                                struct hf_ticket *ticket, bool *found,
                                struct hf_error *error);

/* describe.c: DESCRIBE. */
void hf_engine_describe(struct hf_engine *engine, struct hf_request *request);

/* downgrade.c: DOWNGRADE. */
void hf_engine_downgrade(struct hf_engine *engine, struct hf_request *request);

/* engine_memory.c: free all that an engine has allocated; it is in no loop. */
void hf_engine_free_memory(struct hf_engine *engine);
/* A handle of the engine's has been closed. */
void hf_engine_handle_closed(struct hf_engine *engine);

/* other_watch.c: WATCH of another's ticket, and the UNWATCH of any WATCH. */
void hf_engine_watch_other(struct hf_engine *engine,
                           struct hf_request *request);
void hf_ticket_watch_forget(struct hf_engine *engine,
                            struct hf_request *request);

/* queue_watch.c: WATCH_QUEUE, and its UNWATCH. */
void hf_engine_watch_queue(struct hf_engine *engine,
                           struct hf_request *request);
void hf_file_queue_watch_forget(struct hf_request *request);
void hf_file_queue_watch_end(struct hf_file_queue_watch *watch);
/* A ticket of ${dir_name} is gone that nothing hangs up for. */
void hf_file_queue_watches_ticket_gone(struct hf_engine *engine,
                                       const char *dir_name);
/* ${file} has come into the directory that is watched as ${wd}, or, if it is
 * NULL, something has come or gone; in any of them if ${all}. */
void hf_file_queue_watches_on_change(struct hf_engine *engine, int wd, bool all,
                                     const char *file);

/* barrier.c: SET_FLAG, CLEAR_FLAG, WATCH_QUEUE at a mark and its UNWATCH. */
void hf_engine_set_barrier(struct hf_engine *engine,
                           struct hf_request *request);
void hf_engine_clear_barrier(struct hf_engine *engine,
                             struct hf_request *request);
void hf_engine_watch_barrier(struct hf_engine *engine,
                             struct hf_request *request);
void hf_file_barrier_watch_forget(struct hf_request *request);
void hf_file_barrier_watch_end(struct hf_file_barrier_watch *watch);
/* Those whose mark, or whose directory, is watched as ${wd}, or all if ${all},
 * may have changed. */
void hf_file_barrier_watches_on_change(struct hf_engine *engine, int wd,
                                       bool all);

/* inotify.c: have inotify or the timer tell of the ticket; false: neither
 * can. */
bool hf_inotify_watch_ticket(struct hf_engine *engine,
                             struct hf_ticket_watch *watch);

/* inotify.c: have the mark of ${watch} watched, or looked at by a timer;
 * false if neither can be had.  And no longer, ${watch} being out of the
 * engine's list.
 */
bool hf_inotify_watch_barrier(struct hf_file_barrier_watch *watch);
void hf_inotify_unwatch_barrier(const struct hf_file_barrier_watch *watch);

/* inotify.c: the same for the directory of the members ${watch} is at; true
 * also where there is none, and then it is not armed.  Asked again, it sees
 * whether that is still the one: else .dir_wd is another. */
bool hf_inotify_watch_queue(struct hf_file_queue_watch *watch);
void hf_inotify_unwatch_queue(const struct hf_file_queue_watch *watch);

/* own_watch.c: look at the own tickets that are watched as ${wd}, all of them
 * if ${all}, and answer the watches of those that are gone or were touched. */
void hf_own_watch_on_change(struct hf_engine *engine, int wd, bool all);
/* own_watch.c: WATCH of one's own. */
void hf_engine_watch_own(struct hf_engine *engine, struct hf_request *request,
                         struct hf_file_ticket *ticket);
void hf_inotify_unwatch_ticket(struct hf_ticket_watch *watch);
void hf_inotify_close(struct hf_engine *engine);
/* Have the timer look at everything once a second; false: it cannot. */
bool hf_inotify_start_timer(struct hf_engine *engine);
/* watch_descriptors.c: what inotify calls the ticket and its directory; -1:
 * nothing. */
void hf_watch_descriptors_set(struct hf_ticket_watch *watch, int ticket_wd,
                              int dir_wd);
void hf_watch_descriptors_clear(struct hf_ticket_watch *watch);
/* Walk through those whose ticket is watched as ${wd}, then those whose
 * directory is: no inode is both.  ${after} NULL: the first. */
struct hf_ticket_watch *
hf_watch_descriptors_next(const struct hf_engine *engine, int wd,
                          const struct hf_ticket_watch *after);
void hf_watch_descriptors_init(struct hf_inotify *inotify);
/* ROOT was opened anew: its directories are other ones. */
void hf_inotify_watch_root(struct hf_engine *engine);
/* own_presence.c: is the ticket still in its queue, in the directory at its
 * path?  Notes its time if it is. */
enum hf_presence { HF_PRESENT, HF_GONE, HF_PRESENCE_UNKNOWN };
enum hf_presence hf_file_ticket_presence(const struct hf_engine *engine,
                                         struct hf_file_ticket *ticket);
/* The same; yes where it cannot be told. */
bool hf_file_ticket_is_present(const struct hf_engine *engine,
                               struct hf_file_ticket *ticket);
/* Answer GONE to the watch of a ticket of our own, and why if that is known. */
void hf_engine_answer_own_gone(struct hf_engine *engine,
                               struct hf_request *request);
/* Tell what inotify knows by now; and what a look at those of one's own shows
 * that ${gone} was in the way of, which rest no longer.  To be done before its
 * GONE is told: a ticket that was removed first must not be admitted on the
 * strength of it. */
void hf_inotify_read(struct hf_engine *engine);
/* own_watch_deferred.c. */
void hf_own_watch_blocker_gone(struct hf_engine *engine,
                               const struct hf_ticket_id *gone);
/* Have the kernel close the ticket's descriptor before inotify's, which takes
 * it ten milliseconds, when this process is killed. */
void hf_inotify_put_fifo_above(struct hf_engine *engine,
                               struct hf_file_ticket *ticket);
/* own_watch_deferred.c: a watch of another's ticket in ${dir_name} was taken
 * back: those of one's own that waited behind it no longer rest. */
void hf_own_watch_other_forgotten(struct hf_engine *engine,
                                  const char *dir_name);

/* ticket_watch.c: take ${watch} out and free it.  With _gone the core hears
 * GONE. */
struct hf_ticket_watch *hf_ticket_watch_new(struct hf_engine *engine,
                                            struct hf_request *request);
/* ${watch} is not about to be armed any more.  Nothing if it was not. */
void hf_ticket_watch_cancel_arm(struct hf_ticket_watch *watch);
/* It is of another's ticket, by ${watch}->fifo_watch. */
void hf_ticket_watch_set_other(struct hf_ticket_watch *watch);
/* It is of ${own_ticket}. */
void hf_ticket_watch_set_own(struct hf_ticket_watch *watch,
                             struct hf_file_ticket *own_ticket);
/* The first of others' tickets in ${dir_name} that is watched, or NULL. */
const struct hf_ticket *
hf_ticket_watch_first_other(const struct hf_engine *engine,
                            const char *dir_name);
/* Keep the watches of others' tickets by place. */
void hf_ticket_watch_init_others(struct hf_tree *other_watches);
void hf_ticket_watch_end(struct hf_ticket_watch *watch);
void hf_ticket_watch_answer_gone(struct hf_ticket_watch *watch);

#endif
