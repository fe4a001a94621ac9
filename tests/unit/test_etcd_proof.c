/* SPDX-License-Identifier: Apache-2.0 */
/* Which keep-alives and writes prove that a lease lives, and as of when.  The
 * TTL is 10 s and the margin 1 %, so what is proven as of s ends at s + 9900.
 */
#include <string.h>

#include "cmocka/runner.h"
#include "etcd/proof.h"

#define TTL_MS 10000

/* One thing that happens. */
struct step {
    enum {
        END,
        KEEP_ALIVE, /* sent at .sent_ms, answered at .at_ms in .term */
        SHORTER,    /* the same with a TTL of 4 s */
        SEND,       /* a write is sent */
        ANSWER,     /* it is answered in .term; that proves .proves_ms */
    } kind;
    uint64_t sent_ms;
    uint64_t at_ms;
    uint64_t term;
    uint64_t proves_ms;
};

struct row {
    const char *name;
    struct step steps[12];
};

static void run(const struct row *row)
{
    struct hf_etcd_renewal sent = {0};
    struct hf_etcd_proof proof;
    uint64_t proves_ms;

    hf_etcd_proof_granted(&proof, 1000, TTL_MS, 2, 1);
    for (const struct step *step = row->steps; step->kind != END; step++) {
        switch (step->kind) {
        case KEEP_ALIVE:
        case SHORTER:
            hf_etcd_proof_kept_alive(&proof, step->sent_ms,
                                     step->kind == SHORTER ? 4000 : TTL_MS,
                                     step->term, step->at_ms);
            break;
        case SEND:
            sent = hf_etcd_proof_sent(&proof);
            break;
        default:
            proves_ms = hf_etcd_proof_answered(&proof, &sent, step->term);
            if (proves_ms != step->proves_ms)
                fail_msg("%s: %lu instead of %lu", row->name,
                         (unsigned long)proves_ms,
                         (unsigned long)step->proves_ms);
            break;
        }
    }
}

#define K(sent, at, term)                                                      \
    {                                                                          \
        KEEP_ALIVE, sent, at, term, 0                                          \
    }
#define W(term, proves)                                                        \
    {SEND, 0, 0, 0, 0},                                                        \
    {                                                                          \
        ANSWER, 0, 0, term, proves                                             \
    }
#define SENT                                                                   \
    {                                                                          \
        SEND, 0, 0, 0, 0                                                       \
    }
#define ANSWERED(term, proves)                                                 \
    {                                                                          \
        ANSWER, 0, 0, term, proves                                             \
    }

