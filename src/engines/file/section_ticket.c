/* SPDX-License-Identifier: Apache-2.0 */
/* ENQUEUE: a ticket under the next number, with all that belongs to it. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "core/admission.h"
#include "core/error.h"
#include "core/quote.h"
#include "engines/file/section_private.h"
#include "engines/file/sys.h"

#define OWNER_FLAGS (O_RDWR | O_NONBLOCK | O_NOFOLLOW)

/* A digest stands for one name only, whatever SHA-256 may come to. */
static enum hf_section_answer check_name(struct hf_section *s)
{
    const char *queue = s->order->queue;
    size_t bytes = strlen(queue);
    char there[HF_QUEUE_BYTES + 1];
    ssize_t got;

    if (!s->digest)
        return HF_SECTION_DONE;
    if (hf_sys_symlinkat(queue, s->directory->fd, HF_NAME_FILE) == 0)
        return HF_SECTION_DONE;
    if (errno != EEXIST)
        return hf_section_trouble(s, "write the name in");
    got =
        hf_sys_readlinkat(s->directory->fd, HF_NAME_FILE, there, sizeof(there));
    if (got < 0)
        return hf_section_trouble(s, "read the name in");
    if ((size_t)got == bytes && memcmp(there, queue, bytes) == 0)
        return HF_SECTION_DONE;
    hf_error_set(s->error, HF_EDIR,
                 "%s belongs to the lock %s; remove it if nobody uses that",
                 s->path, hf_quote(there, (size_t)got).text);
    return HF_SECTION_FAILED;
}

static int make_fifo(struct hf_section *s)
{
    mode_t mode = hf_site_file_mode(s->place->site);
    int dir = s->directory->fd;

    if (hf_sys_mkfifoat(dir, HF_NEW_FILE, mode) == 0)
        return 0;
    if (errno != EEXIST)
        return -1;
    /* Left by a process that was killed right here. */
    if (hf_sys_unlinkat(dir, HF_NEW_FILE) != 0)
        return -1;
    return hf_sys_mkfifoat(dir, HF_NEW_FILE, mode);
}

/* Under its temporary name it is nobody's but ours: nobody tests it, and nobody
 * touches it. */
static int open_fifo(struct hf_section *s)
{
    const struct hf_site *site = s->place->site;
    int fd = hf_sys_openat(s->directory->fd, HF_NEW_FILE, OWNER_FLAGS, 0);

    if (fd < 0 || !hf_descriptors_add(s->place->descriptors, fd))
        return -1;
    s->result->fifo = fd;
    if (site->shared && hf_sys_fchmod(fd, hf_site_file_mode(site)) != 0)
        return -1;
    if (hf_sys_fstat(fd, &s->result->made) != 0)
        return -1;
    return hf_sys_flock(fd, LOCK_EX | LOCK_NB);
}

/* The ticket comes to be at the rename, with all that belongs to it. */
static enum hf_section_answer make_ticket(struct hf_section *s)
{
    const char *payload = s->order->ticket.payload;
    int dir = s->directory->fd;
    enum hf_section_answer answer;

    hf_ticket_file_format(&s->result->ticket, s->file);
    hf_payload_file_format(&s->result->ticket, s->payload_file);
    if (payload[0] != '\0' &&
        hf_sys_symlinkat(payload, dir, s->payload_file) != 0)
        return hf_section_trouble(s, "write a payload in");
    if (make_fifo(s) != 0) {
        answer = hf_section_trouble(s, "make a ticket in");
        goto remove_payload;
    }
    if (open_fifo(s) != 0) {
        answer = hf_section_trouble(s, "open a ticket in");
        goto remove_fifo;
    }
    if (hf_sys_renameat(dir, HF_NEW_FILE, s->file) == 0)
        return HF_SECTION_DONE;
    answer = hf_section_trouble(s, "name a ticket in");

remove_fifo:
    hf_descriptors_close(s->place->descriptors, &s->result->fifo);
    (void)hf_sys_unlinkat(dir, HF_NEW_FILE);
remove_payload:
    if (payload[0] != '\0')
        (void)hf_sys_unlinkat(dir, s->payload_file);
    return answer;
}

