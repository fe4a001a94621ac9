/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles of the public ZooKeeper client in one process.  A test drives it: it
 * writes one command on each line of standard input.  S, ID, W and R are
 * numbers below 1024 that the test chooses: of a handle, an operation, a watch
 * and a registration.
 *
 *     open S URL [NAME=VALUE...]      connect_ms=, credential=SCHEME:BYTES,
 *                                     session=ID:PASSWORD:TIMEOUT,
 *                                     read_only=1
 *     close S
 *     session S
 *     start ID S KIND WAIT_MS [NAME=VALUE...]   path=, data=, version=, mode=,
 *                                     ttl=, priority=, watch=W,
 *                                     acl=P:SCHEME:ID; flags=, unique=
 *     cancel ID
 *     watch W S KIND PATH
 *     unwatch W
 *     register R S PATH [data=]
 *     reset R - [data=]               new data
 *     registered R WAIT_MS            waits for it
 *     unregister R WAIT_MS            closes it; free: does not wait
 *
 * KIND is a number of <holdfast/zookeeper.h>, or one of enum retried_kind.  The
 * data are null without data=; an update appends them.  The program prints one
 * line for each callback, and for each command that has no callback:
 *
 *     session S STATE
 *     session S opened STATUS TEXT
 *     session S log LINE
 *     session S is STATUS ID PASSWORD TIMEOUT
 *     session S closed STATUS
 *     op ID STATUS WATCHING ERROR [NAME=VALUE...] text=TEXT
 *     op ID dropped
 *     watch W opened STATUS
 *     watch W EVENT PATH
 *     watch W dropped
 *     watch W freed
 *     registration R opened STATUS
 *     registration R EVENT STATUS CZXID TEXT
 *     registration R set STATUS
 *     registration R waited STATUS
 *     registration R dropped
 *     registration R closed STATUS, or freed
 *
 * The end of standard input closes every handle and ends the process.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <holdfast/zookeeper_registration.h>
#include <holdfast/zookeeper_retry.h>

#define NUMBERS 1024
#define LINE_BYTES 65536
#define WORDS_MAX 32

struct handle {
    unsigned number;
    struct hf_zookeeper *zookeeper;
};

/* The calls of <holdfast/zookeeper_retry.h>. */
enum retried_kind {
    CREATE_PROTECTED = 101,
    DELETE_GUARANTEED = 102,
    UPDATE = 103,
};

struct operation {
    unsigned number;
    struct hf_op *op;
    /* Of an update: what is appended, and the data that this makes. */
    char appended[16];
    char data[1024];
    bool unique;
};

struct watch {
    unsigned number;
    struct hf_zookeeper_watch *watch;
};

struct registration {
    unsigned number;
    struct hf_zookeeper_registration *registration;
};

static struct handle handles[NUMBERS];
static struct operation operations[NUMBERS];
static struct watch watches[NUMBERS];
static struct registration registrations[NUMBERS];

/* The words of a command; those from .options on are NAME=VALUE. */
struct command {
    char *words[WORDS_MAX];
    size_t count;
    size_t options;
};

_Noreturn static void give_up(const char *what)
{
    fprintf(stderr, "zookeeper_driver: %s\n", what);
    exit(64);
}

static unsigned number_of(const struct command *command, size_t word)
{
    unsigned long number;

    if (word >= command->count)
        give_up("too few words");
    number = strtoul(command->words[word], NULL, 10);
    if (number >= NUMBERS)
        give_up("a number is too high");
    return (unsigned)number;
}

static const char *word_of(const struct command *command, size_t word)
{
    if (word >= command->count || command->words[word] == NULL)
        give_up("too few words");
    return command->words[word];
}

/* The value of the option ${name}; NULL if it is not there. */
static const char *option(const struct command *command, const char *name)
{
    size_t bytes = strlen(name);

    for (size_t i = command->options; i < command->count; i++) {
        if (strncmp(command->words[i], name, bytes) == 0 &&
            command->words[i][bytes] == '=')
            return command->words[i] + bytes + 1;
    }
    return NULL;
}

static long long number_option(const struct command *command, const char *name)
{
    const char *value = option(command, name);

    return value != NULL ? strtoll(value, NULL, 10) : 0;
}

/* -------------------------------------------------------------- handles -- */

static void on_state(void *arg, enum hf_state state)
{
    printf("session %u %s\n", ((struct handle *)arg)->number,
           hf_state_name(state));
}

static void on_log(void *arg, enum hf_log_level level, const char *line)
{
    (void)level;
    printf("session %u log %s\n", ((struct handle *)arg)->number, line);
}

