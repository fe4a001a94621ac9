/* SPDX-License-Identifier: Apache-2.0 */
/* Members of the double barrier CREW in directories, for tests of them. */
#ifndef HF_TESTS_UNIT_FILE_PARTICIPANTS_H
#define HF_TESTS_UNIT_FILE_PARTICIPANTS_H

#include <sys/types.h>

#include "conformance/conformance_file.h"
#include "conformance/engine_client.h"

#define BARRIER "crew"
#define BARRIER_PATH_BYTES (CONFORMANCE_FILE_PATH_BYTES + 128)

/* A new member, and its end. */
struct hf_ticket_id participant_enter(struct engine_client *client);
void participant_leave(struct engine_client *client, struct hf_ticket_id id);

/* LIST and WATCH_QUEUE: answered with ${members} and, if ${marked}, the mark.
 */
struct client_request *participants_list(struct engine_client *client,
                                         size_t participants, bool has_flag);
struct client_request *participants_look(struct engine_client *client,
                                         size_t participants, bool has_flag);

/* NEW_GENERATION for ${limit} members. */
struct client_request *participants_new_generation(struct engine_client *client,
                                                   struct hf_ticket_id id,
                                                   uint32_t limit);
/* CLEAR_FLAG: was it there, and is no more? */
bool participants_lower(struct engine_client *client);

/* ${file} in the directory; and is it there? */
void participants_path(const char *file, char path[BARRIER_PATH_BYTES]);
bool participants_has(const char *file);
/* How many files are in the directory. */
unsigned participants_files(void);

/* A process that comes and waits to be killed, see file_fixture.h. */
pid_t participant_victim_start(void);

#endif
