/* SPDX-License-Identifier: Apache-2.0 */
/* A memory arena for the library: all of its memory is in one block, so that a
 * checkpoint can copy the block and restore it.  Pointers into it stay valid,
 * because the block does not move. */
#ifndef HF_TESTS_SIMULATOR_EXPLORE_ARENA_H
#define HF_TESTS_SIMULATOR_EXPLORE_ARENA_H

struct arena_copy;

/* Make the library allocate in the arena.  Called before it allocates
 * anything. */
void arena_begin(void);

/* A copy of the arena, to be freed with free(). */
struct arena_copy *arena_save(void);

/* Restore the arena.  What was allocated since is gone. */
void arena_restore(const struct arena_copy *copy);

#endif
