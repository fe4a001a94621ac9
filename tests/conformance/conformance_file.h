/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance fixture of the file engine: a temporary root, one libuv loop
 * for all clients of a test, and a process for each client that is killed.
 * .finish checks that no lock directory is left.  Unit tests of the engine use
 * it too. */
#ifndef HF_TESTS_CONFORMANCE_CONFORMANCE_FILE_H
#define HF_TESTS_CONFORMANCE_CONFORMANCE_FILE_H

#include "conformance/fixture.h"

#define CONFORMANCE_FILE_PATH_BYTES 320

extern struct conformance_fixture conformance_file;

/* The root, between .begin and .finish.  The token floors of a user are in
 * ROOT/state-UID. */
const char *conformance_file_root(void);

/* Share the root with all users, and open clients with mode=1777 from now on.
 */
void conformance_file_share(void);

/* This process has the root at another path from now on. */
void conformance_file_move(const char *root);

/* The directory that has the tickets of ${queue}. */
void conformance_file_path(const char *queue,
                           char path[CONFORMANCE_FILE_PATH_BYTES]);

/* The last line of the logs of all clients since .begin. */
const char *conformance_file_log(void);
/* The number of those lines. */
unsigned conformance_file_log_lines(void);

#endif
