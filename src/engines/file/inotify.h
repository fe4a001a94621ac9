/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How changes in the directories are noticed: by one inotify instance of the
 * session and, where the user has no instance or watch left, by a timer.
 *
 * Both pass what may have changed to .on_change.  Its receiver checks the files
 * themselves, so a change that is reported in vain does no harm.
 */
#ifndef HF_ENGINES_FILE_INOTIFY_H
#define HF_ENGINES_FILE_INOTIFY_H

#include <uv.h>

#include "base/tree.h"
#include "core/engine.h"

struct hf_file_barrier_watch;
struct hf_file_queue_watch;
struct hf_file_ticket;
struct hf_file_ticket_watch;

struct hf_file_inotify {
    /* Set when the engine is opened.  Something may have changed in what
     * inotify watches as ${wd}, or in anything if ${all}.  If ${file} is not
     * NULL, the change is that ${file} has come into that directory. */
    void (*on_change)(struct hf_engine *engine, int wd, bool all,
                      const char *file);
    int inotify_fd;         /* -1: no instance yet, or none is left */
    int timer_fd;           /* -1: the timer has not been needed */
    uv_poll_t inotify_poll; /* a handle while .inotify_fd is not -1 */
    uv_poll_t timer_poll;   /* a handle while .timer_fd is not -1 */
    /* Of own_watch.c: arms the watches in .to_arm, the last one added first. */
    uv_timer_t arm_timer;
    bool arm_timer_made; /* .arm_timer is a handle */
    struct hf_file_ticket_watch *to_arm;
    /* Watches of own tickets, see watch_descriptors.h. */
    struct hf_tree ticket_wds;
    struct hf_tree dir_wds;
    int root_wd;  /* of the root directory; -1: not watched */
    int locks_wd; /* of its "locks"; -1: not watched */
    bool warned;  /* that the timer is used */
};

/* Watch the FIFO and the directory of the ticket of ${watch}.  False if neither
 * inotify nor the timer can be had, for want of memory or descriptors. */
bool hf_file_inotify_watch_ticket(struct hf_engine *engine,
                                  struct hf_file_ticket_watch *watch);

/* The same for the barrier of ${watch} and its directory. */
bool hf_file_inotify_watch_barrier(struct hf_file_barrier_watch *watch);

/* The same for the directory of ${watch}, whose participants are watched.  True
 * also if there is no such directory; .armed is false then.  A second call sees
 * whether the directory at the path is still the same one: if it is not,
 * .dir_wd changes. */
bool hf_file_inotify_watch_queue(struct hf_file_queue_watch *watch);

/* Watch it no longer.  ${watch} is out of the engine's list by then. */
void hf_file_inotify_unwatch_ticket(struct hf_file_ticket_watch *watch);
void hf_file_inotify_unwatch_barrier(const struct hf_file_barrier_watch *watch);
void hf_file_inotify_unwatch_queue(const struct hf_file_queue_watch *watch);

/* Watch the root directory and its "locks": at the start, and when the root
 * directory was opened anew.  Nothing without an instance. */
void hf_file_inotify_watch_root(struct hf_engine *engine);

/* Pass on what inotify has reported so far.  A part that is about to answer
 * HF_EVENT_GONE calls this first: a ticket of ours that was removed before that
 * must not be admitted on the strength of it. */
void hf_file_inotify_read(struct hf_engine *engine);

/* Have the timer report a change of everything once a second.  False if it
 * cannot be had. */
bool hf_file_inotify_start_timer(struct hf_engine *engine);

/* Give the FIFO of ${ticket} a higher number than that of inotify, if it has
 * not.  The kernel closes the descriptors of a killed process from the highest
 * down and needs 10 ms for inotify's, which the next in line would wait for. */
void hf_file_inotify_put_fifo_above(struct hf_engine *engine,
                                    struct hf_file_ticket *ticket);

/* Close everything.  The handles count in .handles of the engine until libuv
 * has closed them. */
void hf_file_inotify_close(struct hf_engine *engine);

#endif
