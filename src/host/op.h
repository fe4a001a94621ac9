/* SPDX-License-Identifier: Apache-2.0 */
/* What the user holds of an operation under way: embedded, as .op, in what
 * carries it out. */
#ifndef HF_HOST_OP_H
#define HF_HOST_OP_H

struct hf_departure;
struct hf_election_wait;
struct hf_errand;
struct hf_grant;

enum hf_op_kind {
    HF_OP_GRANT,
    HF_OP_ERRAND,
    HF_OP_DEPARTURE,
    HF_OP_ELECTION_WAIT,
};

struct hf_op {
    enum hf_op_kind kind; /* of what it is embedded in */
};

/* All with the client's lock. */

/* hf_op_cancel(). */
void hf_op_end_wait(struct hf_op *op);

/* End the wait, if it has not ended. */
void hf_grant_cancel(struct hf_grant *grant);
void hf_errand_cancel(struct hf_errand *errand);
void hf_departure_cancel(struct hf_departure *departure);
void hf_election_wait_cancel(struct hf_election_wait *wait);

#endif
