/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cell of the sweep over all shutdown races: one act, which is an operation
 * with what it needs, ended in one way at one moment of its life, on one
 * engine, in one way to use a client.
 *
 *     act.c, act_*.c   the acts
 *     deed.c           one operation, begun and heard of
 *     venue*.c         the engines
 *     cell.c           what happens in a cell, and what is judged
 *     test_shutdown.c  all of them, and the names they have
 */
#ifndef HF_TESTS_CELL_H
#define HF_TESTS_CELL_H

#include "deed.h"
#include "venue.h"

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

struct cell;

#define PLAY_DEEDS 8
#define PLAY_LOCKS 3

/* Where its tickets are. */
struct play_queue {
    char name[96];
    enum hf_kind kind; /* a semaphore, a double barrier, or any other */
};

/* An act in a cell: its handles, any of which may be NULL, and what was
 * begun. */
struct play {
    struct cell *cell;
    const struct act *act;
    char name[64];
    struct hf_lock *locks[PLAY_LOCKS];
    struct hf_lock *rival;
    struct hf_mutex *mutex;
    struct hf_rwlock *rwlock;
    struct hf_barrier *barrier;
    struct hf_double_barrier *parties[2];
    struct hf_election *election;
    struct deed deeds[PLAY_DEEDS];
    int count;
    _Atomic(struct deed *) deed; /* the act's own; before it the others' */
    char id[64];                 /* of a ticket */
    struct play_queue queues[PLAY_LOCKS];
    int queue_count;
    bool helped;
    atomic_bool helping; /* or helped: also while it is being tried */
};

/* Which of the two kinds of calls it can be made of. */
enum act_form { FORM_ANY, FORM_STARTED, FORM_WAITING };

struct act {
    const char *name;
    /* Make the handles and all that must be so before it begins. */
    void (*prepare)(struct play *play);
    void (*begin)(struct play *play);
    /* Do the next thing that it waits for; false: there is none.  NULL: it
     * waits for nobody. */
    bool (*help)(struct play *play);
    void (*release)(struct play *play); /* END_RELEASE; NULL: of its grant */
    unsigned endings;                   /* that make sense */
    hf_status natural;                  /* how it ends of itself */
    hf_status other[2];                 /* how else, if it is ended */
    bool finishes; /* also when the client is closed meanwhile */
    enum act_form form;
    bool closes; /* the client: no other act goes beside it */
};

extern const struct act acts[];
extern const int act_count;

#define CELL_PLAYS 2

struct cell {
    const struct venue *venue;
    enum way way;
    enum ending ending;
    int moment;
    char name[160];
    struct play plays[CELL_PLAYS]; /* the first is ended */
    int count;
    /* While it runs. */
    struct front front;
    struct stage stage; /* the venue's own */
    struct deed close;
    int threads; /* before its client was opened */
    int turns;
    int most;               /* of them */
    bool rested;            /* since anybody helped */
    bool alone;             /* nobody helps */
    bool was_over;          /* the act was, when it was ended */
    bool was_apart;         /* there had been no session */
    bool helped_before;     /* it had been, then */
    _Atomic int last_state; /* that its listener was told */
    atomic_bool come;       /* the moment has, or will not */
    atomic_bool ended;
    atomic_bool closing;
};

/* Say what is wrong in which cell, and end the program. */
void cell_fail(const struct cell *cell, const char *file, int line,
               const char *what) __attribute__((noreturn));
#define CELL_CHECK(cell, condition)                                            \
    do {                                                                       \
        if (!(condition))                                                      \
            cell_fail(cell, __FILE__, __LINE__, #condition);                   \
    } while (0)

/* Let one thing happen; false if nothing is left that would of itself. */
bool cell_turn(struct cell *cell);

/* Let things happen until it is so. */
void cell_until(struct cell *cell, bool (*so)(void *arg), void *arg,
                const char *what);

/* Open its client, of ${url}. */
void cell_open(struct cell *cell, const char *url);

/* Begin to close it. */
struct deed *cell_close(struct cell *cell);

/* A callback of ${deed} runs: the one that tells of its end, or ${inside}. */
void cell_hear(struct deed *deed, int inside);

/* Run it, of which all is set up to .count, and judge. */
void cell_run(struct cell *cell);

#endif
