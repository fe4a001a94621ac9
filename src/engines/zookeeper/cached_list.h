/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last list of a queue, less what has gone since: a superset of who is
 * ahead.
 *
 * Nobody comes to stand ahead of a ticket that was listed, but for a reader who
 * takes the place of its own write ticket.  So what a list shows ahead of a
 * ticket of ours is, less what this session saw go, all that can be ahead of it
 * ever after.  Who waits by that waits too long at the worst, until the watch
 * of one that is not there says so, and never enters early.
 *
 * It serves in place of a new list while those ahead are the session's own, or
 * are watched: what goes of them is seen.  Of others we see nothing, and
 * whoever waited for one after the other would find each gone.  And it serves
 * on the connection that it came by, and only a ticket that is watched itself.
 *
 * A write ticket of another session that goes, or what may be one, ends its
 * use: there may be a reader where it was.
 *
 * Where it does not serve, a new list is compared with it: of those ahead of
 * the ticket that asks, what the new one lacks has gone.  Those behind stay, as
 * they are a superset of who is ahead of the tickets there.  So a list of ten
 * thousand, of which a few are ahead, is passed over once and not sorted.  A
 * ticket ahead that is not in the kept one is a reader in the place of its
 * writer: then the new list replaces it.
 */
#ifndef HF_ENGINES_ZOOKEEPER_CACHED_LIST_H
#define HF_ENGINES_ZOOKEEPER_CACHED_LIST_H

#include "engines/zookeeper/zk_own_ticket.h"

/* Does it serve our ticket ${own} in place of a new one?  What has gone is then
 * no more in it. */
bool hf_zk_cached_list_serves(struct hf_zk *zk, struct hf_zk_queue *queue,
                              const struct hf_zk_own_ticket *own_ticket);

/* The list ${body} has come for those in ${line}, whose tickets are in the one
 * that is kept: leave out what has gone ahead of the last of them, at the cost
 * of what it has there.  False, with nothing changed, if it is to be taken in
 * as a whole. */
bool hf_zk_cached_list_update(struct hf_zk *zk, struct hf_zk_queue *queue,
                              const struct hf_zk_request_list *requests,
                              struct hf_jute_reader body);

#endif
