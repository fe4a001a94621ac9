/* SPDX-License-Identifier: Apache-2.0 */
/* Roots that are opened and closed, without an engine. */
#include "file_root.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

char root_dir[64];

int root_begin(void **state)
{
    (void)state;
    (void)unsetenv("HOLDFAST_DIR");
    (void)snprintf(root_dir, sizeof(root_dir), "/tmp/holdfast-root-XXXXXX");
    return mkdtemp(root_dir) == NULL;
}

int root_finish(void **state)
{
    char command[96];

    (void)state;
    (void)snprintf(command, sizeof(command), "rm -r %s", root_dir);
    return system(command);
}

hf_status root_parse_url(const char *text,
                         struct hf_file_root_settings *settings,
                         struct hf_error *error)
{
    struct hf_url url;
    hf_status status;

    error->text[0] = '\0';
    status = hf_url_parse(text, &url, error);
    if (status != HF_OK)
        return status;
    status = hf_file_root_settings_choose(&url, settings, error);
    hf_url_free(&url);
    return status;
}

hf_status root_open_with(const char *root, const char *state, const char *query,
                         struct hf_error *error)
{
    struct hf_file_descriptors descriptors = {{NULL}};
    struct hf_file_root_dir *opened;
    struct hf_file_root_settings settings;
    char url[HF_ROOT_BYTES + 256];
    hf_status status;

    (void)snprintf(url, sizeof(url), "file:%s?state=%s%s", root, state, query);
    assert_int_equal(root_parse_url(url, &settings, error), HF_OK);
    status = hf_file_root_dir_open(&settings, &descriptors, &opened, error);
    assert_true((status == HF_OK) == (opened != NULL));
    hf_file_root_dir_unref(opened);
    hf_file_descriptors_free(&descriptors);
    return status;
}

hf_status root_open(const char *root, const char *query, struct hf_error *error)
{
    char state[96];

    (void)snprintf(state, sizeof(state), "%s/state", root_dir);
    return root_open_with(root, state, query, error);
}
