/* SPDX-License-Identifier: Apache-2.0 */
/* Is it JSON?  By RFC 8259 and by nothing of ours. */
#ifndef HF_TESTS_FUZZ_JSON_CHECK_H
#define HF_TESTS_FUZZ_JSON_CHECK_H

#include <stdbool.h>

/* One value, with nothing but white space around it, in UTF-8. */
bool json_is_valid(const char *text);

#endif
