/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/file/section.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/admission.h"
#include "core/error.h"
#include "core/quote.h"
#include "engines/file/sys.h"
#include "engines/file/trouble.h"

/* How often the directory may turn out to be another one, or gone, between
 * opening and locking it.  Each time somebody left the lock empty meanwhile. */
#define TRIES 64

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
#define OWNER_FLAGS (O_RDWR | O_NONBLOCK | O_NOFOLLOW)
#define WAITER_FLAGS (O_RDONLY | O_NONBLOCK | O_NOFOLLOW)

/* One enqueue under way. */
struct section {
    struct hf_place *place;
    const struct hf_section_order *order;
    struct hf_directory *directory;
    struct hf_section_result *result;
    struct hf_error *error;
    char entry[HF_ENTRY_BYTES];
    bool digest; /* the entry is one, and the name is in HF_NAME_FILE */
    char path[HF_PATH_BYTES];
    char file[HF_TICKET_FILE_BYTES];
    char payload_file[HF_PAYLOAD_FILE_BYTES];
};

static enum hf_section_answer trouble(struct section *s, const char *what)
{
    hf_trouble(s->error, what, s->path);
    return HF_SECTION_FAILED;
}

/* Unlocked by name: the child of a fork may have a copy of the descriptor. */
static void leave_directory(struct section *s)
{
    (void)hf_sys_flock(s->directory->fd, LOCK_UN);
    hf_descriptors_close(s->place->descriptors, &s->directory->fd);
}

/* Open the directory, made if it is missing. */
static enum hf_section_answer open_directory(struct section *s)
{
    const struct hf_site *site = s->place->site;
    struct hf_directory *directory = s->directory;
    struct stat status;
    bool made = hf_sys_mkdir(s->path, hf_site_dir_mode(site)) == 0;

    if (!made && errno == ENOENT)
        return HF_SECTION_STALE; /* ROOT/locks is not there */
    if (!made && errno != EEXIST)
        return trouble(s, "create");
    directory->fd = hf_sys_open(s->path, DIR_FLAGS, 0);
    if (directory->fd < 0 && errno == ENOENT)
        return HF_SECTION_BUSY; /* removed again: a lock that was left empty */
    if (directory->fd < 0 ||
        !hf_descriptors_add(s->place->descriptors, directory->fd)) {
        directory->fd = -1;
        trouble(s, "open");
        if (made)
            (void)hf_sys_rmdir(s->path);
        return HF_SECTION_FAILED;
    }
    if (hf_sys_fstat(directory->fd, &status) != 0)
        return trouble(s, "examine");
    directory->device = status.st_dev;
    directory->inode = status.st_ino;
    if (made && site->shared &&
        hf_place_share(directory->fd, hf_site_dir_mode(site), s->path,
                       s->error) != HF_OK)
        return HF_SECTION_FAILED;
    return HF_SECTION_DONE;
}

/* Is the directory that is locked the one that is at its path? */
static bool is_current(const struct section *s)
{
    struct stat status;

    return hf_sys_lstat(s->path, &status) == 0 &&
           status.st_dev == s->directory->device &&
           status.st_ino == s->directory->inode;
}

/* Have the directory that is at the path, locked.  HF_SECTION_BUSY with no
 * directory left open means: it went away meanwhile, try again. */
static enum hf_section_answer lock_directory(struct section *s)
{
    enum hf_section_answer answer;

    if (s->directory->fd < 0) {
        answer = open_directory(s);
        if (answer != HF_SECTION_DONE)
            return answer;
    }
    switch (hf_patience_lock(s->directory->fd, s->path, s->order->patience,
                             s->order->cancelled, s->error)) {
    case HF_LOCK_BUSY:
        return HF_SECTION_BUSY;
    case HF_LOCK_FAILED:
        return HF_SECTION_FAILED;
    case HF_LOCK_TAKEN:
        break;
    }
    if (is_current(s))
        return HF_SECTION_DONE;
    leave_directory(s);
    return HF_SECTION_BUSY;
}

