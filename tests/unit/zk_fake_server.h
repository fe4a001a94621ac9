/* SPDX-License-Identifier: Apache-2.0 */
/* A fake server for zk_fixture.h that behaves by itself: it has a tree of
 * nodes, numbers tickets, and keeps and fires watches.  It acts on a call when
 * it answers it; a test can have it answer late, or keep answers with
 * hold_answers(). */
#ifndef HF_TESTS_UNIT_ZK_FAKE_SERVER_H
#define HF_TESTS_UNIT_ZK_FAKE_SERVER_H

#include "zk_fixture.h"

#define ZK_FAKE_NODES 64
#define ZK_FAKE_PATH_BYTES 160

struct zk_fake_node {
    char path[ZK_FAKE_PATH_BYTES];
    int64_t czxid;
    int64_t owner;         /* the session of a ticket; 0: none */
    int64_t data_zxid;     /* the last transaction that wrote its data, */
    int64_t children_zxid; /* and that added or removed a child */
    int32_t version;       /* of its data */
    int32_t weight;        /* of a ticket: nodes that were made for it */
    /* Watches of this connection. */
    bool data_watch;
    bool child_watch;
    bool revoked;  /* its data is a request to let go, */
    bool reported; /* and the test has seen the client report that */
};

/* A watch that the client sets again after it was missed, and its event. */
struct zk_fake_missed_watch {
    char path[ZK_FAKE_PATH_BYTES];
    int32_t type;
};

struct zk_fake_server {
    struct zk_fake_node nodes[ZK_FAKE_NODES];
    size_t count;
    int32_t sequence;   /* of the next ticket, in any queue */
    bool no_containers; /* as a server before 3.5 */
    struct zk_fake_missed_watch missed[2 * ZK_FAKE_NODES];
    size_t missed_count;
    /* The client has overwritten a request to let go that it had not reported,
     * or has copied one wrongly in a downgrade. */
    bool unreported;
};

/* An empty tree, for a fixture after zk_fixture_init(). */
void zk_fake_begin(struct zk_fixture *f, struct zk_fake_server *h);

/* Accept the link that the client wants, and its session.  A handshake for a
 * new session ends the last one. */
void zk_fake_connect(struct zk_fixture *f, struct zk_fake_server *h);

/* Answer the oldest call; answer calls until there is none or the link ends. */
void zk_fake_answer(struct zk_fixture *f, struct zk_fake_server *h);
void zk_fake_serve(struct zk_fixture *f, struct zk_fake_server *h);

/* End the session: its tickets are removed. */
void zk_fake_expire(struct zk_fixture *f, struct zk_fake_server *h);

/* True if the ticket "q/a" has all its nodes; a node, of the session; is that
 * of a reader; of a writer. */
bool zk_fake_has(struct zk_fake_server *h, const char *ticket);
bool zk_fake_has_own(struct zk_fixture *f, struct zk_fake_server *h,
                     const char *ticket);
bool zk_fake_has_reader(struct zk_fake_server *h, const char *ticket);
bool zk_fake_has_writer(struct zk_fake_server *h, const char *ticket);
/* What another client or an administrator does: enqueue the ticket, a mutex or
 * a participant; remove a node of it; write its data, with ${revoke} a request
 * to let go. */
void zk_fake_put(struct zk_fixture *f, struct zk_fake_server *h,
                 const char *ticket, bool participant);
void zk_fake_remove(struct zk_fixture *f, struct zk_fake_server *h,
                    const char *ticket);
void zk_fake_change(struct zk_fixture *f, struct zk_fake_server *h,
                    const char *ticket, bool revoke);

/* True if there is a request to let go at the ticket that the client has not
 * reported; note that it has. */
bool zk_fake_has_unreported(struct zk_fake_server *h, const char *ticket);
void zk_fake_set_reported(struct zk_fake_server *h, const char *ticket);

#endif
