/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages of etcd's API, version 3, that are needed here.  Their names and
 * fields are those of etcd's rpc.proto and kv.proto.  Fields of answers that
 * nobody needs are left out.
 *
 * A request is appended to an empty buffer (protobuf.h).  A transaction is
 * appended by several calls in any order:
 *
 *     hf_etcd_txn_compare(&request, &comparison);
 *     hf_etcd_txn_put(&request, HF_ETCD_SUCCESS, &put);
 *     hf_etcd_txn_range(&request, HF_ETCD_FAILURE, &range);
 *
 * An answer is read as a whole: hf_etcd_read_...() returns false if the bytes
 * are no such message, down to the last nested message.  So walking through the
 * lists of an answer cannot fail.  What was read points into the bytes of the
 * answer.
 */
#ifndef HF_ETCD_MESSAGE_H
#define HF_ETCD_MESSAGE_H

#include "etcd/protobuf.h"

/* -------------------------------------------------------------- requests -- */

enum hf_etcd_sort_order {
    HF_ETCD_UNSORTED = 0,
    HF_ETCD_ASCENDING = 1,
    HF_ETCD_DESCENDING = 2,
};

enum hf_etcd_sort_target {
    HF_ETCD_BY_KEY = 0,
    HF_ETCD_BY_VERSION = 1,
    HF_ETCD_BY_CREATE_REVISION = 2,
    HF_ETCD_BY_MOD_REVISION = 3,
    HF_ETCD_BY_VALUE = 4,
};

/* RangeRequest: the keys from .key up to .range_end, which is not included.
 * Without .range_end only the key .key. */
struct hf_etcd_range {
    struct hf_etcd_bytes key;
    struct hf_etcd_bytes range_end;
    int64_t limit;    /* 0: all */
    int64_t revision; /* 0: now */
    enum hf_etcd_sort_order order;
    enum hf_etcd_sort_target target;
    bool serializable; /* read the state of the server itself, which may be
                          old */
    bool keys_only;
    bool count_only;
    int64_t min_create_revision; /* 0: any */
    int64_t max_create_revision; /* 0: any */
};

/* PutRequest.  If neither .lease nor .ignore_lease is set, the key is attached
 * to no lease afterwards, even if it was before. */
struct hf_etcd_put {
    struct hf_etcd_bytes key;
    struct hf_etcd_bytes value;
    int64_t lease;
    bool ignore_value; /* keep the value of the key; refused if the key is
                          not there */
    bool ignore_lease; /* keep the lease of the key; refused if the key is
                          not there */
};

/* DeleteRangeRequest.  .key and .range_end as in a range. */
struct hf_etcd_delete {
    struct hf_etcd_bytes key;
    struct hf_etcd_bytes range_end;
    bool prev_kv; /* the answer has what was deleted */
};

enum hf_etcd_comparison_result {
    HF_ETCD_EQUAL = 0,
    HF_ETCD_GREATER = 1,
    HF_ETCD_LESS = 2,
    HF_ETCD_NOT_EQUAL = 3,
};

enum hf_etcd_comparison_target {
    HF_ETCD_VERSION = 0,
    HF_ETCD_CREATE_REVISION = 1, /* 0: the key is not there */
    HF_ETCD_MOD_REVISION = 2,
    HF_ETCD_VALUE = 3,
    HF_ETCD_LEASE = 4,
};

/* Compare.  It holds if .target of the key has the relation .result to .number,
 * or to .value. */
struct hf_etcd_comparison {
    struct hf_etcd_bytes key;
    struct hf_etcd_bytes range_end; /* if given, it must hold for all keys of
                                       the range */
    enum hf_etcd_comparison_target target;
    enum hf_etcd_comparison_result result;
    int64_t number;             /* for all targets but VALUE */
    struct hf_etcd_bytes value; /* for VALUE */
};

/* The two lists of operations of a transaction.  SUCCESS is carried out if all
 * comparisons hold, otherwise FAILURE. */
enum hf_etcd_branch {
    HF_ETCD_SUCCESS = 2,
    HF_ETCD_FAILURE = 3,
};

void hf_etcd_write_range(struct hf_etcd_buffer *request,
                         const struct hf_etcd_range *range);
void hf_etcd_write_put(struct hf_etcd_buffer *request,
                       const struct hf_etcd_put *put);
void hf_etcd_write_delete(struct hf_etcd_buffer *request,
                          const struct hf_etcd_delete *deletion);

/* Append to the transaction ${request}.  Comparisons keep their order, and so
 * do the operations of one branch.  Within a branch no key may be put twice, or
 * both put and deleted. */
void hf_etcd_txn_compare(struct hf_etcd_buffer *request,
                         const struct hf_etcd_comparison *comparison);
void hf_etcd_txn_range(struct hf_etcd_buffer *request,
                       enum hf_etcd_branch branch,
                       const struct hf_etcd_range *range);
