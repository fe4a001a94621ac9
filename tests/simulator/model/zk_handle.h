/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client process with the public client of ZooKeeper, as far as that is below
 * src/zookeeper_client: a session with an operation queue, and watches.  It
 * makes the calls of the watch set that src/zookeeper_client makes, but it
 * reports ends and events at once, without a thread that delivers them.
 *
 *     struct hf_engine *engine = hf_sim_engine_new(sim, &host);
 *     struct zk_handle *handle = zk_handle_of(engine);
 *     zk_handle_begin(handle);
 *     ... calls of hf_zk_op_queue_...() with handle->queue, and those below
 *     zk_handle_end(handle);
 *
 * The configuration of the run has .ensemble.handles set.  Otherwise engines
 * are clients of locks, and zk_handle_share() gives a handle on the session of
 * one, as hf_client_zookeeper() does.
 */
#ifndef HF_TESTS_SIMULATOR_MODEL_ZK_HANDLE_H
#define HF_TESTS_SIMULATOR_MODEL_ZK_HANDLE_H

#include "simulator/model/sim.h"
#include "zookeeper/op_queue.h"
#include "zookeeper/watch_set.h"
#include "zookeeper/zk_op.h"
#include "zookeeper/zk_url.h"

struct zk_client;
struct zk_sent_event;

/* What the process notifies its user of. */
struct zk_handle_callbacks {
    void (*up)(void *user, bool resumed);
    void (*suspended)(void *user);
    void (*lost)(void *user); /* before the watches are notified */
    void (*closed)(void *user);
};

struct zk_handle {
    struct hf_engine *engine;
    struct zk_client *client;
    /* The credential of its URL, set before hf_sim_client_set_clock(); NULL:
     * none. */
    const char *credential;
    bool accepts_readers; /* its option read_only, to be set then too */
    struct hf_zk_session *session; /* its own, or that of a client of locks */
    struct hf_zk_url_config config;
    struct hf_zk_session own_session;
    struct hf_zk_op_queue queue;
    struct hf_zk_op_context context;
    struct hf_zk_listener listener;
    const struct zk_handle_callbacks *callbacks; /* NULL: none */
    void *user;
    /* A request to take a watch back was refused on this connection, which may
     * have watches that nobody wants. */
    bool keeps_watches;
    struct zk_handle *next; /* another one on the same session; NULL: none */
};

struct zk_handle *zk_handle_of(const struct hf_engine *engine);

/* A handle on the session of ${engine}, a client of locks that has none.  It
 * ends with that client. */
struct zk_handle *zk_handle_share(struct hf_engine *engine);

/* Another handle on the session of ${first}, which has none yet.  It ends with
 * that one. */
struct zk_handle *zk_handle_another(struct zk_handle *first);

/* Around calls from outside of a notification. */
void zk_handle_begin(struct zk_handle *handle);
void zk_handle_end(struct zk_handle *handle);

uint64_t zk_handle_now_ms(const struct zk_handle *handle);

/* End all operations, of all handles, and the session; .closed follows. */
void zk_handle_close(struct zk_handle *handle);

/* The client of locks that has the session is being closed: start nothing
 * more. */
void zk_handle_stop(struct zk_handle *handle);

/* --------------------------------------------------------------- watches -- */

/* A watch of the process.  Zero it, then zk_handle_watch_open(). */
struct zk_handle_watch {
    struct zk_handle *handle;
    struct hf_zk_watcher watcher;
    struct hf_zk_op set_again;
    bool setting_again;
    void (*fired)(struct zk_handle_watch *watch,
                  const struct hf_zk_watch_event *event);
};

/* ${path} must stay valid. */
void zk_handle_watch_open(struct zk_handle_watch *watch,
                          struct zk_handle *handle, const char *path,
                          enum hf_zk_watch_mode mode);

/* Take ${watch} out of the session, and ask the server to forget it.  Its
 * memory must stay until the end of the run.  The operations that were to set
 * it must not have it as their watcher any more. */
void zk_handle_watch_free(struct zk_handle_watch *watch);

/* ------------------------------------------------- what the servers know -- */

/* The events that the current connection was sent, in order; NULL: none.  And
 * the next one behind ${event}. */
const struct zk_sent_event *zk_handle_events(const struct zk_handle *handle);
const struct zk_sent_event *
zk_handle_next_event(const struct zk_sent_event *event);
int32_t zk_handle_event_type(const struct zk_sent_event *event);
const char *zk_handle_event_path(const struct zk_sent_event *event);
int64_t zk_handle_event_zxid(const struct zk_sent_event *event);

/* Has the server answered a sync on the current connection? */
bool zk_handle_was_synced(const struct zk_handle *handle);

/* The path of a watch that the server has for the connection of the process;
 * NULL: it has none. */
const char *zk_handle_watched_path(const struct zk_handle *handle);

#endif
