/* SPDX-License-Identifier: Apache-2.0 */
/* Which root directory the engine takes, and which it refuses. */
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "file_root.h"

#define FIXTURE_TEST(name) TEST_WITH(name, root_begin, root_finish)

FIXTURE_TEST(the_url_decides_then_the_environment)
{
    struct hf_file_root_settings settings;
    struct hf_error error;

    assert_int_equal(setenv("HOLDFAST_DIR", "/srv/locks/", 1), 0);
    assert_int_equal(root_parse_url("file:", &settings, &error), HF_OK);
    assert_string_equal(settings.root, "/srv/locks");
    assert_string_equal(settings.counter_path, "/srv/locks/counter");
    assert_int_equal(root_parse_url("file:/run/x//", &settings, &error), HF_OK);
    assert_string_equal(settings.root, "/run/x");
    assert_int_equal(root_parse_url("file:///run/x", &settings, &error), HF_OK);
    assert_string_equal(settings.root, "/run/x");
    assert_int_equal(setenv("HOLDFAST_DIR", "", 1), 0);
    assert_int_equal(root_parse_url("file:", &settings, &error), HF_EDIR);
    assert_non_null(strstr(error.text, "HOLDFAST_DIR is empty; expected"));
    assert_int_equal(unsetenv("HOLDFAST_DIR"), 0);
    assert_int_equal(root_parse_url("file:", &settings, &error), HF_OK);
    if (geteuid() == 0)
        assert_string_equal(settings.root, "/run/holdfast");
    else
        assert_non_null(strstr(settings.root, "/holdfast-"));
}

/* The default root of a user has the uid in its path, and all processes of
 * that user find it. */
FIXTURE_TEST(the_default_of_a_user_names_the_user)
{
    struct hf_file_root_settings settings;
    struct hf_error error;
    pid_t child;
    int ended;

    if (geteuid() != 0) {
        print_message("only root can become another user\n");
        skip();
    }
    child = test_fork();
    if (child == 0) {
        if (seteuid(12345) != 0 ||
            root_parse_url("file:", &settings, &error) != HF_OK)
            _exit(1);
        _exit(strstr(settings.root, "/holdfast-12345") == NULL ||
              strstr(settings.state, "/holdfast-12345") == NULL);
    }
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_int_equal(ended, 0);
}

FIXTURE_TEST(modes_are_kept_and_checked)
{
    static const char *const bad[] = {"file:/x?mode=",     "file:/x?mode=rw",
                                      "file:/x?mode=0888", "file:/x?mode=077",
                                      "file:/x?mode=4770", "file:/x?mode=17777",
                                      "file:/x?mode=-700"};
    struct hf_file_root_settings settings = {0};
    struct hf_error error;

    assert_int_equal(root_parse_url("file:/x", &settings, &error), HF_OK);
    assert_false(settings.shared);
    assert_int_equal(settings.dir_mode, 0700);
    assert_int_equal(settings.file_mode, 0600);
    assert_int_equal(root_parse_url("file:/x?mode=1777", &settings, &error),
                     HF_OK);
    assert_true(settings.shared);
    assert_int_equal(settings.mode, 01777);
    assert_int_equal(settings.dir_mode, 0777);
    assert_int_equal(settings.file_mode, 0666);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(root_parse_url(bad[i], &settings, &error), HF_EURL);
        assert_non_null(strstr(error.text, "0770"));
    }
}

FIXTURE_TEST(bad_urls_are_refused)
{
    static const struct {
        const char *url;
        const char *says;
    } rows[] = {
        {"file:run/x", "absolute"},  {"file:/", "\"/\""},
        {"file:////", "\"/\""},      {"file://host/x", "host"},
        {"file:/x?sate=/y", "sate"}, {"file:/x?state=y", "absolute"},
    };
    char longest[HF_ROOT_BYTES + 16];
    struct hf_file_root_settings settings;
    struct hf_error error;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(root_parse_url(rows[i].url, &settings, &error),
                         HF_EURL);
        print_message("%s\n", error.text);
        assert_non_null(strstr(error.text, rows[i].says));
    }
    memset(longest, 'x', sizeof(longest));
    memcpy(longest, "file:/", 6);
    longest[sizeof(longest) - 1] = '\0';
    assert_int_equal(root_parse_url(longest, &settings, &error), HF_EURL);
    assert_non_null(strstr(error.text, "at most 1023"));
    assert_int_equal(setenv("HOLDFAST_DIR", "locks", 1), 0);
    assert_int_equal(root_parse_url("file:", &settings, &error), HF_EDIR);
    assert_non_null(strstr(error.text, "HOLDFAST_DIR"));
}

