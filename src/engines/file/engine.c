/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of the engine for the core, in the table hf_engine_file.  Each
 * request is passed to the file that carries it out.
 */
#include "engines/file/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/engine_host.h"
#include "base/error.h"
#include "base/memory.h"
#include "engines/file/engine.h"
#include "engines/file/inotify.h"
#include "engines/file/own_tickets.h"
#include "engines/file/queue.h"
#include "engines/file/requests.h"
#include "engines/file/success.h"
#include "engines/file/syscalls.h"
#include "engines/file/ticket_file.h"
#include "engines/file/ticket_watch.h"

/* --------------------------------------------------------------- changes -- */

/* See struct hf_file_inotify.  Own tickets come first: if one was removed, no
 * other change may admit it any more.  A name that was added to a directory or
 * removed from it matters to queue watches only. */
static void on_change(struct hf_engine *engine, int wd, bool all,
                      const char *file)
{
    if (file == NULL) {
        hf_file_own_watch_on_change(engine, wd, all);
        hf_file_barrier_watches_on_change(engine, wd, all);
    }
    hf_file_queue_watches_on_change(engine, wd, all, file);
}

static void on_tick(struct hf_engine *engine)
{
    hf_file_own_watch_on_change(engine, -1, true);
    hf_file_barrier_watches_on_change(engine, -1, true);
    hf_file_queue_watches_on_tick(engine);
}

static void on_arm(struct hf_engine *engine)
{
    hf_file_own_watches_arm(engine);
    hf_file_queue_watches_arm(engine);
}

/* ------------------------------------------------------------------ open -- */

/* Send CONNECTED: the core may use the session at once.  The session has no
 * timeout, because tickets live as long as the process. */
static void send_connected(struct hf_engine *engine)
{
    struct hf_event event = {.kind = HF_EVENT_CONNECTED};

    event.as.connected.timeout_ms = HF_FOREVER;
    event.as.connected.anchor_ms = engine->host.now_ms(engine->host.host);
    engine->host.event(engine->host.host, &event);
}

/* Set ${uid} to the user who called sudo.  Returns false if nobody did, or if
 * that is the user of this process. */
static bool find_sudo_caller(uid_t *uid)
{
    const char *text = secure_getenv("SUDO_UID");
    unsigned long number;
    char *end;

    if (text == NULL || text[0] < '0' || text[0] > '9')
        return false;
    number = strtoul(text, &end, 10);
    *uid = (uid_t)number;
    return *end == '\0' && number < UINT32_MAX && *uid != geteuid();
}

/* Warn that the user who called sudo has another default directory.  Locks in
 * one directory do not exclude those in the other, which is easily overlooked
 * under sudo. */
static void warn_other_default(struct hf_engine *engine)
{
    char other[HF_ROOT_BYTES];
    uid_t uid;

    if (!engine->settings.by_default || !find_sudo_caller(&uid))
        return;
    hf_file_root_settings_default(uid, other);
    engine->host.log(engine->host.host, HF_LOG_WARNING,
                     "under sudo the locks are those in %s and not those in "
                     "%s, the directory of user %u; to say which directory is "
                     "meant, name it: file:%s, or HOLDFAST_DIR",
                     engine->settings.root, other, (unsigned)uid,
                     engine->settings.root);
}

/* Set .description, which names the root directory. */
static hf_status format_description(struct hf_engine *engine,
                                    struct hf_error *error)
{
    size_t bytes = sizeof("file:") + strlen(engine->settings.root);

    engine->description = hf_alloc(bytes);
    if (engine->description == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory to open %s",
                            engine->settings.root);
    (void)snprintf(engine->description, bytes, "file:%s",
                   engine->settings.root);
    return HF_OK;
}

/* Fail if the root directory is missing and was named by the user, because the
 * name may be wrong, and an empty queue would hide that.  The default directory
 * is missing if nobody has taken a lock since the machine was started. */
static hf_status check_missing(const struct hf_engine *engine,
                               struct hf_error *error)
{
    struct stat status;

    if (engine->settings.by_default ||
        hf_file_sys_lstat(engine->settings.root, &status) == 0 ||
        errno != ENOENT)
        return HF_OK;
    return hf_error_set(error, HF_EDIR,
                        "there is no directory %s; expected the directory that "
                        "the holders of locks use, which is made when the "
                        "first lock is taken: check its name",
                        engine->settings.root);
}

/* Open the root directory.  A client that only lists does not make it. */
static hf_status open_root_dir(struct hf_engine *engine, struct hf_error *error)
{
    hf_status status;

    if (!engine->host.list_only)
        return hf_file_root_dir_open(&engine->settings, &engine->descriptors,
                                     &engine->root_dir, error);
    status = hf_file_root_dir_open_existing(
        &engine->settings, &engine->descriptors, &engine->root_dir, error);
    if (status == HF_OK && engine->root_dir == NULL)
        status = check_missing(engine, error);
    return status;
}

