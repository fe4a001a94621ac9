/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SET_FLAG, CLEAR_FLAG and WATCH_QUEUE at a mark: a symlink in the directory of
 * the name, whose text is an id of its own and the name.  It is made and
 * removed in one step, so none of this needs the directory's lock; and a
 * directory that has it in it is not empty, so that nobody removes that.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"
#include "core/memory.h"
#include "core/quote.h"
#include "engines/file/engine.h"
#include "engines/file/sys.h"
#include "engines/file/trouble.h"

/* How often the mark or its directory may come or go under our hands. */
#define TRIES 64

#define ID_BYTES ((size_t)HF_TICKET_ID_TEXT_BYTES - 1)
#define TEXT_BYTES (HF_TICKET_ID_TEXT_BYTES + HF_QUEUE_BYTES)

struct mark {
    const char *queue;
    char entry[HF_ENTRY_BYTES];
    char path[HF_PATH_BYTES];
};

static void mark_of(const struct hf_engine *engine, const char *queue,
                    struct mark *mark)
{
    mark->queue = queue;
    hf_entry_format(queue, mark->entry);
    hf_site_path(&engine->site, mark->entry, HF_BARRIER_FILE, mark->path);
}

/* HF_OK with ${up}; then ${id} is the mark's. */
static hf_status read_mark(const struct mark *mark, bool *up,
                           struct hf_ticket_id *id, struct hf_error *error)
{
    char text[TEXT_BYTES + 1];
    ssize_t got =
        hf_sys_readlinkat(AT_FDCWD, mark->path, text, sizeof(text) - 1);

    *up = got >= 0;
    if (got < 0 && (errno == ENOENT || errno == ENOTDIR))
        return HF_OK;
    if (got < 0)
        return hf_trouble(error, "read", mark->path);
    text[got] = '\0';
    if ((size_t)got > ID_BYTES && text[ID_BYTES] == ' ' &&
        hf_ticket_id_parse(id, text, ID_BYTES) &&
        strcmp(text + ID_BYTES + 1, mark->queue) == 0)
        return HF_OK;
    return hf_error_set(error, HF_EDIR,
                        "%s says %s and not \"UUID %.80s\"; remove it if it is "
                        "nobody's barrier",
                        mark->path, hf_quote(text, (size_t)got).text,
                        mark->queue);
}

/* Whose directory it is in decides whether it says anything. */
static hf_status check_directory(struct hf_engine *engine,
                                 const struct mark *mark,
                                 struct hf_error *error)
{
    char path[HF_PATH_BYTES];
    hf_status status;
    int dir;

    hf_site_path(&engine->site, mark->entry, NULL, path);
    dir = hf_sys_open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
    if (dir < 0)
        return errno == ENOENT ? HF_OK : hf_trouble(error, "open", path);
    status = hf_place_check_lock(engine->place, dir, path, error);
    (void)close(dir);
    return status;
}

static void tell_marked(struct hf_engine *engine, struct hf_request *request,
                        bool found)
{
    hf_engine_answer_found(engine, request, HF_EVENT_FLAG_UPDATED, found);
}

/* ----------------------------------------------------------------- SET_FLAG --
 */

static hf_status share_directory(struct hf_engine *engine, const char *path,
                                 struct hf_error *error)
{
    mode_t mode = hf_site_dir_mode(&engine->site);
    hf_status status;
    int dir = hf_sys_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);

    if (dir < 0 && errno == ENOENT)
        return HF_OK; /* left empty by somebody else, and removed */
    if (dir < 0 || !hf_descriptors_add(&engine->descriptors, dir))
        return hf_trouble(error, "open", path);
    status = hf_place_share(dir, mode, path, error);
    hf_descriptors_close(&engine->descriptors, &dir);
    return status;
}

