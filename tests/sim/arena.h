/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library's memory in one block, so that a moment can copy it and put it
 * back.  A pointer into it means the same after that.
 */
#ifndef HF_TESTS_SIM_ARENA_H
#define HF_TESTS_SIM_ARENA_H

struct arena_copy;

/* Have the library take its memory from the arena, before it takes any. */
void arena_begin(void);

/* What is in it now; to be freed with free(). */
struct arena_copy *arena_save(void);

/* Have in it what ${copy} says. */
void arena_restore(const struct arena_copy *copy);

#endif
