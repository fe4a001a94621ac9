/* SPDX-License-Identifier: Apache-2.0 */
/* A story as it is played, row by row; its language is in story.c. */
#ifndef HF_TESTS_SIMULATOR_SCRIPT_SCRIPT_H
#define HF_TESTS_SIMULATOR_SCRIPT_SCRIPT_H

#include "simulator/cluster/cluster.h"

struct script {
    const char *path;
    unsigned row;
    struct cluster *cluster;
    bool ended;
    bool wrong;
    bool unsafe;
    char *got; /* the transcript, STORY_BYTES */
    size_t got_bytes;
};

/* The row under way is wrong: ${what}, and the ${word} it is about. */
void script_error(struct script *script, const char *what, const char *word);

/* --------------------------------------------------------------- verb.c -- */

/* Of a row, the verb and what it is about; NULL behind the last word.  False
 * if there is no such verb of clients. */
bool client_step(struct script *script, struct client *client, char **words);

/* --------------------------------------------------------------- deed.c -- */

/* Likewise, of the server that has this number, from 0; complains itself. */
void server_step(struct script *script, int server, char **words);

/* Likewise, of anybody else; false if there is no such deed, or too little of
 * it. */
bool other_client_step(struct script *script, char **words);

#endif
