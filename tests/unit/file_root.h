/* SPDX-License-Identifier: Apache-2.0 */
/* A temporary directory, and roots of the file engine that are opened in it.
 * For tests of which directories the engine takes and which it refuses; no
 * engine runs. */
#ifndef HF_TESTS_UNIT_FILE_ROOT_H
#define HF_TESTS_UNIT_FILE_ROOT_H

#include "engines/file/root_dir.h"

/* The directory of the test that runs now, mode 0700, with the set-up and
 * tear-down that make and remove it. */
extern char root_dir[64];
int root_begin(void **state);
int root_finish(void **state);

/* The settings that the engine takes from the URL ${text}. */
hf_status root_parse_url(const char *text,
                         struct hf_file_root_settings *settings,
                         struct hf_error *error);

/* Open file:${root}?state=${state}${query} as an engine does, and close it
 * again.  ${query} is "" or begins with '&'. */
hf_status root_open_with(const char *root, const char *state, const char *query,
                         struct hf_error *error);
/* The same with the state directory root_dir/state. */
hf_status root_open(const char *root, const char *query,
                    struct hf_error *error);

#endif
