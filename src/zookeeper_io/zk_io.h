/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drives a session of zookeeper/zk_session.h on a libuv loop: opens the
 * connection that the session wants, passes bytes in both directions, and
 * passes time.  The user of the session makes calls and is notified by its
 * listeners.  After making calls the user calls hf_zk_io_run_soon(), which has
 * their bytes sent before the loop sleeps.  So all calls of one iteration of
 * the loop are sent with one write.  A session that is connected to a read-only
 * server has a second connection now and then, on which another server is asked
 * whether it has a quorum (zookeeper/zk_rw_probe.h).
 *
 *     hf_zk_io_init(io, &host, &user);
 *     hf_zk_io_open(io, config, error);        it has what a connection needs
 *     ... begin the session
 *     hf_zk_io_start(io, session);
 *     ... make calls, and hf_zk_io_run_soon(io)
 *     ... close the session, with .ending set
 *     ... free the session
 *     hf_zk_io_close(io);                      .closed follows
 *
 * Everything here is used with the client's lock held, by any thread that calls
 * in or runs the loop.
 */
#ifndef HF_ZOOKEEPER_IO_ZK_IO_H
#define HF_ZOOKEEPER_IO_ZK_IO_H

#include <uv.h>

#include "base/engine_host.h"
#include "engine_loop/engine_loop.h"
#include "transport/connection.h"
#include "transport/sasl_exchange.h"
#include "zookeeper/zk_session.h"
#include "zookeeper/zk_url.h"

struct hf_zk_io_user {
    /* The loop has closed the handles of the I/O: the user may free the
     * memory. */
    void (*closed)(void *arg);
    void *arg;
};

/* One of the two connections.  .number is the number that the session gave
 * .connection, or the last connection if .connection is NULL. */
struct hf_zk_io_link {
    struct hf_connection *connection; /* NULL: none */
    uint64_t number;
};

/* Embedded in its user.  Only zk_io.c uses the fields, except for .ending. */
struct hf_zk_io {
    /* Set by the user when it closes the session.  The connection is then
     * closed only after all of its bytes were sent, such as the close
     * request. */
    bool ending;
    struct hf_zk_io_user user;
    const struct hf_engine_host *host;
    struct hf_zk_session *session; /* NULL: not started, or closed */
    uv_loop_t *loop;
    struct hf_engine_loop engine_loop; /* must stay valid until .closed of the
                                          user is called */
    struct hf_resolver *resolver;
    const struct hf_tls_ops *tls; /* NULL: no TLS */
    struct hf_tls_context *context;
    struct hf_sasl_exchanges *sasl; /* NULL: no SASL */
    struct hf_zk_io_link link;      /* the connection that carries the
                                       session */
    struct hf_zk_io_link rw_probe;  /* the connection on which a server is asked
                                       whether it has a quorum */
};

/* Initialise ${io}, so that hf_zk_io_close() may be called.  It uses the fields
 * .now_ms, .boottime_of_ms, .loop, .tls, .sasl, .log and .host of ${host},
 * which must stay valid until hf_zk_io_close().  ${user} is copied. */
void hf_zk_io_init(struct hf_zk_io *io, const struct hf_engine_host *host,
                   const struct hf_zk_io_user *user);

/* Create what connections need: TLS and SASL as ${config} says, handles on the
 * loop, and lookups of names.  HF_EUNSUPPORTED, HF_EURL, HF_EDENIED, HF_ELIMIT,
 * HF_ENOMEM.  hf_zk_io_close() must follow even after a failure. */
hf_status hf_zk_io_open(struct hf_zk_io *io,
                        const struct hf_zk_url_config *config,
                        struct hf_error *error);

/* Begin to drive ${session}.  It may be freed only just before hf_zk_io_close()
 * is called. */
void hf_zk_io_start(struct hf_zk_io *io, struct hf_zk_session *session);

/* To be called after a function of the session was called: have the loop
 * connect and send as the session wants, before it sleeps.  Not needed from
 * within a notification. */
void hf_zk_io_run_soon(struct hf_zk_io *io);

/* Do at once what hf_zk_io_run_soon() was called for, see
 * hf_engine_loop_run_now(). */
void hf_zk_io_run_now(struct hf_zk_io *io);

/* Close the connection and the handles.  The session may have been freed
 * before.  .closed of the user is called when the loop has closed the handles;
 * if there are none, before this returns.  So this must be the last use of
 * ${io}. */
void hf_zk_io_close(struct hf_zk_io *io);

/* To be called in the child of a fork: close the descriptors and change nothing
 * else. */
void hf_zk_io_after_fork(struct hf_zk_io *io);

#endif
