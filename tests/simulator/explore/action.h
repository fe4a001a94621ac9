/* SPDX-License-Identifier: Apache-2.0 */
/* The actions that can happen next in an explored case, and taking one of
 * them. */
#ifndef HF_TESTS_SIMULATOR_EXPLORE_ACTION_H
#define HF_TESTS_SIMULATOR_EXPLORE_ACTION_H

#include "simulator/explore/case.h"
#include "simulator/model/plain_delivery.h"

#define ACTIONS_MAX 64
#define ACTION_NAME_BYTES 24

enum action_kind {
    ACTION_WANT,
    ACTION_DELIVER_TO_SERVER, /* a message arrives at the server */
    ACTION_DELIVER_TO_CLIENT, /* a message arrives at the client */
    /* A notice arrives at the client and overtakes answers. */
    ACTION_DELIVER_NOTICE,
    /* A message on a connection that has ended arrives at the server. */
    ACTION_DELIVER_LATE,
    ACTION_DROP_LATE, /* all messages on such a connection are lost */
    ACTION_RELEASE,
    ACTION_DOWNGRADE,
    ACTION_CANCEL,
    ACTION_CRASH,
    ACTION_CUT,
    ACTION_KILL_SESSION,
    ACTION_EXPIRE,       /* the session of a client that has crashed ends */
    ACTION_OTHER_CLIENT, /* the next step of another client's writer */
    ACTION_TIME,         /* time passes until the next timer that is due soon */
};

struct action {
    enum action_kind kind;
    struct client *client; /* NULL for ACTION_OTHER_CLIENT and ACTION_TIME */
    struct hf_sim_delivery delivery;
};

/* One run of a case, up to some state. */
struct case_run {
    const struct explore_case *explore_case;
    struct cluster *cluster;
    bool fault_done;      /* the fault of the case has happened */
    unsigned other_steps; /* steps of the other client so far */
    bool no_symmetry;     /* clients of one kind are not interchangeable */
};

/* Write all actions that are possible now to ${actions}, which has room for
 * ACTIONS_MAX, the ordinary ones first.  Returns how many there are. */
size_t actions_find(const struct case_run *case_run, struct action *actions);

/* Is it the fault of a case, which happens once? */
bool action_is_fault(enum action_kind kind);

void action_take(struct case_run *case_run, const struct action *action);

/* An action in a path: a client has at most one action of each kind at a
 * time. */
struct action_label {
    uint8_t kind;
    char client; /* its name; 0: none */
};

struct action_label action_label(const struct action *action);

/* "a.out" */
void action_name(struct action_label label, char text[ACTION_NAME_BYTES]);

/* Partial-order reduction (Godefroid 1996): ACTION_INDEPENDENT if it makes no
 * difference whether ${action} happens now or after any other action that is
 * possible, and none of these can prevent it.  Then the order in which it comes
 * first stands for all orders.  ACTION_INDEPENDENT_UNLESS_NOTIFIED: likewise,
 * unless it notifies a user of a grant or a loss, because what the checks
 * demand then depends on the time. */
enum action_independence {
    ACTION_DEPENDENT,
    ACTION_INDEPENDENT_UNLESS_NOTIFIED,
    ACTION_INDEPENDENT,
};
enum action_independence action_independence(const struct case_run *case_run,
                                             const struct action *action);

#endif