/* A digest stands for one name only, whatever SHA-256 may come to. */
static enum hf_section_answer check_name(struct section *s)
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
        return trouble(s, "write the name in");
    got =
        hf_sys_readlinkat(s->directory->fd, HF_NAME_FILE, there, sizeof(there));
    if (got < 0)
        return trouble(s, "read the name in");
    if ((size_t)got == bytes && memcmp(there, queue, bytes) == 0)
        return HF_SECTION_DONE;
    hf_error_set(s->error, HF_EDIR,
                 "%s belongs to the lock %s; remove it if nobody uses that",
                 s->path, hf_quote(there, (size_t)got).text);
    return HF_SECTION_FAILED;
}

static enum hf_section_answer take_number(struct section *s)
{
    struct hf_counter *counter = &s->place->counter;
    const char *path = s->place->site->counter;
    struct hf_ticket *ticket = &s->result->ticket;

    if (!hf_counter_current(counter, path))
        return HF_SECTION_STALE;
    if (!hf_counter_next(counter, &ticket->sequence)) {
        if (s->order->patience == HF_PATIENCE_NONE)
            return HF_SECTION_BUSY;
        if (hf_counter_extend(counter, path, s->error) != HF_OK)
            return HF_SECTION_FAILED;
        if (!hf_counter_next(counter, &ticket->sequence)) {
            hf_error_set(s->error, HF_EEXHAUSTED,
                         "%s gives no number after a reservation; try again",
                         path);
            return HF_SECTION_FAILED;
        }
    }
    ticket->token = ticket->sequence;
    return HF_SECTION_DONE;
}

static int make_fifo(struct section *s)
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

/* Under its temporary name it is nobody's but ours: nobody tests it. */
static int open_fifo(struct section *s)
{
    const struct hf_site *site = s->place->site;
    int fd = hf_sys_openat(s->directory->fd, HF_NEW_FILE, OWNER_FLAGS, 0);

    if (fd < 0 || !hf_descriptors_add(s->place->descriptors, fd))
        return -1;
    s->result->fifo = fd;
    if (site->shared && hf_sys_fchmod(fd, hf_site_file_mode(site)) != 0)
        return -1;
    return hf_sys_flock(fd, LOCK_EX | LOCK_NB);
}

/* The ticket comes to be at the rename, with all that belongs to it. */
static enum hf_section_answer make_ticket(struct section *s)
{
    const char *payload = s->order->ticket.payload;
    int dir = s->directory->fd;
    enum hf_section_answer answer;

    hf_ticket_file_format(&s->result->ticket, s->file);
    hf_payload_file_format(&s->result->ticket, s->payload_file);
    if (payload[0] != '\0' &&
        hf_sys_symlinkat(payload, dir, s->payload_file) != 0)
        return trouble(s, "write a payload in");
    if (make_fifo(s) != 0) {
        answer = trouble(s, "make a ticket in");
        goto remove_payload;
    }
    if (open_fifo(s) != 0) {
        answer = trouble(s, "open a ticket in");
        goto remove_fifo;
    }
    if (hf_sys_renameat(dir, HF_NEW_FILE, s->file) == 0)
        return HF_SECTION_DONE;
    answer = trouble(s, "name a ticket in");

remove_fifo:
    hf_descriptors_close(s->place->descriptors, &s->result->fifo);
    (void)hf_sys_unlinkat(dir, HF_NEW_FILE);
remove_payload:
    if (payload[0] != '\0')
        (void)hf_sys_unlinkat(dir, s->payload_file);
    return answer;
}

static void unmake_ticket(struct section *s)
{
    (void)hf_sys_unlinkat(s->directory->fd, s->file);
    hf_descriptors_close(s->place->descriptors, &s->result->fifo);
    if (s->order->ticket.payload[0] != '\0')
        (void)hf_sys_unlinkat(s->directory->fd, s->payload_file);
}

/* Under the lock. */
static enum hf_section_answer put_ticket(struct section *s)
{
    struct hf_listing *listing = s->result->listing;
    enum hf_section_answer answer = check_name(s);

