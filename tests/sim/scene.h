/* SPDX-License-Identifier: Apache-2.0 */
/* A scene: a few contenders, each of which wants the lock and releases it, and
 * one thing that may go wrong once, anywhere. */
#ifndef HF_TESTS_SIM_SCENE_H
#define HF_TESTS_SIM_SCENE_H

#include "world.h"

enum mishap {
    MISHAP_CRASH,   /* any one's process is gone, and then its session */
    MISHAP_CUT,     /* any one's connection breaks, and its session resumes */
    MISHAP_CANCEL,  /* any one's user gives up */
    MISHAP_KILL,    /* any one's session is ended by the servers */
    MISHAP_FOREIGN, /* nothing, but a foreign writer stands ahead of all, takes
                       a place as a reader beside its own, leaves its own, and
                       then that, as Curator downgrades */
};

struct scene {
    const char *name;
    /* A letter for each: m who wants a mutex, r a reader, w a writer, d a
     * writer who may become a reader, s and S who want one permit and two of a
     * semaphore that has two. */
    const char *contenders;
    unsigned rounds; /* how often each wants it */
    bool bare;       /* on an engine on which no deletion admits without a list,
                        and notices overtake answers */
    enum mishap mishap;
    bool wide; /* takes minutes */
    const char *what;
};

/* The scenes there are, ended by one without a name. */
extern const struct scene scenes[];

/* NULL if there is none of that name. */
const struct scene *scene_find(const char *name);

/* Fill in ${world} with the contenders of ${scene}, all connected and none of
 * them wanting anything yet. */
void scene_begin(const struct scene *scene, struct world *world);

/* Nothing is left but for time to pass: let it, and check that everything comes
 * to its end. */
void scene_end(struct world *world);

/* The foreign writer has done so many ${deeds} and does the next. */
#define FOREIGN_DEEDS 4
unsigned scene_foreign(struct world *world, unsigned deeds);

/* What client ${i} wants: the kind, and how many permits. */
enum hf_ticket_kind scene_kind(const struct scene *scene, unsigned i);
uint32_t scene_weight(const struct scene *scene, unsigned i);

/* May it become a reader? */
bool scene_downgrades(const struct scene *scene, unsigned i);

#endif
