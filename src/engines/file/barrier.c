/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Barriers: set, cleared and watched.
 *
 * A barrier that is set is a symbolic link in the directory of its name.  The
 * text of the link is an id, new each time the barrier is set, and the name of
 * the barrier.  The link is made and removed in one step each, so nothing here
 * needs the directory's lock.  A directory with a link in it is not empty, so
 * nobody removes it as unused.
 */
#include "engines/file/requests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/quote.h"
#include "engines/file/engine.h"
#include "engines/file/inotify.h"
#include "engines/file/syscalls.h"
#include "engines/file/watch.h"

/* How often one request tries again because the barrier or its directory was
 * made or removed meanwhile. */
#define TRIES 64

#define ID_BYTES ((size_t)HF_TICKET_ID_TEXT_BYTES - 1)
#define TEXT_BYTES (HF_TICKET_ID_TEXT_BYTES + HF_QUEUE_BYTES)

/* Where the barrier of a request is. */
struct barrier {
    const char *queue;
    char dir_name[HF_DIR_NAME_BYTES];
    char path[HF_PATH_BYTES];
};

/* Set ${barrier} to where the barrier called ${queue} is. */
static void init_barrier(const struct hf_engine *engine, const char *queue,
                         struct barrier *barrier)
{
    barrier->queue = queue;
    hf_file_dir_name_format(queue, barrier->dir_name);
    hf_file_root_settings_path(&engine->settings, barrier->dir_name,
                               HF_BARRIER_FILE, barrier->path);
}

/* Read the barrier.  After HF_OK, ${is_set} says whether it is set, and if so
 * ${id} is its id. */
static hf_status read_barrier(const struct barrier *barrier, bool *is_set,
                              struct hf_ticket_id *id, struct hf_error *error)
{
    char text[TEXT_BYTES + 1];
    ssize_t got =
        hf_file_sys_readlinkat(AT_FDCWD, barrier->path, text, sizeof(text) - 1);

    *is_set = got >= 0;
    if (got < 0 && (errno == ENOENT || errno == ENOTDIR))
        return HF_OK;
    if (got < 0)
        return hf_file_error_set_errno(error, "read", barrier->path);
    text[got] = '\0';
    if ((size_t)got > ID_BYTES && text[ID_BYTES] == ' ' &&
        hf_ticket_id_parse(id, text, ID_BYTES) &&
        strcmp(text + ID_BYTES + 1, barrier->queue) == 0)
        return HF_OK;
    return hf_error_set(error, HF_EDIR,
                        "%s says %s and not \"UUID %.80s\"; remove it if it is "
                        "nobody's barrier",
                        barrier->path, hf_quote(text, (size_t)got).text,
                        barrier->queue);
}

/* Check that this engine may use the directory, because otherwise a link in it
 * means nothing.  Returns HF_OK if there is no directory. */
static hf_status check_directory(struct hf_engine *engine,
                                 const struct barrier *barrier,
                                 struct hf_error *error)
{
    char path[HF_PATH_BYTES];
    hf_status status;
    int dir;

    hf_file_root_settings_path(&engine->settings, barrier->dir_name, NULL,
                               path);
    dir = hf_file_sys_open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
    if (dir < 0)
        return errno == ENOENT ? HF_OK
                               : hf_file_error_set_errno(error, "open", path);
    status =
        hf_file_root_dir_check_lock_dir(engine->root_dir, dir, path, error);
    (void)close(dir);
    return status;
}

static void answer_barrier(struct hf_engine *engine, struct hf_request *request,
                           bool found)
{
    hf_file_answer_found(engine, request, HF_EVENT_FLAG_UPDATED, found);
}

/* ------------------------------------------------------------ set, clear -- */

