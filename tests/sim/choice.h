/* SPDX-License-Identifier: Apache-2.0 */
/* What could happen next in a scene, and having it happen. */
#ifndef HF_TESTS_SIM_CHOICE_H
#define HF_TESTS_SIM_CHOICE_H

#include "engines/sim/arrival.h"
#include "scene.h"

#define CHOICES_MAX 64
#define CHOICE_NAME_BYTES 24

enum choice_kind {
    CHOICE_WANT,
    CHOICE_OUT,   /* a message arrives at the server, */
    CHOICE_IN,    /* or at the client, */
    CHOICE_ASIDE, /* or overtakes others on its way there */
    CHOICE_LATE,  /* what was under way on a broken connection still arrives */
    CHOICE_LOSE,  /* or, from here on, does not */
    CHOICE_RELEASE,
    CHOICE_DOWNGRADE,
    CHOICE_CANCEL,
    CHOICE_CRASH,
    CHOICE_CUT,
    CHOICE_KILL,
    CHOICE_EXPIRE,  /* the session of one that crashed ends */
    CHOICE_FOREIGN, /* the next deed of a foreign writer */
    CHOICE_TIME,    /* it is when something is due next */
};

struct choice {
    enum choice_kind kind;
    struct client *client; /* CHOICE_FOREIGN, CHOICE_TIME: NULL */
    struct hf_sim_arrival arrival;
};

/* A scene under way. */
struct stage {
    const struct scene *scene;
    struct world *world;
    bool mishap_over; /* it happened */
    unsigned foreign; /* deeds of the foreign writer */
    bool told_apart;  /* contenders of one kind are not exchangeable */
};

/* Write what could happen next to ${choices}, of CHOICES_MAX, those first that
 * are the ordinary course of things; return how many they are. */
size_t choices_find(const struct stage *stage, struct choice *choices);

/* Is it what may go wrong once? */
bool choice_is_mishap(enum choice_kind kind);

void choice_do(struct stage *stage, const struct choice *choice);

/* What is left of it in a path: of one kind each client has one at most. */
struct choice_mark {
    uint8_t kind;
    char client; /* its name; 0: none */
};

struct choice_mark choice_mark(const struct choice *choice);

/* "a.out" */
void choice_name(struct choice_mark mark, char text[CHOICE_NAME_BYTES]);

/* Does it make no difference whether ${choice} happens now or after any of the
 * others that could, and can none of them prevent it?
 * CHOICE_FREE_UNLESS_SEEN: so it is, unless the user is told of a grant or its
 * loss, for what the checks make of that depends on when it is. */
enum choice_freedom {
    CHOICE_BOUND,
    CHOICE_FREE_UNLESS_SEEN,
    CHOICE_FREE,
};
enum choice_freedom choice_freedom(const struct stage *stage,
                                   const struct choice *choice);

#endif
