/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HF_REQUEST_EXAMINE: ask each server of the URL by itself, and then ask
 * through the session (zk_examine.h).
 *
 * Each server gets three connections at once: the command "srvr", which shows
 * its version and its mode, and two sessions that ask for the least and for the
 * greatest timeout and are closed at once.
 */
#ifndef HF_ENGINES_ZOOKEEPER_EXAMINE_SERVERS_H
#define HF_ENGINES_ZOOKEEPER_EXAMINE_SERVERS_H

#include "engines/zookeeper/zk_engine.h"
#include "zookeeper_io/zk_io.h"

struct server_examination;

/* The engine of one client: the tickets of zk_engine.h and the I/O that drives
 * their session.  It is used with the client's lock held, by any thread that
 * calls into the engine or runs its loop. */
struct hf_engine {
    struct hf_engine_host host;
    char *description; /* servers and chroot, as a URL */
    struct hf_zk_engine *zk;
    struct hf_zk_io io;
    struct server_examination *examinations; /* the newest first */
};

/* Carry out ${request}. */
void hf_zk_engine_examine_servers(struct hf_engine *engine,
                                  struct hf_request *request);

/* To be called before the session is closed: answer the examinations that still
 * wait for servers, or for a session. */
void hf_zk_engine_end_server_examinations(struct hf_engine *engine);

/* In the child of a fork: close descriptors only. */
void hf_zk_engine_server_examinations_after_fork(
    const struct hf_engine *engine);

#endif
