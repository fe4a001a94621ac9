/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The findings that an engine collects for one HF_REQUEST_EXAMINE.  An engine
 * that looks somewhere adds a finding also if all is well there, so that a
 * reader knows what was looked at; and HF_SEVERITY_UNKNOWN where it may not
 * look.
 */
#ifndef HF_CORE_FINDING_LIST_H
#define HF_CORE_FINDING_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include <holdfast/findings.h>

/* The most findings of an answer.  When there is no room for all, the last one
 * says so. */
#define HF_FINDINGS_MAX 256

/* Room for each text of a finding, with its NUL; longer ones are cut. */
#define HF_FINDING_TEXT_BYTES 512

/* Zeroed: empty. */
struct hf_finding_list {
    struct hf_finding *items;
    size_t count;
    size_t room;
    bool failed; /* memory has run out, and findings are missing */
};

/* What a finding says besides ${format}.  All texts are copied. */
struct hf_finding_head {
    enum hf_severity severity;
    const char *id;
    const char *subject;
    const char *advice; /* NULL: none */
};

/* Add a finding whose .text is ${format}. */
void hf_finding_add(struct hf_finding_list *list,
                    const struct hf_finding_head *head, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Add the finding "plain-text": can what is sent to ${host}, a name or an
 * address, be read and changed on the way?  Not with ${tls}, nor within this
 * machine.  ${url}: what the advice says to write in the URL, such as "zks:".
 */
void hf_finding_add_transport(struct hf_finding_list *list, const char *host,
                              bool tls, const char *url);

/* Add copies of the findings of ${more}. */
void hf_finding_list_append(struct hf_finding_list *list,
                            const struct hf_finding_list *more);

/* Set ${copy}, which is empty, to the findings of ${list}.  False for lack of
 * memory; it is empty then. */
bool hf_finding_list_copy(const struct hf_finding_list *list,
                          struct hf_finding_list *copy);

/* Free what it has; it is empty then. */
void hf_finding_list_free(struct hf_finding_list *list);

#endif
