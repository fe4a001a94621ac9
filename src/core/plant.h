/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deliberate faults, one line each, compiled in with -DHF_PLANTS only: the
 * simulator selects them one by one and must find every one, which shows that
 * it looks where it claims to look.  The number is the invariant of
 * docs/architecture.md that the fault breaks.
 */
#ifndef HF_CORE_PLANT_H
#define HF_CORE_PLANT_H

#include <stdbool.h>

/* X(name, invariant, what the core does wrong) */
#define HF_PLANT_TABLE(X)                                                      \
    X(ADMIT_ON_ANY_GONE, 1, "any watched ticket that goes admits")             \
    X(GONE_ADMITS_WRITER, 1, "a writer behind a write ticket does not list")   \
    X(READ_PASSES_WRITE, 1, "a reader waits for nobody")                       \
    X(NEAREST_ALONE, 1, "a part of a queue shows one of those in the way")     \
    X(SAFE_FROM_ANSWER, 1, "safe-until counts from a proof's answer")          \
    X(TOKEN_KEPT, 2, "the token of a first ticket serves for its second")      \
    X(LEASES_NOT_COUNTED, 1, "there is always room for another lease")         \
    X(ONE_LEASE_TOO_MANY, 1,                                                   \
      "there is room for one permit more than there is")                       \
    X(TRY_BARGES, 3, "a try enters past whoever is ahead")                     \
    X(GONE_SKIPS_ONE, 3, "the ticket ahead of the watched one is not counted") \
    X(ZK_ENQUEUES_OVERTAKE, 14, "an enqueue does not wait for an earlier one") \
    X(GONE_FORGOTTEN, 4, "a GONE that comes during a list is dropped")         \
    X(WATCH_OWN_ONLY, 4, "a waiter watches only its own ticket")               \
    X(NO_LIST_AFTER_GONE, 4, "a GONE that does not admit is not followed up")  \
    X(LOOKED_ONCE, 4, "who waits for room does not look again")                \
    X(LIMIT_UNHEARD, 4, "a semaphore that grows wakes nobody")                 \
    X(GATE_KEPT, 4, "who has his permits keeps others from theirs")            \
    X(CHANGE_UNTOUCHED, 4, "when what a pump changes is due is not noted")     \
    X(SCHEDULE_READ_EARLY, 4, "it is told when to wake before that is noted")  \
    X(LAZY_NEVER_PROVES, 4, "a lazy session proves nothing that is wanted")    \
    X(LAZY_CHECK_UNPROVEN, 7, "a check is answered by what was proven before") \
    X(PROOF_NOT_HEARD, 4, "who waits for a proof is not woken by it")          \
    X(ABANDONED_FORGOTTEN, 5, "an id that got no answer is not remembered")    \
    X(CANCEL_KEEPS_TICKET, 5, "a cancelled wait leaves its ticket")            \
    X(WITHDRAW_ONCE, 5, "a withdraw that failed is not repeated")              \
    X(BUNDLE_KEEPS_PART, 5, "a bundle that is given up keeps what it had")     \
    X(LEASE_LEAVES_REST, 5, "what is left of a lease is not withdrawn")        \
    X(ENDED_BEFORE_REMOVAL, 13, "an end does not wait for the removal")        \
    X(RELEASE_UNCONFIRMED, 13, "the end of a session confirms a release")      \
    X(WATCH_FIRST, 6, "a waiter watches the head of the queue")                \
    X(LOST_AFTER_WITHDRAW, 7, "the ticket is withdrawn before LOST is told")   \
    X(LOST_NOT_TOLD, 7, "safe-until passes in silence")                        \
    X(PROMISE_KEPT, 7, "a lost grant keeps its promise")                       \
    X(SUSPENDED_UNTOLD, 7, "where losses are told at SUSPENDED, none is")      \
    X(FLAG_FIRST, 7, "a reader loads the flag of its grant before the word")   \
    X(STORE_BEFORE_CLEAR, 7, "a session's value is stored before flags go")    \
    X(RESUME_LENGTHENS, 7, "an unanswered resume does not cap the promise")    \
    X(RESUME_KEEPS_PROMISE, 7, "a resume that grants less keeps the promise")  \
    X(ADMIT_EXPIRED, 7, "safe-until is not looked at when admitting")          \
    X(ENDED_AFTER_GRANTED, 8, "a cancel that lost the race ends once more")    \
    X(GRANTED_TWICE, 8, "a list that comes back late grants once more")        \
    X(SUSPENDED_ENDS, 9, "a waiter gives up when the link drops")              \
    X(LOST_SESSION_ENDS, 9, "a waiter gives up when its session is lost")      \
    X(WAITER_NOT_ASKED, 4, "a waiter forgets that it was asked to let go")     \
    X(ASKED_UNSAID, 4, "a ticket whose owner was asked does not say so")       \
    X(ASKED_SAID_ONCE, 4, "a text that was not written is not tried again")    \
    X(INQUIRY_ONCE, 4, "a question that failed is not asked again")            \
    X(INQUIRY_TWICE, 8, "an answer that comes late is told once more")         \
    X(BARRIER_ANY_NEWS, 1, "any wake-up at a barrier lets through")            \
    X(BARRIER_NOT_LOOKED_AGAIN, 4, "a wait at a barrier ends with a session")  \
    /* Of members of a double barrier. */                                      \
    X(MEMBER_COUNTS_IN, 1, "who counts enough members goes in by that")        \
    X(MEMBER_OLD_STAMP, 1, "a stamp of before he came lets a member in")       \
    X(MEMBER_LEAVES_AT_ONCE, 1, "a member waits for nobody when it leaves")    \
    X(MEMBER_NEVER_YIELDS, 4, "all who leave keep their tickets for the end")  \
    X(MEMBER_STAMPS_ONCE, 4, "a stamp that failed is not followed up")         \
    X(MEMBER_LOSS_UNTOLD, 7, "a member that is lost believes on")              \
    X(TEXT_MISSING, 10, "a failure has no story")                              \
    X(LOSS_UNEXPLAINED, 10, "a loss has no reason")                            \
    X(DOWNGRADE_UNSURE_IS_DONE, 4, "a downgrade without an answer is done")    \
    X(DOWNGRADE_WATCHED, 9, "a downgrade is taken for a removal by force")     \
    X(COHORT_SHARES, 1, "a ticket serves the next member before its release")  \
    X(COHORT_BARGES, 3, "the last member is granted first")                    \
    X(COHORT_UNBOUNDED, 3, "a ticket passes from member to member for ever")   \
    X(COHORT_REVOKED_STAYS, 3, "a ticket that is asked for is handed on")      \
    X(COHORT_KEEPS_TICKET, 5, "the ticket stays when nobody needs it")         \
    X(COHORT_LOSS_UNTOLD, 7,                                                   \
      "the member that holds a lost ticket believes on")                       \
    X(COHORT_LOSS_ENDS, 9, "who waits behind a ticket that is lost gives up")  \
    /* Of the client of ZooKeeper. */                                          \
    X(ZK_PING_PROVES, 1, "an answer to a ping moves safe-until")               \
    X(ZK_SAFE_FROM_ANSWER, 1, "a transaction proves from its answer on")       \
    X(ZK_PROOF_AT_ONCE, 1, "a transaction proves what was answered just now")  \
    X(ZK_LATE_PROVES, 1, "a transaction answered late proves as much")         \
    X(ZK_LAST_TIMEOUT_CAPS, 7, "a resume brings no less than counted before")  \
    X(ZK_LAST_TIMEOUT_COUNTS, 1, "the last timeout granted is in force alone") \
    X(ZK_EVENT_SEEN, 4, "an event is for all events of its transaction")       \
    X(ZK_RESUME_PROVES, 1, "a greeting that resumes proves like a first one")  \
    X(ZK_OWNER_IGNORED, 1, "another session's ticket is taken for ours")       \
    X(ZK_ANY_EVENT_GONE, 1, "any event of a watch is a deletion")              \
    X(ZK_ORDER_BY_NAME, 3, "tickets are ordered by their whole names")         \
    X(ZK_NOT_ARMED_AGAIN, 4, "a watch that data changed fired is not renewed") \
    X(ZK_NOT_RESUMED, 4, "watches end with their connection")                  \
    X(ZK_CHILDREN_UNHEARD, 4, "an event of a queue's children is nobody's")    \
    X(ZK_CHILDREN_NOT_RESUMED, 4, "child watches end with their connection")   \
    X(ZK_NEWS_BEFORE_LIST, 4, "what happens before a list is told is no news") \
    X(ZK_LAST_FIRST, 14, "of what waits to be sent the last goes first")       \
    X(ZK_WAITING_DROPPED, 4, "what waits to be sent goes with its connection") \
    X(ZK_URGENT_WAITS, 4, "releases and proofs wait behind other requests")    \
    X(ZK_EARLIER_LIST, 13, "a list sent before the create serves it")          \
    X(ZK_STRUCK_BEHIND, 1, "who stands behind one that went is struck too")    \
    X(ZK_WRITER_STRUCK, 1, "a write ticket that went leaves nobody behind")    \
    X(ZK_BEHIND_BY_NAME, 1, "who stands behind is told by the whole name")     \
    X(ZK_NEW_AHEAD_PASSED, 1, "who is new in a list and ahead is passed over") \
    X(ZK_BEYOND_KEPT, 3, "a number beyond what orders a queue is kept")        \
    X(ZK_CUT_UNDONE, 5, "what got no answer did not happen")                   \
    X(ZK_SYNC_SKIPPED, 5, "a ticket is looked for in what a follower knows")   \
    X(ZK_DELETE_ONCE, 5, "a delete without an answer is taken for done")       \
    X(ZK_SET_WATCHES_LATE, 5, "SetWatches goes behind requests")               \
    X(ZK_DOWNGRADE_GAP, 1, "a downgrade deletes first and then creates")       \
    X(ZK_DOWNGRADE_UNHEARD, 4, "a downgrade deletes a request to let go")      \
    X(ZK_WITHDRAW_OLD_NAME, 5, "a downgrade without an answer is forgotten")   \
    X(ZK_MEMBER_UNCHECKED, 1, "a stamp is made though members have gone")      \
    X(ZK_MEMBER_LOWERED, 4, "the mark goes while members are there")           \
    X(ZK_SESSION_KEPT, 9, "a session that ended is asked for again")           \
    /* Of the client of a server that leases tickets, and of the server. */    \
    X(LEASED_SAFE_FROM_ANSWER, 1, "a renewal proves from its answer on")       \
    X(LEASED_SAFE_FROM_LAST_PIECE, 1, "a renewal proves from its last piece")  \
    X(LEASED_PROVEN_BY_FIRST_PIECE, 1, "the first piece proves a renewal")     \
    X(LEASED_RESUME_PROVES, 1, "a link made anew proves from when it is up")   \
    X(LEASED_ANY_NOTICE_GONE, 1, "any notice of a queue admits, without list") \
    X(LEASED_UNSURE_NOT_RENEWED, 1, "what got no answer is not renewed")       \
    X(LEASED_UNSURE_LISTED, 1, "what got no answer counts once it is listed")  \
    X(LEASED_NOT_COMMITTED, 1, "what was done counts before it is committed")  \
    X(LEASED_OLD_SNAPSHOT, 1, "a queue is read as before the count's lock")    \
    X(LEASED_TOKEN_OF_CLOCK, 2, "a token is the server's time alone")          \
    X(LEASED_NOT_PROBED, 4, "nobody asks for what a lost notice told")         \
    X(LEASED_TELLS_ONE, 4, "only the next one behind hears of a withdraw")     \
    X(LEASED_RESURRECTS, 5, "a renewal brings back what had run out")          \
    X(LEASED_ENQUEUE_LATE, 5, "an enqueue takes effect however late it is")    \
    X(LEASED_UNSURE_WITHDRAWN, 5, "what got no answer is not withdrawn")       \
    X(LEASED_GIVING_UP_UNTOLD, 9, "a wait goes on when no connection is tried")

/* clang-format off */
enum hf_plant {
    HF_PLANT_NONE,
#define HF_PLANT_ENUM_(name, invariant, what) HF_PLANT_##name,
    HF_PLANT_TABLE(HF_PLANT_ENUM_)
#undef HF_PLANT_ENUM_
    HF_PLANT_COUNT
};
/* clang-format on */

#if defined(HF_PLANTS)
/* The fault in force; set by tests. */
extern enum hf_plant hf_plant;
#define HF_PLANTED(name) (hf_plant == HF_PLANT_##name)
#else
#define HF_PLANTED(name) (false)
#endif

#endif
