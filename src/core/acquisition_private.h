/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of an acquisition: acquisition.c moves it and ends it,
 * _ask.c makes its requests, _answer.c takes their answers, _place.c judges its
 * place in the queue, _member.c that at a double barrier, _clock.c its limits,
 * _downgrade.c makes a writer a reader. */
#ifndef HF_CORE_ACQUISITION_PRIVATE_H
#define HF_CORE_ACQUISITION_PRIVATE_H

#include "core/acquisition.h"

#define STATE(name) HF_ACQUISITION_##name

void hf_acquisition_move(struct hf_core *core, struct hf_acquisition *a,
                         enum hf_acquisition_state state);

/* Tell the owner, or the whole that it is a part of. */
void hf_acquisition_tell(struct hf_core *core, struct hf_acquisition *a,
                         struct hf_effect *effect, enum hf_effect_kind kind);

/* Zero what is the core's own, of a part that is IDLE or has ended, for another
 * try. */
void hf_acquisition_renew(struct hf_core *core, struct hf_acquisition *a);

/* Has it ended, and has the engine nothing of it? */
bool hf_acquisition_is_over(const struct hf_acquisition *a);

/* Set .holder to ${payload}. */
void hf_acquisition_set_holder(struct hf_core *core, struct hf_acquisition *a,
                               const char *payload);

/* Is it on its way to a grant? */
bool hf_acquisition_is_waiting(const struct hf_acquisition *a);

/* May a ticket of it be, or appear, in the queue? */
bool hf_acquisition_may_remain(const struct hf_acquisition *a);

/* Set the status and the text to ${why}. */
void hf_acquisition_keep_story(struct hf_core *core, struct hf_acquisition *a,
                               const struct hf_error *why);

/* After each change of what keeps a RELEASING or WITHDRAWING one: tell the
 * owner if it is time, finish if nothing is left. */
void hf_acquisition_settle(struct hf_core *core, struct hf_acquisition *a);

/* End its wait, a try, for .holder is ahead of it. */
void hf_acquisition_end_busy(struct hf_core *core, struct hf_acquisition *a);

/* Take back an ENQUEUE or LIST that the engine has not heard of. */
void hf_acquisition_unask(struct hf_core *core, struct hf_acquisition *a);

/* Can another id be remembered, should its enqueue get no answer? */
bool hf_acquisition_can_enqueue(const struct hf_acquisition *a);

bool hf_acquisition_enqueue_unanswered(const struct hf_acquisition *a);

/* The last enqueue got no answer: remember its id for as long as it can
 * appear, and withdraw it at once if ${now}, else only when it shows. */
void hf_acquisition_abandon(struct hf_core *core, struct hf_acquisition *a,
                            bool now);

/* The last enqueue was answered, and yet a list does not show its ticket.
 * Somebody removed it, or the list is wrong: see that it is not there. */
void hf_acquisition_disown(struct hf_acquisition *a);

/* LOOKING, or QUEUED without room, and these are the leases. */
void hf_acquisition_looked_for_room(struct hf_core *core,
                                    struct hf_acquisition *a,
                                    const struct hf_snapshot *leases);

/* May it ever want to hear when there may be room? */
bool hf_acquisition_has_lookout(const struct hf_acquisition *a);

/* Does it now? */
bool hf_acquisition_wants_room(const struct hf_acquisition *a);

/* The enqueue failed as ${why} tells, which is worth a retry if the policy
 * allows another. */
void hf_acquisition_enqueue_again(struct hf_core *core,
                                  struct hf_acquisition *a,
                                  const struct hf_error *why);

/* The ticket was put into the queue, or found there: ${snapshot}. */
void hf_acquisition_placed(struct hf_core *core, struct hf_acquisition *a,
                           const struct hf_snapshot *snapshot);

/* QUEUED, and this is the queue: go by the rule. */
void hf_acquisition_decide(struct hf_core *core, struct hf_acquisition *a,
                           const struct hf_snapshot *snapshot);

/* The same for a MEMBER, by the rule of double barriers. */
void hf_acquisition_decide_member(struct hf_core *core,
                                  struct hf_acquisition *a,
                                  const struct hf_snapshot *snapshot);

/* A STAMP was answered, with MARKED or FAILED. */
void hf_acquisition_stamped(struct hf_core *core, struct hf_acquisition *a);
void hf_acquisition_stamp_failed(struct hf_core *core, struct hf_acquisition *a,
                                 const struct hf_event *event);

/* QUEUED, and nothing is in the way: HELD once the session is proven. */
void hf_acquisition_admit(struct hf_core *core, struct hf_acquisition *a);

/* Tell of its place whoever wants to hear of it. */
void hf_acquisition_report(struct hf_core *core, struct hf_acquisition *a);

/* QUEUED, and the ticket ahead called ${gone} is gone. */
void hf_acquisition_one_less(struct hf_core *core, struct hf_acquisition *a,
                             const struct hf_ticket_id *gone);

/* A DOWNGRADE was answered, with DOWNGRADED or FAILED. */
void hf_acquisition_downgraded(struct hf_core *core, struct hf_acquisition *a);
void hf_acquisition_downgrade_failed(struct hf_core *core,
                                     struct hf_acquisition *a,
                                     const struct hf_event *event);

/* Once it is HELD no more, a downgrade that is under way ends.  Not earlier
 * than in a pump: whoever else loses a grant is told that first. */
void hf_acquisition_downgrade_ends(struct hf_core *core,
                                   struct hf_acquisition *a);

/* Its place is lost; the next one will be at the tail. */
void hf_acquisition_displaced(struct hf_acquisition *a);

/* QUEUED, and the ticket is gone though nobody here withdrew it. */
void hf_acquisition_evicted(struct hf_core *core, struct hf_acquisition *a);

#endif
