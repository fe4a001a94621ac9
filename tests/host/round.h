/* SPDX-License-Identifier: Apache-2.0 */
/* A round for stories of double barriers: two parties of one client, on an
 * engine that obeys, and strangers. */
#ifndef HF_TESTS_ROUND_H
#define HF_TESTS_ROUND_H

#include "errand.h"
#include "scripted.h"

#define ROUNDS 20

struct round {
    struct front front;
    int pipe[2];
    struct hf_double_barrier *mine; /* each of two */
    struct hf_double_barrier *theirs;
};

/* Connected, and nobody is there. */
void round_open(struct round *w, enum way way);
void round_close(struct round *w);

/* After its client was closed and its parties freed: what else there is. */
void round_forget(struct round *w);

/* One more party, to be freed. */
struct hf_double_barrier *round_party(struct round *w, uint32_t parties);

/* Command the engine; the second is obeyed before anything that follows. */
void round_say(struct round *w, char command);
void round_say_first(struct round *w, char command);
bool round_is_obeyed(void *arg);
void round_connect(struct round *w);

enum round_call { ROUND_ENTER, ROUND_LEAVE, ROUND_MEMBERS };

/* One call in each way: begun, for errand_end(); and the same to its end. */
void round_begin(struct round *w, struct errand *e,
                 struct hf_double_barrier *barrier, enum round_call call,
                 uint64_t wait_ms);
hf_status round_run(struct round *w, struct hf_double_barrier *barrier,
                    enum round_call call, uint64_t wait_ms);

/* Both parties at once, well. */
void round_both(struct round *w, enum round_call call);

/* So many members there are, as somebody else is told who comes and goes; and
 * until there are. */
int round_there(struct round *w);
void round_until_there(struct round *w, int count);

#endif
