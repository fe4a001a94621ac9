/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nemesis kills and freezes workers at random, as Jepsen's process does by
 * that name: half of the faults hit a worker that holds a lock, because that is
 * when a lock service can go wrong.
 */
#ifndef HF_TORTURE_NEMESIS_H
#define HF_TORTURE_NEMESIS_H

#include "torture/workers.h"

/* Look after ${workers} and inject faults until .opts->for_ms have passed or
 * .ending is set.  The choices follow from .opts->seed. */
void hf_nemesis_run(struct hf_workers *workers);

#endif