/* hf_engine_ops.open: read the settings, open the root directory, report the
 * session. */
static hf_status open_engine(const struct hf_url *url,
                             const struct hf_engine_host *host,
                             struct hf_engine **engine, struct hf_error *error)
{
    struct hf_engine *created = hf_alloc(sizeof(*created));
    hf_status status;

    *engine = NULL;
    if (created == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory for an engine");
    created->host = *host;
    created->inotify.on_change = on_change;
    created->inotify.on_tick = on_tick;
    created->inotify.on_arm = on_arm;
    hf_file_inotify_init(&created->inotify);
    created->dir_cache.root_dir = &created->root_dir;
    hf_file_tickets_init(&created->tickets);
    hf_file_watch_init_others(&created->other_watches);
    status = hf_file_root_settings_choose(url, &created->settings, error);
    if (status == HF_OK)
        status = format_description(created, error);
    if (status == HF_OK)
        status = open_root_dir(created, error);
    if (status != HF_OK) {
        hf_file_engine_free(created);
        return status;
    }
    *engine = created;
    warn_other_default(created);
    send_connected(created);
    return HF_OK;
}

static void on_worker_closed(uv_handle_t *handle)
{
    hf_file_handle_closed(handle->data);
}

/* hf_engine_ops.free: free an engine whose session has ended.  Its memory lives
 * until the last handle is closed. */
static void free_engine(struct hf_engine *engine)
{
    assert(engine->ended);
    for (int kind = 0; kind < HF_FILE_WATCH_KINDS; kind++)
        assert(engine->watches[kind] == NULL);
    engine->handles++; /* so that nothing below frees the engine */
    engine->freeing = true;
    hf_file_inotify_close(engine);
    if (hf_file_worker_stop(&engine->worker, on_worker_closed))
        engine->handles++;
    hf_file_handle_closed(engine);
}

/* -------------------------------------------------------------- requests -- */

static void refuse_ended(struct hf_engine *engine, struct hf_request *request)
{
    static const struct hf_error closed = {HF_ECLOSED,
                                           "the session has been ended"};

    hf_file_fail(engine, request, HF_FAILURE_RETRY, &closed);
}

/* Carry out HF_REQUEST_DESCRIBE, for a ticket of this session only. */
static void describe_ticket(struct hf_engine *engine,
                            struct hf_request *request)
{
    struct hf_file_ticket *own_ticket =
        hf_file_own_ticket(engine, &request->ticket);
    bool found =
        own_ticket != NULL && hf_file_ticket_is_present(engine, own_ticket);
    struct hf_error error;

