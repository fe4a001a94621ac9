/* SPDX-License-Identifier: Apache-2.0 */
/* A program of steps that runs on the ZooKeeper fixture (zk_fixture.h):
 * which requests are made, and which properties their events must have. */
#ifndef HF_TESTS_FUZZ_ZK_PROGRAM_H
#define HF_TESTS_FUZZ_ZK_PROGRAM_H

#include "zk_fake_server.h"

/* Tickets "a" to "h"; the last four are in the second queue. */
#define PROGRAM_TICKETS 8

/* And "i" to "l", the participants of two double barriers, which operands
 * from PROGRAM_PARTICIPANTS_FROM on stand for.  Operands from
 * PROGRAM_BARRIERS_FROM on stand for single barriers. */
#define PROGRAM_NAMES 12
#define PROGRAM_PARTICIPANTS_FROM 192
#define PROGRAM_BARRIERS_FROM 160

struct zk_program {
    struct zk_fixture f; /* first, because events point to it */
    struct zk_fake_server server;
    bool honest;
    const uint8_t *bytes;
    size_t left;
    bool ending;  /* END was requested */
    bool removed; /* another client removed a ticket, so checks may fail */
    bool lingers; /* tickets of lost sessions stay for ever */
    bool unsure[PROGRAM_NAMES]; /* their ENQUEUE was answered with UNSURE */
    unsigned inside; /* requests that are still to be made inside events */
    uint8_t inside_kind, inside_ticket;
};

/* The next byte of the program; 0 at its end. */
uint8_t zk_program_next(struct zk_program *p);

/* The queue of the ticket that ${which} stands for; and, for an honest
 * server, does a ticket belong to another client? */
const char *program_queue(uint8_t which);
bool program_is_others(const char *ticket);
bool program_is_participant(uint8_t which);

/* Its name, one letter. */
char program_letter(uint8_t which);

/* The name of the ticket that a request was about, with its queue. */
void program_name_ticket(const struct zk_fixture_request *r, char ticket[32]);

/* Make the request for the ticket of this number, if it makes sense. */
void program_request(struct zk_program *p, enum hf_request_kind kind,
                     uint8_t which);
#define PROGRAM_KINDS 6
extern const enum hf_request_kind program_kinds[PROGRAM_KINDS];

/* Cancel watch number ${nth}, from 0. */
void program_unwatch(struct zk_program *p, unsigned nth);

/* To be called with each event of the fixture. */
void program_on_event(struct zk_fixture *f, const struct hf_event *event);

/* A step of the dishonest server, if the connection is up: see
 * zk_dishonest_server.c. */
void dishonest_answer(struct zk_program *p, uint8_t step);

#endif
