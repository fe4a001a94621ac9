/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HF_REQUEST_LIST, and the lists that other requests need.
 *
 * What decides about an admission is read in a transaction that goes through
 * the log.  A plain read may be older than it seems: releases before 3.4.42,
 * 3.5.28 and 3.6.9 answer it from an old state after a pause of their process
 * (etcd-io/etcd #20418).  A list for people is a plain read.
 */
#ifndef HF_ENGINES_ETCD_LIST_QUEUE_H
#define HF_ENGINES_ETCD_LIST_QUEUE_H

#include "engines/etcd/etcd_request.h"

/* List the queue for our ticket ${own}, whose state is QUEUED, and answer
 * ${req}, which is an ENQUEUE or LIST of that ticket. */
void hf_etcd_engine_list_own(struct hf_etcd_engine_request *req,
                             struct hf_etcd_engine_own_ticket *own);

/* Read the whole queue for a decision: all keys with ${role}.  Then call
 * ${then}. */
void hf_etcd_engine_list_all(struct hf_etcd_engine_request *req,
                             enum hf_etcd_engine_role role,
                             hf_etcd_engine_begin *then);

#endif
