/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cell of the sweep over all shutdown races: one act, which is an operation
 * with what it needs, ended in one way at one moment of its life, on one
 * engine, in one way to use a client.
 *
 *     shutdown_script.c, act_*.c   the acts
 *     shutdown_operation.c           one operation, begun and heard of
 *     venue*.c         the engines
 *     shutdown_case.c           what happens in a cell, and what is judged
 *     test_shutdown.c  all of them, and the names they have
 */
#ifndef HF_TESTS_SHUTDOWN_CASE_H
#define HF_TESTS_SHUTDOWN_CASE_H

#include "shutdown_engine.h"
#include "shutdown_operation.h"

enum ending {
    END_NOT, /* of itself */
    END_CLOSE,
    END_CANCEL,
    END_RELEASE, /* what undoes it; a grant is released as soon as it is there
                  */
    END_FREE,    /* of every handle that it is about */
    END_TIMEOUT,
    END_LOSS, /* of the session; on files of the tickets */
    ENDINGS
};
extern const char *const ending_names[ENDINGS];
#define END(ending) (1u << (ending))

/* A moment is a number of turns, or inside a callback of the act's. */
enum { INSIDE_DONE = -1, INSIDE_WAIT = -2, INSIDE_LOSS = -3, INSIDES = 3 };

struct shutdown_case;

#define RUN_OPERATIONS 8
#define RUN_LOCKS 3

/* Where its tickets are. */
struct run_queue {
    char name[96];
    enum hf_kind kind; /* a semaphore, a double barrier, or any other */
};

/* An act in a cell: its handles, any of which may be NULL, and what was
 * begun. */
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
        operation; /* the act's own; before it the others' */
    char id[64];   /* of a ticket */
    struct run_queue queues[RUN_LOCKS];
    int queue_count;
    bool helped;
    atomic_bool helping; /* or helped: also while it is being tried */
};

/* Which of the two kinds of calls it can be made of. */
enum script_form { FORM_ANY, FORM_STARTED, FORM_WAITING };

struct shutdown_script {
    const char *name;
    /* Make the handles and all that must be so before it begins. */
    void (*prepare)(struct script_run *run);
    void (*begin)(struct script_run *run);
    /* Do the next thing that it waits for; false: there is none.  NULL: it
     * waits for nobody. */
    bool (*help)(struct script_run *run);
    void (*release)(
        struct script_run *run); /* END_RELEASE; NULL: of its grant */
    unsigned endings;            /* that make sense */
    hf_status usual_status;      /* how it ends of itself */
    hf_status other_status[2];   /* how else, if it is ended */
    bool finishes;               /* also when the client is closed meanwhile */
    enum script_form form;
    bool closes; /* the client: no other act goes beside it */
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
    struct script_run runs[CASE_RUNS]; /* the first is ended */
    int count;
    /* While it runs. */
    struct host_fixture host;
    struct engine_state state; /* the venue's own */
    struct shutdown_operation close;
    int threads; /* before its client was opened */
    int steps;
    int max_steps;           /* of them */
    bool paused;             /* since anybody helped */
    bool unhelped;           /* nobody helps */
    bool had_ended;          /* the act was, when it was ended */
    bool was_unconnected;    /* there had been no session */
    bool helped_before;      /* it had been, then */
    _Atomic int last_state;  /* that its listener was told */
    atomic_bool moment_came; /* the moment has, or will not */
    atomic_bool ended;
    atomic_bool closing;
};

/* Say what is wrong in which cell, and end the program. */
void case_fail(const struct shutdown_case *test_case, const char *file,
               int line, const char *what) __attribute__((noreturn));
#define CASE_CHECK(test_case, condition)                                       \
    do {                                                                       \
        if (!(condition))                                                      \
            case_fail(test_case, __FILE__, __LINE__, #condition);              \
    } while (0)

/* Let one thing happen; false if nothing is left that would of itself. */
bool case_step(struct shutdown_case *test_case);

/* Let things happen until it is so. */
void case_until(struct shutdown_case *test_case, bool (*so)(void *arg),
                void *arg, const char *what);

/* Open its client, of ${url}. */
void case_open(struct shutdown_case *test_case, const char *url);

/* Begin to close it. */
struct shutdown_operation *case_close(struct shutdown_case *test_case);

/* A callback of ${deed} runs: the one that tells of its end, or ${inside}. */
void case_in_callback(struct shutdown_operation *operation, int inside);

/* Run it, of which all is set up to .count, and judge. */
void case_run(struct shutdown_case *test_case);

#endif
