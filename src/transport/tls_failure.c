/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a connection by TLS failed, in words: OpenSSL's error, the server's
 * alert, or its certificate.  The names of a certificate come from its
 * extension subjectAltName (RFC 5280, 4.2.1.6).
 */
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "base/error.h"
#include "transport/tls_openssl.h"

/* ----------------------------------------------------------------- texts -- */

void hf_tls_set_failure(struct hf_tls *tls, const char *format, ...)
{
    va_list args;

    if (tls->why[0] != '\0') /* later errors are consequences of the first */
        return;
    va_start(args, format);
    (void)vsnprintf(tls->why, sizeof(tls->why), format, args);
    va_end(args);
}

/* Set the status for the failure whose text hf_tls_set_failure() will set next.
 */
static void set_status(struct hf_tls *tls, hf_status status)
{
    if (tls->why[0] == '\0')
        tls->status = status;
}

const char *hf_tls_openssl_reason(void)
{
    unsigned long code = ERR_peek_error();
    const char *text = ERR_reason_error_string(code);

    if (ERR_SYSTEM_ERROR(code))
        text = hf_errno_text(ERR_GET_REASON(code));
    return text != NULL ? text : "unknown error";
}

/* Does the server's ${alert} mean that it wants a certificate of ours, or
 * another one than we have?  See RFC 8446, 6. */
static bool is_about_our_certificate(const struct hf_tls *tls, int alert)
{
    bool has_certificate = tls->context->has_certificate;

    switch (alert) {
    case SSL_AD_BAD_CERTIFICATE:
        return true;
    case SSL_AD_HANDSHAKE_FAILURE:
    case SSL_AD_CERTIFICATE_REQUIRED:
        return !has_certificate;
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNKNOWN_CA:
        return has_certificate;
    default:
        return false;
    }
}

/* Set the text for an alert that the server sent. */
static void explain_alert(struct hf_tls *tls, int alert)
{
    const char *advice = "";

    if (is_about_our_certificate(tls, alert)) {
        set_status(tls, HF_EDENIED);
        advice = tls->context->has_certificate
                     ? "; see whether it trusts the certificate in cert="
                     : "; perhaps it wants a certificate: cert= and key=";
    }
    hf_tls_set_failure(tls, "the server refused us: %s%s",
                       SSL_alert_desc_string_long(alert), advice);
}

/* Set the text for a server that does not speak TLS. */
static void explain_no_tls(struct hf_tls *tls)
{
    set_status(tls, HF_EURL);
    hf_tls_set_failure(
        tls, "the server does not speak TLS on this port; expected its "
             "port for TLS, or a URL without TLS");
}

void hf_tls_explain_no_protocol(struct hf_tls *tls)
{
    set_status(tls, HF_EURL);
    hf_tls_set_failure(
        tls,
        "the server speaks TLS, but does not choose the protocol \"%s\" "
        "(ALPN); expected a port for that protocol, without a proxy in "
        "front that takes it away",
        tls->protocol);
}

void hf_tls_explain(struct hf_tls *tls, const char *what)
{
    unsigned long code = ERR_peek_error();
    int number = ERR_GET_REASON(code);
    int alert = number - SSL_AD_REASON_OFFSET;

    if (ERR_GET_LIB(code) != ERR_LIB_SSL)
        hf_tls_set_failure(tls, "%s failed: %s", what, hf_tls_openssl_reason());
    else if (alert == SSL_AD_NO_APPLICATION_PROTOCOL &&
             tls->protocol[0] != '\0')
        hf_tls_explain_no_protocol(tls);
    else if (alert > 0 && alert < 256)
        explain_alert(tls, alert);
    else if (number == SSL_R_WRONG_VERSION_NUMBER ||
             number == SSL_R_PACKET_LENGTH_TOO_LONG)
        explain_no_tls(tls);
    else
        hf_tls_set_failure(tls, "%s failed: %s", what, hf_tls_openssl_reason());
}

/* ------------------------------------------------ names of certificates -- */

/* What follows a name that is cut. */
#define CUT "..."

/* A text that names are appended to.  .bytes is greater than the length of CUT.
 */
struct name_list {
    char *text;
    size_t bytes;
    size_t used;
};

/* Append one name, with a comma before it.  A name that does not fit is left
 * out, except the first one: it is cut, with "..." behind it, so that the list
 * is empty only if there is no name.  Spaces and bytes that are not printable
 * ASCII become '?'. */
static void add(struct name_list *list, const char *name, size_t count)
{
    const char *comma = list->used > 0 ? ", " : "";
    size_t comma_bytes = strlen(comma);

    bool is_cut = list->used + comma_bytes + count >= list->bytes;

    if (is_cut && list->used > 0)
        return;
    if (is_cut)
        count = list->bytes - sizeof(CUT);
    memcpy(list->text + list->used, comma, comma_bytes);
    list->used += comma_bytes;
    memcpy(list->text + list->used, name, count);
    for (char *at = list->text + list->used; count > 0; at++, count--) {
        if (*at <= ' ' || *at > '~')
            *at = '?';
        list->used++;
    }
    (void)strcpy(list->text + list->used, is_cut ? CUT : "");
    list->used += is_cut ? strlen(CUT) : 0;
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

/* Write the names and addresses in subjectAltName of ${certificate} to ${text},
 * or if there are none its common name.  Returns whether subjectAltName has
 * any.  Names that do not fit into ${bytes} are left out, except the first one,
 * which is cut.  Characters that are not plain text are replaced, because the
 * peer chose them. */
static bool format_names(X509 *certificate, char *text, size_t bytes)
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

/* ---------------------------------------------------------- certificates -- */

void hf_tls_explain_certificate(struct hf_tls *tls, int problem, X509 *shown)
{
    char names[WHY_BYTES / 2];
    bool has_alternatives = format_names(shown, names, sizeof(names));

    set_status(tls, HF_EDENIED);
    switch (problem) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        if (has_alternatives)
            hf_tls_set_failure(tls, "the certificate is for %s, expected %s",
                               names, tls->host);
        else
            hf_tls_set_failure(
                tls,
                "the certificate of %s has no subjectAltName with a name "
                "or an address; expected %s in one",
                names, tls->host);
        break;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        hf_tls_set_failure(
            tls, "the certificate for %s was issued by none %s (%s)", names,
            tls->context->trusts_system
                ? "that this system trusts; name its CA with ca="
                : "of the authorities in ca=",
            X509_verify_cert_error_string(problem));
        break;
    default:
        hf_tls_set_failure(
            tls, "the certificate for %s, shown by %s, is not valid: %s", names,
            tls->host, X509_verify_cert_error_string(problem));
    }
}
