/* SPDX-License-Identifier: Apache-2.0 */
/* A server on the stage that does what it is asked to: it has nodes, numbers
 * tickets, keeps watches and tells of what becomes of them.  What it does it
 * does when it answers, which a story can have it do late, or keep to itself by
 * hold(). */
#ifndef HF_TESTS_UNIT_ZK_HONEST_H
#define HF_TESTS_UNIT_ZK_HONEST_H

#include "zk_stage.h"

#define HONEST_NODES 64
#define HONEST_PATH_BYTES 160

struct honest_node {
    char path[HONEST_PATH_BYTES];
    int64_t czxid;
    int64_t owner;   /* the session of a ticket */
    bool watched;    /* by this connection */
    bool looked_at;  /* so are its children */
    int64_t changed; /* the last transaction that one came or went in */
    int32_t weight;  /* of a ticket: so many nodes were made for it */
    int32_t version;
    int64_t modified; /* the last transaction that wrote its data */
    bool revoked;     /* they ask its owner to let go, */
    bool told;        /* and the client has said so */
};

/* A watch that was to be set again, and what it missed. */
struct honest_missed {
    char path[HONEST_PATH_BYTES];
    int32_t type;
};

struct honest {
    struct honest_node nodes[HONEST_NODES];
    size_t count;
    int32_t sequence; /* of the next ticket, in whatever queue */
    bool no_containers;
    struct honest_missed missed[2 * HONEST_NODES];
    size_t missed_count;
    bool untold; /* the client wrote over a request to let go and had not said
                    so, or carried on another than there was */
};

/* On a stage that is set: with no node but the root. */
void honest_begin(struct stage *s, struct honest *h);

/* Bring up the link that is wanted, and grant or give back the session that is
 * asked for.  Whoever asks for a new one has lost the one before. */
void honest_connect(struct stage *s, struct honest *h);

/* Answer the oldest request; and all, and those that they lead to. */
void honest_answer(struct stage *s, struct honest *h);
void honest_serve(struct stage *s, struct honest *h);

/* The session is over: its tickets go. */
void honest_expire(struct stage *s, struct honest *h);

/* Is there a ticket "q/a", with all its nodes; any node of it, of the session;
 * and is it a reader's or a writer's?  What others do: put it there, remove a
 * node of it, whoever's it is, or write its data. */
bool honest_has(struct honest *h, const char *ticket);
bool honest_has_own(struct stage *s, struct honest *h, const char *ticket);
bool honest_has_reader(struct honest *h, const char *ticket);
bool honest_has_writer(struct honest *h, const char *ticket);
void honest_put(struct stage *s, struct honest *h, const char *ticket,
                bool member);
void honest_remove(struct stage *s, struct honest *h, const char *ticket);
void honest_change(struct stage *s, struct honest *h, const char *ticket,
                   bool revoke);

/* Is the owner of the ticket asked to let go, without the client having said
 * so?  And it has. */
bool honest_has_untold(struct honest *h, const char *ticket);
void honest_told(struct honest *h, const char *ticket);

#endif
