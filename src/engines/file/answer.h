/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers to the core.  An answer is one event that names its request.
 *
 * The core may call back into the engine from inside an answer: it may forget
 * any watch, remove any ticket or end the session.  So a part answers last, or
 * looks again at what it still needs.
 */
#ifndef HF_ENGINES_FILE_ANSWER_H
#define HF_ENGINES_FILE_ANSWER_H

#include "core/engine.h"

/* Answer ${request} with an event of ${kind} that carries nothing else. */
void hf_file_answer(struct hf_engine *engine, struct hf_request *request,
                    enum hf_event_kind kind);

/* The same, with .found set to ${found}: whether the ticket or the barrier was
 * there. */
void hf_file_answer_found(struct hf_engine *engine, struct hf_request *request,
                          enum hf_event_kind kind, bool found);

/* Answer HF_EVENT_FAILED with the status and the text of ${error}, which is
 * not HF_OK.  ${failure} says whether the core is to ask again. */
void hf_file_fail(struct hf_engine *engine, struct hf_request *request,
                  enum hf_failure failure, const struct hf_error *error);

/* The same, with ${failure} taken from the class of the status: an error that
 * passes by itself is retried, one that the user must mend is final. */
void hf_file_fail_by_status(struct hf_engine *engine,
                            struct hf_request *request,
                            const struct hf_error *error);

#endif
