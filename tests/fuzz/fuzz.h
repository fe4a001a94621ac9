/* SPDX-License-Identifier: Apache-2.0 */
/* What a fuzz target is made of.  A target defines LLVMFuzzerTestOneInput()
 * and ends the program when a property does not hold.  libFuzzer calls it
 * with new inputs, replay.c with the files of the corpus. */
#ifndef HF_TESTS_FUZZ_H
#define HF_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Not assert(), because it must hold in every build. */
#define MUST(property)                                                         \
    do {                                                                       \
        if (!(property)) {                                                     \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__,  \
                    #property);                                                \
            abort();                                                           \
        }                                                                      \
    } while (0)

/* A copy of ${data} with a NUL behind it, in memory of exactly that size, so
 * that AddressSanitizer sees any read behind it.  The caller frees it. */
static inline char *fuzz_text(const uint8_t *data, size_t bytes)
{
    char *text = malloc(bytes + 1);

    MUST(text != NULL);
    for (size_t i = 0; i < bytes; i++)
        text[i] = (char)data[i];
    text[bytes] = '\0';
    return text;
}

#endif