/* ID:PASSWORD:TIMEOUT, the first two in hexadecimal digits. */
static void read_session(const char *text, struct hf_zookeeper_session *session)
{
    char *end;

    session->id = (int64_t)strtoull(text, &end, 16);
    for (size_t i = 0; i < sizeof session->password; i++) {
        char digits[3] = {end[1 + 2 * i], end[2 + 2 * i], '\0'};

        session->password[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    session->timeout_ms =
        strtoull(end + 2 + 2 * sizeof session->password, NULL, 10);
}

static void open_handle(const struct command *command)
{
    struct handle *handle = &handles[number_of(command, 1)];
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    struct hf_zookeeper_session session;
    struct hf_zookeeper_credential credential;
    char *text = (char *)(uintptr_t)option(command, "credential");
    const char *url = command->words[2] != NULL ? command->words[2] : "";
    const char *rest;
    hf_status status;

    opts.on_state.fn = on_state;
    opts.on_state.arg = handle;
    if (getenv("HOLDFAST_LOG") == NULL)
        opts.on_log = (struct hf_on_log){on_log, handle, HF_LOG_WARNING};
    if (option(command, "connect_ms") != NULL)
        opts.connect_ms = (uint64_t)number_option(command, "connect_ms");
    opts.read_only = number_option(command, "read_only") != 0;
    if (option(command, "session") != NULL) {
        read_session(option(command, "session"), &session);
        opts.session = &session;
    }
    if (text != NULL) {
        credential.scheme = strtok(text, ":");
        rest = strtok(NULL, "");
        credential.bytes = rest;
        credential.count = rest != NULL ? strlen(rest) : 0;
        opts.credentials = &credential;
        opts.credential_count = 1;
    }
    handle->number = number_of(command, 1);
    status = hf_zookeeper_open(url, &opts, &handle->zookeeper);
    printf("session %u opened %s %s\n", handle->number, hf_status_name(status),
           status == HF_OK ? "" : hf_last_error()->text);
}

static void close_handle(struct handle *handle)
{
    hf_status status = hf_zookeeper_close(handle->zookeeper);

    handle->zookeeper = NULL;
    printf("session %u closed %s\n", handle->number, hf_status_name(status));
}

static void print_session(const struct handle *handle)
{
    struct hf_zookeeper_session session;
    hf_status status = hf_zookeeper_session(handle->zookeeper, &session);

    flockfile(stdout);
    printf("session %u is %s %" PRIx64 " ", handle->number,
           hf_status_name(status), (uint64_t)session.id);
    for (size_t i = 0; i < sizeof session.password; i++)
        printf("%02x", session.password[i]);
    printf(" %" PRIu64 "\n", session.timeout_ms);
    funlockfile(stdout);
}

/* ------------------------------------------------------------ operations -- */

static void print_stat(const struct hf_zookeeper_stat *stat)
{
    printf(" czxid=%" PRId64 " mzxid=%" PRId64 " ctime=%" PRId64
           " mtime=%" PRId64 " version=%d cversion=%d aversion=%d"
           " ephemeralOwner=%" PRId64
           " dataLength=%d numChildren=%d pzxid=%" PRId64,
           stat->czxid, stat->mzxid, stat->created_utc_ms,
           stat->modified_utc_ms, (int)stat->version, (int)stat->cversion,
           (int)stat->aversion, stat->ephemeral_owner, (int)stat->bytes,
           (int)stat->children, stat->pzxid);
}

/* What ${result} brings. */
static void print_result(const struct hf_zookeeper_result *result)
{
    if (result->path != NULL)
        printf(" path=%s", result->path);
    if (result->data != NULL)
        printf(" data=%.*s", (int)result->bytes, (const char *)result->data);
    if (result->has_stat)
        print_stat(&result->stat);
    printf(" count=%" PRId64, result->count);
    for (size_t i = 0; i < result->child_count; i++)
        printf(" child=%s", result->children[i]);
    for (size_t i = 0; i < result->acl_count; i++)
        printf(" acl=%d:%s:%s", (int)result->acls[i].permissions,
               result->acls[i].scheme, result->acls[i].id);
}

static void on_done(void *arg, const struct hf_zookeeper_result *result)
{
    const struct operation *operation = arg;

    flockfile(stdout);
    printf("op %u %s %d %d", operation->number, hf_status_name(result->status),
           result->watching, (int)result->error);
    print_result(result);
    printf(" text=%s\n", result->text);
    funlockfile(stdout);
}

static void drop_operation(void *arg)
{
    printf("op %u dropped\n", ((const struct operation *)arg)->number);
}

/* PERMISSIONS:SCHEME:ID */
static void read_acl(char *text, struct hf_zookeeper_acl *acl)
{
    acl->permissions = (int32_t)strtol(strtok(text, ":"), NULL, 10);
    acl->scheme = strtok(NULL, ":");
    acl->id = strtok(NULL, "");
    if (acl->id == NULL)
        acl->id = "";
}

/* The function of an update. */
static hf_status append(void *arg, const struct hf_zookeeper_result *now,
                        struct hf_zookeeper_new_data *new_data)
{
    struct operation *operation = arg;

    (void)snprintf(
        operation->data, sizeof operation->data, "%.*s%s", (int)now->bytes,
        now->data != NULL ? (const char *)now->data : "", operation->appended);
    *new_data = (struct hf_zookeeper_new_data){
        operation->data, strlen(operation->data), operation->unique};
    return HF_OK;
}

/* Start ${op}, which may be of a retried_kind. */
static hf_status start_kind(const struct command *command,
                            struct operation *operation,
                            const struct hf_zookeeper_op *op)
{
    struct hf_zookeeper *zookeeper = handles[number_of(command, 2)].zookeeper;
    const struct hf_zookeeper_change change = {append, operation, NULL};
    const struct hf_zookeeper_done done = {on_done, operation, drop_operation};
    uint64_t wait_ms = strtoull(command->words[4], NULL, 10);

    switch ((int)op->kind) {
    case CREATE_PROTECTED: {
        struct hf_zookeeper_op create = *op;

        create.kind = HF_ZOOKEEPER_CREATE;
        return hf_zookeeper_create_protected_start(
            zookeeper, &create, (unsigned)number_option(command, "flags"),
            wait_ms, done, &operation->op);
    }
    case DELETE_GUARANTEED:
        return hf_zookeeper_delete_guaranteed_start(
            zookeeper, op->path, op->version, wait_ms, done, &operation->op);
    case UPDATE:
        (void)snprintf(operation->appended, sizeof operation->appended, "%s",
                       (const char *)op->data);
        operation->unique = number_option(command, "unique") != 0;
        return hf_zookeeper_update_start(zookeeper, op->path, change, wait_ms,
                                         done, &operation->op);
    default:
        return hf_zookeeper_start(zookeeper, op, wait_ms, done, &operation->op);
    }
}

static void start_operation(const struct command *command)
{
    struct operation *operation = &operations[number_of(command, 1)];
    char *acl_text = (char *)(uintptr_t)option(command, "acl");
    struct hf_zookeeper_acl acl;
    struct hf_zookeeper_op op = {
        .kind = (enum hf_zookeeper_op_kind)number_of(command, 3),
        .path = option(command, "path"),
        .data = option(command, "data"),
        .version = (int32_t)number_option(command, "version"),
        .mode = (enum hf_zookeeper_mode)number_option(command, "mode"),
        .ttl_ms = (uint64_t)number_option(command, "ttl"),
        .priority =
            (enum hf_zookeeper_priority)number_option(command, "priority"),
        .scheme = option(command, "scheme"),
        .leaving = option(command, "leaving"),
        .config_version = HF_ZOOKEEPER_ANY_VERSION};
    hf_status status;

    op.bytes = op.data != NULL ? strlen(op.data) : 0;
    if (option(command, "watch") != NULL)
        op.watch = watches[number_option(command, "watch")].watch;
    if (acl_text != NULL) {
        read_acl(acl_text, &acl);
        op.acls = &acl;
        op.acl_count = 1;
    }
    operation->number = number_of(command, 1);
    hf_op_free(operation->op);
    status = start_kind(command, operation, &op);
    if (status != HF_OK)
        printf("op %u refused %s\n", operation->number, hf_status_name(status));
}

/* --------------------------------------------------------------- watches -- */

static void on_event(void *arg, const struct hf_zookeeper_event *event)
{
    static const char *const kinds[] = {"?",       "CREATED",  "DELETED",
                                        "CHANGED", "CHILDREN", "RESYNC"};

    printf("watch %u %s %s\n", ((const struct watch *)arg)->number,
           kinds[event->kind], event->path);
}

static void drop_watch(void *arg)
{
    printf("watch %u dropped\n", ((const struct watch *)arg)->number);
}

static void open_watch(const struct command *command)
{
    struct watch *watch = &watches[number_of(command, 1)];
    const struct handle *handle = &handles[number_of(command, 2)];
    hf_status status;

    watch->number = number_of(command, 1);
    status = hf_zookeeper_watch_open(
        handle->zookeeper, command->words[4],
        (enum hf_zookeeper_watch_kind)number_of(command, 3),
        (struct hf_zookeeper_on_event){on_event, watch, drop_watch},
        &watch->watch);
    printf("watch %u opened %s\n", watch->number, hf_status_name(status));
}

static void free_watch(struct watch *watch)
{
    hf_zookeeper_watch_free(watch->watch);
    watch->watch = NULL;
    printf("watch %u freed\n", watch->number);
}

/* --------------------------------------------------------- registrations -- */

static void on_registration(void *arg, struct hf_zookeeper_registration *opened,
                            const struct hf_zookeeper_registration_event *event)
{
    static const char *const kinds[] = {"?", "REGISTERED", "UNREGISTERED",
                                        "BLOCKED", "FAILED"};
    const struct registration *registration = arg;

    (void)opened;
    printf("registration %u %s %s %" PRId64 " %s\n", registration->number,
           kinds[event->kind], hf_status_name(event->status), event->stat.czxid,
           event->text);
}

static void drop_registration(void *arg)
{
    printf("registration %u dropped\n",
           ((const struct registration *)arg)->number);
}

static void open_registration(const struct command *command)
{
    struct registration *registration = &registrations[number_of(command, 1)];
    const struct handle *handle = &handles[number_of(command, 2)];
    const char *data = option(command, "data");
    struct hf_zookeeper_registration_opts opts =
        HF_ZOOKEEPER_REGISTRATION_OPTS_INIT;
    hf_status status;

    registration->number = number_of(command, 1);
    opts.on_event = (struct hf_zookeeper_on_registration){
        on_registration, registration, drop_registration};
    status = hf_zookeeper_registration_open(
        handle->zookeeper, word_of(command, 3), data,
        data != NULL ? strlen(data) : 0, &opts, &registration->registration);
    printf("registration %u opened %s\n", registration->number,
           hf_status_name(status));
}

static void set_registration(const struct command *command)
{
    struct registration *registration = &registrations[number_of(command, 1)];
    const char *data = option(command, "data");
    hf_status status = hf_zookeeper_registration_set(
        registration->registration, data, data != NULL ? strlen(data) : 0);

    printf("registration %u set %s\n", registration->number,
           hf_status_name(status));
}

static void await_registration(const struct command *command)
{
    struct registration *registration = &registrations[number_of(command, 1)];
    hf_status status = hf_zookeeper_registration_wait(
        registration->registration, strtoull(word_of(command, 2), NULL, 10));

    printf("registration %u waited %s\n", registration->number,
           hf_status_name(status));
}

static void close_registration(const struct command *command)
{
    struct registration *registration = &registrations[number_of(command, 1)];
    struct hf_zookeeper_registration *closed = registration->registration;

    registration->registration = NULL;
    if (strcmp(word_of(command, 2), "free") == 0) {
        hf_zookeeper_registration_free(closed);
        printf("registration %u freed\n", registration->number);
    } else {
        hf_status status = hf_zookeeper_registration_close(
            closed, strtoull(word_of(command, 2), NULL, 10));

        printf("registration %u closed %s\n", registration->number,
               hf_status_name(status));
    }
}

/* -------------------------------------------------------------- commands -- */

static void run(struct command *command)
{
    const char *verb = command->words[0];

    command->options = strcmp(verb, "start") == 0 ? 5 : 3;
    if (strcmp(verb, "open") == 0)
        open_handle(command);
    else if (strcmp(verb, "close") == 0)
        close_handle(&handles[number_of(command, 1)]);
    else if (strcmp(verb, "session") == 0)
        print_session(&handles[number_of(command, 1)]);
    else if (strcmp(verb, "start") == 0)
        start_operation(command);
    else if (strcmp(verb, "cancel") == 0)
        hf_op_cancel(operations[number_of(command, 1)].op);
    else if (strcmp(verb, "watch") == 0)
        open_watch(command);
    else if (strcmp(verb, "unwatch") == 0)
        free_watch(&watches[number_of(command, 1)]);
    else if (strcmp(verb, "register") == 0)
        open_registration(command);
    else if (strcmp(verb, "reset") == 0)
        set_registration(command);
    else if (strcmp(verb, "registered") == 0)
        await_registration(command);
    else if (strcmp(verb, "unregister") == 0)
        close_registration(command);
    else
        give_up(verb);
}

/* Free everything, handles first. */
static void end(void)
{
    for (size_t i = 0; i < NUMBERS; i++) {
        if (handles[i].zookeeper != NULL)
            close_handle(&handles[i]);
    }
    for (size_t i = 0; i < NUMBERS; i++) {
        hf_op_free(operations[i].op);
        hf_zookeeper_watch_free(watches[i].watch);
        hf_zookeeper_registration_free(registrations[i].registration);
    }
}

int main(void)
{
    static char line[LINE_BYTES];

    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(line, sizeof line, stdin) != NULL) {
        struct command command = {.count = 0};
        char *rest = line, *word;

        while ((word = strsep(&rest, " \n")) != NULL &&
               command.count < WORDS_MAX) {
            if (word[0] != '\0')
                command.words[command.count++] = word;
        }
        if (command.count >= 2)
            run(&command);
    }
    end();
    return 0;
}
