/* SPDX-License-Identifier: Apache-2.0 */
/* Each finding has its texts in one allocation, which begins at .id. */
#include "core/finding_list.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/memory.h"
#include "base/utf8.h"

const char *hf_severity_name(enum hf_severity severity)
{
    static const char *const names[] = {
        [HF_SEVERITY_OK] = "ok",         [HF_SEVERITY_UNKNOWN] = "unknown",
        [HF_SEVERITY_NOTICE] = "notice", [HF_SEVERITY_WARNING] = "warning",
        [HF_SEVERITY_ERROR] = "error",
    };

    return (unsigned)severity < sizeof names / sizeof *names ? names[severity]
                                                             : "?";
}

/* The bytes of ${text}, cut to what a finding may have. */
static size_t cut(const char *text)
{
    return strnlen(text, HF_FINDING_TEXT_BYTES - 1);
}

/* Copy ${text} to ${to}, cut, and made printable so that it cannot steer a
 * terminal.  Returns the place behind its NUL. */
static char *put(char *to, const char *text)
{
    size_t bytes = cut(text);

    memcpy(to, text, bytes);
    to[bytes] = '\0';
    hf_utf8_make_printable(to, true);
    return to + strlen(to) + 1;
}

/* Add a copy of ${finding}. */
static void add(struct hf_finding_list *list, const struct hf_finding *finding)
{
    size_t bytes = cut(finding->id) + cut(finding->subject) +
                   cut(finding->text) + cut(finding->advice) + 4;
    struct hf_finding *item;
    char *at;

    if (!HF_ARRAY_ROOM(&list->items, &list->room, list->count + 1) ||
        (at = hf_alloc(bytes)) == NULL) {
        list->failed = true;
        return;
    }
    item = &list->items[list->count++];
    item->severity = finding->severity;
    item->id = at;
    at = put(at, finding->id);
    item->subject = at;
    at = put(at, finding->subject);
    item->text = at;
    at = put(at, finding->text);
    item->advice = at;
    (void)put(at, finding->advice);
}

/* Add ${finding}.  If there is no room for it, the last one makes way for what
 * says so, unless it says so already. */
static void add_bounded(struct hf_finding_list *list,
                        const struct hf_finding *finding)
{
    static const struct hf_finding full = {
        HF_SEVERITY_WARNING, "more-findings", "",
        "there are more findings than 256, and the others are not listed",
        "mend what is listed, and examine the service again"};

    if (list->count == HF_FINDINGS_MAX) {
        const char *last = list->items[HF_FINDINGS_MAX - 1].id;

        if (strcmp(last, full.id) == 0)
            return;
        hf_free((char *)(uintptr_t)last);
        list->count--;
        finding = &full;
    }
    add(list, finding);
}

void hf_finding_add(struct hf_finding_list *list,
                    const struct hf_finding_head *head, const char *format, ...)
{
    char text[HF_FINDING_TEXT_BYTES];
    struct hf_finding finding = {head->severity, head->id, head->subject, text,
                                 head->advice != NULL ? head->advice : ""};
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    add_bounded(list, &finding);
}

/* Is ${host} this machine, as far as its name says? */
static bool is_here(const char *host, const char *own_name)
{
    return strcmp(host, "") == 0 || strcmp(host, "localhost") == 0 ||
           strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0 ||
           strcmp(host, "[::1]") == 0 || host[0] == '/' ||
           strcmp(host, own_name) == 0;
}

void hf_finding_add_transport(struct hf_finding_list *list, const char *host,
                              bool tls, const char *url)
{
    struct hf_finding_head head = {HF_SEVERITY_OK, "plain-text", host, NULL};
    char advice[HF_FINDING_TEXT_BYTES];
    struct utsname name;

    if (uname(&name) != 0)
        name.nodename[0] = '\0';
    if (tls || is_here(host, name.nodename)) {
        hf_finding_add(list, &head, "%s",
                       tls ? "the connection is encrypted (TLS)"
                           : "the connection stays on this machine");
        return;
    }
    (void)snprintf(advice, sizeof advice,
                   "let the server speak TLS, and write %s in the URL", url);
    head.severity = HF_SEVERITY_WARNING;
    head.advice = advice;
    hf_finding_add(list, &head,
                   "the connection to another machine is not encrypted: who is "
                   "on the way can read passwords and take locks away");
}

void hf_finding_list_append(struct hf_finding_list *list,
                            const struct hf_finding_list *more)
{
    for (size_t i = 0; i < more->count; i++)
        add_bounded(list, &more->items[i]);
    list->failed = list->failed || more->failed;
}

bool hf_finding_list_copy(const struct hf_finding_list *list,
                          struct hf_finding_list *copy)
{
    for (size_t i = 0; i < list->count; i++)
        add(copy, &list->items[i]);
    if (copy->failed || list->failed) {
        hf_finding_list_free(copy);
        return false;
    }
    return true;
}

void hf_finding_list_free(struct hf_finding_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        hf_free((char *)(uintptr_t)list->items[i].id);
    hf_free(list->items);
    *list = (struct hf_finding_list){0};
}
