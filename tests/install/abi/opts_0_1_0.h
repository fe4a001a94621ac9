/* SPDX-License-Identifier: Apache-2.0 */
/* The structs of options as 0.1.0 has them, under names of their own: what a
 * program that was compiled with 0.1.0 hands to a later library.  Never to be
 * changed once 0.1.0 is out. */
#ifndef OPTS_0_1_0_H
#define OPTS_0_1_0_H

#include <holdfast/holdfast.h>

struct hf_client_opts_0_1_0 {
    size_t size;
    enum hf_delivery delivery;
    uint64_t connect_ms;
    struct hf_on_state on_state;
    struct hf_on_log on_log;
    struct hf_reconnect reconnect;
    enum hf_loss_at loss_at;
};

struct hf_lock_opts_0_1_0 {
    size_t size;
    enum hf_kind kind;
    uint32_t permits;
    uint32_t limit;
};

struct hf_acquire_opts_0_1_0 {
    size_t size;
    uint64_t wait_ms;
    struct hf_on_wait on_wait;
    uint64_t on_wait_every_ms;
    struct hf_on_loss on_loss;
    struct hf_on_revoke on_revoke;
    const char *text;
    uint64_t owner;
};

struct hf_mutex_opts_0_1_0 {
    size_t size;
    uint64_t (*owner)(void *arg);
    void *owner_arg;
    uint32_t handoffs;
    const char *text;
    struct hf_on_mutex_revoke on_revoke;
};

struct hf_rwlock_opts_0_1_0 {
    size_t size;
    uint64_t (*owner)(void *arg);
    void *owner_arg;
    const char *text;
    struct hf_on_rwlock_revoke on_revoke;
};

struct hf_election_opts_0_1_0 {
    size_t size;
    enum hf_kind kind;
    const char *text;
    struct hf_on_election on_elected;
    struct hf_on_election on_deposed;
    struct hf_on_election on_revoke;
    struct hf_on_ended on_ended;
    const char *id;
};

#endif
