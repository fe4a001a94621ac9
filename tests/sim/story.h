/* SPDX-License-Identifier: Apache-2.0 */
/* A story as it is played, row by row; its language is in story.c. */
#ifndef HF_TESTS_SIM_STORY_H
#define HF_TESTS_SIM_STORY_H

#include "world.h"

struct story {
    const char *path;
    unsigned row;
    struct world *world;
    bool ended;
    bool wrong;
    bool unsafe;
    char *got; /* the transcript, STORY_BYTES */
    size_t got_bytes;
};

/* The row under way is wrong: ${what}, and the ${word} it is about. */
void story_complain(struct story *story, const char *what, const char *word);

/* --------------------------------------------------------------- verb.c -- */

/* Of a row, the verb and what it is about; NULL behind the last word.  False
 * if there is no such verb of clients. */
bool verb_act(struct story *story, struct client *client, char **words);

/* --------------------------------------------------------------- deed.c -- */

/* Likewise, of the server that has this number, from 0; complains itself. */
void deed_of_server(struct story *story, int server, char **words);

/* Likewise, of anybody else; false if there is no such deed, or too little of
 * it. */
bool deed_of_others(struct story *story, char **words);

#endif
