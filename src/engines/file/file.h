/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file engine.  Queues are directories on this machine and tickets are
 * FIFOs, so that the kernel itself ends the ticket of a dead process and wakes
 * the process that waits for it.  docs/engine-file.md has the layout on disk,
 * what is promised, and a picture of the parts.  The functions that the core
 * calls are in engine.c.
 *
 *      file:PATH?mode=0770&state=DIR
 */
#ifndef HF_ENGINES_FILE_FILE_H
#define HF_ENGINES_FILE_FILE_H

#include "core/engine.h"

extern const struct hf_engine_ops hf_engine_file;

#endif
