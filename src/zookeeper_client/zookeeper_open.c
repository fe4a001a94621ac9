/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a handle: read the options and the URL, and begin the session.
 * Closing a handle: together with its session, or without it if the session is
 * that of a client of locks.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <holdfast/uv.h>

#include "base/error.h"
#include "base/memory.h"
#include "client/client_url.h"
#include "client/monitor_host.h"
#include "operation/opts_compat.h"
#include "zookeeper_client/zookeeper_handle.h"
#include "zookeeper_client/zookeeper_session.h"
#include "zookeeper_io/zk_prepare.h"

/* The range of .max_request_bytes and .max_answer_bytes. */
#define LIMIT_MIN_BYTES 1024
#define LIMIT_MAX_BYTES (1 << 30)

/* The values of the options of the URL. */
struct values {
    struct hf_zk_url_options shared; /* first, see hf_zk_url_parse() */
};

static const struct hf_url_option_row rows[] = {
    HF_ZK_URL_OPTIONS(struct values, shared),
    HF_PEM_OPTIONS(struct values, shared.files),
};

/* --------------------------------------------------------------- options -- */

/* Is ${bytes}, the option ${name}, in range? */
static hf_status check_limit(const char *name, size_t bytes,
                             struct hf_error *error)
{
    if (bytes >= LIMIT_MIN_BYTES && bytes <= LIMIT_MAX_BYTES)
        return HF_OK;
    return hf_error_set(error, HF_EINVAL,
                        "'%s' is %zu; expected from %d to %d bytes", name,
                        bytes, LIMIT_MIN_BYTES, LIMIT_MAX_BYTES);
}

/* Can .session of ${opts} be taken over?  Servers grant timeouts of at most 31
 * bits. */
static hf_status check_session(const struct hf_zookeeper_opts *opts,
                               struct hf_error *error)
{
    if (opts->session == NULL || opts->session->timeout_ms <= INT32_MAX)
        return HF_OK;
    return hf_error_set(error, HF_EINVAL,
                        "the timeout of 'session' is %llu ms; expected what "
                        "hf_zookeeper_session() has set, or 0",
                        (unsigned long long)opts->session->timeout_ms);
}

/* Does each of the credentials have a scheme and bytes? */
static hf_status check_credentials(const struct hf_zookeeper_opts *opts,
                                   struct hf_error *error)
{
    for (size_t i = 0; i < opts->credential_count; i++) {
        const struct hf_zookeeper_credential *credential =
            &opts->credentials[i];

        if (credential->scheme == NULL || credential->scheme[0] == '\0' ||
            (credential->bytes == NULL && credential->count > 0))
            return hf_error_set(error, HF_EINVAL,
                                "credential %zu has no scheme, or no bytes; "
                                "expected something like \"digest\" and "
                                "\"user:password\"",
                                i + 1);
    }
    return HF_OK;
}

/* May callbacks be called as ${delivery} says?  ${borrowed}: the loop is the
 * user's. */
static hf_status check_delivery(enum hf_delivery delivery, bool borrowed,
                                struct hf_error *error)
{
    if (delivery != HF_DELIVER_THREAD && delivery != HF_DELIVER_DISPATCH)
        return hf_error_set(error, HF_EINVAL,
                            "the delivery is %d, expected "
                            "HF_DELIVER_THREAD or HF_DELIVER_DISPATCH",
                            (int)delivery);
    if (borrowed && delivery != HF_DELIVER_THREAD)
        return hf_error_set(error, HF_EINVAL,
                            "HF_DELIVER_DISPATCH does not go with a borrowed "
                            "loop, which runs the callbacks itself; leave "
                            ".delivery at HF_DELIVER_THREAD");
    return HF_OK;
}

/* Set ${opts} to what ${given} says, and check it.  ${borrowed}: the loop is
 * the user's. */
static hf_status check_opts(const struct hf_zookeeper_opts *given,
                            bool borrowed, struct hf_zookeeper_opts *opts,
                            struct hf_error *error)
{
    hf_status status =
        hf_opts_copy(&hf_zookeeper_opts_type, given, opts, error);

    if (status == HF_OK)
        status = check_delivery(opts->delivery, borrowed, error);
    if (status == HF_OK)
        status =
            check_limit("max_request_bytes", opts->max_request_bytes, error);
    if (status == HF_OK)
        status = check_limit("max_answer_bytes", opts->max_answer_bytes, error);
    if (status == HF_OK)
        status = check_session(opts, error);
    if (status == HF_OK)
        status = check_credentials(opts, error);
    return status;
}

/* ------------------------------------------------------------------ open -- */

