/* SPDX-License-Identifier: Apache-2.0 */
/* What could happen next in a scene, and having it happen. */
#ifndef HF_TESTS_SIMULATOR_EXPLORE_ACTION_H
#define HF_TESTS_SIMULATOR_EXPLORE_ACTION_H

#include "simulator/explore/case.h"
#include "simulator/model/delivery.h"

#define ACTIONS_MAX 64
#define ACTION_NAME_BYTES 24

enum action_kind {
    ACTION_WANT,
    ACTION_DELIVER_TO_SERVER, /* a message arrives at the server, */
    ACTION_DELIVER_TO_CLIENT, /* or at the client, */
    ACTION_DELIVER_NOTICE,    /* or overtakes others on its way there */
    ACTION_DELIVER_LATE,      /* what was under way on a broken connection still
                                 arrives */
    ACTION_DROP_LATE,         /* or, from here on, does not */
    ACTION_RELEASE,
    ACTION_DOWNGRADE,
    ACTION_CANCEL,
    ACTION_CRASH,
    ACTION_CUT,
    ACTION_KILL_SESSION,
    ACTION_EXPIRE,       /* the session of one that crashed ends */
    ACTION_OTHER_CLIENT, /* the next deed of a foreign writer */
    ACTION_TIME,         /* it is when something is due next */
};

struct action {
    enum action_kind kind;
    struct client *client; /* CHOICE_FOREIGN, CHOICE_TIME: NULL */
    struct hf_sim_delivery delivery;
};

/* A scene under way. */
struct case_run {
    const struct explore_case *explore_case;
    struct cluster *cluster;
    bool fault_done;      /* it happened */
    unsigned other_steps; /* deeds of the foreign writer */
    bool no_symmetry;     /* contenders of one kind are not exchangeable */
};

/* Write what could happen next to ${choices}, of CHOICES_MAX, those first that
 * are the ordinary course of things; return how many they are. */
size_t actions_find(const struct case_run *case_run, struct action *actions);

/* Is it what may go wrong once? */
bool action_is_fault(enum action_kind kind);

void action_take(struct case_run *case_run, const struct action *action);

/* What is left of it in a path: of one kind each client has one at most. */
struct action_label {
    uint8_t kind;
    char client; /* its name; 0: none */
};

struct action_label action_label(const struct action *action);

/* "a.out" */
void action_name(struct action_label label, char text[ACTION_NAME_BYTES]);

/* Does it make no difference whether ${choice} happens now or after any of the
 * others that could, and can none of them prevent it?
 * CHOICE_FREE_UNLESS_SEEN: so it is, unless the user is told of a grant or its
 * loss, for what the checks make of that depends on when it is. */
enum action_independence {
    ACTION_DEPENDENT,
    ACTION_INDEPENDENT_UNLESS_NOTIFIED,
    ACTION_INDEPENDENT,
};
enum action_independence action_independence(const struct case_run *case_run,
                                             const struct action *action);

#endif
