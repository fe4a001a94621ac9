/* SPDX-License-Identifier: Apache-2.0 */
/* Deliberate faults, as in core/plant.h, some of them of the server:
 * tests/unit/test_quorum_worlds.c selects them one by one, and must find every
 * one. */
#ifndef HF_ENGINES_QUORUM_PLANT_H
#define HF_ENGINES_QUORUM_PLANT_H

/* X(name, invariant, what it does wrong) */
#define HF_QUORUM_PLANT_TABLE(X)                                               \
    X(LIST_BEFORE_SETTLING, 1, "the queue is that of the proposals")           \
    X(ONE_LISTS, 1, "the list is one server's")                                \
    X(MINORITY_SETTLES, 1, "one server that has settled is enough")            \
    X(GREATEST_PROPOSED, 1, "what is proposed is taken for final")             \
    X(FORGETFUL_COUNT, 1, "servers count as soon as they serve")               \
    X(SETTLED_UNTOLD, 2, "a server is not told the number that is settled")

/* clang-format off */
enum hf_quorum_plant {
    HF_QUORUM_PLANT_NONE,
#define HF_QUORUM_PLANT_ENUM_(name, invariant, what) HF_QUORUM_##name,
    HF_QUORUM_PLANT_TABLE(HF_QUORUM_PLANT_ENUM_)
#undef HF_QUORUM_PLANT_ENUM_
    HF_QUORUM_PLANTS
};
/* clang-format on */

#if defined(HF_PLANTS)
extern enum hf_quorum_plant hf_quorum_plant;
#define HF_QUORUM_PLANTED(name) (hf_quorum_plant == HF_QUORUM_##name)
#else
#define HF_QUORUM_PLANTED(name) false
#endif

#endif
