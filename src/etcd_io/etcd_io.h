/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drives a session of etcd/session.h on a libuv loop: opens the connection that
 * the session wants, with TLS and the protocol h2 if the URL says so, passes
 * bytes in both directions, and passes time.  The user of the session makes
 * calls and is notified by its listeners.  After its calls the user calls
 * hf_etcd_io_run_soon(), which sends their bytes before the loop sleeps.  So
 * the calls of one iteration of the loop leave in one write.
 *
 *     hf_etcd_io_init(io, &host, &user);
 *     hf_etcd_io_open(io, config, error);      it has what a connection needs
 *     ... begin the session
 *     hf_etcd_io_start(io, session);
 *     ... make calls, and hf_etcd_io_run_soon(io)
 *     ... close the session, with .ending set
 *     ... free the session
 *     hf_etcd_io_close(io);                    .closed follows
 *
 * Everything here is used with the client's lock held, by any thread that calls
 * in or runs the loop.
 */
#ifndef HF_ETCD_IO_ETCD_IO_H
#define HF_ETCD_IO_ETCD_IO_H

#include <uv.h>

#include "base/engine_host.h"
#include "engine_loop/engine_loop.h"
#include "etcd/etcd_url.h"
#include "etcd/session.h"
#include "transport/connection.h"

/* What HTTP/2 is called in TLS: RFC 9113, 3.2. */
#define HF_ETCD_TLS_PROTOCOL "h2"

struct hf_etcd_io_user {
    /* The output is about to be taken: begin calls that waited for that.  NULL:
     * there are none. */
    void (*flush)(void *arg);
    /* The loop has closed the handles: the memory can be freed. */
    void (*closed)(void *arg);
    void *arg;
};

/* Embedded in its user.  Only etcd_io.c uses the fields, except for .ending. */
struct hf_etcd_io {
    /* Set by the user when it closes the session: the connection then sends
     * what it has taken before it is closed, instead of dropping that. */
    bool ending;
    struct hf_etcd_io_user user;
    const struct hf_engine_host *host;
    struct hf_etcd_session *session; /* NULL: not started, or closed */
    uv_loop_t *loop;
    struct hf_engine_loop engine_loop; /* the memory is freed when its handles
                                          are closed */
    struct hf_resolver *resolver;
    const struct hf_tls_ops *tls; /* NULL: no TLS */
    struct hf_tls_context *context;
    struct hf_connection *connection; /* NULL: none */
    uint64_t number; /* the session's, of .connection or of the last one */
};

/* Make ${io} ready for hf_etcd_io_close().  It uses the fields .now_ms,
 * .boottime_of_ms, .loop, .tls, .log and .host of ${host}, which must stay
 * valid until hf_etcd_io_close().  ${user} is copied. */
void hf_etcd_io_init(struct hf_etcd_io *io, const struct hf_engine_host *host,
                     const struct hf_etcd_io_user *user);

/* Create what connections need: TLS as ${config} says, handles on the loop, and
 * lookups of names.  HF_EUNSUPPORTED, HF_EURL, HF_EDENIED, HF_ELIMIT,
 * HF_ENOMEM.  On failure too hf_etcd_io_close() must follow. */
hf_status hf_etcd_io_open(struct hf_etcd_io *io,
                          const struct hf_etcd_url_config *config,
                          struct hf_error *error);

/* Begin to drive ${session}, which must stay valid until hf_etcd_io_close() is
 * about to be called. */
void hf_etcd_io_start(struct hf_etcd_io *io, struct hf_etcd_session *session);

/* The session was called: have what it wants done before the loop sleeps.  Not
 * needed from within a notification. */
void hf_etcd_io_run_soon(struct hf_etcd_io *io);

/* If hf_etcd_io_run_soon() has asked for something, do it now: see
 * hf_engine_loop_run_now(). */
void hf_etcd_io_run_now(struct hf_etcd_io *io);

/* Close the connection and the handles.  The session may have been freed
 * before.  .closed follows when the loop has closed the handles, or from within
 * if there are none, so the call should be the user's last. */
void hf_etcd_io_close(struct hf_etcd_io *io);

/* In the child of a fork: close descriptors and touch nothing else. */
void hf_etcd_io_after_fork(struct hf_etcd_io *io);

#endif
