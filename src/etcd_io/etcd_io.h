/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drives a session of etcd/session.h on a libuv loop: opens the connection that
 * the session wants, with TLS and the protocol h2 if the URL says so, passes
 * bytes in both directions, and passes the time.  The user of the session makes
 * calls, and is notified by its listener.  After making calls the user calls
 * hf_etcd_io_run_soon(), so that they are sent before the loop sleeps.  So all
 * calls of one iteration of the loop leave in one write.
 *
 *     hf_etcd_io_init(io, &host, &user);
 *     hf_etcd_io_open(io, config, error);      makes what a connection needs
 *     ... begin the session
 *     hf_etcd_io_start(io, session);
 *     ... make calls, and hf_etcd_io_run_soon(io)
 *     ... close the session, with .ending set
 *     ... free the session
 *     hf_etcd_io_close(io);                    .closed follows
 *
 * Everything here is used with the client's lock held, by any thread that calls
 * into the library or runs the loop.
 */
#ifndef HF_ETCD_IO_ETCD_IO_H
#define HF_ETCD_IO_ETCD_IO_H

#include <uv.h>

#include "base/engine_host.h"
#include "engine_loop/engine_loop.h"
#include "etcd/etcd_url.h"
#include "etcd/session.h"
#include "transport/connection.h"

/* The name of HTTP/2 in ALPN: RFC 9113, 3.2. */
#define HF_ETCD_TLS_PROTOCOL "h2"

struct hf_etcd_io_user {
    /* Called before the output is sent: begin the calls that waited for that.
     * NULL: there are none. */
    void (*flush)(void *arg);
    /* The loop has closed the handles: the memory can be freed. */
    void (*closed)(void *arg);
    void *arg;
};

/* Embedded in its user.  Only etcd_io.c uses the fields, except for .ending. */
struct hf_etcd_io {
    /* Set by the user when it closes the session.  The connection is then
     * closed only after the bytes that it has taken are sent, instead of
     * dropping them. */
    bool ending;
    struct hf_etcd_io_user user;
    const struct hf_engine_host *host;
    struct hf_etcd_session *session; /* NULL before the start and after the
                                        close */
    uv_loop_t *loop;
    struct hf_engine_loop engine_loop; /* the memory is freed when the
                                          handles of this loop are closed */
    struct hf_resolver *resolver;
    const struct hf_tls_ops *tls; /* NULL: no TLS */
    struct hf_tls_context *context;
    struct hf_connection *connection; /* NULL: none */
    uint64_t number; /* the session's number of .connection, or of the last
                        connection */
};

/* Make ${io} ready for the other functions; hf_etcd_io_close() must follow.
 * The fields .now_ms, .boottime_of_ms, .loop, .tls, .log and .host of ${host}
 * are used, which must stay valid until hf_etcd_io_close().  ${user} is copied.
 */
void hf_etcd_io_init(struct hf_etcd_io *io, const struct hf_engine_host *host,
                     const struct hf_etcd_io_user *user);

/* Make what connections need: TLS as ${config} says, handles on the loop, and a
 * resolver.  Fails with HF_EUNSUPPORTED, HF_EURL, HF_EDENIED, HF_ELIMIT or
 * HF_ENOMEM.  hf_etcd_io_close() must follow, also after a failure. */
hf_status hf_etcd_io_open(struct hf_etcd_io *io,
                          const struct hf_etcd_url_config *config,
                          struct hf_error *error);

/* Begin to drive ${session}.  It must stay valid until right before
 * hf_etcd_io_close(). */
void hf_etcd_io_start(struct hf_etcd_io *io, struct hf_etcd_session *session);

/* Call this after functions of the session: what the session wants is done
 * before the loop sleeps.  Not needed within a notification. */
void hf_etcd_io_run_soon(struct hf_etcd_io *io);

/* If hf_etcd_io_run_soon() was called, do now what the session wants: see
 * hf_engine_loop_run_now(). */
void hf_etcd_io_run_now(struct hf_etcd_io *io);

/* Close the connection and the handles.  The session may have been freed
 * before. .closed is called when the loop has closed the handles, or from
 * within if there are none, so this must be the user's last call. */
void hf_etcd_io_close(struct hf_etcd_io *io);

/* In the child of a fork: close descriptors and touch nothing else. */
void hf_etcd_io_after_fork(struct hf_etcd_io *io);

#endif