FIXTURE_TEST(options_go_into_the_url)
{
    static const char *const wrong[] = {"/srv/locks?mode=0770", "file:/srv"};
    struct hf_file_root_settings settings;
    struct hf_error error;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(setenv("HOLDFAST_DIR", wrong[i], 1), 0);
        assert_int_equal(root_parse_url("file:", &settings, &error), HF_EDIR);
        print_message("%s\n", error.text);
        assert_non_null(strstr(error.text, wrong[i]));
        assert_non_null(strstr(error.text, "HOLDFAST_URL"));
    }
}

FIXTURE_TEST(filesystems_are_allowed_by_name)
{
    static const uint64_t good[] = {0x01021994, 0xef53,     0x58465342,
                                    0x9123683e, 0xf2f52010, 0x794c7630,
                                    0x858458f6};
    static const struct {
        uint64_t magic;
        const char *name;
    } bad[] = {{0x6969, "NFS"},      {0xff534d42, "CIFS"}, {0xfe534d42, "SMB2"},
               {0x65735546, "FUSE"}, {0x01021997, "9p"},   {0x12345, "0x12345"},
               {0, "unknown"}};
    struct hf_error error;

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_int_equal(
            hf_file_root_dir_check_filesystem(good[i], "/x", &error), HF_OK);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(
            hf_file_root_dir_check_filesystem(bad[i].magic, "/x", &error),
            HF_EDIR);
        assert_non_null(strstr(error.text, bad[i].name));
        assert_non_null(strstr(error.text, "/x"));
    }
}

static mode_t mode_of(const char *path)
{
    struct stat status;

    assert_int_equal(lstat(path, &status), 0);
    return status.st_mode & 07777;
}

FIXTURE_TEST(what_is_missing_is_made)
{
    char root[96], path[128];
    struct hf_error error;
    mode_t before = umask(0077);

    (void)snprintf(root, sizeof(root), "%s/root", root_dir);
    assert_int_equal(root_open(root, "", &error), HF_OK);
    assert_int_equal(mode_of(root), 0700);
    (void)snprintf(path, sizeof(path), "%s/locks", root);
    assert_int_equal(mode_of(path), 0700);
    (void)snprintf(root, sizeof(root), "%s/shared", root_dir);
    assert_int_equal(root_open(root, "&mode=1777", &error), HF_OK);
    assert_int_equal(mode_of(root), 01777);
    (void)snprintf(path, sizeof(path), "%s/locks", root);
    assert_int_equal(mode_of(path), 0777);
    (void)snprintf(path, sizeof(path), "%s/counter", root);
    assert_int_equal(mode_of(path), 0666);
    (void)umask(before);
}

/* A client that makes no ticket leaves nothing behind. */
FIXTURE_TEST(looking_makes_nothing)
{
    struct hf_file_descriptors descriptors = {{NULL}};
    struct hf_file_root_dir *opened;
    struct hf_error error;
    struct hf_file_root_settings settings;
    char url[96], root[80], locks[88];

    (void)snprintf(root, sizeof root, "%s/root", root_dir);
    (void)snprintf(locks, sizeof locks, "%s/locks", root);
    (void)snprintf(url, sizeof url, "file:%s", root);
    assert_int_equal(root_parse_url(url, &settings, &error), HF_OK);
    assert_int_equal(hf_file_root_dir_open_existing(&settings, &descriptors,
                                                    &opened, &error),
                     HF_OK);
    assert_null(opened);
    assert_int_equal(access(root, F_OK), -1);
    assert_int_equal(mkdir(root, 0700), 0);
    assert_int_equal(hf_file_root_dir_open_existing(&settings, &descriptors,
                                                    &opened, &error),
                     HF_OK);
    assert_null(opened);
    assert_int_equal(access(locks, F_OK), -1);
    assert_int_equal(root_open(root, "", &error), HF_OK);
    assert_int_equal(hf_file_root_dir_open_existing(&settings, &descriptors,
                                                    &opened, &error),
                     HF_OK);
    assert_non_null(opened);
    hf_file_root_dir_unref(opened);
    assert_int_equal(chmod(root, 0777), 0);
    assert_int_equal(hf_file_root_dir_open_existing(&settings, &descriptors,
                                                    &opened, &error),
                     HF_EDENIED);
    assert_null(opened);
    hf_file_descriptors_free(&descriptors);
}

