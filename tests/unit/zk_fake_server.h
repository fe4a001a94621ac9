/* SPDX-License-Identifier: Apache-2.0 */
/* A server on the stage that does what it is asked to: it has nodes, numbers
 * tickets, keeps watches and tells of what becomes of them.  What it does it
 * does when it answers, which a story can have it do late, or keep to itself by
 * hold(). */
#ifndef HF_TESTS_UNIT_ZK_FAKE_SERVER_H
#define HF_TESTS_UNIT_ZK_FAKE_SERVER_H

#include "zk_fixture.h"

#define ZK_FAKE_NODES 64
#define ZK_FAKE_PATH_BYTES 160

struct zk_fake_node {
    char path[ZK_FAKE_PATH_BYTES];
    int64_t czxid;
    int64_t owner;          /* the session of a ticket */
    bool on_set_watch;      /* by this connection */
    bool looked_at;         /* so are its children */
    int64_t downgrade_done; /* the last transaction that one came or went in */
    int32_t weight;         /* of a ticket: so many nodes were made for it */
    int32_t version;
    int64_t modified; /* the last transaction that wrote its data */
    bool revoked;     /* they ask its owner to let go, */
    bool events;      /* and the client has said so */
};

/* A watch that was to be set again, and what it missed. */
struct zk_fake_missed_watch {
    char path[ZK_FAKE_PATH_BYTES];
    int32_t type;
};

struct zk_fake_server {
    struct zk_fake_node nodes[ZK_FAKE_NODES];
    size_t count;
    int32_t sequence; /* of the next ticket, in whatever queue */
    bool no_containers;
    struct zk_fake_missed_watch missed[2 * ZK_FAKE_NODES];
    size_t missed_count;
    bool unreported; /* the client wrote over a request to let go and had not
                    said so, or carried on another than there was */
};

/* On a stage that is set: with no node but the root. */
void zk_fake_begin(struct zk_fixture *f, struct zk_fake_server *h);

/* Bring up the link that is wanted, and grant or give back the session that is
 * asked for.  Whoever asks for a new one has lost the one before. */
void zk_fake_connect(struct zk_fixture *f, struct zk_fake_server *h);

/* Answer the oldest request; and all, and those that they lead to. */
void zk_fake_answer(struct zk_fixture *f, struct zk_fake_server *h);
void zk_fake_serve(struct zk_fixture *f, struct zk_fake_server *h);

/* The session is over: its tickets go. */
void zk_fake_expire(struct zk_fixture *f, struct zk_fake_server *h);

/* Is there a ticket "q/a", with all its nodes; any node of it, of the session;
 * and is it a reader's or a writer's?  What others do: put it there, remove a
 * node of it, whoever's it is, or write its data. */
bool zk_fake_has(struct zk_fake_server *h, const char *ticket);
bool zk_fake_has_own(struct zk_fixture *f, struct zk_fake_server *h,
                     const char *ticket);
bool zk_fake_has_reader(struct zk_fake_server *h, const char *ticket);
bool zk_fake_has_writer(struct zk_fake_server *h, const char *ticket);
void zk_fake_put(struct zk_fixture *f, struct zk_fake_server *h,
                 const char *ticket, bool participant);
void zk_fake_remove(struct zk_fixture *f, struct zk_fake_server *h,
                    const char *ticket);
void zk_fake_change(struct zk_fixture *f, struct zk_fake_server *h,
                    const char *ticket, bool revoke);

/* Is the owner of the ticket asked to let go, without the client having said
 * so?  And it has. */
bool zk_fake_has_unreported(struct zk_fake_server *h, const char *ticket);
void zk_fake_set_reported(struct zk_fake_server *h, const char *ticket);

#endif