/* HF_OK: it may be there now. */
static hf_status make_directory(struct hf_engine *engine,
                                const struct mark *mark, struct hf_error *error)
{
    char path[HF_PATH_BYTES];
    struct hf_place *place;
    hf_status status;

    hf_site_path(&engine->site, mark->entry, NULL, path);
    if (hf_sys_mkdir(path, hf_site_dir_mode(&engine->site)) == 0)
        return engine->site.shared ? share_directory(engine, path, error)
                                   : HF_OK;
    if (errno == EEXIST)
        return HF_OK;
    if (errno != ENOENT)
        return hf_trouble(error, "create", path);
    /* The root was removed: make it again, as whoever enqueues does. */
    status = hf_place_open(&engine->site, &engine->descriptors, &place, error);
    if (status == HF_OK)
        hf_place_unref(place);
    return status;
}

/* HF_OK with ${made} if it is ours, or with ${up} if it is there. */
static hf_status make_mark(struct hf_engine *engine, const struct mark *mark,
                           const struct hf_ticket_id *id, bool *made, bool *up,
                           struct hf_error *error)
{
    char text[TEXT_BYTES];
    struct hf_ticket_id there;

    hf_ticket_id_format(id, text);
    text[ID_BYTES] = ' ';
    memcpy(text + ID_BYTES + 1, mark->queue, strlen(mark->queue) + 1);
    *up = false;
    *made = hf_sys_symlinkat(text, AT_FDCWD, mark->path) == 0;
    if (*made)
        return HF_OK;
    if (errno == EEXIST)
        return read_mark(mark, up, &there, error);
    if (errno == ENOENT)
        return make_directory(engine, mark, error);
    return hf_trouble(error, "make", mark->path);
}

void hf_engine_raise(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_error error;
    struct mark mark;
    bool made, up;

    mark_of(engine, request->queue, &mark);
    if (check_directory(engine, &mark, &error) != HF_OK) {
        hf_engine_refuse(engine, request, &error);
        return;
    }
    for (unsigned try = 0; try < TRIES; try++) {
        if (make_mark(engine, &mark, &request->ticket, &made, &up, &error) !=
            HF_OK) {
            hf_engine_refuse(engine, request, &error);
            return;
        }
        if (made || up) {
            tell_marked(engine, request, up);
            return;
        }
    }
    (void)hf_error_set(&error, HF_EUNREACHABLE,
                       "%s or its directory was removed %d times while it was "
                       "being made; what does that?",
                       mark.path, TRIES);
    hf_engine_refuse(engine, request, &error);
}

/* ----------------------------------------------------------------- CLEAR_FLAG
 * -- */

void hf_engine_lower(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_error error;
    struct mark mark;
    bool found;

    mark_of(engine, request->queue, &mark);
    found = hf_sys_unlink(mark.path) == 0;
    if (!found && errno != ENOENT && errno != ENOTDIR) {
        (void)hf_trouble(&error, "remove", mark.path);
        hf_engine_refuse(engine, request, &error);
        return;
    }
    hf_warm_left(&engine->warm, mark.entry);
    tell_marked(engine, request, found);
}

/* ------------------------------------------------------------------
 * WATCH_QUEUE -- */

static struct hf_mark_look *look_new(struct hf_engine *engine,
                                     struct hf_request *request,
                                     const struct mark *mark)
{
    struct hf_mark_look *look = hf_alloc(sizeof(*look));

    if (look == NULL)
        return NULL;
    look->engine = engine;
    look->request = request;
    memcpy(look->entry, mark->entry, sizeof(look->entry));
    look->mark_wd = -1;
    look->dir_wd = -1;
    look->next = engine->mark_looks;
    look->link = &engine->mark_looks;
    if (look->next != NULL)
        look->next->link = &look->next;
    engine->mark_looks = look;
    request->engine_data = look;
    return look;
}

void hf_mark_look_end(struct hf_mark_look *look)
{
    *look->link = look->next;
    if (look->next != NULL)
        look->next->link = look->link;
    look->request->engine_data = NULL;
    hf_own_forget_mark(look);
    hf_free(look);
}