/* The runner of callbacks that the options ask for.  ${loop}: the borrowed one,
 * or NULL. */
static enum hf_callback_runner
choose_runner(const struct hf_zookeeper_opts *opts, const uv_loop_t *loop)
{
    if (loop != NULL)
        return HF_RUNNER_BORROWED_LOOP;
    return opts->delivery == HF_DELIVER_DISPATCH ? HF_RUNNER_DISPATCH
                                                 : HF_RUNNER_THREAD;
}

/* Set up everything that needs no I/O. */
static hf_status init_handle(struct hf_zookeeper *zookeeper,
                             const struct hf_url *url,
                             const struct hf_zookeeper_opts *opts,
                             const uv_loop_t *loop, struct hf_error *error)
{
    struct values values = {.shared = {.timeout_ms = 0}};
    hf_status status =
        hf_zk_url_parse(&zookeeper->own.config, url, rows,
                        sizeof rows / sizeof rows[0], &values, error);

    if (status != HF_OK)
        return status;
    zookeeper->monitor = &zookeeper->own.monitor;
    zookeeper->session = &zookeeper->own.session;
    zookeeper->io = &zookeeper->own.io;
    zookeeper->own.config.session.window = HF_ZK_SENT_OPS_MAX;
    zookeeper->own.config.session.max_answer_bytes = opts->max_answer_bytes;
    zookeeper->connect_ms = opts->connect_ms;
    zookeeper->reconnect = opts->reconnect;
    hf_state_listeners_init(&zookeeper->listeners, zookeeper->monitor,
                            opts->on_state);
    /* The last step, because a fork may use the handle from here on. */
    if (!hf_monitor_init(zookeeper->monitor, &hf_zookeeper_monitor_ops,
                         zookeeper, choose_runner(opts, loop), opts->on_log))
        return hf_error_set(error, HF_ELIMIT,
                            "no descriptor for callbacks: %s; raise the "
                            "limit on open files",
                            hf_errno_text(errno));
    return HF_OK;
}

/* Begin the session, and start a thread for it, unless ${loop} is borrowed.
 * With the lock. */
static hf_status open_session(struct hf_zookeeper *zookeeper,
                              const struct hf_url *url,
                              const struct hf_zookeeper_opts *opts,
                              uv_loop_t *loop, struct hf_error *error)
{
    hf_status status;

    if (loop != NULL &&
        (status = hf_monitor_borrow_loop(zookeeper->monitor, loop)) != HF_OK)
        return hf_error_set(error, status,
                            "the loop takes no more handles; raise the limit "
                            "on open files");
    zookeeper->host = hf_monitor_host(zookeeper->monitor);
    zookeeper->host.reconnect = &zookeeper->reconnect;
    status = hf_zk_prepare(&zookeeper->own.config, url, &zookeeper->host,
                           &zookeeper->description, error);
    if (status == HF_OK)
        status = hf_zk_io_open(zookeeper->io, &zookeeper->own.config, error);
    if (status == HF_OK)
        status = hf_zookeeper_session_begin(zookeeper, opts, error);
    if (status == HF_OK)
        status = hf_monitor_ensure_poller(zookeeper->monitor, error);
    return status;
}

/* Allocate a handle for ${url} and open it. */
static hf_status new_handle(const struct hf_url *url,
                            const struct hf_zookeeper_opts *opts,
                            uv_loop_t *loop, struct hf_zookeeper **zookeeper,
                            struct hf_error *error)
{
    struct hf_zookeeper *made = hf_alloc(sizeof *made);
    hf_status status;

    if (made == NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    if ((status = init_handle(made, url, opts, loop, error)) != HF_OK) {
        explicit_bzero(&made->own.config, sizeof made->own.config);
        hf_free(made);
        return status;
    }
    hf_zookeeper_session_init(made);
    hf_monitor_disable_cancel();
    hf_monitor_lock(made->monitor);
    if ((status = open_session(made, url, opts, loop, error)) != HF_OK) {
        hf_state_listeners_abandon(&made->listeners);
        hf_monitor_abandon(made->monitor, made->begun);
        return status;
    }
    /* A callback may close the handle while we leave, so its monitor is kept
     * until then. */
    hf_monitor_reference(made->monitor);
    hf_monitor_leave(made->monitor);
    hf_monitor_release(made->monitor);
    *zookeeper = made;
    return HF_OK;
}

/* Only the schemes of ZooKeeper open a handle. */
static hf_status check_scheme(const struct hf_url *url, struct hf_error *error)
{
    if (strcmp(url->scheme, "zk") == 0 || strcmp(url->scheme, "zks") == 0)
        return HF_OK;
    return hf_error_set(error, HF_EURL,
                        "the scheme of the URL is \"%.32s\"; expected \"zk\", "
                        "or \"zks\" for TLS",
                        url->scheme);
}

/* Parse ${given}, or what it refers to, see client/client_url.h. */
static hf_status parse_url(const char *given, struct hf_url *url,
                           struct hf_error *error)
{
    char *text;
    hf_status status;

