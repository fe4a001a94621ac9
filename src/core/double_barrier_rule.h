/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule of a double barrier: who may enter, and who may leave.
 *
 * Each participant is a ticket.  A participant that counts enough tickets
 * begins a *generation* (as in a CyclicBarrier): the engine sets the flag READY
 * at an instant at which that many participants are there.  Tokens of tickets
 * and of generations are of one numbering, so a generation that is newer than a
 * ticket began while the owner of the ticket was a participant.  Such a
 * generation admits that participant, and nothing else does: no older
 * generation, and no event.
 *
 * The round of a participant is all tickets older than the generation that
 * admitted it.  It may leave when no other ticket of its round is there;
 * tickets that have come since belong to another round.  All participants
 * remove their tickets first, except the one with the lowest id, which keeps
 * its ticket until it is alone, because participants of Curator take a single
 * ticket that is left for the end.  Two participants of one round never wait
 * for each other's ticket, because one of the two has the lower id.
 */
#ifndef HF_CORE_DOUBLE_BARRIER_RULE_H
#define HF_CORE_DOUBLE_BARRIER_RULE_H

#include "core/ticket.h"

/* The answers to an enter. */
enum hf_enter_answer {
    HF_ENTER_MISSING,        /* its ticket is not there */
    HF_ENTER_WAIT,           /* too few participants are there */
    HF_ENTER_NEW_GENERATION, /* enough are there, and no generation has begun
                                since it came */
    HF_ENTER_PASS,           /* .generation admits it */
};

struct hf_enter_decision {
    enum hf_enter_answer answer;
    size_t participants;
    uint64_t generation; /* the token of the flag READY; 0: it is not set */
};

/* The answers to a leave. */
enum hf_leave_answer {
    HF_LEAVE_WAIT,  /* with its ticket or without it, as it is */
    HF_LEAVE_YIELD, /* remove the ticket, then wait */
    HF_LEAVE_PASS,  /* no other participant of the round is left */
};

/* May the owner of ${mine} enter a double barrier of ${parties} participants?
 */
struct hf_enter_decision
hf_double_barrier_decide_enter(const struct hf_snapshot *snapshot,
                               const struct hf_ticket_id *mine,
                               uint32_t parties);

/* May the owner of ${mine}, which ${generation} has admitted, leave?
 * ${keeps_ticket}: its ticket was not removed yet. */
enum hf_leave_answer
hf_double_barrier_decide_leave(const struct hf_snapshot *snapshot,
                               const struct hf_ticket_id *mine,
                               uint64_t generation, bool keeps_ticket);

#endif
