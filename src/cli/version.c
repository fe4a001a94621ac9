/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holdfast --version, and with -v the engines of this installation.  Each
 * engine is loaded as a run would load it, so the table shows what will
 * happen.
 */
#include "cli/commands.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <holdfast/holdfast.h>

#include "client/engines.h"
#include "command/command_line.h"
#include "command/exit_status.h"
#include "command/ui.h"

/* Why this build has no module of an engine; "": it has one.  Set by
 * cmake/HoldfastOptional.cmake. */
#if !defined HF_REDIS_WHY || !defined HF_POSTGRES_WHY ||                       \
    !defined HF_ETCD_WHY || !defined HF_TLS_WHY || !defined HF_SASL_WHY
#error                                                                         \
    "HF_REDIS_WHY, HF_POSTGRES_WHY, HF_ETCD_WHY, HF_TLS_WHY and HF_SASL_WHY must be set"
#endif

/* One row of the table. */
struct component {
    const char *name;
    const char *scheme; /* URL scheme; NULL: .find knows what to load */
    const char *urls;   /* URLs that need it */
    const char *why;    /* why it was not built; "": it was */
    hf_status (*find)(const void **loaded, struct hf_error *error);
};

static hf_status find_tls(const void **loaded, struct hf_error *error)
{
    const struct hf_tls_ops *tls = NULL;
    hf_status status = hf_engines_tls(&tls, error);

    *loaded = tls;
    return status;
}

static hf_status find_sasl(const void **loaded, struct hf_error *error)
{
    const struct hf_sasl_ops *sasl = NULL;
    hf_status status = hf_engines_sasl(&sasl, error);

    *loaded = sasl;
    return status;
}

static const struct component components[] = {
    {"file", "file", "file:", "", NULL},
    {"zookeeper", "zk", "zk:", "", NULL},
    {"redis", "redis", "redis: quorum:", HF_REDIS_WHY, NULL},
    {"postgresql", "postgresql", "postgresql:", HF_POSTGRES_WHY, NULL},
    {"etcd", "etcd", "etcd:", HF_ETCD_WHY, NULL},
    {"tls", NULL, "zks: rediss: etcds:", HF_TLS_WHY, find_tls},
    {"sasl", NULL, "zk:...?sasl=", HF_SASL_WHY, find_sasl},
};

/* Load the component; ${loaded} is set to the address of something in it. */
static hf_status load(const struct component *component, const void **loaded,
                      struct hf_error *error)
{
    const struct hf_engine_ops *engine = NULL;
    hf_status status;

    if (component->scheme == NULL)
        return component->find(loaded, error);
    status = hf_engines_find(component->scheme, &engine, error);
    *loaded = engine;
    return status;
}

/* The file that ${loaded} is in, or "built in". */
static const char *file_of(const void *loaded)
{
    static const char ours;
    Dl_info here;
    Dl_info there;

    if (dladdr(loaded, &there) == 0 ||
        (dladdr(&ours, &here) != 0 && here.dli_fbase == there.dli_fbase))
        return "built in";
    return there.dli_fname;
}

/* Print one row of the table. */
static void print_row(const struct component *component)
{
    struct hf_error error;
    const void *loaded;
    bool works = load(component, &loaded, &error) == HF_OK;
    const char *detail = component->why;

    if (works)
        detail = file_of(loaded);
    else if (detail[0] == '\0')
        detail = error.text;
    printf("%-10s %-7s %-19s %s\n", component->name,
           works ? "works" : "missing", component->urls, detail);
}

static void print_engines(void)
{
    printf("\n%-10s %-7s %-19s %s\n", "ENGINE", "STATE", "URLS",
           "FROM, OR WHY IT IS MISSING");
    for (size_t i = 0; i < sizeof components / sizeof *components; i++)
        print_row(&components[i]);
}

int hf_version_main(int argc, char **argv)
{
    bool engines = argc == 2 && (strcmp(argv[1], "-v") == 0 ||
                                 strcmp(argv[1], "--verbose") == 0);

    if (argc > 1 && !engines) {
        hf_ui_print(
            "'%.80s': not expected; expected --version, or --version -v for "
            "the engines too",
            argv[1]);
        return HF_EXIT_USAGE;
    }
    puts("holdfast " HF_VERSION_STRING);
    if (engines)
        print_engines();
    return hf_command_line_end_output();
}