    if (found &&
        hf_file_payload_write(&engine->settings, &engine->descriptors,
                              own_ticket->dir_name, &own_ticket->ticket,
                              request->payload, &error) != HF_OK)
        hf_file_fail_by_status(engine, request, &error);
    else
        hf_file_answer_found(engine, request, HF_EVENT_DESCRIBED, found);
}

/* Carry out HF_REQUEST_READ_SUCCESS: for a holder under the lock of the
 * directory, for people without it. */
static void read_success(struct hf_engine *engine, struct hf_request *request)
{
    static const struct hf_ticket_id nobody;
    char dir_name[HF_DIR_NAME_BYTES], path[HF_PATH_BYTES];
    struct hf_success success;
    struct hf_error error;
    hf_status status;
    int dir;

    if (engine->root_dir != NULL &&
        !hf_ticket_id_equal(&request->ticket, &nobody)) {
        hf_file_run_locked(engine, request);
        return;
    }
    (void)hf_file_dir_name_format(request->queue, dir_name);
    hf_file_root_settings_path(&engine->settings, dir_name, NULL, path);
    dir = hf_file_sys_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (dir < 0 && errno != ENOENT)
        status = hf_file_error_set_errno(&error, "open", path);
    else
        status = hf_file_success_read(&engine->settings, dir, request->queue,
                                      &success, &error);
    if (dir >= 0)
        (void)close(dir);
    if (status == HF_OK)
        hf_file_answer_success(engine, request, &success);
    else
        hf_file_fail_by_status(engine, request, &error);
}

/* Returns whether the request needs the root directory.  Other requests can be
 * answered without: there are no tickets, so lists are empty and nothing can be
 * removed. */
static bool needs_root_dir(const struct hf_request *request)
{
    switch (request->kind) {
    case HF_REQUEST_ENQUEUE:
    case HF_REQUEST_SET_FLAG:
    case HF_REQUEST_NEW_GENERATION:
    case HF_REQUEST_WRITE_SUCCESS:
        return true;
    case HF_REQUEST_CLEAR_FLAG:
        return request->ticket_kind == HF_TICKET_READY;
    case HF_REQUEST_WATCH_QUEUE:
        return request->ticket_kind == HF_TICKET_BARRIER;
    default:
        return false;
    }
}

/* Make the root directory, which did not exist when the client was opened.  If
 * that fails, fails ${request} and returns false. */
static bool make_root_dir(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_error error;

    if (hf_file_root_dir_open(&engine->settings, &engine->descriptors,
                              &engine->root_dir, &error) != HF_OK) {
        hf_file_fail_by_status(engine, request, &error);
        return false;
    }
    hf_file_inotify_watch_root(engine);
    return true;
}

/* hf_engine_ops.request: carry out a request.  If the session has ended, or
 * will end, every request is refused. */
static void handle_request(struct hf_engine *engine, struct hf_request *request)
{
    if (engine->ended || engine->end != NULL) {
        refuse_ended(engine, request);
        return;
    }
    if (engine->root_dir == NULL && needs_root_dir(request) &&
        !make_root_dir(engine, request))
        return;
    switch (request->kind) {
    case HF_REQUEST_ENQUEUE:
        hf_file_enqueue(engine, request);
        break;
    case HF_REQUEST_LIST:
        hf_file_list(engine, request);
        break;
    case HF_REQUEST_WATCH_QUEUE:
        if (request->ticket_kind == HF_TICKET_BARRIER)
            hf_file_watch_barrier(engine, request);
        else
            hf_file_watch_queue(engine, request);
        break;
    case HF_REQUEST_WATCH:
        hf_file_watch_ticket(engine, request);
        break;
    case HF_REQUEST_REMOVE:
        hf_file_remove(engine, request);
        break;
    case HF_REQUEST_PROVE:
        hf_file_answer(engine, request, HF_EVENT_PROVEN);
        break;
    case HF_REQUEST_DOWNGRADE:
        hf_file_downgrade(engine, request);
        break;
    case HF_REQUEST_END:
        hf_file_end_session(engine, request);
        break;
    case HF_REQUEST_REVOKE:
        hf_file_revoke(engine, request);
        break;
    case HF_REQUEST_DESCRIBE:
        describe_ticket(engine, request);
        break;
    case HF_REQUEST_SET_FLAG:
        hf_file_set_barrier(engine, request);
        break;
    case HF_REQUEST_CLEAR_FLAG:
        if (request->ticket_kind == HF_TICKET_READY)
            hf_file_run_locked(engine, request);
        else
            hf_file_clear_barrier(engine, request);
        break;
    case HF_REQUEST_NEW_GENERATION:
        hf_file_run_locked(engine, request);
        break;
    case HF_REQUEST_NAMES:
        hf_file_name_queues(engine, request);
        break;
    case HF_REQUEST_READ_SUCCESS:
        read_success(engine, request);
        break;
    case HF_REQUEST_WRITE_SUCCESS:
        hf_file_run_locked(engine, request);
        break;
    case HF_REQUEST_EXAMINE:
        hf_file_examine(engine, request);
        break;
    }
}

/* hf_engine_ops.unwatch: end any watch. */
static void forget(struct hf_engine *engine, struct hf_request *request)
{
    (void)engine;
    if (request->kind == HF_REQUEST_WATCH)
        hf_file_ticket_watch_forget(request);
    else if (request->engine_data != NULL)
        hf_file_watch_end(request->engine_data);
}

/* hf_engine_ops.hold: return a copy of the FIFO's descriptor, which keeps the
 * ticket alive. */
static hf_status hold(struct hf_engine *engine, const struct hf_ticket_id *id,
                      int *fd)
{
    struct hf_file_ticket *own_ticket = hf_file_own_ticket(engine, id);
    struct hf_error unused;

    *fd = -1;
    if (own_ticket == NULL || !hf_file_ticket_is_present(engine, own_ticket))
        return HF_ELOST;
    *fd = hf_file_sys_duplicate(own_ticket->fifo, STDERR_FILENO + 1);
    if (*fd < 0)
        return hf_file_error_set_errno(&unused, "hold", engine->settings.root);
    own_ticket->copied = true;
    return HF_OK;
}

static const char *describe(const struct hf_engine *engine)
{
    return engine->description;
}

/* hf_engine_ops.after_fork: close the descriptors in the child, so that the
 * child keeps no ticket alive. */
static void after_fork(struct hf_engine *engine)
{
    hf_file_descriptors_close_all(&engine->descriptors);
}

const struct hf_engine_ops hf_engine_file = {
    .abi = HF_ENGINE_ABI,
    .scheme = "file",
    .traits = HF_ENGINE_GONE_ADMITS,
    .open = open_engine,
    .request = handle_request,
    .unwatch = forget,
    .hold = hold,
    .describe = describe,
    .after_fork = after_fork,
    .free = free_engine,
};