FIXTURE_TEST(unsafe_directories_are_refused)
{
    char path[96], link[96];
    struct hf_error error;

    (void)snprintf(path, sizeof(path), "%s/root", root_dir);
    (void)snprintf(link, sizeof(link), "%s/link", root_dir);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(root_open(link, "", &error), HF_EDIR);
    assert_non_null(strstr(error.text, link));
    assert_int_equal(chmod(path, 0777), 0);
    assert_int_equal(root_open(path, "", &error), HF_EDENIED);
    assert_non_null(strstr(error.text, "0777"));
    assert_int_equal(root_open(path, "&mode=0777", &error), HF_OK);
    (void)snprintf(path, sizeof(path), "%s/no/root", root_dir);
    assert_int_equal(root_open(path, "", &error), HF_EDIR);
    assert_non_null(strstr(error.text, "/no is not there; make it"));
    (void)snprintf(path, sizeof(path), "%s/state", root_dir);
    (void)strcat(path, "/floor"); /* a file by now */
    assert_int_equal(root_open(path, "", &error), HF_EDIR);
}

FIXTURE_TEST(another_users_directory_is_refused)
{
    char path[96];
    struct hf_error error;

    if (geteuid() != 0) {
        print_message("only root can give a directory away\n");
        skip();
    }
    (void)snprintf(path, sizeof(path), "%s/root", root_dir);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chown(path, 12345, 12345), 0);
    assert_int_equal(root_open(path, "", &error), HF_EDENIED);
    assert_non_null(strstr(error.text, "user 12345"));
    assert_int_equal(root_open(path, "&mode=0770", &error), HF_EDIR);
    assert_non_null(strstr(error.text, "chmod 2770"));
    assert_int_equal(chmod(path, 02770), 0);
    assert_int_equal(root_open(path, "&mode=0770", &error), HF_OK);
}

FIXTURE_TEST(another_filesystem_is_refused)
{
    struct hf_error error;

    /* It belongs to this user, and cannot have locks. */
    assert_int_equal(root_open("/proc/self", "", &error), HF_EDIR);
    assert_int_equal(root_open("/proc/self/task", "&mode=0777", &error),
                     HF_EDIR);
    assert_non_null(strstr(error.text, "proc"));
}

/* In a mount namespace: a tmpfs that is full at each point in turn.  Exit
 * status 0: each time HF_EFULL or success. */
static int open_on_full(void)
{
    struct hf_error error;
    char root[96], options[64], filler[128];

    (void)snprintf(root, sizeof(root), "%s/full", root_dir);
    (void)snprintf(filler, sizeof(filler), "%s/filler", root);
    if (mkdir(root, 0700) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return 77;
    for (unsigned inodes = 1; inodes < 6; inodes++) {
        hf_status status;

        (void)snprintf(options, sizeof(options),
                       "size=4k,mode=0700,nr_inodes=%u", inodes);
        if (mount("none", root, "tmpfs", 0, options) != 0)
            return 77;
        status = root_open(root, "", &error);
        if (inodes < 3 ? status != HF_EFULL : status != HF_OK)
            return (int)inodes;
        (void)umount(root);
    }
    /* No block is left for the page of the counter. */
    if (mount("none", root, "tmpfs", 0, "size=4k,mode=0700") != 0)
        return 77;
    FILE *file = fopen(filler, "w");
    if (file == NULL || fputc('x', file) != 'x' || fclose(file) != 0)
        return 10;
    if (root_open(root, "", &error) != HF_EFULL ||
        strstr(error.text, "free space") == NULL)
        return 11;
    (void)unlink(filler);
    return root_open(root, "", &error) == HF_OK ? 0 : 12;
}

FIXTURE_TEST(a_full_filesystem_is_reported)
{
    pid_t child = test_fork();
    int ended;

    if (child == 0)
        _exit(unshare(CLONE_NEWNS) != 0 ? 77 : open_on_full());
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFEXITED(ended));
    if (WEXITSTATUS(ended) == 77) {
        print_message("no permission to mount a tmpfs\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(ended), 0);
}
