/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An examination of the service: one operation of the core, whose findings are
 * copied for the user.
 *
 * It is kept alive by the core until it is done with the operation, and by the
 * caller or the callback that gets the end.
 */
#ifndef HF_CLIENT_EXAMINATION_H
#define HF_CLIENT_EXAMINATION_H

#include "core/effect.h"
#include "core/engine.h"

/* Copy the findings that ${event}, an EXAMINED, brings, as
 * hf_queue_op_save_list() does.  With the lock. */
void hf_examination_save(const struct hf_event *event);

/* Carry out ${effect}, which is about the operation of an examination.  With
 * the lock. */
void hf_examination_handle_effect(const struct hf_effect *effect);

#endif