void hf_etcd_txn_put(struct hf_etcd_buffer *request, enum hf_etcd_branch branch,
                     const struct hf_etcd_put *put);
void hf_etcd_txn_delete(struct hf_etcd_buffer *request,
                        enum hf_etcd_branch branch,
                        const struct hf_etcd_delete *deletion);

/* LeaseGrantRequest, with ${ttl_s} in seconds. */
void hf_etcd_write_grant(struct hf_etcd_buffer *request, int64_t lease,
                         int64_t ttl_s);
/* LeaseRevokeRequest and LeaseKeepAliveRequest. */
void hf_etcd_write_revoke(struct hf_etcd_buffer *request, int64_t lease);
void hf_etcd_write_keep_alive(struct hf_etcd_buffer *request, int64_t lease);
/* LeaseTimeToLiveRequest.  ${keys}: ask for the keys of the lease, too. */
void hf_etcd_write_time_to_live(struct hf_etcd_buffer *request, int64_t lease,
                                bool keys);

/* WatchCreateRequest: report the events of these keys from .start_revision on.
 */
struct hf_etcd_watch_create {
    struct hf_etcd_bytes key;
    struct hf_etcd_bytes range_end;
    int64_t start_revision; /* 0: only events that are still to come */
    int64_t watch_id;       /* chosen by us: not 0, and in use by no other
                               watch of the stream */
};

void hf_etcd_write_watch_create(struct hf_etcd_buffer *request,
                                const struct hf_etcd_watch_create *create);
void hf_etcd_write_watch_cancel(struct hf_etcd_buffer *request,
                                int64_t watch_id);

void hf_etcd_write_authenticate(struct hf_etcd_buffer *request,
                                const char *user, const char *password);

/* AlarmRequest: which alarms are there? */
void hf_etcd_write_alarm_get(struct hf_etcd_buffer *request);
/* MemberListRequest and StatusRequest have no fields: send an empty buffer. */

/* --------------------------------------------------------------- answers -- */

/* ResponseHeader. */
struct hf_etcd_header {
    uint64_t cluster_id;
    uint64_t member_id;
    int64_t revision;
    uint64_t raft_term; /* of the last entry that the member had applied */
};

struct hf_etcd_key_value {
    struct hf_etcd_bytes key;
    int64_t create_revision;
    int64_t mod_revision;
    int64_t version;
    struct hf_etcd_bytes value;
    int64_t lease; /* 0: none */
};

/* The messages of a repeated field that were not walked through yet.  Only the
 * functions hf_etcd_next_...() use the members. */
struct hf_etcd_list {
    struct hf_etcd_reader rest;
    unsigned number; /* number of the field */
    size_t count;    /* number of all messages, from the beginning */
};

/* RangeResponse. */
struct hf_etcd_range_answer {
    struct hf_etcd_header header; /* zeros inside of a transaction's answer */
    struct hf_etcd_list kvs;      /* walk with hf_etcd_next_kv() */
    bool more;                    /* .limit has left out keys */
    int64_t count;                /* number of all keys of the range */
};

/* Set ${kv} to the next key and value of ${list}.  Returns false at the end. */
bool hf_etcd_next_kv(struct hf_etcd_list *list, struct hf_etcd_key_value *kv);

/* DeleteRangeResponse.  (PutResponse is only a header.) */
struct hf_etcd_delete_answer {
    struct hf_etcd_header header;
    int64_t deleted;
    struct hf_etcd_list prev_kvs; /* walk with hf_etcd_next_kv() */
};

/* TxnResponse. */
struct hf_etcd_txn_answer {
    struct hf_etcd_header header;
    bool succeeded;                /* true: SUCCESS was carried out; false:
                                      FAILURE */
    struct hf_etcd_list responses; /* walk with hf_etcd_next_response() */
};

enum hf_etcd_response_kind {
    HF_ETCD_RANGE_RESPONSE = 1,
    HF_ETCD_PUT_RESPONSE = 2,
    HF_ETCD_DELETE_RESPONSE = 3,
};

/* ResponseOp: the answer to one operation of a transaction. */
struct hf_etcd_response {
    enum hf_etcd_response_kind kind;
    struct hf_etcd_range_answer range;    /* RANGE_RESPONSE */
    struct hf_etcd_delete_answer deleted; /* DELETE_RESPONSE */
};

bool hf_etcd_next_response(struct hf_etcd_list *list,
                           struct hf_etcd_response *response);

bool hf_etcd_read_range(struct hf_etcd_bytes message,
                        struct hf_etcd_range_answer *answer);
bool hf_etcd_read_delete(struct hf_etcd_bytes message,
                         struct hf_etcd_delete_answer *answer);
bool hf_etcd_read_txn(struct hf_etcd_bytes message,
                      struct hf_etcd_txn_answer *answer);

/* Read the header of an answer.  Every answer of this file has one, in its
 * first field. */
bool hf_etcd_read_header(struct hf_etcd_bytes message,
                         struct hf_etcd_header *header);

