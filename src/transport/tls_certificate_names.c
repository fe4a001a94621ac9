/* SPDX-License-Identifier: Apache-2.0 */
/* The names come from the extension subjectAltName (RFC 5280, 4.2.1.6). */
#include "transport/tls_certificate_names.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include <openssl/x509v3.h>

/* A text that names are appended to. */
struct name_list {
    char *text;
    size_t bytes;
    size_t used;
};

/* Append one name, with a comma before it, if there is room.  Anything but
 * printable ASCII becomes '?'. */
static void add(struct name_list *list, const char *name, size_t count)
{
    const char *comma = list->used > 0 ? ", " : "";
    size_t comma_bytes = strlen(comma);

    if (list->used + comma_bytes + count >= list->bytes)
        return;
    memcpy(list->text + list->used, comma, comma_bytes);
    list->used += comma_bytes;
    memcpy(list->text + list->used, name, count);
    for (char *at = list->text + list->used; count > 0; at++, count--) {
        if (*at <= ' ' || *at > '~')
            *at = '?';
        list->used++;
    }
    list->text[list->used] = '\0';
}

/* Append an IPv4 or IPv6 address. */
static void add_address(struct name_list *list,
                        const ASN1_OCTET_STRING *address)
{
    int length = ASN1_STRING_length(address);
    char text[INET6_ADDRSTRLEN];

    if ((length == 4 || length == 16) &&
        inet_ntop(length == 4 ? AF_INET : AF_INET6,
                  ASN1_STRING_get0_data(address), text, sizeof(text)) != NULL)
        add(list, text, strlen(text));
}

/* Append the DNS names and addresses of subjectAltName. */
static void add_alternatives(struct name_list *list, X509 *certificate)
{
    GENERAL_NAMES *names =
        X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);

    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);

        if (name->type == GEN_DNS)
            add(list, (const char *)ASN1_STRING_get0_data(name->d.dNSName),
                (size_t)ASN1_STRING_length(name->d.dNSName));
        else if (name->type == GEN_IPADD)
            add_address(list, name->d.iPAddress);
    }
    GENERAL_NAMES_free(names);
}

/* Append the common name of the subject. */
static void add_common_name(struct name_list *list, X509 *certificate)
{
    X509_NAME *subject = X509_get_subject_name(certificate);
    int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    const ASN1_STRING *name;

    if (at < 0)
        return;
    name = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at));
    add(list, (const char *)ASN1_STRING_get0_data(name),
        (size_t)ASN1_STRING_length(name));
}

bool hf_tls_certificate_names(X509 *certificate, char *text, size_t bytes)
{
    struct name_list list = {text, bytes, 0};
    bool has_alternatives;

    text[0] = '\0';
    add_alternatives(&list, certificate);
    has_alternatives = list.used > 0;
    if (!has_alternatives)
        add_common_name(&list, certificate);
    if (list.used == 0)
        (void)snprintf(text, bytes, "nobody by name");
    return has_alternatives;
}