/* The rule, clause by clause. */
TEST(a_write_behind_a_keep_alive_of_its_term_proves_it)
{
    static const struct row rows[] = {
        {"the grant", {W(2, 1000)}},
        {"the grant, and a write of another term", {W(3, 0)}},
        {"a keep-alive and a write", {K(4000, 4010, 2), W(2, 4000)}},
        {"the last of two", {K(4000, 4010, 2), K(7000, 7010, 2), W(2, 7000)}},
        {"two writes", {K(4000, 4010, 2), W(2, 4000), W(2, 4000)}},
        {"the write was sent before the answer",
         {SENT, K(4000, 4010, 2), ANSWERED(2, 1000)}},
        {"and the next one behind it",
         {SENT, K(4000, 4010, 2), ANSWERED(2, 1000), W(2, 4000)}},
        {"the write shows a later term", {K(4000, 4010, 2), W(3, 0)}},
        {"the write shows an earlier term, of a member that is behind",
         {K(4000, 4010, 3), W(2, 0)}},
        {"no keep-alive of the new term yet", {W(3, 0), W(3, 0)}},
        {"one of the new term, in time", {K(4000, 4010, 3), W(3, 4000)}},
        {"the term changes between write and answer",
         {K(4000, 4010, 2), SENT, ANSWERED(3, 0), K(7000, 7010, 3),
          W(3, 7000)}},
        {"a term of 0 is none", {K(4000, 4010, 0), W(0, 0), W(2, 1000)}},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        run(&rows[i]);
}

/* What was proven as of 1000 ends at 10900, the margin taken off. */
TEST(a_keep_alive_counts_only_if_the_lease_had_not_ended)
{
    static const struct row rows[] = {
        {"answered just in time, in a new term",
         {K(10000, 10899, 3), W(3, 10000)}},
        {"answered too late, in a new term", {K(10000, 10900, 3), W(3, 0)}},
        {"answered too late, in the same term",
         {K(10000, 10900, 2), W(2, 1000)}},
        {"sent in time and answered much too late",
         {K(4000, 14000, 2), W(2, 1000)}},
        {"a write in between proves, so the next is in time",
         {K(4000, 4010, 2), W(2, 4000), K(12000, 12010, 3), W(3, 12000)}},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        run(&rows[i]);
}

/* The induction over keep-alives that are not proven. */
TEST(keep_alives_of_one_term_are_a_chain)
{
    static const struct row rows[] = {
        {"an idle session is proven by its first write",
         {K(9000, 9010, 2), K(17000, 17010, 2), K(25000, 25010, 2),
          K(33000, 33010, 2), W(2, 33000)}},
        {"a link is missing",
         {K(9000, 9010, 2), K(17000, 18900, 2), W(2, 9000)}},
        {"a link just in time",
         {K(9000, 9010, 2), K(17000, 18899, 2), W(2, 17000)}},
        {"after a change of leader while idle, the first only begins",
         {K(9000, 9010, 2), K(17000, 17010, 3), W(3, 0)}},
        {"and the second counts",
         {K(9000, 9010, 2), K(17000, 17010, 3), K(18250, 18260, 3),
          W(3, 18250)}},
        {"unless it is late",
         {K(9000, 9010, 2), K(17000, 17010, 3), K(26000, 26900, 3), W(3, 0)}},
        {"or of another term again",
         {K(9000, 9010, 2), K(17000, 17010, 3), K(18250, 18260, 4), W(4, 0),
          K(19500, 19510, 4), W(4, 19500)}},
        {"a keep-alive alone proves nothing, however often",
         {K(9000, 9010, 3), K(17000, 17010, 3), SENT, K(25000, 25010, 3),
          K(33000, 33010, 4), ANSWERED(4, 0)}},
        {"a beginning is not proven by a write of its term",
         {K(9000, 9010, 2), K(17000, 17010, 3), W(3, 0), W(3, 0)}},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        run(&rows[i]);
}

/* A leader with another lower bound counts another TTL: 4 s from 8000 on are
 * 10 s from 2000 on. */
TEST(a_shorter_ttl_is_an_earlier_anchor)
{
    static const struct row row = {"4 s",
                                   {{SHORTER, 8000, 8010, 2, 0}, W(2, 2000)}};

    run(&row);
}

TEST(the_second_keep_alive_of_a_chain_comes_sooner)
{
    struct hf_etcd_proof proof;

    hf_etcd_proof_granted(&proof, 1000, TTL_MS, 2, 1);
    assert_false(hf_etcd_proof_wants_keep_alive_soon(&proof));
    hf_etcd_proof_kept_alive(&proof, 9000, TTL_MS, 2, 9010);
    assert_false(hf_etcd_proof_wants_keep_alive_soon(&proof));
    hf_etcd_proof_kept_alive(&proof, 17000, TTL_MS, 3, 17010);
    assert_true(hf_etcd_proof_wants_keep_alive_soon(&proof));
    hf_etcd_proof_kept_alive(&proof, 18250, TTL_MS, 3, 18260);
    assert_false(hf_etcd_proof_wants_keep_alive_soon(&proof));
}

/* What is kept back grows with the drift. */
TEST(the_margin_is_that_of_the_clocks)
{
    struct hf_etcd_proof proof;
    struct hf_etcd_renewal sent;

    hf_etcd_proof_granted(&proof, 1000, TTL_MS, 2, 25);
    hf_etcd_proof_kept_alive(&proof, 8000, TTL_MS, 2, 9000); /* 10000 / 1.25 */
    sent = hf_etcd_proof_sent(&proof);
    assert_int_equal(sent.anchor_ms, 1000);
    hf_etcd_proof_granted(&proof, 1000, TTL_MS, 2, 25);
    hf_etcd_proof_kept_alive(&proof, 8000, TTL_MS, 2, 8999);
    sent = hf_etcd_proof_sent(&proof);
    assert_int_equal(sent.anchor_ms, 8000);
}
