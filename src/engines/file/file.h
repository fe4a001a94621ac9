/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file engine: queues are directories on this machine and tickets are
 * FIFOs, so that the kernel itself removes the dead and wakes the next.  See
 * docs/engine-file.md for what lies where and what is promised.
 *
 *     file:PATH?mode=0770&state=DIR
 */
#ifndef HF_ENGINES_FILE_FILE_H
#define HF_ENGINES_FILE_FILE_H

#include "core/engine.h"

extern const struct hf_engine_ops hf_engine_file;

#endif
