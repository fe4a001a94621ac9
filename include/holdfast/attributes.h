/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes of the functions below: what they export, and what a compiler
 * that understands GNU attributes can check.
 */
#ifndef HOLDFAST_ATTRIBUTES_H
#define HOLDFAST_ATTRIBUTES_H

#if defined(__GNUC__) && defined(HF_BUILDING)
#define HF_API __attribute__((visibility("default")))
#else
#define HF_API
#endif

#if defined(__GNUC__)
#define HF_NONNULL(...) __attribute__((nonnull(__VA_ARGS__)))
#define HF_MUST_CHECK __attribute__((warn_unused_result))
#else
#define HF_NONNULL(...)
#define HF_MUST_CHECK
#endif

#endif
