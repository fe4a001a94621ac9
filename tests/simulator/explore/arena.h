/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library's memory in one block, so that a moment can copy it and put it
 * back.  A pointer into it means the same after that.
 */
#ifndef HF_TESTS_SIMULATOR_EXPLORE_ARENA_H
#define HF_TESTS_SIMULATOR_EXPLORE_ARENA_H

struct arena_copy;

/* Have the library take its memory from the arena, before it takes any. */
void arena_begin(void);

/* A copy of the arena, to be freed with free(). */
struct arena_copy *arena_save(void);

/* Put ${copy} back; what was allocated since is gone. */
void arena_restore(const struct arena_copy *copy);

#endif
