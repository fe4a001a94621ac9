/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a script that is being run, row by row; script.c describes the
 * language. */
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
    char *got; /* the trace, SCRIPT_BYTES */
    size_t got_bytes;
};

/* The current row is wrong: prints ${what}, and the ${word} that it is
 * about. */
void script_error(struct script *script, const char *what, const char *word);

/* -------------------------------------------------------- client_steps.c -- */

/* Do a step of a client.  ${words} has the name of the step and its arguments,
 * and NULL behind the last.  False if there is no such step. */
bool client_step(struct script *script, struct client *client, char **words);

/* -------------------------------------------------------- server_steps.c -- */

/* Likewise for the server ${server}, from 0.  Prints errors itself. */
void server_step(struct script *script, int server, char **words);

/* Likewise for the member ${member} of etcd, from 0. */
void member_step(struct script *script, int member, char **words);

/* Likewise for other programs and all servers.  False if there is no such step,
 * or an argument is missing. */
bool other_client_step(struct script *script, char **words);

#endif
