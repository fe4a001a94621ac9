/* SPDX-License-Identifier: Apache-2.0 */
#include "base/random.h"

#include <assert.h>
#include <string.h>

static uint64_t rotate_left(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

/* splitmix64, by Sebastiano Vigna (public domain), spreads one number over the
 * whole state, which is then never all zero. */
void hf_random_seed(struct hf_random *random, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        uint64_t z = seed += 0x9e3779b97f4a7c15;

        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        random->s[i] = z ^ z >> 31;
    }
}

uint64_t hf_random_next(struct hf_random *random)
{
    uint64_t *s = random->s;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    assert((s[0] | s[1] | s[2] | s[3]) != 0);
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint64_t hf_random_below(struct hf_random *random, uint64_t bound)
{
    uint64_t uneven, drawn;

    assert(bound > 0);
    /* The first 2^64 % bound numbers would make some results likelier.  Each
     * draw is one of them with a chance below one half. */
    uneven = (0 - bound) % bound;
    do {
        drawn = hf_random_next(random);
    } while (drawn < uneven);
    return drawn % bound;
}
