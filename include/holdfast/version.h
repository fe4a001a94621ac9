/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The version of the header that a program was compiled with.  hf_version()
 * returns the version of the library that it runs with.  Until 1.0 a minor
 * version may break the ABI and then changes the soname; from 1.0 on only a
 * major one.
 */
#ifndef HOLDFAST_VERSION_H
#define HOLDFAST_VERSION_H

#include <holdfast/attributes.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HF_VERSION_MAJOR 0
#define HF_VERSION_MINOR 1
#define HF_VERSION_PATCH 0

#define HF_VERSION_STRING_(a, b, c) #a "." #b "." #c
#define HF_VERSION_STRING_OF_(a, b, c) HF_VERSION_STRING_(a, b, c)
#define HF_VERSION_STRING                                                      \
    HF_VERSION_STRING_OF_(HF_VERSION_MAJOR, HF_VERSION_MINOR, HF_VERSION_PATCH)

/* 0xMMmmpp: compare with it in the preprocessor. */
#define HF_VERSION                                                             \
    ((HF_VERSION_MAJOR << 16) | (HF_VERSION_MINOR << 8) | HF_VERSION_PATCH)

/**
 * hf_version():
 * The version of the library in use, as HF_VERSION has it for the header.
 *   Thread    any.
 */
HF_API int hf_version(void);

#ifdef __cplusplus
}
#endif

#endif
