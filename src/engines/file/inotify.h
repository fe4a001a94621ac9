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

struct hf_file_ticket;
struct hf_file_watch;

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
    /* Of ticket_watch.c: arms the watches in .to_arm, the last one added first.
     */
    uv_timer_t arm_timer;
    bool arm_timer_made; /* .arm_timer is a handle */
    struct hf_file_watch *to_arm;
    /* The watches by their watch descriptors.  A FIFO or link has one of its
     * own; the watches in one directory share that of the directory. */
    struct hf_tree wds;
    struct hf_tree dir_wds;
    int root_wd;  /* of the root directory; -1: not watched */
    int locks_wd; /* of its "locks"; -1: not watched */
    bool warned;  /* that the timer is used */
};

/* Set ${inotify}, which is zeroed, to having nothing open. */
void hf_file_inotify_init(struct hf_file_inotify *inotify);

/* Watch the FIFO or the link of ${watch}, if it is of one, and the directory.
 * False if neither inotify nor the timer can be had, for want of memory or
 * descriptors.  True also for a watch of PARTICIPANTS whose directory is not
 * there; its .state is HF_FILE_WATCH_UNARMED then.  A second call sees whether
 * the directory at the path is still the same one: if it is not, .dir_wd
 * changes. */
bool hf_file_inotify_arm(struct hf_file_watch *watch);

/* Watch it no longer.  ${watch} is out of the engine's list by then. */
void hf_file_inotify_disarm(struct hf_file_watch *watch);

/* The watch after ${after} among those that have ${wd}; ${after} NULL: the
 * first.  First come the watches whose FIFO or link has ${wd}, then those
 * whose directory has it; no inode is both.  NULL: there is none. */
struct hf_file_watch *hf_file_inotify_next(const struct hf_engine *engine,
                                           int wd,
                                           const struct hf_file_watch *after);

/* Watch the root directory and its "locks": when the instance was made, and
 * when the root directory was opened anew.  Does nothing without an instance.
 */
void hf_file_inotify_watch_root(struct hf_engine *engine);

/* Pass on what inotify has reported so far, up to 64 KiB; the loop passes on
 * the rest.  Called when a ticket of another session has hung up, before that
 * is answered: the answer must not admit a ticket of ours that was removed
 * before. */
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
