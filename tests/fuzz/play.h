/* SPDX-License-Identifier: Apache-2.0 */
/* A program of steps that is being carried out on a stage, see zk_stage.h:
 * what is asked of the client, and what is so of what it says. */
#ifndef HF_TESTS_FUZZ_PLAY_H
#define HF_TESTS_FUZZ_PLAY_H

#include "zk_fake_server.h"

/* Tickets "a" to "h", of which the last four are in the second queue. */
#define PLAY_TICKETS 8

/* And "i" to "l", members of two double barriers, by numbers from
 * PLAY_MEMBERS_FROM on; those from PLAY_GATES_FROM on are of single barriers.
 */
#define PLAY_NAMES 12
#define PLAY_MEMBERS_FROM 192
#define PLAY_GATES_FROM 160

struct play {
    struct zk_fixture f; /* first: events lead back to it */
    struct zk_fake_server server;
    bool zk_fake_server;
    const uint8_t *bytes;
    size_t left;
    bool ending;             /* END was asked */
    bool removed;            /* a ticket, by somebody else: checks may fail */
    bool lingers;            /* what lost sessions had stays for ever */
    bool unsure[PLAY_NAMES]; /* their ENQUEUE was answered so */
    unsigned inside;         /* so many requests are made inside events */
    uint8_t inside_kind, inside_ticket;
};

/* The next byte of the program; behind its end 0. */
uint8_t play_next(struct play *p);

/* The queue of a ticket by its number; is it another client's, to an honest
 * server? */
const char *play_queue(uint8_t which);
bool play_is_others(const char *ticket);
bool play_is_member(uint8_t which);

/* What it is called. */
char play_letter(uint8_t which);

/* The name of the ticket that a request was about, with its queue. */
void play_name_ticket(const struct zk_fixture_request *r, char ticket[32]);

/* Ask, about the ticket of this number, if that makes sense. */
void play_request(struct play *p, enum hf_request_kind kind, uint8_t which);
#define PLAY_KINDS 6
extern const enum hf_request_kind play_kinds[PLAY_KINDS];

/* Forget the watch or the look that is the ${nth}, from 0. */
void play_forget(struct play *p, unsigned nth);

/* Each event, as the stage tells it. */
void play_on_event(struct zk_fixture *f, const struct hf_event *event);

/* --------------------------------------------------------------- liar.c -- */

/* What a server may do only if it is not honest, and the link is up. */
void liar_speaks(struct play *p, uint8_t step);

#endif
