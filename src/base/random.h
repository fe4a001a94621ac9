/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xoshiro256** (Blackman and Vigna, "Scrambled Linear Pseudorandom Number
 * Generators", 2018), for jitter and ticket ids.  The same seed gives the same
 * numbers.  Not to be used for secrets.  For ticket ids it is good enough: they
 * need only be unique, and their 122 bits come from a seed of getrandom().
 */
#ifndef HF_BASE_RANDOM_H
#define HF_BASE_RANDOM_H

#include <stdint.h>

struct hf_random {
    uint64_t s[4];
};

/* Seed ${random} from one number, through splitmix64.  Instead a caller may set
 * .s to 256 random bits that are not all zero. */
void hf_random_seed(struct hf_random *random, uint64_t seed);

/* The next 64 bits. */
uint64_t hf_random_next(struct hf_random *random);

/* Return a number from [0, ${bound}), each equally likely; ${bound} > 0. */
uint64_t hf_random_below(struct hf_random *random, uint64_t bound);

#endif
