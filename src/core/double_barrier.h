/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule of a double barrier: who may go in, and who may go.
 *
 * Each member is a ticket, and whoever counts enough of them stamps: a mark is
 * made at one instant, at which that many are known to be there.  Tokens of
 * tickets and stamps are of one numbering, so a stamp that is newer than a
 * ticket was made when that ticket's owner was a member.  It alone lets him in:
 * an old stamp, a late one, or any other news does not.
 *
 * His round is whoever is older than the stamp that let him in.  He goes when
 * none of them is there but he; who has come since is of another round.  All
 * take their tickets out first, but for the lowest, who keeps his until he is
 * alone: Curator's members, when they go, take one ticket that is left for the
 * end.  Two never keep theirs for each other, since of these one is the lower.
 */
#ifndef HF_CORE_DOUBLE_BARRIER_H
#define HF_CORE_DOUBLE_BARRIER_H

#include "core/ticket.h"

enum hf_enter_answer {
    HF_ENTER_MISSING, /* my ticket is not there */
    HF_ENTER_WAIT,    /* too few are */
    HF_ENTER_STAMP,   /* enough are, and nobody has stamped since I came */
    HF_ENTER_PASS,    /* .stamp lets me in */
};

struct hf_enter {
    enum hf_enter_answer answer;
    size_t members;
    uint64_t stamp; /* the token of the mark; 0: there is none */
};

enum hf_leave_answer {
    HF_LEAVE_WAIT,  /* as you are */
    HF_LEAVE_YIELD, /* take your ticket out, then wait */
    HF_LEAVE_PASS,  /* nobody of the round is left but you */
};

/* May the owner of ${mine} go in, where ${parties} are waited for? */
struct hf_enter
hf_double_barrier_decide_enter(const struct hf_snapshot *snapshot,
                               const struct hf_ticket_id *mine,
                               uint32_t parties);

/* May the owner of ${mine}, whom ${stamp} has let in, go?  ${keeps}: he has not
 * had his ticket taken out. */
enum hf_leave_answer
hf_double_barrier_decide_leave(const struct hf_snapshot *snapshot,
                               const struct hf_ticket_id *mine, uint64_t stamp,
                               bool keeps);

#endif