    if (answer == HF_SECTION_DONE)
        answer = take_number(s);
    if (answer == HF_SECTION_DONE)
        answer = make_ticket(s);
    if (answer != HF_SECTION_DONE)
        return answer;
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
static hf_status drop_one(struct section *s, size_t index)
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
 * names the nearest, so that a queue of the living costs one probe. */
static hf_status drop_the_dead(struct section *s)
{
    struct hf_listing *listing = s->result->listing;
    const struct hf_site *site = s->place->site;
    hf_status status = HF_OK;
    struct hf_error unused;
    bool found;

    for (size_t left = listing->tickets.count; left > 0 && status == HF_OK;
         left--) {
        struct hf_snapshot snapshot = hf_listing_snapshot(listing);
        struct hf_admission admission = hf_admission_decide(
            &snapshot, &s->order->ticket.id, s->order->ticket.kind);
        char file[HF_TICKET_FILE_BYTES];
        char path[HF_PATH_BYTES];

        if (admission.answer != HF_WAIT_FOR)
            break;
        hf_ticket_file_format(admission.before, file);
        hf_site_path(site, s->entry, file, path);
        if (hf_section_probe(s->place->descriptors, path, NULL, &unused) !=
                HF_LIFE_DEAD ||
            hf_section_remove(site, s->entry, admission.before, &found,
                              &unused) != HF_OK)
            break; /* alive, or to be told to the watch of it */
        status =
            drop_one(s, (size_t)(admission.before - listing->tickets.items));
    }
    return status;
}

/* After the lock: what need not be under it. */
static enum hf_section_answer finish(struct section *s)
{
    if (drop_the_dead(s) == HF_OK &&
        hf_listing_read_payloads(s->result->listing, s->directory->fd,
                                 &s->order->ticket.id, s->order->ticket.payload,
                                 s->error) == HF_OK)
        return HF_SECTION_DONE;
    unmake_ticket(s);
    return HF_SECTION_FAILED;
}

/* HF_SECTION_BUSY with no directory left open: try again. */
static enum hf_section_answer attempt(struct section *s)
{
    enum hf_section_answer answer = lock_directory(s);

    if (answer != HF_SECTION_DONE)
        return answer;
    answer = put_ticket(s);
    if (answer == HF_SECTION_FAILED && !is_current(s)) {
        leave_directory(s); /* removed under our hands */
        return HF_SECTION_BUSY;
    }
    (void)hf_sys_flock(s->directory->fd, LOCK_UN);
    return answer == HF_SECTION_DONE ? finish(s) : answer;
}

static enum hf_section_answer run(struct section *s)
{
    for (unsigned try = 0; try < TRIES; try++) {
        enum hf_section_answer answer = attempt(s);

        if (answer != HF_SECTION_BUSY || s->directory->fd >= 0)
            return answer;
    }
    if (s->order->patience == HF_PATIENCE_NONE)
        return HF_SECTION_BUSY;
    hf_error_set(s->error, HF_EDIR,
                 "%s was removed %d times while being opened; what does that?",
                 s->path, TRIES);
    return HF_SECTION_FAILED;
}

enum hf_section_answer hf_section_enqueue(struct hf_place *place,
                                          const struct hf_section_order *order,
                                          struct hf_directory *directory,
                                          struct hf_section_result *result,
                                          struct hf_error *error)
{
    struct section s = {.place = place,
                        .order = order,
                        .directory = directory,
                        .result = result,
                        .error = error};
    enum hf_section_answer answer;

    s.digest = hf_entry_format(order->queue, s.entry);
    hf_site_path(place->site, s.entry, NULL, s.path);
    result->ticket = order->ticket;
    result->fifo = -1;
    result->listing = hf_listing_new(s.entry);
    if (result->listing == NULL) {
        hf_error_set(error, HF_ENOMEM, "no memory to list %s", s.path);
        return HF_SECTION_FAILED;
    }
    answer = run(&s);
    assert((answer == HF_SECTION_DONE) == (result->fifo >= 0));
    if (answer == HF_SECTION_DONE)
        return answer;
    hf_listing_unref(result->listing);
    result->listing = NULL;
    if (answer == HF_SECTION_FAILED && directory->fd >= 0)
        hf_section_tidy(place->site, place->descriptors, s.entry,
                        directory->fd);
    return answer;
}

enum hf_life hf_section_probe(struct hf_descriptors *descriptors,
                              const char *path, int *fifo,
                              struct hf_error *error)
{
    int fd = hf_sys_open(path, WAITER_FLAGS, 0);
    enum hf_life life = HF_LIFE_ALIVE;

