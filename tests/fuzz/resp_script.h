/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of our script as a call of the lease store. */
#ifndef HF_TESTS_FUZZ_RESP_SCRIPT_H
#define HF_TESTS_FUZZ_RESP_SCRIPT_H

#include "engines/leased/store.h"

/* Words of one command. */
#define RESP_WORDS_MAX 128

/* Its strings are those of the command.  It points into itself, so it must
 * not be moved. */
struct resp_script {
    struct hf_store_call call;
    const char *word; /* name of the operation */
    bool numbered;    /* for one of several servers */
    struct hf_ticket_id ids[RESP_WORDS_MAX];
    struct hf_store_ticket_set ticket_set;
};

/* Read the first of the KEYS of a script and its ARGV, ${count} words from the
 * operation on.  Both are changed. */
void resp_script_read(struct resp_script *script, char *key, char **words,
                      size_t count);

struct hf_ticket_id resp_id(const char *word);

#endif
