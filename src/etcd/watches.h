/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watches of a session.  Each reports the events of a key, or of a range of
 * keys, from one revision on.  All of them share one stream of the connection.
 *
 * A watch survives everything but compaction, the loss of the right to read,
 * and the end of the session.  On a new connection, and on a new stream because
 * of a token, the watch is created again from the revision after the last one
 * that it has reported.  So no event is missed and none comes twice.  If the
 * server has compacted that revision, .compacted is called: what has happened
 * is not known, and the user has to read the keys.  The end of a stream or of a
 * watch never means that a key is gone.
 *
 * Events of one watch come in the order of their revisions.  There is no order
 * between the events of two watches.
 *
 * A server serves a watch that begins in the past only ten times a second, but
 * one that begins now at once.  A revision that was read belongs to the past as
 * soon as anybody writes.  So a watch of LAST_STATE is first created from now
 * on.  The answer says which revision "now" was.  If that is .next_revision or
 * later, the key is read on the same member, and what has changed since is
 * reported as one event: a put, or a deletion, with the revision of the read if
 * no other is known.  A put with another create revision may stand for a
 * deletion and a put.
 *
 * The server looks up what "now" is before it enters the watch.  A write
 * between the two, such as the removal that we wait for, makes the watch one of
 * the past, and no answer shows that.  So the key is also read if nothing was
 * reported in the first HF_ETCD_WATCH_READ_MS.
 *
 * We number the watches.  A session uses no number twice, so what the server
 * still sends for a watch that was removed is ignored.
 */
#ifndef HF_ETCD_WATCHES_H
#define HF_ETCD_WATCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/tree.h"
#include "etcd/call.h"
#include "etcd/message.h"
#include "grpc/grpc.h"

/* The most watches of one session. */
#define HF_ETCD_WATCHES_MAX (1 << 18)

/* Milliseconds.  Short compared to the tenth of a second after which the server
 * serves a watch of the past.  Longer than most waits for a lock that changes
 * hands all the time, so that these need no read.  If the event is late and
 * comes after the read, the wait takes a tenth of a second.  docs/speed.md
 * compares 2, 4 and 8 ms. */
#define HF_ETCD_WATCH_READ_MS 8

struct hf_etcd_session;

enum hf_etcd_watch_state {
    HF_ETCD_WATCH_OUT,         /* in no session */
    HF_ETCD_WATCH_WAITING,     /* waits for a stream */
    HF_ETCD_WATCH_CREATING,    /* the request to create it was written */
    HF_ETCD_WATCH_CATCHING_UP, /* the server reports events from now on; the
                                  key is being read for what happened before */
    HF_ETCD_WATCH_BEGUN,       /* the server reports events from now on, but
                                  perhaps late */
    HF_ETCD_WATCH_CREATED,     /* the server reports events */
};

/* What a watch reports for the time between .next_revision and the instant at
 * which the server begins to report. */
enum hf_etcd_watch_extent {
    HF_ETCD_WATCH_ALL_EVENTS,
    HF_ETCD_WATCH_LAST_STATE, /* one event that shows the state of the key;
                                 for single keys only */
};

/* The revision from which a watch is created. */
enum hf_etcd_watch_start {
    HF_ETCD_WATCH_FROM_REVISION, /* .next_revision */
    HF_ETCD_WATCH_FROM_NOW,
};

/* A watch, embedded in an object of its user.  Zero it, set the first part,
 * then add it. */
struct hf_etcd_watch {
    void *user;
    /* The key; must stay valid while the watch is in the session. */
    struct hf_etcd_bytes key;
    struct hf_etcd_bytes range_end; /* as that of a range; empty: only .key */
    /* Events of this revision and of later ones are reported.  The user sets it
     * to one more than the revision in the header of what was read, so it is
     * greater than 0; each event moves it on. */
    int64_t next_revision;
    enum hf_etcd_watch_extent extent;
    /* Callbacks.  Each may add and remove watches, also this one, and start
     * calls.  None may free the session. */
    void (*event)(struct hf_etcd_watch *watch,
                  const struct hf_etcd_event *event);
    /* The watch has ended and is out of the session, because .next_revision is
     * compacted.  The user must read the keys, and may add the watch again. */
    void (*compacted)(struct hf_etcd_watch *watch);
    /* The watch has ended and is out of the session, because we may not read
     * these keys.  ${text} is the server's. */
    void (*refused)(struct hf_etcd_watch *watch, enum hf_grpc_status status,
                    const char *text);

    /* Written by session_watches.c only. */
    unsigned state; /* enum hf_etcd_watch_state */
    enum hf_etcd_watch_start start;
    int64_t id;       /* number of the watch for the server, on this stream */
    unsigned cancels; /* how often the server has cancelled it because of a
                         token since it was created last */
    /* BEGUN, CATCHING_UP: the server reports what comes after this revision. */
    int64_t read_revision;
    uint64_t read_at_ms;   /* BEGUN: when the key is read */
    int64_t gone_revision; /* revision of the last event if that was a
                              deletion, else 0 */
    struct hf_etcd_call read;
    struct hf_etcd_session *session;
    struct hf_tree_node by_id;
    struct hf_etcd_watch *next; /* list of all watches, in the order in which
                                   they were added */
    struct hf_etcd_watch *previous;
    struct hf_etcd_watch *next_begun; /* BEGUN: list in the order of
                                         .read_at_ms */
    struct hf_etcd_watch *previous_begun;
};

/* Add ${watch} to the session.  If there is no connection now, it is created on
 * the next one.  Returns false, and does not add it, if there are too many
 * watches. */
bool hf_etcd_watch_add(struct hf_etcd_session *session,
                       struct hf_etcd_watch *watch);

/* Remove ${watch} from the session, if it is there.  It reports nothing any
 * more. */
void hf_etcd_watch_remove(struct hf_etcd_session *session,
                          struct hf_etcd_watch *watch);

bool hf_etcd_watch_is_in(const struct hf_etcd_watch *watch);

/* ------------------------------------------------- for the session's files */

/* The watches of a session and their stream.  Only session_watches.c writes to
 * it. */
struct hf_etcd_watches {
    struct hf_tree by_id;        /* all that are not WAITING */
    struct hf_etcd_watch *first; /* all */
    struct hf_etcd_watch *last;
    size_t count;
    struct {
        struct hf_etcd_watch *first;
        struct hf_etcd_watch *last;
    } begun;
    /* The number of the last watch that the server was asked to create, and the
     * number of the last one for which that request was answered.  Answers come
     * in the order of the numbers. */
    int64_t last_id;
    int64_t answered_id;
    struct hf_grpc_call stream;
};

void hf_etcd_watches_init(struct hf_etcd_session *session);

/* The session has become usable, or has a new token: create all watches on a
 * new stream. */
void hf_etcd_watches_begin(struct hf_etcd_session *session);

/* The connection ends, or the stream is to be opened again: make all watches
 * WAITING. */
void hf_etcd_watches_suspend(struct hf_etcd_session *session);

/* Read the keys that are due.  hf_etcd_watches_wake_at_ms() returns when the
 * next one is due; HF_FOREVER: none is. */
void hf_etcd_watches_tick(struct hf_etcd_session *session);
uint64_t hf_etcd_watches_wake_at_ms(const struct hf_etcd_session *session);

/* The session is lost or closed: remove all watches. */
void hf_etcd_watches_end(struct hf_etcd_session *session);

#endif
