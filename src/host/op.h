/* SPDX-License-Identifier: Apache-2.0 */
/* What the user holds of an operation under way: embedded in what carries it
 * out, of which one is named. */
#ifndef HF_HOST_OP_H
#define HF_HOST_OP_H

struct hf_departure;
struct hf_election_wait;
struct hf_errand;
struct hf_grant;

struct hf_op {
    struct hf_grant *grant;
    struct hf_errand *errand;
    struct hf_departure *departure;
    struct hf_election_wait *election_wait;
};

/* With the client's lock: end the wait, if it has not ended. */
void hf_grant_cancel(struct hf_grant *grant);
void hf_errand_cancel(struct hf_errand *errand);
void hf_departure_cancel(struct hf_departure *departure);
void hf_election_wait_cancel(struct hf_election_wait *wait);

#endif