    if (fifo != NULL)
        *fifo = -1;
    if (fd < 0 && errno == ENOENT)
        return HF_LIFE_DEAD;
    if (fd < 0 || !hf_descriptors_add(descriptors, fd)) {
        hf_trouble(error, "open", path);
        return HF_LIFE_UNKNOWN;
    }
    if (hf_sys_flock(fd, LOCK_SH | LOCK_NB) == 0) {
        (void)hf_sys_flock(fd, LOCK_UN);
        life = HF_LIFE_DEAD;
    } else if (errno != EWOULDBLOCK) {
        hf_trouble(error, "test", path);
        life = HF_LIFE_UNKNOWN;
    }
    if (life == HF_LIFE_ALIVE && fifo != NULL)
        *fifo = fd;
    else
        hf_descriptors_close(descriptors, &fd);
    return life;
}

hf_status hf_section_remove_ticket(const struct hf_site *site,
                                   const char *entry,
                                   const struct hf_ticket *ticket, bool *found,
                                   struct hf_error *error)
{
    char file[HF_TICKET_FILE_BYTES];
    char path[HF_PATH_BYTES];

    hf_ticket_file_format(ticket, file);
    hf_site_path(site, entry, file, path);
    *found = hf_sys_unlink(path) == 0;
    if (*found || errno == ENOENT)
        return HF_OK;
    return hf_trouble(error, "remove", path);
}

void hf_section_remove_payload(const struct hf_site *site, const char *entry,
                               const struct hf_ticket *ticket)
{
    char file[HF_PAYLOAD_FILE_BYTES];
    char path[HF_PATH_BYTES];

    hf_payload_file_format(ticket, file);
    hf_site_path(site, entry, file, path);
    (void)hf_sys_unlink(path);
}

hf_status hf_section_remove(const struct hf_site *site, const char *entry,
                            const struct hf_ticket *ticket, bool *found,
                            struct hf_error *error)
{
    hf_status status =
        hf_section_remove_ticket(site, entry, ticket, found, error);

    if (status == HF_OK)
        hf_section_remove_payload(site, entry, ticket);
    return status;
}

static bool same_directory(int dir, const char *path)
{
    struct stat open_one, at_path;

    return hf_sys_fstat(dir, &open_one) == 0 &&
           hf_sys_lstat(path, &at_path) == 0 &&
           open_one.st_dev == at_path.st_dev &&
           open_one.st_ino == at_path.st_ino;
}

/* Under the directory's lock: remove what only the dead have left.  False if
 * somebody alive has a ticket, or it cannot be told. */
static bool clear_directory(const struct hf_site *site,
                            struct hf_descriptors *descriptors,
                            struct hf_listing *listing, int dir)
{
    char file[HF_TICKET_FILE_BYTES];
    char path[HF_PATH_BYTES];
    struct hf_error unused;
    bool found;

    if (hf_listing_read(listing, dir, listing->entry, NULL, &unused) != HF_OK)
        return false;
    while (listing->tickets.count > 0) {
        hf_ticket_file_format(listing->tickets.items, file);
        hf_site_path(site, listing->entry, file, path);
        if (hf_section_probe(descriptors, path, NULL, &unused) !=
                HF_LIFE_DEAD ||
            hf_section_remove(site, listing->entry, listing->tickets.items,
                              &found, &unused) != HF_OK)
            return false;
        hf_listing_drop(listing, 0);
    }
    hf_listing_sweep(listing, dir);
    (void)hf_sys_unlinkat(dir, HF_NEW_FILE);
    (void)hf_sys_unlinkat(dir, HF_NAME_FILE);
    return true;
}

void hf_section_tidy(const struct hf_site *site,
                     struct hf_descriptors *descriptors, const char *entry,
                     int dir)
{
    char path[HF_PATH_BYTES];
    struct hf_listing *listing;

    if (hf_sys_flock(dir, LOCK_EX | LOCK_NB) != 0)
        return; /* somebody is at work in it */
    hf_site_path(site, entry, NULL, path);
    /* Not another one that has come to be at the path since. */
    if (same_directory(dir, path) && hf_sys_rmdir(path) != 0 &&
        errno == ENOTEMPTY) {
        listing = hf_listing_new(entry);
        if (listing != NULL && clear_directory(site, descriptors, listing, dir))
            (void)hf_sys_rmdir(path);
        hf_listing_unref(listing);
    }
    (void)hf_sys_flock(dir, LOCK_UN);
}
