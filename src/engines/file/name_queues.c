/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HF_REQUEST_NAMES: finds the directories of locks that have tickets.
 *
 * The directory "locks" is read completely for each page.  A page is the first
 * HF_NAMES_PAGE names behind the cursor, in the order of bytes.  So a directory
 * that exists all the time is in exactly one page, whatever the order of the
 * filesystem is, and nothing is kept between pages.  Then each directory of the
 * page is searched for tickets.
 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "core/name_list.h"
#include "engines/file/engine.h"
#include "engines/file/file_names.h"
#include "engines/file/queue.h"
#include "engines/file/requests.h"
#include "engines/file/syscalls.h"

#define BUFFER_BYTES 32768

/* When this many names are collected, they are sorted, and those behind the
 * first HF_NAMES_PAGE are dropped, because they belong to a later page. */
#define ROOM ((size_t)2 * HF_NAMES_PAGE)

typedef char dir_name_text[HF_DIR_NAME_BYTES];

/* A page that is being made. */
struct page {
    struct hf_engine *engine;
    const struct hf_request *request;
    dir_name_text after; /* the cursor */
    dir_name_text *names;
    size_t count;
    bool more; /* names were dropped */
    struct hf_name_list queues;
    size_t unreadable;
};

/* ------------------------------------------------------- directory names -- */

/* Returns the value of a hexadecimal digit as it is in the names, or -1. */
static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Set ${queue} to the name that ${dir_name} spells out.  Returns false if
 * ${dir_name} has a digest, or is the directory of no lock. */
static bool spell_out(const char *dir_name, char queue[HF_QUEUE_BYTES + 1])
{
    dir_name_text again;
    char *to = queue;

    for (const char *at = dir_name; *at != '\0'; at++) {
        int high = *at == '%' ? digit(at[1]) : 0;
        int low = *at == '%' && high >= 0 ? digit(at[2]) : 0;

        if (high < 0 || low < 0)
            return false;
        if (*at == '%') {
            *to++ = (char)(high << 4 | low);
            at += 2;
        } else {
            *to++ = *at;
        }
    }
    *to = '\0';
    return queue[0] != '\0' && !hf_file_dir_name_format(queue, again) &&
           strcmp(again, dir_name) == 0;
}

/* Set ${queue} to the name that the directory ${dir_name} has in HF_NAME_FILE.
 * Returns false if there is none, or if it is of another directory. */
static bool read_name(struct hf_engine *engine, const char *dir_name,
                      char queue[HF_QUEUE_BYTES + 1])
{
    dir_name_text again;
    char path[HF_PATH_BYTES];
    ssize_t got;

    hf_file_root_settings_path(&engine->settings, dir_name, HF_NAME_FILE, path);
    got = hf_file_sys_readlinkat(AT_FDCWD, path, queue, HF_QUEUE_BYTES);
    if (got <= 0)
        return false;
    queue[got] = '\0';
    return hf_file_dir_name_format(queue, again) &&
           strcmp(again, dir_name) == 0;
}

/* -------------------------------------------------------- the first ones -- */

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Sort the names, and drop those that belong to a later page. */
static void cut(struct page *page)
{
    if (page->count > 0)
        qsort(page->names, page->count, sizeof *page->names, compare);
    if (page->count <= HF_NAMES_PAGE)
        return;
    page->count = HF_NAMES_PAGE;
    page->more = true;
}

/* Returns whether the directory may be that of a lock at or below the prefix,
 * and is behind the cursor. */
static bool is_wanted(const struct page *page, const char *dir_name)
{
    char queue[HF_QUEUE_BYTES + 1];

    if (strlen(dir_name) >= HF_DIR_NAME_BYTES ||
        strcmp(dir_name, page->after) <= 0)
        return false;
    if (strchr(dir_name, '~') != NULL)
        return true; /* its name is in a file, which is read later */
    return spell_out(dir_name, queue) &&
           hf_name_is_below(queue, page->request->queue);
}

static void add(struct page *page, const char *dir_name)
{
    if (!is_wanted(page, dir_name))
        return;
    if (page->count == ROOM)
        cut(page);
    memcpy(page->names[page->count++], dir_name, strlen(dir_name) + 1);
}

/* Collect the names of the directory ${dir}. */
static hf_status collect(struct page *page, int dir, const char *path,
                         struct hf_error *error)
{
    _Alignas(struct dirent64) char buffer[BUFFER_BYTES];
    ssize_t got;

