/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOWNGRADE: a second FIFO, for the read ticket, is made beside the first, and
 * then the first is removed and closed.  So the place in the queue is never
 * empty, and whoever waits for the write ticket hears its hang-up, lists again
 * and finds a reader: a rename would wake nobody.
 *
 * No lock is needed.  The read ticket has the first one's number and id, and
 * whoever lists both sees the first (listing.c): nobody tests the second before
 * it is locked.  Who lists meanwhile could pass the second one's place before
 * it is there, and the first one's when it is gone; the counter tells of that.
 *
 * A request to let go touches the first FIFO (others.c) until its name is gone.
 * Its time is read after that, and the second ticket takes the request over.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#include "core/error.h"
#include "engines/file/engine.h"
#include "engines/file/sys.h"
#include "engines/file/trouble.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
#define OWNER_FLAGS (O_RDWR | O_NONBLOCK | O_NOFOLLOW)

/* One under way. */
struct change {
    struct hf_engine *engine;
    struct hf_file_ticket *own;
    const char *payload;
    struct hf_error *error;
    struct hf_ticket reader;
    int dir;
    int fifo;         /* the reader's; -1: not open */
    struct stat made; /* .fifo before others took it for alive */
    char path[HF_PATH_BYTES];
    char file[HF_TICKET_FILE_BYTES]; /* the reader's */
    char payload_file[HF_PAYLOAD_FILE_BYTES];
};

static hf_status trouble(const struct change *c, const char *what)
{
    return hf_trouble(c->error, what, c->path);
}

static hf_status removed(const struct change *c)
{
    return hf_error_set(c->error, HF_ELOST, "the ticket was removed from %s",
                        c->path);
}

/* In the directory where the write ticket is: HF_ELOST if it is in none. */
static hf_status open_directory(struct change *c)
{
    char file[HF_TICKET_FILE_BYTES];
    struct stat there, open_one;
    bool found;

    c->dir = hf_sys_open(c->path, DIR_FLAGS, 0);
    if (c->dir < 0 && errno == ENOENT)
        return hf_error_set(c->error, HF_ELOST, "%s was removed", c->path);
    if (c->dir < 0 || !hf_descriptors_add(&c->engine->descriptors, c->dir)) {
        c->dir = -1;
        return trouble(c, "open");
    }
    hf_ticket_file_format(&c->own->ticket, file);
    if (hf_sys_fstat(c->own->fifo, &open_one) != 0)
        return trouble(c, "examine a ticket of");
    found = hf_sys_lstatat(c->dir, file, &there) == 0;
    if (!found && errno != ENOENT)
        return trouble(c, "examine a ticket of");
    if (!found || there.st_dev != open_one.st_dev ||
        there.st_ino != open_one.st_ino)
        return removed(c);
    return HF_OK;
}

static hf_status make_payload(struct change *c)
{
    if (c->payload[0] == '\0' ||
        hf_sys_symlinkat(c->payload, c->dir, c->payload_file) == 0 ||
        errno == EEXIST) /* of an attempt before this one */
        return HF_OK;
    return trouble(c, "write a payload in");
}

static hf_status make_fifo(struct change *c)
{
    mode_t mode = hf_site_file_mode(&c->engine->site);

    if (hf_sys_mkfifoat(c->dir, c->file, mode) != 0 && errno != EEXIST)
        return trouble(c, "make a ticket in");
    c->fifo = hf_sys_openat(c->dir, c->file, OWNER_FLAGS, 0);
    if (c->fifo < 0 || !hf_descriptors_add(&c->engine->descriptors, c->fifo)) {
        c->fifo = -1;
        return trouble(c, "open a ticket in");
    }
    if ((c->engine->site.shared && hf_sys_fchmod(c->fifo, mode) != 0) ||
        hf_sys_fstat(c->fifo, &c->made) != 0 ||
        hf_sys_flock(c->fifo, LOCK_EX | LOCK_NB) != 0)
        return trouble(c, "lock a ticket in");
    return HF_OK;
}

static void drop_reader(struct change *c)
{
    (void)hf_sys_unlinkat(c->dir, c->file);
    (void)hf_sys_unlinkat(c->dir, c->payload_file);
    hf_descriptors_close(&c->engine->descriptors, &c->fifo);
}

/* The read ticket, beside the other. */
static hf_status make_reader(struct change *c)
{
    hf_status status = open_directory(c);

    if (status != HF_OK)
        return status;
    if ((status = make_payload(c)) == HF_OK)
        status = make_fifo(c);
    if (status != HF_OK)
        drop_reader(c);
    return status;
}

/* Has anybody asked for the writer?  Where it cannot be told, yes: a request is
 * not lost. */
