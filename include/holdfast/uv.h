/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holdfast on a borrowed libuv loop: the third way to be called back.
 */
#ifndef HOLDFAST_UV_H
#define HOLDFAST_UV_H

#include <holdfast/holdfast.h>
#include <holdfast/zookeeper.h>
#include <uv.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * hf_client_open_uv(loop, url, opts, client):
 * As hf_client_open(), with every callback run by ${loop}.  No thread is
 * started.  Two handles of the library keep ${loop} alive until the client is
 * closed with hf_client_close_start() and its callback has run.
 *   Ownership ${loop} is borrowed until then.
 *   Thread    the one that runs ${loop}.  Other threads may use the client and
 *             its calls that wait; on this thread those are refused with
 *             HF_EREENTRANT, hf_client_close() included.
 *   Fails     as hf_client_open(); HF_EINVAL if ${opts}->delivery is not 0.
 */
HF_API hf_status hf_client_open_uv(uv_loop_t *loop, const char *url,
                                   const struct hf_client_opts *opts,
                                   struct hf_client **client)
    HF_NONNULL(1, 4) HF_MUST_CHECK;

/**
 * hf_zookeeper_open_uv(loop, url, opts, zookeeper):
 * As hf_zookeeper_open(), with every callback run by ${loop}, as
 * hf_client_open_uv() does it.  The handle is closed with
 * hf_zookeeper_close_start().
 *   Ownership ${loop} is borrowed until the callback of that has run.
 *   Thread    the one that runs ${loop}.  Other threads may use the handle and
 *             its calls that wait; on this thread those are refused with
 *             HF_EREENTRANT, hf_zookeeper_close() included.
 *   Fails     as hf_zookeeper_open(); HF_EINVAL if ${opts}->delivery is not 0.
 */
HF_API hf_status hf_zookeeper_open_uv(uv_loop_t *loop, const char *url,
                                      const struct hf_zookeeper_opts *opts,
                                      struct hf_zookeeper **zookeeper)
    HF_NONNULL(1, 4) HF_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