    while ((got = hf_file_sys_getdents(dir, buffer, sizeof(buffer))) != 0) {
        if (got < 0)
            return hf_file_error_set_errno(error, "list", path);
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *found =
                (const struct dirent64 *)(const void *)(buffer + at);

            add(page, found->d_name);
            at += found->d_reclen;
        }
    }
    cut(page);
    return HF_OK;
}

/* Read "locks".  If it does not exist, there are no names. */
static hf_status read_locks(struct page *page, struct hf_error *error)
{
    struct hf_engine *engine = page->engine;
    char path[HF_PATH_BYTES];
    hf_status status;
    int dir;

    hf_file_root_settings_path(&engine->settings, "", NULL, path);
    dir = hf_file_sys_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (dir < 0 && errno == ENOENT)
        return HF_OK;
    if (dir < 0 || !hf_file_descriptors_add(&engine->descriptors, dir))
        return hf_file_error_set_errno(error, "open", path);
    status = collect(page, dir, path, error);
    hf_file_descriptors_close(&engine->descriptors, &dir);
    return status;
}

/* --------------------------------------------------------------- tickets -- */

/* Add ${queue} to the names if it has tickets. */
static hf_status name_queue(struct page *page, const char *queue,
                            struct hf_error *error)
{
    struct hf_file_listing *listing;
    bool tickets = false, participants = false;
    hf_status status = hf_file_read_queue(page->engine, queue, HF_LISTING_ALL,
                                          0, &listing, error);

    if (status == HF_EDENIED) {
        page->unreadable++;
        return HF_OK;
    }
    if (status != HF_OK)
        return status;
    for (size_t i = 0; i < listing->tickets.count; i++) {
        if (listing->tickets.items[i].kind == HF_TICKET_PARTICIPANT)
            participants = true;
        else
            tickets = true;
    }
    hf_file_listing_unref(listing);
    if (tickets)
        hf_name_list_add(&page->queues, queue, strlen(queue), false);
    if (participants)
        hf_name_list_add(&page->queues, queue, strlen(queue), true);
    return HF_OK;
}

/* Search each directory of the page for tickets. */
static hf_status name_queues(struct page *page, struct hf_error *error)
{
    char queue[HF_QUEUE_BYTES + 1];
    hf_status status = HF_OK;

    for (size_t i = 0; i < page->count && status == HF_OK; i++) {
        const char *dir_name = page->names[i];
        bool known = strchr(dir_name, '~') != NULL
                         ? read_name(page->engine, dir_name, queue)
                         : spell_out(dir_name, queue);

        if (known && hf_name_is_below(queue, page->request->queue))
            status = name_queue(page, queue, error);
    }
    if (status == HF_OK && page->queues.failed)
        status = hf_error_set(error, HF_ENOMEM, "no memory to list names");
    return status;
}

/* Answer the request with the page. */
static void answer(struct page *page, struct hf_request *request)
{
    struct hf_names_answer names = {.looked_at = page->count,
                                    .unreadable = page->unreadable};
    struct hf_event event = {.kind = HF_EVENT_NAMED};

    hf_name_list_answer(&page->queues, &names);
    if (page->more) {
        names.cursor = page->names[page->count - 1];
        names.cursor_bytes = strlen(names.cursor);
    }
    event.as.answer.request = request;
    event.as.answer.names = &names;
    event.as.answer.text = "";
    page->engine->host.event(page->engine->host.host, &event);
}

/* Collect the directories of the page and search them. */
static hf_status make_page(struct page *page, struct hf_error *error)
{
    hf_status status = HF_OK;

    if (page->engine->root_dir != NULL)
        status = read_locks(page, error);
    return status == HF_OK ? name_queues(page, error) : status;
}

void hf_file_name_queues(struct hf_engine *engine, struct hf_request *request)
{
    struct page page = {.engine = engine, .request = request};
    struct hf_error error;

    assert(request->names->cursor_bytes < HF_DIR_NAME_BYTES);
    if (request->names->cursor_bytes > 0)
        memcpy(page.after, request->names->cursor,
               request->names->cursor_bytes);
    page.names = hf_alloc(ROOM * sizeof *page.names);
    if (page.names == NULL) {
        hf_error_set(&error, HF_ENOMEM, "no memory to list names");
        hf_file_fail_by_status(engine, request, &error);
        return;
    }
    if (make_page(&page, &error) == HF_OK)
        answer(&page, request);
    else
        hf_file_fail_by_status(engine, request, &error);
    hf_name_list_free(&page.queues);
    hf_free(page.names);
}
