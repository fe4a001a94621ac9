/* SPDX-License-Identifier: Apache-2.0 */
/* The double barrier BARRIER in the file engine, for tests of its participants
 * and of the file that says its generation, the flag. */
#ifndef HF_TESTS_UNIT_FILE_PARTICIPANTS_H
#define HF_TESTS_UNIT_FILE_PARTICIPANTS_H

#include <sys/types.h>

#include "conformance/conformance_file.h"
#include "conformance/engine_client.h"

#define BARRIER "barrier"
#define BARRIER_PATH_BYTES (CONFORMANCE_FILE_PATH_BYTES + 128)

/* Enqueue a participant; remove it, it must be there. */
struct hf_ticket_id participant_enter(struct engine_client *client);
void participant_leave(struct engine_client *client, struct hf_ticket_id id);

/* LIST, and WATCH_QUEUE.  The answer must have that many participants, and the
 * flag if ${has_flag}. */
struct client_request *participants_list(struct engine_client *client,
                                         size_t participants, bool has_flag);
struct client_request *participants_look(struct engine_client *client,
                                         size_t participants, bool has_flag);

/* NEW_GENERATION by the participant ${id}, if ${limit} participants are there.
 */
struct client_request *participants_new_generation(struct engine_client *client,
                                                   struct hf_ticket_id id,
                                                   uint32_t limit);
/* Clear the flag.  True if it was set. */
bool participants_clear(struct engine_client *client);

/* The path of ${file} in the directory of the barrier; true if it exists. */
void participants_path(const char *file, char path[BARRIER_PATH_BYTES]);
bool participants_has(const char *file);
/* Files in that directory. */
unsigned participants_files(void);

/* A process with one participant, to be killed; see file_fixture.h. */
pid_t participant_victim_start(void);

#endif