static bool was_asked(const struct hf_file_ticket *writer)
{
    struct stat status;

    return hf_sys_fstat(writer->fifo, &status) != 0 ||
           status.st_mtim.tv_sec != writer->made_at.tv_sec ||
           status.st_mtim.tv_nsec != writer->made_at.tv_nsec;
}

/* HF_ELOST if somebody else has removed it: for him the ticket is gone. */
static hf_status remove_writer(struct change *c)
{
    struct hf_engine *engine = c->engine;
    char file[HF_TICKET_FILE_BYTES];

    hf_ticket_file_format(&c->own->ticket, file);
    if (hf_counter_current(&engine->place->counter, engine->site.counter))
        hf_counter_renaming(&engine->place->counter);
    if (hf_sys_unlinkat(c->dir, file) == 0)
        return HF_OK;
    if (errno == ENOENT)
        return removed(c);
    engine->host.log(engine->host.host, HF_LOG_WARNING,
                     "a write ticket is left to be found dead in %s", c->path);
    return HF_OK;
}

/* The session's own is the read ticket from now on.  Closed after it was
 * removed, so that it is not taken for a dead one; others wait for that. */
static void give_up_writer(struct change *c)
{
    /* No file has it, so that the next watch takes the ticket for touched. */
    static const struct timespec asked_before = {0, -1};
    struct hf_engine *engine = c->engine;
    struct hf_file_ticket *own = c->own;
    char payload_file[HF_PAYLOAD_FILE_BYTES];
    int fifo = own->fifo;
    bool asked;

    hf_payload_file_format(&own->ticket, payload_file);
    asked = was_asked(own);
    hf_file_ticket_is_made(own, &c->made);
    if (asked)
        own->made_at = asked_before;
    own->ticket.kind = HF_TICKET_READ;
    own->fifo = c->fifo;
    hf_descriptors_close(&engine->descriptors, &fifo);
    (void)hf_sys_unlinkat(c->dir, payload_file);
    hf_own_put_above(engine, own);
}

static hf_status carry_out(struct change *c)
{
    hf_status status;

    if (c->own->held)
        return hf_error_set(c->error, HF_ESTATE,
                            "copies of the write ticket's descriptor were "
                            "given out (hf_grant_hold_fd), and would not keep "
                            "the read ticket in the queue");
    hf_site_path(&c->engine->site, c->own->entry, NULL, c->path);
    c->reader = c->own->ticket;
    c->reader.kind = HF_TICKET_READ;
    hf_ticket_file_format(&c->reader, c->file);
    hf_payload_file_format(&c->reader, c->payload_file);
    status = make_reader(c);
    if (status == HF_OK && (status = remove_writer(c)) != HF_OK)
        drop_reader(c);
    if (status == HF_OK)
        give_up_writer(c);
    hf_descriptors_close(&c->engine->descriptors, &c->dir);
    return status;
}

static struct hf_watch *first_of_writer(const struct hf_file_ticket *own)
{
    struct hf_watch *watch = own->watches;

    while (watch != NULL && watch->request->ticket_kind == own->ticket.kind)
        watch = watch->next_of_own;
    return watch;
}

/* The core may have the ticket withdrawn, and watch the reader, when it hears
 * of one. */
static void end_watches_of_writer(struct hf_engine *engine,
                                  const struct hf_ticket_id *id)
{
    const struct hf_file_ticket *own;
    struct hf_watch *watch;

    while ((own = hf_engine_own(engine, id)) != NULL &&
           (watch = first_of_writer(own)) != NULL)
        hf_watch_gone(watch);
}

void hf_engine_downgrade(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_file_ticket *own = hf_engine_own(engine, &request->ticket);
    struct hf_error error;
    struct change change = {.engine = engine,
                            .own = own,
                            .payload = request->payload,
                            .error = &error,
                            .dir = -1,
                            .fifo = -1};

    if (own == NULL) {
        hf_error_set(&error, HF_ELOST, "the ticket is not in its queue");
        hf_engine_fail(engine, request, HF_FAILURE_FATAL, &error);
    } else if (own->ticket.kind == HF_TICKET_READ) {
        hf_engine_answer(engine, request, HF_EVENT_DOWNGRADED);
    } else if (carry_out(&change) != HF_OK) {
        hf_engine_fail(engine, request, HF_FAILURE_FATAL, &error);
    } else {
        /* Others of this session who wait for the writer.  Before the answer:
         * in that the ticket may be withdrawn. */
        end_watches_of_writer(engine, &request->ticket);
        hf_engine_answer(engine, request, HF_EVENT_DOWNGRADED);
    }
}
