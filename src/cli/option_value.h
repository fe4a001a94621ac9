/* SPDX-License-Identifier: Apache-2.0 */
/* Values of options that several commands take, and what is said of an option
 * that cannot be taken.  All are for use behind getopt_long(), whose optarg and
 * optind they read; ${argv} is what it was given. */
#ifndef HF_CLI_OPTION_VALUE_H
#define HF_CLI_OPTION_VALUE_H

#include <stdint.h>

#include <holdfast/holdfast.h>

/* The value of this option as a duration.  HF_EINVAL with ${error}. */
hf_status hf_option_duration(char **argv, uint64_t *ms, struct hf_error *error);

/* The value of this option as a number from ${least} to ${most}.  HF_EINVAL
 * with ${error}. */
hf_status hf_option_number(char **argv, uint64_t least, uint64_t most,
                           uint64_t *number, struct hf_error *error);

/* Fill ${error} after getopt_long(), called with ':' for its errors, has
 * answered ${answer}, ':' or '?'; HF_EINVAL.  ${command} is "show", for
 * instance. */
hf_status hf_option_refuse(const char *command, char **argv, int answer,
                           struct hf_error *error);

#endif
