/* SPDX-License-Identifier: Apache-2.0 */
/* A password of a URL is in no memory that the library gives back: an allocator
 * looks at each block before it is freed. */
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <holdfast/holdfast.h>

#include "client/client_url.h"
#include "cmocka/runner.h"

#define PASSWORD "QJXZWKVBQJ"

static atomic_int found;

static void look(void *memory)
{
    if (memory != NULL && memmem(memory, malloc_usable_size(memory), PASSWORD,
                                 strlen(PASSWORD)) != NULL)
        atomic_fetch_add(&found, 1);
}

static void *allocate(size_t bytes, void *arg)
{
    (void)arg;
    return malloc(bytes);
}

/* Always moves, so that the old block is seen. */
static void *resize(void *memory, size_t bytes, void *arg)
{
    size_t old = memory != NULL ? malloc_usable_size(memory) : 0;
    void *moved = malloc(bytes);

    (void)arg;
    if (moved == NULL)
        return NULL;
    if (memory != NULL)
        memcpy(moved, memory, old < bytes ? old : bytes);
    look(memory);
    free(memory);
    return moved;
}

static void release(void *memory, void *arg)
{
    (void)arg;
    look(memory);
    free(memory);
}

/* The allocator can be set once in a process, before anything else. */
static void install(void)
{
    const struct hf_allocator allocator = {allocate, resize, release, NULL};

    assert_int_equal(hf_set_allocator(&allocator), HF_OK);
}

TEST(the_allocator_sees_a_password)
{
    void *memory = allocate(64, NULL);

    install();
    memcpy(memory, PASSWORD, sizeof PASSWORD);
    release(memory, NULL);
    assert_int_equal(atomic_exchange(&found, 0), 1);
}

TEST(nothing_of_it_is_freed_with_a_client)
{
    struct hf_client *client;

    assert_int_equal(hf_client_open("zk://user:" PASSWORD
                                    "@127.0.0.1:1,127.0.0.1:2",
                                    NULL, &client),
                     HF_OK);
    hf_client_close(client);
    assert_int_equal(atomic_load(&found), 0);
}

TEST(nothing_of_it_is_freed_after_a_descriptor_was_read)
{
    char reference[HF_URL_REFERENCE_BYTES];
    struct hf_client *client;
    int fd =
        hf_client_url_refer("zk://user:" PASSWORD "@127.0.0.1:1", reference);

    assert_true(fd >= 0);
    assert_int_equal(hf_client_open(reference, NULL, &client), HF_OK);
    hf_client_close(client);
    close(fd);
    assert_int_equal(atomic_load(&found), 0);
}

TEST(nothing_of_it_is_freed_with_a_refused_url)
{
    struct hf_client *client;

    assert_int_equal(
        hf_client_open("zk://user:" PASSWORD "@h?nothing=1", NULL, &client),
        HF_EURL);
    assert_int_equal(atomic_load(&found), 0);
}