    if (given == NULL) { /* from getenv(), for example */
        (void)hf_error_set(error, HF_EURL,
                           "the URL is NULL; expected \"zk://HOST:PORT,...\"");
        return HF_EURL;
    }
    if ((status = hf_client_url_take(given, &text, error)) != HF_OK)
        return status;
    status = hf_url_parse(text, url, error);
    hf_client_url_free(text);
    return status;
}

/* .on_state of ${given} is dropped on every failure, so that its owner need not
 * know how far the call came. */
static hf_status open_common(const char *api_name, const char *text,
                             const struct hf_zookeeper_opts *given,
                             uv_loop_t *loop, struct hf_zookeeper **zookeeper)
{
    struct hf_error error = {.status = HF_OK};
    struct hf_zookeeper_opts opts;
    struct hf_url url;
    hf_status status;

    *zookeeper = NULL;
    status = check_opts(given, loop != NULL, &opts, &error);
    if (status == HF_OK)
        status = parse_url(text, &url, &error);
    if (status == HF_OK) {
        status = check_scheme(&url, &error);
        if (status == HF_OK)
            status = new_handle(&url, &opts, loop, zookeeper, &error);
        hf_url_free(&url);
    }
    if (status != HF_OK) {
        (void)hf_fail(api_name, &error);
        if (opts.on_state.drop != NULL)
            opts.on_state.drop(opts.on_state.arg);
    }
    return status;
}

hf_status hf_zookeeper_open(const char *url,
                            const struct hf_zookeeper_opts *opts,
                            struct hf_zookeeper **zookeeper)
{
    return open_common("hf_zookeeper_open", url, opts, NULL, zookeeper);
}

hf_status hf_zookeeper_open_uv(uv_loop_t *loop, const char *url,
                               const struct hf_zookeeper_opts *opts,
                               struct hf_zookeeper **zookeeper)
{
    return open_common("hf_zookeeper_open_uv", url, opts, loop, zookeeper);
}

/* ----------------------------------------------------------------- close -- */

hf_status hf_zookeeper_close(struct hf_zookeeper *zookeeper)
{
    struct hf_error error;
    hf_status status;

    if (zookeeper == NULL)
        return HF_OK;
    if (hf_monitor_may_block(zookeeper->monitor, &error) != HF_OK &&
        !hf_zookeeper_shared_is_over(zookeeper))
        return hf_fail("hf_zookeeper_close", &error);
    status = zookeeper->shared.client != NULL
                 ? hf_zookeeper_shared_close(zookeeper)
                 : hf_monitor_close(zookeeper->monitor);
    return status == HF_OK ? HF_OK : hf_fork_fail("hf_zookeeper_close");
}

/* No caller waits for the end, so there must be a thread or loop that runs the
 * last callback.  A client of locks that is closing or closed runs no more
 * callbacks for its handles. */
static hf_status may_close_start(struct hf_zookeeper *zookeeper,
                                 struct hf_error *error)
{
    if (zookeeper->shared.client != NULL &&
        zookeeper->monitor->state != HF_MONITOR_OPEN)
        return hf_error_set(error, HF_ECLOSED,
                            "the client of the session was closed, and calls "
                            "nothing back any more; expected "
                            "hf_zookeeper_close(), which need not wait for "
                            "servers now");
    return hf_monitor_ensure_poller(zookeeper->monitor, error);
}

hf_status hf_zookeeper_close_start(struct hf_zookeeper *zookeeper,
                                   struct hf_done done)
{
    hf_status status =
        hf_monitor_enter(zookeeper->monitor, "hf_zookeeper_close_start");
    struct hf_error error;

    if (status == HF_OK &&
        (status = may_close_start(zookeeper, &error)) != HF_OK) {
        (void)hf_fail("hf_zookeeper_close_start", &error);
        hf_monitor_leave(zookeeper->monitor);
    }
    if (status != HF_OK) {
        if (done.drop != NULL)
            done.drop(done.arg);
        return status;
    }
    zookeeper->close_done = done;
    if (zookeeper->shared.client != NULL)
        hf_zookeeper_shared_close_start(zookeeper);
    else
        hf_monitor_close_start(zookeeper->monitor);
    return HF_OK;
}
