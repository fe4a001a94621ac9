/* SPDX-License-Identifier: Apache-2.0 */
/* A temporary directory for roots, and roots opened in it. */
#ifndef HF_TESTS_UNIT_FILE_ROOT_H
#define HF_TESTS_UNIT_FILE_ROOT_H

#include "engines/file/root_dir.h"

/* The directory of this test: root's, mode 0700.  Set-up and tear-down. */
extern char root_dir[64];
int root_begin(void **state);
int root_finish(void **state);

/* What the engine makes of the URL ${text}. */
hf_status root_parse_url(const char *text, struct hf_root_settings *settings,
                         struct hf_error *error);

/* Open the place file:${root}?state=${state}${query} and close it again. */
hf_status root_open_with(const char *root, const char *state, const char *query,
                         struct hf_error *error);
/* The same with a state directory in root_dir. */
hf_status root_open(const char *root, const char *query,
                    struct hf_error *error);

#endif
