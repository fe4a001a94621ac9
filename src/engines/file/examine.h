/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HF_REQUEST_EXAMINE: what is so with the root directory, the filesystem that
 * it is on, the token floor, inotify, and other root directories of this
 * machine.
 */
#ifndef HF_ENGINES_FILE_EXAMINE_H
#define HF_ENGINES_FILE_EXAMINE_H

#include "core/engine.h"
#include "core/finding_list.h"
#include "engines/file/root_settings.h"

/* Carry out ${request}. */
void hf_file_examine(struct hf_engine *engine, struct hf_request *request);

/* other_roots.c: add the root directories of this machine that are not
 * ${settings}->root. */
void hf_file_examine_other_roots(const struct hf_file_root_settings *settings,
                                 struct hf_finding_list *list);

#endif
