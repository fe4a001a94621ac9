/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of options that several commands have, and errors about options.  To
 * be called after getopt_long(), whose optarg, optind and optopt they read;
 * ${argv} is what it was given.
 */
#ifndef HF_CLI_OPTION_VALUE_H
#define HF_CLI_OPTION_VALUE_H

#include <stdint.h>

#include <holdfast/holdfast.h>

/* The value of the current option as a duration.  HF_EINVAL with ${error}. */
hf_status hf_option_duration(char **argv, uint64_t *ms, struct hf_error *error);

/* The value of the current option as a number from ${least} to ${most}.
 * HF_EINVAL with ${error}. */
hf_status hf_option_number(char **argv, uint64_t least, uint64_t most,
                           uint64_t *number, struct hf_error *error);

/* getopt_long(), called with a leading ':', has returned ${answer}, ':' or
 * '?'.  Fill ${error}, which refers to `holdfast ${command} --help`, and
 * return HF_EINVAL. */
hf_status hf_option_refuse(const char *command, char **argv, int answer,
                           struct hf_error *error);

#endif
