/* SPDX-License-Identifier: Apache-2.0 */
/* Sequentially consistent loads and stores, which is the default of C11. */
#include "core/published_safe_until.h"

void hf_safe_until_read_word(const struct hf_safe_until *word,
                             const _Atomic bool *valid,
                             struct hf_safe_until_reading *reading)
{
    (void)valid; /* loaded in the second step */
    reading->ms = atomic_load(&word->ms);
}

uint64_t hf_safe_until_read_flag(const struct hf_safe_until *word,
                                 const _Atomic bool *valid,
                                 struct hf_safe_until_reading *reading)
{
    (void)word; /* loaded in the first step */
    reading->valid = atomic_load(valid);
    return reading->valid ? reading->ms : 0;
}

uint64_t hf_safe_until_read(const struct hf_safe_until *word,
                            const _Atomic bool *valid)
{
    struct hf_safe_until_reading reading = {0};

    hf_safe_until_read_word(word, valid, &reading);
    return hf_safe_until_read_flag(word, valid, &reading);
}

void hf_safe_until_store(struct hf_safe_until *word, uint64_t ms)
{
    atomic_store(&word->ms, ms);
}
