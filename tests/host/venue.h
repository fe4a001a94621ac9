/* SPDX-License-Identifier: Apache-2.0 */
/* Where cells take place: the model's servers, a directory, real servers. */
#ifndef HF_TESTS_VENUE_H
#define HF_TESTS_VENUE_H

#include "front.h"
#include "model.h"

struct cell;

/* What one has in a cell. */
struct stage {
    struct model_board *board; /* of a model */
    int pipe[2];
    uint64_t told;              /* commands it was given */
    struct place place;         /* of files */
    struct hf_client *observer; /* of a real server */
};

struct venue {
    const char *name;
    const char *detail; /* a scheme; of a server, the variable that has its
                           address */
    bool by_hand;       /* nothing happens but by a command, in virtual time */
    uint64_t patience_ms; /* of a wait that is to time out */
    bool (*is_there)(const struct venue *venue);
    void (*open)(struct cell *cell); /* its client */
    /* Let the next thing happen on the other side. */
    void (*step)(struct cell *cell);
    /* Nothing is on its way from there. */
    bool (*rests)(struct cell *cell);
    /* Let a little time pass, in which what was put off is done. */
    void (*pause)(struct cell *cell);
    void (*time_out)(struct cell *cell);
    void (*lose)(struct cell *cell);    /* NULL: it can't be made to */
    long (*tickets)(struct cell *cell); /* of the cell's queues */
    void (*close)(struct cell *cell);   /* after its client */
};

extern const struct venue venues[];
extern const int venue_count;

/* In the borrowed way: is the loop's descriptor readable within ${ms}? */
bool venue_is_readable(struct cell *cell, int ms);

#endif
