/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names that there are: all locks at or below a prefix that somebody holds
 * or waits for, in pages.
 */
#ifndef HOLDFAST_NAMES_H
#define HOLDFAST_NAMES_H

#include <holdfast/tickets.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hf_names;      /* a walk over the names */
struct hf_names_page; /* some of them */

/* A name, as it was when its queue was listed.  All texts are the page's. */
struct hf_name_view {
    const char *name;
    /* As far as the tickets say: that of the first one.  Semaphores and
     * double barriers are always distinguished from other locks. */
    enum hf_kind kind;
    uint32_t holders; /* tickets that hold, or participants that are inside */
    uint32_t waiters; /* the others: the length of the queue */
    /* The holder that began to ask first, and the waiter that has waited
     * longest, as far as tickets say when that was; NULL: there is none.  A
     * holder has held for at most its .age_ms. */
    const struct hf_ticket_view *holder;
    const struct hf_ticket_view *waiter;
};

struct hf_names_opts {
    size_t size; /* set by HF_NAMES_OPTS_INIT */
    /* Walk also a tree of more than 100,000 nodes in ZooKeeper, which is else
     * refused with HF_ELIMIT.  Other engines have no such bound. */
    bool all;
};
#define HF_NAMES_OPTS_INIT                                                     \
    {                                                                          \
        sizeof(struct hf_names_opts), false                                    \
    }

/**
 * hf_names_opts_init(opts, size):
 * As hf_client_opts_init(), to HF_NAMES_OPTS_INIT.
 *   Thread    any.
 */
HF_API void hf_names_opts_init(struct hf_names_opts *opts, size_t size)
    HF_NONNULL(1);

/**
 * hf_names_open(client, prefix, opts, names):
 * Set ${names} to a walk over the names of locks that are ${prefix} or below it
 * ("a" and "a/b", but not "ab"); "": all.  No request is made.
 *
 * A name that has a ticket from the first request to the end of the walk comes
 * in exactly one page, unless it cannot be read: then it is in none, and
 * hf_names_unreadable() counts it.  A name that comes or goes meanwhile is in
 * one or in none.  The names are in no order.  A name that is used as a lock
 * and as a semaphore or double barrier comes once for each.  A lock NAME/locks
 * may be shown as a waiting semaphore NAME as long as a semaphore NAME has
 * permits out (see hf_lock_open()).  Barriers have no tickets and are not
 * named.
 *
 * What it costs stands in the document of each engine.  Each name costs the
 * requests of hf_lock_tickets() as well.  The walk keeps at most 48 bytes for
 * each name that it has seen.  A quorum has no list of its names:
 * HF_EUNSUPPORTED from hf_names_next().
 *   Ownership ${prefix} is copied.  ${names} must be freed with
 *             hf_names_free() and keeps the memory of ${client} alive.
 *   Fails     HF_EINVAL HF_EUNSUPPORTED HF_ENAME HF_ECLOSED HF_ENOMEM
 *             HF_EFORKED; ${names} is then NULL.
 */
HF_API hf_status hf_names_open(struct hf_client *client, const char *prefix,
                               const struct hf_names_opts *opts,
                               struct hf_names **names)
    HF_NONNULL(1, 2, 4) HF_MUST_CHECK;

/**
 * hf_names_next(names, wait_ms, page):
 * Set ${page} to the next names, or to NULL if there are no more.  A page may
 * be empty: nothing was found where this one has looked, and the walk goes on.
 *   Time      at most ${wait_ms}.  After a failure the next call goes on where
 *             this one began: nothing is missed.
 *   Ownership ${page} must be freed with hf_names_page_free().
 *   Fails     HF_ETIMEDOUT HF_EUNREACHABLE HF_ECLOSED HF_EDENIED HF_EDIR
 *             HF_ELIMIT HF_ENOMEM HF_EPROTOCOL HF_EUNSUPPORTED HF_EREENTRANT
 *             HF_EFORKED; HF_ESTATE while a page is under way.  ${page} is then
 *             NULL.
 */
HF_API hf_status hf_names_next(struct hf_names *names, uint64_t wait_ms,
                               struct hf_names_page **page)
    HF_NONNULL(1, 3) HF_MUST_CHECK;

/**
 * hf_names_next_start(names, wait_ms, done):
 * Begin hf_names_next().
 *   Callback  ${done} once, with HF_OK and .names, which is NULL if there are
 *             no more, or with a status.
 *   Fails     HF_EINVAL if ${done} has no function (see struct hf_done);
 *             HF_ECLOSED HF_ELIMIT HF_ENOMEM HF_ESTATE HF_EFORKED.
 */
HF_API hf_status hf_names_next_start(struct hf_names *names, uint64_t wait_ms,
                                     struct hf_done done)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_names_free(names):
 * End the walk (NULL is fine).  A page that is under way still comes.
 */
HF_API void hf_names_free(struct hf_names *names);

/**
 * hf_names_count(page), hf_names_at(page, index):
 * How many names are in the page; the one at ${index}, from 0; NULL beyond the
 * last.
 *   Ownership ${page}'.
 */
HF_API size_t hf_names_count(const struct hf_names_page *page) HF_NONNULL(1);
HF_API const struct hf_name_view *hf_names_at(const struct hf_names_page *page,
                                              size_t index) HF_NONNULL(1);

/**
 * hf_names_looked_at(page), hf_names_unreadable(page):
 * Of the walk up to the end of this page: how many nodes (ZooKeeper), keys
 * (etcd; Redis, by its own count), rows (PostgreSQL) or directories (files) it
 * has looked at; and how many of these, or of the names found, could not be
 * read: for lack of rights, because what is there is no queue, or because it is
 * too long for an answer.
 */
HF_API uint64_t hf_names_looked_at(const struct hf_names_page *page)
    HF_NONNULL(1);
HF_API uint64_t hf_names_unreadable(const struct hf_names_page *page)
    HF_NONNULL(1);

/**
 * hf_names_page_free(page):
 * Free ${page} (NULL is fine).
 */
HF_API void hf_names_page_free(struct hf_names_page *page);

#ifdef __cplusplus
}
#endif

#endif
