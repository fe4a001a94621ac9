/* SPDX-License-Identifier: Apache-2.0 */
/* Engine modules: which are loaded, and the error text for those that are
 * not (src/client/modules.c). */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/engines.h"
#include "cmocka/runner.h"
#include "process.h"

static void assert_unsupported(hf_status status, const struct hf_error *error,
                               const char *const wanted[])
{
    assert_int_equal(status, HF_EUNSUPPORTED);
    assert_int_equal(error->status, HF_EUNSUPPORTED);
    for (; *wanted != NULL; wanted++) {
        if (strstr(error->text, *wanted) == NULL)
            print_error("\"%s\" does not say \"%s\"\n", error->text, *wanted);
        assert_non_null(strstr(error->text, *wanted));
    }
}

static hf_status load_from(const char *directory, const char *scheme,
                           const struct hf_engine_ops **ops,
                           struct hf_error *error)
{
    const struct hf_module_dirs dirs = {.configured = directory};

    return hf_engines_load(&dirs, scheme, ops, error);
}

static void assert_open_refused(const char *url, const char *const wanted[])
{
    struct hf_client *client;
    hf_status status = hf_client_open(url, NULL, &client);

    assert_null(client);
    assert_unsupported(status, hf_last_error(), wanted);
    assert_int_equal(strncmp(hf_last_error()->text, "hf_client_open: ", 16), 0);
}

TEST(a_module_that_is_not_there)
{
    static const char *const wanted[] = {
        HF_TESTED_MODULE_DIR "/engine-missing.so", HF_TESTED_PACKAGE "-missing",
        "'holdfast --version -v'", NULL};

    assert_open_refused("missing://host", wanted);
}

/* The engine is there, and TLS is not. */
TEST(tls_that_is_not_there)
{
    static const char *const wanted[] = {HF_TESTED_MODULE_DIR
                                         "/transport-tls.so",
                                         HF_TESTED_PACKAGE "-tls", NULL};

    assert_open_refused("zks://127.0.0.1:1", wanted);
}

TEST(sasl_that_is_not_there)
{
    static const char *const wanted[] = {HF_TESTED_MODULE_DIR
                                         "/transport-sasl.so",
                                         HF_TESTED_PACKAGE "-sasl", NULL};

    assert_open_refused("zk://127.0.0.1:1/?sasl=GSSAPI", wanted);
}

TEST(a_library_that_is_no_module)
{
    static const char *const wanted[] = {
        "engine-empty.so", "no module of holdfast", "hf_engine_module", NULL};

    assert_open_refused("empty:", wanted);
}

TEST(a_module_of_another_interface)
{
    static const char *const wanted[] = {"engine-otherabi.so", "interface 4711",
                                         HF_VERSION_STRING, NULL};

    assert_open_refused("otherabi:", wanted);
}

TEST(a_module_of_another_scheme)
{
    static const char *const wanted[] = {"engine-misnamed.so", "\"different\"",
                                         "\"misnamed\"", NULL};

    assert_open_refused("misnamed:", wanted);
}

/* The first try left the module loaded, and the second must not take that. */
TEST(a_bad_module_stays_bad)
{
    a_module_of_another_interface(state);
    a_module_of_another_interface(state);
    a_module_of_another_scheme(state);
}

/* A file that is no library at all. */
TEST(a_file_that_is_no_library)
{
    static const char *const wanted[] = {"cannot be loaded", "engine-text.so",
                                         NULL};
    const struct hf_engine_ops *ops = NULL;
    struct client_directory directory;
    struct hf_error error;
    char path[128];
    int fd;

    client_directory_create(&directory);
    snprintf(path, sizeof(path), "%s/engine-text.so", directory.path);
    fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    assert_int_equal(write(fd, "text\n", 5), 5);
    close(fd);
    assert_unsupported(load_from(directory.path, "text", &ops, &error), &error,
                       wanted);
    assert_null(ops);
    client_directory_remove(&directory);
}

TEST(a_good_module_is_found)
{
    const struct hf_engine_ops *ops = NULL;
    const struct hf_engine_ops *again = NULL;
    struct hf_error error;

    assert_int_equal(load_from(HF_TESTED_MODULE_DIR, "scripted", &ops, &error),
                     HF_OK);
    assert_string_equal(ops->scheme, "scripted");
    assert_int_equal(hf_engines_find("scripted", &again, &error), HF_OK);
    assert_ptr_equal(again, ops);
    assert_int_equal(hf_engines_find("file", &ops, &error), HF_OK);
    assert_string_equal(ops->scheme, "file");
}

/* The module lies where each of these would lead if it were a path. */
TEST(a_scheme_is_never_a_path)
{
    static const char *const schemes[] = {
        "x/../scripted", "../scripted", "x/scripted", "..", ".", "",
        "Scripted",      "scripted.so"};
    static const char *const wanted[] = {"no engine has the scheme", NULL};
    static const char module[] = HF_TESTED_MODULE_DIR "/engine-scripted.so";
    const struct hf_engine_ops *ops = NULL;
    struct hf_client *client;
    struct hf_error error;
    struct client_directory directory;
    char path[128];
    size_t i;

    client_directory_create(&directory);
    snprintf(path, sizeof(path), "%s/engine-x", directory.path);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof(path), "%s/engine-x/scripted.so", directory.path);
    assert_int_equal(symlink(module, path), 0);
    snprintf(path, sizeof(path), "%s/scripted.so", directory.path);
    assert_int_equal(symlink(module, path), 0);
    assert_int_equal(access(path, R_OK), 0);
    for (i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
        assert_unsupported(load_from(directory.path, schemes[i], &ops, &error),
                           &error, wanted);
    assert_null(ops);
    /* A URL cannot contain them. */
    assert_int_equal(hf_client_open("x/../scripted:?fd=0", NULL, &client),
                     HF_EURL);
    assert_int_equal(hf_client_open("..:x", NULL, &client), HF_EURL);
    client_directory_remove(&directory);
}