/* LeaseGrantResponse and LeaseKeepAliveResponse.  In the answer to a keep-alive
 * .ttl_s is 0 if the lease does not exist. */
struct hf_etcd_lease_answer {
    struct hf_etcd_header header;
    int64_t lease;
    int64_t ttl_s;
};

bool hf_etcd_read_lease(struct hf_etcd_bytes message,
                        struct hf_etcd_lease_answer *answer);

/* LeaseTimeToLiveResponse. */
struct hf_etcd_time_to_live_answer {
    struct hf_etcd_header header;
    int64_t lease;
    int64_t ttl_s; /* seconds that are left; -1: the lease does not exist */
    int64_t granted_ttl_s;
    struct hf_etcd_list keys; /* walk with hf_etcd_next_text() */
};

bool hf_etcd_read_time_to_live(struct hf_etcd_bytes message,
                               struct hf_etcd_time_to_live_answer *answer);

/* Set ${text} to the next text or key of ${list}.  Returns false at the end. */
bool hf_etcd_next_text(struct hf_etcd_list *list, struct hf_etcd_bytes *text);

/* WatchResponse. */
struct hf_etcd_watch_answer {
    struct hf_etcd_header header;
    int64_t watch_id; /* -1: no watch, because it could not be created */
    bool created;
    bool canceled;
    int64_t compact_revision; /* not 0: the revision to watch from is
                                 compacted */
    struct hf_etcd_bytes cancel_reason;
    bool fragment;              /* more events of the same revision follow */
    struct hf_etcd_list events; /* walk with hf_etcd_next_event() */
};

struct hf_etcd_event {
    bool deleted; /* false: put */
    /* Of a deletion: only the key, and the revision of the deletion as
     * .mod_revision. */
    struct hf_etcd_key_value kv;
};

bool hf_etcd_read_watch(struct hf_etcd_bytes message,
                        struct hf_etcd_watch_answer *answer);
bool hf_etcd_next_event(struct hf_etcd_list *list, struct hf_etcd_event *event);

/* AuthenticateResponse. */
bool hf_etcd_read_authenticate(struct hf_etcd_bytes message,
                               struct hf_etcd_bytes *token);

/* StatusResponse: what one member says of itself. */
struct hf_etcd_status_answer {
    struct hf_etcd_header header;
    struct hf_etcd_bytes version; /* "3.4.23" */
    int64_t db_size;              /* bytes on disk */
    int64_t db_size_in_use;       /* bytes in use; 0: not known (before 3.4) */
    uint64_t leader;              /* the leader's member id; 0: no leader is
                                     known */
    uint64_t raft_index;
    uint64_t raft_term;
    uint64_t raft_applied_index;
    struct hf_etcd_list errors; /* walk with hf_etcd_next_text() */
    bool is_learner;
};

bool hf_etcd_read_status(struct hf_etcd_bytes message,
                         struct hf_etcd_status_answer *answer);

/* MemberListResponse. */
struct hf_etcd_member {
    uint64_t id;
    struct hf_etcd_bytes name;       /* empty: the member has not started yet */
    struct hf_etcd_list peer_urls;   /* walk with hf_etcd_next_text() */
    struct hf_etcd_list client_urls; /* walk with hf_etcd_next_text() */
    bool is_learner;
};

struct hf_etcd_member_list_answer {
    struct hf_etcd_header header;
    struct hf_etcd_list members;
};

bool hf_etcd_read_member_list(struct hf_etcd_bytes message,
                              struct hf_etcd_member_list_answer *answer);
bool hf_etcd_next_member(struct hf_etcd_list *list,
                         struct hf_etcd_member *member);

/* AlarmResponse. */
enum hf_etcd_alarm_type {
    HF_ETCD_ALARM_NONE = 0,
    HF_ETCD_ALARM_NOSPACE = 1,
    HF_ETCD_ALARM_CORRUPT = 2,
};

struct hf_etcd_alarm {
    uint64_t member_id;
    int64_t type; /* enum hf_etcd_alarm_type, or another number */
};

struct hf_etcd_alarm_answer {
    struct hf_etcd_header header;
    struct hf_etcd_list alarms;
};

bool hf_etcd_read_alarms(struct hf_etcd_bytes message,
                         struct hf_etcd_alarm_answer *answer);
bool hf_etcd_next_alarm(struct hf_etcd_list *list, struct hf_etcd_alarm *alarm);

/* ------------------------------------------------------------------ keys -- */

/* Return the end of the range of all keys that begin with ${prefix}: the prefix
 * without the bytes 0xff at its end, and with its last byte one higher.  The
 * end is written to ${end}, which must have room for as many bytes as the
 * prefix has.  If the prefix is empty or has only bytes 0xff, nothing is
 * written, and the end is "\0", which stands for "no end" in etcd. */
struct hf_etcd_bytes hf_etcd_prefix_end(struct hf_etcd_bytes prefix, void *end);

#endif
