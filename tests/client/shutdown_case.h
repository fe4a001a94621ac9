/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A case of the sweep over all shutdown races: one script, which is an
 * operation with all that it needs, ended in one way at one moment, on one
 * engine, in one way to use a client.
 *
 *     shutdown_script.c      what scripts are made of
 *     shutdown_locks.c       and so on: the scripts
 *     shutdown_operation.c   one operation and its callbacks
 *     shutdown_engine.c      the engines
 *     shutdown_case.c        how a case runs, and its checks
 *     test_shutdown.c        all cases, and their names
 *
 * A case prepares the script, begins the operation, runs it for some steps,
 * ends it, and checks: each operation ended once, with a status that the case
 * allows, each callback was dropped once, and no ticket, memory, thread or
 * descriptor is left.
 */
#ifndef HF_TESTS_SHUTDOWN_CASE_H
#define HF_TESTS_SHUTDOWN_CASE_H

#include "shutdown_engine.h"
#include "shutdown_operation.h"

enum ending {
    END_NOT, /* not at all */
    END_CLOSE,
    END_CANCEL,
    END_RELEASE, /* undo it; release a grant as soon as it comes */
    END_FREE,    /* free its handles */
    END_TIMEOUT,
    END_LOSS, /* end the session; with files: delete the tickets */
    ENDINGS
};
extern const char *const ending_names[ENDINGS];
#define END(ending) (1u << (ending))

/* When the case ends the script: after this number of steps, or inside one
 * of its callbacks. */
enum { INSIDE_DONE = -1, INSIDE_WAIT = -2, INSIDE_LOSS = -3, INSIDES = 3 };

struct shutdown_case;

#define RUN_OPERATIONS 8
#define RUN_LOCKS 3

/* A queue that the script uses. */
struct run_queue {
    char name[96];
    enum hf_kind kind; /* a semaphore, a double barrier, or any other kind */
};

/* A script that runs in a case: its handles, each of which may be NULL, and
 * its operations. */
struct script_run {
    struct shutdown_case *test_case;
    const struct shutdown_script *script;
    char name[64];
    struct hf_lock *locks[RUN_LOCKS];
    struct hf_lock *rival;
    struct hf_mutex *mutex;
    struct hf_rwlock *rwlock;
    struct hf_barrier *barrier;
    struct hf_double_barrier *participants[2];
    struct hf_election *election;
    struct shutdown_operation operations[RUN_OPERATIONS];
    int count;
    _Atomic(struct shutdown_operation *)
        operation; /* the one under test; the others prepare it */
    char id[64];   /* of a ticket */
    struct run_queue queues[RUN_LOCKS];
    int queue_count;
    bool helped;
    atomic_bool helping; /* .helped, or help() is being tried */
};

/* Which calls the script can be made of: starting ones, waiting ones or
 * both. */
enum script_form { FORM_ANY, FORM_STARTED, FORM_WAITING };

struct shutdown_script {
    const char *name;
    /* Open handles and bring about what the operation needs. */
    void (*prepare)(struct script_run *run);
    void (*begin)(struct script_run *run);
    /* Let another owner do the next thing that the operation waits for;
     * false: there is none.  NULL: it waits for nobody. */
    bool (*help)(struct script_run *run);
    void (*release)(struct script_run *run); /* how END_RELEASE undoes it; NULL:
                                                release the grant */
    unsigned endings;          /* END() of those that make sense */
    hf_status usual_status;    /* if it is not ended by the case */
    hf_status other_status[2]; /* allowed too, if it is ended */
    bool finishes; /* succeeds even if the client is closed meanwhile */
    enum script_form form;
    bool closes; /* it closes the client, so no other script runs beside it */
};

extern const struct shutdown_script scripts[];
extern const int script_count;

#define CASE_RUNS 2

struct shutdown_case {
    const struct shutdown_engine *engine;
    enum way way;
    enum ending ending;
    int moment;
    char name[160];
    struct script_run runs[CASE_RUNS]; /* the first is under test */
    int count;
    /* While the case runs: */
    struct client_fixture fixture;
    struct engine_state state; /* of the engine */
    struct shutdown_operation close;
    int threads; /* of the process, before the client was opened */
    int steps;
    int max_steps;           /* limit of .steps */
    bool paused;             /* the engine had time since the last help */
    bool unhelped;           /* help() is not called */
    bool had_ended;          /* the operation had, when the case ended it */
    bool was_unconnected;    /* there was no session then */
    bool helped_before;      /* help() had been called then */
    _Atomic int last_state;  /* of the client, as the listener got it */
    atomic_bool moment_came; /* the moment came, or never will */
    atomic_bool ended;
    atomic_bool closing;
};

/* Print what failed in which case, and end the program. */
void case_fail(const struct shutdown_case *test_case, const char *file,
               int line, const char *what) __attribute__((noreturn));
#define CASE_CHECK(test_case, condition)                                       \
    do {                                                                       \
        if (!(condition))                                                      \
            case_fail(test_case, __FILE__, __LINE__, #condition);              \
    } while (0)

/* Let one thing happen; false if nothing more happens without help. */
bool case_step(struct shutdown_case *test_case);

/* Take steps until ${so} holds; the case fails with ${what} if it never
 * does. */
void case_until(struct shutdown_case *test_case, bool (*so)(void *arg),
                void *arg, const char *what);

/* Open the client of the case with ${url}. */
void case_open(struct shutdown_case *test_case, const char *url);

/* Start to close the client. */
struct shutdown_operation *case_close(struct shutdown_case *test_case);

/* To be called in each callback of ${operation}: the case is ended here if
 * ${inside} is its moment. */
void case_in_callback(struct shutdown_operation *operation, int inside);

/* Run a case whose fields up to .count are set. */
void case_run(struct shutdown_case *test_case);

#endif
