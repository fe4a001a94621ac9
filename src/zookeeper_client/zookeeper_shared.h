/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A handle on the session of a client of locks: what it registers and what the
 * client locks live and die together.
 *
 * The monitor, the session and its I/O are the client's.  The handle has its
 * own queue of operations, listeners and watches, and memory that lives until
 * its last operation and watch are gone.  There may be several of one client.
 *
 * The close of a handle takes its watches out of the session and ends its
 * operations as that of a session does: those that were sent have a second to
 * be answered.  Then one callback behind all others of the client notifies the
 * user.  The close of the client ends the operations of all its handles; a
 * handle is still there after that, and has to be closed.
 */
#ifndef HF_ZOOKEEPER_CLIENT_ZOOKEEPER_SHARED_H
#define HF_ZOOKEEPER_CLIENT_ZOOKEEPER_SHARED_H

#include "zookeeper_client/zookeeper_handle.h"

/* Is ${zookeeper} such a handle, whose client was closed?  Then its close waits
 * for nothing.  Without the lock. */
bool hf_zookeeper_shared_is_over(struct hf_zookeeper *zookeeper);

/* hf_zookeeper_close() of such a handle, and hf_zookeeper_close_start(), which
 * is called with the lock, with .close_done set and the client not closing, and
 * releases the lock as hf_monitor_leave() does. */
hf_status hf_zookeeper_shared_close(struct hf_zookeeper *zookeeper);
void hf_zookeeper_shared_close_start(struct hf_zookeeper *zookeeper);

#endif