static void unmake_ticket(struct hf_section *s)
{
    (void)hf_sys_unlinkat(s->directory->fd, s->file);
    hf_descriptors_close(s->place->descriptors, &s->result->fifo);
    hf_descriptors_close(s->place->descriptors, &s->result->before_fifo);
    if (s->order->ticket.payload[0] != '\0')
        (void)hf_sys_unlinkat(s->directory->fd, s->payload_file);
}

enum hf_section_answer hf_section_put_ticket(struct hf_section *s)
{
    struct hf_listing *listing = s->result->listing;
    enum hf_section_answer answer = check_name(s);

    if (answer == HF_SECTION_DONE)
        answer = hf_section_take_number(s);
    if (answer == HF_SECTION_DONE)
        answer = make_ticket(s);
    if (answer != HF_SECTION_DONE)
        return answer;
    hf_listing_clear(listing); /* of an attempt before this one */
    if (hf_listing_read(listing, s->directory->fd, s->path, &s->place->counter,
                        s->error) != HF_OK) {
        unmake_ticket(s);
        return HF_SECTION_FAILED;
    }
    hf_listing_sweep(listing, s->directory->fd);
    return HF_SECTION_DONE;
}

/* Take the one at ${index}, which is not there any more, out of the listing.  A
 * writer may have gone to be a reader in its place: look again. */
static hf_status drop_one(struct hf_section *s, size_t index)
{
    struct hf_listing *listing = s->result->listing;

    if (listing->tickets.items[index].kind != HF_TICKET_WRITE) {
        hf_listing_drop(listing, index);
        return HF_OK;
    }
    listing->tickets.count = 0;
    return hf_listing_read(listing, s->directory->fd, s->path,
                           &s->place->counter, s->error);
}

/* Whoever is in the way and dead goes, so that a snapshot never says "taken"
 * of a lock that nobody has.  The core's own rule says who is in the way; it
 * names the nearest, so that a queue of the living costs one probe, and the
 * watch of that ticket none. */
static hf_status drop_the_dead(struct hf_section *s)
{
    struct hf_listing *listing = s->result->listing;
    const struct hf_site *site = s->place->site;
    hf_status status = HF_OK;
    struct hf_error unused;
    bool found;

    if (s->order->ticket.kind == HF_TICKET_PARTICIPANT)
        return HF_OK; /* nobody is in the way; a stamp counts none of them */
    for (size_t left = listing->tickets.count; left > 0 && status == HF_OK;
         left--) {
        struct hf_snapshot snapshot = hf_listing_snapshot(listing);
        struct hf_admission admission = hf_admission_decide(
            &snapshot, &s->order->ticket.id, s->order->ticket.kind);
        char file[HF_TICKET_FILE_BYTES];
        char path[HF_PATH_BYTES];

        if (admission.answer != HF_WAIT_FOR)
            break;
        hf_ticket_file_format(admission.nearest, file);
        hf_site_path(site, s->entry, file, path);
        s->result->before = admission.nearest->id;
        if (hf_section_probe(s->place->descriptors, path,
                             &s->result->before_fifo,
                             &unused) != HF_LIFE_DEAD ||
            hf_section_remove(site, s->entry, admission.nearest, &found,
                              &unused) != HF_OK)
            break; /* alive, or to be told to the watch of it */
        status =
            drop_one(s, (size_t)(admission.nearest - listing->tickets.items));
    }
    return status;
}

/* What its owner says is known then. */
static bool is_first(const struct hf_section *s)
{
    const struct hf_ticket_list *list = &s->result->listing->tickets;

    return list->count > 0 &&
           hf_ticket_id_equal(&list->items[0].id, &s->order->ticket.id);
}

/* Of what is there besides tickets. */
static hf_status read_more(struct hf_section *s)
{
    struct hf_listing *listing = s->result->listing;
    hf_status status = HF_OK;

    if (!is_first(s))
        status =
            hf_listing_read_payloads(listing, s->directory->fd, 1, s->error);
    if (status == HF_OK && listing->of == HF_LISTING_MEMBERS)
        status =
            hf_listing_read_mark(listing, s->directory->fd, s->path, s->error);
    return status;
}

enum hf_section_answer hf_section_settle_ticket(struct hf_section *s)
{
    if (drop_the_dead(s) == HF_OK && read_more(s) == HF_OK)
        return HF_SECTION_DONE;
    unmake_ticket(s);
    return HF_SECTION_FAILED;
}
