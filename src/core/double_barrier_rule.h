/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule of a double barrier: who may enter, and who may leave.
 *
 * Each participant is a ticket.  A participant that counts enough tickets
 * stamps the queue: a mark is made at one instant at which that many are there.
 * Tokens of tickets and of stamps are of one numbering, so a stamp that is
 * newer than a ticket was made while the ticket's owner was a participant. Such
 * a stamp lets the owner in, and nothing else does: no older stamp, and no
 * event.
 *
 * The round of a participant is all tickets older than the stamp that let it
 * in. It leaves when no other ticket of its round is there; tickets that have
 * come since are of another round.  All take their tickets out first, but for
 * the one with the lowest, which keeps its ticket until it is alone:
 * participants of Curator take one ticket that is left for the end.  Two of one
 * round never keep theirs for each other, because one of the two is the lower.
 */
#ifndef HF_CORE_DOUBLE_BARRIER_RULE_H
#define HF_CORE_DOUBLE_BARRIER_RULE_H

#include "core/ticket.h"

enum hf_enter_answer {
    HF_ENTER_MISSING,        /* its ticket is not there */
    HF_ENTER_WAIT,           /* too few are */
    HF_ENTER_NEW_GENERATION, /* enough are, and nobody has stamped since it came
                              */
    HF_ENTER_PASS,           /* .stamp lets it in */
};

struct hf_enter_decision {
    enum hf_enter_answer answer;
    size_t participants;
    uint64_t generation; /* the token of the mark; 0: there is none */
};

enum hf_leave_answer {
    HF_LEAVE_WAIT,  /* with its ticket, or without, as it is */
    HF_LEAVE_YIELD, /* take the ticket out, then wait */
    HF_LEAVE_PASS,  /* no other of the round is left */
};

/* May the owner of ${mine} enter, where ${parties} are waited for? */
struct hf_enter_decision
hf_double_barrier_decide_enter(const struct hf_snapshot *snapshot,
                               const struct hf_ticket_id *mine,
                               uint32_t parties);

/* May the owner of ${mine}, which ${stamp} has let in, leave?  ${keeps}: its
 * ticket has not been taken out. */
enum hf_leave_answer
hf_double_barrier_decide_leave(const struct hf_snapshot *snapshot,
                               const struct hf_ticket_id *mine,
                               uint64_t generation, bool keeps_ticket);

#endif
