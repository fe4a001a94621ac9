/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client counts of its grants, and the events that its user gets of
 * them.  Nothing happens if there is neither, or if the grant is that of a
 * participant of a double barrier.
 *
 * All with the client's lock.
 */
#ifndef HF_HOST_GRANT_METRICS_H
#define HF_HOST_GRANT_METRICS_H

#include "client/grant.h"

/* It is asked for. */
void hf_grant_metrics_begun(struct hf_grant *grant);
/* It was granted; the acquire ended without a grant, with
 * .acquisition.status. */
void hf_grant_metrics_granted(struct hf_grant *grant);
void hf_grant_metrics_ended(struct hf_grant *grant);
/* A call releases it; it was lost before. */
void hf_grant_metrics_released(struct hf_grant *grant);
void hf_grant_metrics_lost(struct hf_grant *grant);
/* The release has ended, with .acquisition.status. */
void hf_grant_metrics_release_ended(struct hf_grant *grant);
/* Somebody asks for its release. */
void hf_grant_metrics_revoked(struct hf_grant *grant);

/* The engine reports ${event}, and the core has not seen it yet: perhaps the
 * ticket ahead of one of ours is gone, or there is one. */
void hf_grant_metrics_event(const struct hf_client *client,
                            const struct hf_event *event);

#endif
