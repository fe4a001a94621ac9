/* SPDX-License-Identifier: Apache-2.0 */
/* Deliberate faults, as in core/plant.h: tests/unit/test_quorum_worlds.c
 * selects them one by one, and must find every one. */
#ifndef HF_ENGINES_QUORUM_PLANT_H
#define HF_ENGINES_QUORUM_PLANT_H

enum hf_quorum_plant {
    HF_QUORUM_PLANT_NONE,
    HF_QUORUM_LIST_BEFORE_SETTLING, /* the queue is that of the proposals */
    HF_QUORUM_ONE_LISTS,            /* the list is one server's */
    HF_QUORUM_MINORITY_SETTLES,     /* one server that has settled is enough */
    HF_QUORUM_GREATEST_PROPOSED,    /* what is proposed is taken for final */
    HF_QUORUM_FORGETFUL_COUNT,      /* servers count as soon as they serve */
    HF_QUORUM_PLANTS,
};

#if defined(HF_PLANTS)
extern enum hf_quorum_plant hf_quorum_plant;
#define HF_QUORUM_PLANTED(name) (hf_quorum_plant == HF_QUORUM_##name)
#else
#define HF_QUORUM_PLANTED(name) false
#endif

#endif