void hf_mark_look_forget(struct hf_request *request)
{
    if (request->engine_data != NULL)
        hf_mark_look_end(request->engine_data);
}

static bool is_the_same(const struct hf_mark_look *look)
{
    struct hf_ticket_id id;
    struct hf_error unused;
    struct mark mark;
    bool up;

    mark_of(look->engine, look->request->queue, &mark);
    return read_mark(&mark, &up, &id, &unused) == HF_OK && up &&
           hf_ticket_id_equal(&id, &look->id);
}

/* One that is asked for while others are told is not told. */
void hf_marks_heard(struct hf_engine *engine, int wd, bool all)
{
    struct hf_mark_look *look;
    struct hf_request *request;

    for (look = engine->mark_looks; look != NULL; look = look->next)
        look->changed = (all || look->mark_wd == wd || look->dir_wd == wd) &&
                        !is_the_same(look);
    look = engine->mark_looks;
    while (look != NULL) {
        if (!look->changed) {
            look = look->next;
            continue;
        }
        request = look->request;
        hf_mark_look_end(look);
        hf_engine_answer(engine, request, HF_EVENT_QUEUE_CHANGED);
        look = engine->mark_looks; /* the core may have forgotten others */
    }
}

static void tell_mark(struct hf_engine *engine, struct hf_request *request,
                      const struct hf_ticket_id *id)
{
    struct hf_ticket mark = {
        .kind = HF_TICKET_BARRIER, .weight = 1, .payload = ""};
    struct hf_event event = {.kind = HF_EVENT_LISTED};

    if (id != NULL) {
        mark.id = *id;
        event.as.answer.snapshot = (struct hf_snapshot){&mark, 1, 0};
    }
    event.as.answer.request = request;
    event.as.answer.text = "";
    engine->host.event(engine->host.host, &event);
}

/* Watch it, and see that it is still the one that was watched. */
static hf_status watch_mark(struct hf_engine *engine,
                            struct hf_request *request, const struct mark *mark,
                            bool *same, struct hf_error *error)
{
    struct hf_mark_look *look = look_new(engine, request, mark);
    struct hf_ticket_id id;
    hf_status status;
    bool up;

    if (look == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory to look at a barrier");
    status = read_mark(mark, &up, &look->id, error);
    *same = false;
    if (status == HF_OK && up && !hf_own_arm_mark(look))
        status = hf_error_set(error, HF_ELIMIT,
                              "cannot watch a barrier: no memory or descriptor "
                              "for it; raise this process's limits (ulimit "
                              "-n)");
    else if (status == HF_OK && up)
        status = read_mark(mark, &up, &id, error);
    *same = status == HF_OK && up && hf_ticket_id_equal(&id, &look->id);
    if (!*same)
        hf_mark_look_end(look);
    return status;
}

void hf_engine_look_at_mark(struct hf_engine *engine,
                            struct hf_request *request)
{
    const struct hf_mark_look *look;
    struct hf_ticket_id id;
    struct hf_error error;
    struct mark mark;
    bool up, same = false;

    mark_of(engine, request->queue, &mark);
    if (check_directory(engine, &mark, &error) != HF_OK) {
        hf_engine_refuse(engine, request, &error);
        return;
    }
    for (unsigned try = 0; try < TRIES; try++) {
        if (read_mark(&mark, &up, &id, &error) != HF_OK ||
            (up &&
             watch_mark(engine, request, &mark, &same, &error) != HF_OK)) {
            hf_engine_refuse(engine, request, &error);
            return;
        }
        if (!up || same) {
            look = request->engine_data;
            tell_mark(engine, request, up ? &look->id : NULL);
            return;
        }
    }
    (void)hf_error_set(&error, HF_EUNREACHABLE,
                       "%s was raised and lowered %d times while it was looked "
                       "at; try again",
                       mark.path, TRIES);
    hf_engine_refuse(engine, request, &error);
}
