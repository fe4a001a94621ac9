/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cached list: the last list of a queue, less the children that have gone
 * since.  It is a superset of the tickets that are ahead of one of ours.
 *
 * No ticket comes to stand ahead of a ticket that was listed, except a reader
 * that takes the place of its own write ticket (a downgrade).  So what a list
 * shows ahead of our ticket, less what this session saw go, is all that can be
 * ahead of it from then on.  A waiter that uses the cached list may wait too
 * long at worst, until the watch of a node that no longer exists says so.  It
 * never enters too early.
 *
 * It is used instead of a new list only while the tickets ahead are of this
 * session or are watched, because then their end is seen.  The end of other
 * tickets is not seen, and a waiter would try one after the other and find
 * each gone.  It is used only on the connection that it came from, and only
 * for a ticket that is watched itself.
 *
 * If a write ticket of another session goes, the cached list is not used any
 * more, because there may be a reader in its place.
 *
 * Where the cached list cannot be used, a new list is compared with it: of the
 * children ahead of the asking ticket, those that are missing in the new list
 * have gone.  Children behind it are left as they are; they still are a
 * superset for the tickets there.  So a list of ten thousand names of which a
 * few are ahead is scanned once and not sorted.  If the new list has a child
 * ahead that the cached one does not have, a downgraded reader, then it
 * replaces the cached list.
 */
#ifndef HF_ENGINES_ZOOKEEPER_CACHED_LIST_H
#define HF_ENGINES_ZOOKEEPER_CACHED_LIST_H

#include "engines/zookeeper/zk_own_ticket.h"

/* Can the cached list be used for our ticket ${own_ticket} instead of a new
 * list?  If so, the children that have gone are removed from it. */
bool hf_zk_cached_list_serves(struct hf_zk *zk, struct hf_zk_queue *queue,
                              const struct hf_zk_own_ticket *own_ticket);

/* A new list ${body} has arrived for ${requests}.  If all of their tickets are
 * in the cached list, remove the children that have gone ahead of the last of
 * them and return true.  The cost is linear in the names ahead.  Otherwise
 * return false with nothing changed; the caller must take the new list in. */
bool hf_zk_cached_list_update(struct hf_zk *zk, struct hf_zk_queue *queue,
                              const struct hf_zk_request_list *requests,
                              struct hf_jute_reader body);

#endif
