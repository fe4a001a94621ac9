/* SPDX-License-Identifier: Apache-2.0 */
/* Members of the double barrier CREW in directories, for tests of them. */
#ifndef HF_TESTS_UNIT_FILE_MEMBERS_H
#define HF_TESTS_UNIT_FILE_MEMBERS_H

#include <sys/types.h>

#include "conformance/bench_file.h"
#include "conformance/seat.h"

#define CREW "crew"
#define CREW_PATH_BYTES (BENCH_FILE_PATH_BYTES + 128)

/* A new member, and its end. */
struct hf_ticket_id crew_come(struct seat *seat);
void crew_go(struct seat *seat, struct hf_ticket_id id);

/* LIST and WATCH_QUEUE: answered with ${members} and, if ${marked}, the mark.
 */
struct call *crew_list(struct seat *seat, size_t members, bool marked);
struct call *crew_look(struct seat *seat, size_t members, bool marked);

/* NEW_GENERATION for ${limit} members. */
struct call *crew_stamp(struct seat *seat, struct hf_ticket_id id,
                        uint32_t limit);
/* CLEAR_FLAG: was it there, and is no more? */
bool crew_lower(struct seat *seat);

/* ${file} in the directory; and is it there? */
void crew_path(const char *file, char path[CREW_PATH_BYTES]);
bool crew_has(const char *file);
/* How many files are in the directory. */
unsigned crew_files(void);

/* A process that comes and waits to be killed, see file_story.h. */
pid_t crew_victim_start(void);

#endif
