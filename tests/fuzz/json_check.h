/* SPDX-License-Identifier: Apache-2.0 */
/* Checks JSON by RFC 8259, independently of the writer under test. */
#ifndef HF_TESTS_FUZZ_JSON_CHECK_H
#define HF_TESTS_FUZZ_JSON_CHECK_H

#include <stdbool.h>

/* Is ${text} one value in UTF-8, with only white space around it? */
bool json_is_valid(const char *text);

#endif
