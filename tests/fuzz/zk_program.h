/* SPDX-License-Identifier: Apache-2.0 */
/* A program of steps that is being carried out on a stage, see zk_stage.h:
 * what is asked of the client, and what is so of what it says. */
#ifndef HF_TESTS_FUZZ_ZK_PROGRAM_H
#define HF_TESTS_FUZZ_ZK_PROGRAM_H

#include "zk_fake_server.h"

/* Tickets "a" to "h", of which the last four are in the second queue. */
#define PROGRAM_TICKETS 8

/* And "i" to "l", members of two double barriers, by numbers from
 * PROGRAM_PARTICIPANTS_FROM on; those from PROGRAM_BARRIERS_FROM on are of
 * single barriers.
 */
#define PROGRAM_NAMES 12
#define PROGRAM_PARTICIPANTS_FROM 192
#define PROGRAM_BARRIERS_FROM 160

struct zk_program {
    struct zk_fixture f; /* first: events lead back to it */
    struct zk_fake_server server;
    bool honest;
    const uint8_t *bytes;
    size_t left;
    bool ending;  /* END was asked */
    bool removed; /* a ticket, by somebody else: checks may fail */
    bool lingers; /* what lost sessions had stays for ever */
    bool unsure[PROGRAM_NAMES]; /* their ENQUEUE was answered so */
    unsigned inside;            /* so many requests are made inside events */
    uint8_t inside_kind, inside_ticket;
};

/* The next byte of the program; behind its end 0. */
uint8_t zk_program_next(struct zk_program *p);

/* The queue of a ticket by its number; is it another client's, to an honest
 * server? */
const char *program_queue(uint8_t which);
bool program_is_others(const char *ticket);
bool program_is_participant(uint8_t which);

/* What it is called. */
char program_letter(uint8_t which);

/* The name of the ticket that a request was about, with its queue. */
void program_name_ticket(const struct zk_fixture_request *r, char ticket[32]);

/* Ask, about the ticket of this number, if that makes sense. */
void program_request(struct zk_program *p, enum hf_request_kind kind,
                     uint8_t which);
#define PROGRAM_KINDS 6
extern const enum hf_request_kind program_kinds[PROGRAM_KINDS];

/* Forget the watch or the look that is the ${nth}, from 0. */
void program_unwatch(struct zk_program *p, unsigned nth);

/* Each event, as the stage tells it. */
void program_on_event(struct zk_fixture *f, const struct hf_event *event);

/* ---------------------------------------------------------------
 * zk_dishonest_server.c -- */

/* What a server may do only if it is not honest, and the link is up. */
void dishonest_answer(struct zk_program *p, uint8_t step);

#endif