/* Give a new directory in a shared root the mode of the root's settings. */
static hf_status share_directory(struct hf_engine *engine, const char *path,
                                 struct hf_error *error)
{
    mode_t mode = engine->settings.dir_mode;
    hf_status status;
    int dir = hf_file_sys_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);

    if (dir < 0 && errno == ENOENT)
        return HF_OK; /* somebody has removed it as unused */
    if (dir < 0 || !hf_file_descriptors_add(&engine->descriptors, dir))
        return hf_file_error_set_errno(error, "open", path);
    status = hf_file_root_dir_set_mode(dir, mode, path, error);
    hf_file_descriptors_close(&engine->descriptors, &dir);
    return status;
}

/* Make the directory; or the root directory, if that is missing.  After HF_OK,
 * the caller tries again to make the barrier. */
static hf_status make_directory(struct hf_engine *engine,
                                const struct barrier *barrier,
                                struct hf_error *error)
{
    char path[HF_PATH_BYTES];
    struct hf_file_root_dir *root_dir;
    hf_status status;

    hf_file_root_settings_path(&engine->settings, barrier->dir_name, NULL,
                               path);
    if (hf_file_sys_mkdir(path, engine->settings.dir_mode) == 0)
        return engine->settings.shared ? share_directory(engine, path, error)
                                       : HF_OK;
    if (errno == EEXIST)
        return HF_OK;
    if (errno != ENOENT)
        return hf_file_error_set_errno(error, "create", path);
    /* The root directory was removed: make it again, as an enqueue does. */
    status = hf_file_root_dir_open(&engine->settings, &engine->descriptors,
                                   &root_dir, error);
    if (status == HF_OK)
        hf_file_root_dir_unref(root_dir);
    return status;
}

/* Make the link.  After HF_OK, ${created} says that this call made it,
 * ${is_set} that it was there; if neither is set, the caller tries again. */
static hf_status make_barrier(struct hf_engine *engine,
                              const struct barrier *barrier,
                              const struct hf_ticket_id *id, bool *created,
                              bool *is_set, struct hf_error *error)
{
    char text[TEXT_BYTES];
    struct hf_ticket_id there;

    hf_ticket_id_format(id, text);
    text[ID_BYTES] = ' ';
    memcpy(text + ID_BYTES + 1, barrier->queue, strlen(barrier->queue) + 1);
    *is_set = false;
    *created = hf_file_sys_symlinkat(text, AT_FDCWD, barrier->path) == 0;
    if (*created)
        return HF_OK;
    if (errno == EEXIST)
        return read_barrier(barrier, is_set, &there, error);
    if (errno == ENOENT)
        return make_directory(engine, barrier, error);
    return hf_file_error_set_errno(error, "make", barrier->path);
}

void hf_file_set_barrier(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_error error;
    struct barrier barrier;
    bool created, is_set;

    init_barrier(engine, request->queue, &barrier);
    if (check_directory(engine, &barrier, &error) != HF_OK) {
        hf_file_fail_by_status(engine, request, &error);
        return;
    }
    for (unsigned try = 0; try < TRIES; try++) {
        if (make_barrier(engine, &barrier, &request->ticket, &created, &is_set,
                         &error) != HF_OK) {
            hf_file_fail_by_status(engine, request, &error);
            return;
        }
        if (created || is_set) {
            answer_barrier(engine, request, is_set);
            return;
        }
    }
    (void)hf_error_set(&error, HF_EUNREACHABLE,
                       "%s or its directory was removed %d times while it was "
                       "being made; what does that?",
                       barrier.path, TRIES);
    hf_file_fail_by_status(engine, request, &error);
}

void hf_file_clear_barrier(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_error error;
    struct barrier barrier;
    bool found;

    init_barrier(engine, request->queue, &barrier);
    found = hf_file_sys_unlink(barrier.path) == 0;
    if (!found && errno != ENOENT && errno != ENOTDIR) {
        (void)hf_file_error_set_errno(&error, "remove", barrier.path);
        hf_file_fail_by_status(engine, request, &error);
        return;
    }
    hf_file_dir_cache_ticket_gone(&engine->dir_cache, barrier.dir_name);
    answer_barrier(engine, request, found);
}

/* -------------------------------------------------------------- watching -- */

