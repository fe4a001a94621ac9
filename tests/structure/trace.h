/* SPDX-License-Identifier: Apache-2.0 */
/* Records which functions are entered, in every thread, of files that were
 * compiled with -finstrument-functions. */
#ifndef HF_TESTS_STRUCTURE_TRACE_H
#define HF_TESTS_STRUCTURE_TRACE_H

/* From here on each entry is recorded. Before that and after trace_print()
 * none is. */
void trace_start(void);

/* Print what was recorded on standard output: a line "= ${what}", and for each
 * entry in order one with the number of the thread, how many recorded
 * functions are on its stack, and the address in hexadecimal digits.  More
 * entries than there is room for end the program. */
void trace_print(const char *what);

#endif
