/* SPDX-License-Identifier: Apache-2.0 */
/* The file engine's surroundings: a temporary root, one uv loop for all
 * clients, and processes of their own for those that are to be killed.
 * .finish sees that no lock is left in the root. */
#ifndef HF_TESTS_CONFORMANCE_CONFORMANCE_FILE_H
#define HF_TESTS_CONFORMANCE_CONFORMANCE_FILE_H

#include "conformance/fixture.h"

#define CONFORMANCE_FILE_PATH_BYTES 320

extern struct conformance_fixture conformance_file;

/* The root between .begin and .finish; floors are ROOT/state-UID. */
const char *conformance_file_root(void);

/* From now on the root is for all users. */
void conformance_file_share(void);

/* From now on the root is seen at ${root}, in this process. */
void conformance_file_move(const char *root);

/* The directory of a lock. */
void conformance_file_path(const char *queue,
                           char path[CONFORMANCE_FILE_PATH_BYTES]);

/* The last line that any client logged since .begin. */
const char *conformance_file_log(void);

#endif