/* Returns whether the barrier is still the one that the core was shown. */
static bool is_unchanged(const struct hf_file_watch *watch)
{
    struct hf_ticket_id id;
    struct hf_error unused;
    struct barrier barrier;
    bool is_set;

    init_barrier(watch->engine, watch->request->queue, &barrier);
    return read_barrier(&barrier, &is_set, &id, &unused) == HF_OK && is_set &&
           hf_ticket_id_equal(&id, &watch->as.barrier);
}

/* All watches are checked before any is answered, because the core may end
 * watches when it gets an answer. */
void hf_file_barrier_watches_on_change(struct hf_engine *engine, int wd,
                                       bool all)
{
    struct hf_file_watch *watch = engine->watches[HF_FILE_WATCH_BARRIER];

    for (; watch != NULL; watch = watch->next)
        if ((all || watch->wd == wd || watch->dir_wd == wd) &&
            !is_unchanged(watch))
            watch->state = HF_FILE_WATCH_CHANGED;
    hf_file_watches_answer_changed(engine, HF_FILE_WATCH_BARRIER);
}

/* Answer with the barrier ${id}; NULL: it is not set. */
static void answer_listed(struct hf_engine *engine, struct hf_request *request,
                          const struct hf_ticket_id *id)
{
    struct hf_ticket barrier = {
        .kind = HF_TICKET_BARRIER, .weight = 1, .payload = ""};
    struct hf_event event = {.kind = HF_EVENT_LISTED};

    if (id != NULL) {
        barrier.id = *id;
        event.as.answer.snapshot = (struct hf_snapshot){&barrier, 1, 0};
    }
    event.as.answer.request = request;
    event.as.answer.text = "";
    engine->host.event(engine->host.host, &event);
}

/* Begin to watch the barrier, then check that it is still the same one.  If it
 * is not, ${same} is false and nothing is watched. */
static hf_status watch_barrier(struct hf_engine *engine,
                               struct hf_request *request,
                               const struct barrier *barrier, bool *same,
                               struct hf_error *error)
{
    struct hf_file_watch *watch = hf_file_watch_new(
        engine, request, HF_FILE_WATCH_BARRIER, barrier->dir_name);
    struct hf_ticket_id id;
    hf_status status;
    bool is_set;

    if (watch == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory to watch a barrier");
    status = read_barrier(barrier, &is_set, &watch->as.barrier, error);
    *same = false;
    if (status == HF_OK && is_set && !hf_file_inotify_arm(watch))
        status = hf_error_set(error, HF_ELIMIT,
                              "cannot watch a barrier: no memory or descriptor "
                              "for it; raise this process's limits (ulimit "
                              "-n)");
    else if (status == HF_OK && is_set)
        status = read_barrier(barrier, &is_set, &id, error);
    *same = status == HF_OK && is_set &&
            hf_ticket_id_equal(&id, &watch->as.barrier);
    if (!*same)
        hf_file_watch_end(watch);
    return status;
}

void hf_file_watch_barrier(struct hf_engine *engine, struct hf_request *request)
{
    const struct hf_file_watch *watch;
    struct hf_ticket_id id;
    struct hf_error error;
    struct barrier barrier;
    bool is_set, same = false;

    init_barrier(engine, request->queue, &barrier);
    if (check_directory(engine, &barrier, &error) != HF_OK) {
        hf_file_fail_by_status(engine, request, &error);
        return;
    }
    for (unsigned try = 0; try < TRIES; try++) {
        if (read_barrier(&barrier, &is_set, &id, &error) != HF_OK ||
            (is_set && watch_barrier(engine, request, &barrier, &same,
                                     &error) != HF_OK)) {
            hf_file_fail_by_status(engine, request, &error);
            return;
        }
        if (!is_set || same) {
            watch = request->engine_data;
            answer_listed(engine, request, is_set ? &watch->as.barrier : NULL);
            return;
        }
    }
    (void)hf_error_set(&error, HF_EUNREACHABLE,
                       "%s was set and cleared %d times while it was "
                       "read; try again",
                       barrier.path, TRIES);
    hf_file_fail_by_status(engine, request, &error);
}
