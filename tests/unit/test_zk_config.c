/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a zk:// URL, and the texts for wrong ones. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "cmocka/runner.h"
#include "engines/zookeeper/zk_config.h"

static hf_status parse(const char *text, struct hf_zk_engine_config *config,
                       struct hf_error *error)
{
    struct hf_url url;
    hf_status status;

    *error = (struct hf_error){HF_OK, ""};
    status = hf_url_parse(text, &url, error);
    if (status != HF_OK)
        fail_msg("%s is no URL: %s", text, error->text);
    status = hf_zk_engine_config_parse(config, &url, error);
    hf_url_free(&url);
    return status;
}

static void assert_good(const char *text, struct hf_zk_engine_config *config)
{
    struct hf_error error;

    if (parse(text, config, &error) != HF_OK)
        fail_msg("%s: %s", text, error.text);
}

/* Are new nodes for their creator only? */
static bool is_private(struct hf_zk_engine_config *config)
{
    struct hf_error error;

    if (hf_zk_acl_choose(&config->url.session, config->url.acl, &error) !=
        HF_OK)
        fail_msg("%s", error.text);
    return config->url.session.private_nodes;
}

static void assert_refused(const char *text, const char *part)
{
    struct hf_zk_engine_config config;
    struct hf_error error;

    if (parse(text, &config, &error) != HF_EURL)
        fail_msg("%s was taken", text);
    assert_int_equal(error.status, HF_EURL);
    if (strstr(error.text, part) == NULL)
        fail_msg("%s: \"%s\" does not say \"%s\"", text, error.text, part);
    assert_non_null(strstr(error.text, "expected"));
    assert_true(hf_utf8_valid(error.text, strlen(error.text)));
}

TEST(usual_values)
{
    struct hf_zk_engine_config config;

    assert_good("zk://h", &config);
    assert_int_equal(config.url.session.server_count, 1);
    assert_string_equal(config.url.session.servers[0].host, "h");
    assert_int_equal(config.url.session.servers[0].port, 2181);
    assert_string_equal(config.url.chroot, "");
    assert_string_equal(config.url.session.auth, "");
    assert_int_equal(config.url.session.timeout_ms, 10000);
    assert_int_equal(config.url.session.tick_ms, 0);
    assert_int_equal(config.token_floor, 0);
    assert_false(is_private(&config));
    assert_int_equal(config.url.session.proof, HF_ZK_PROOF_EAGER);
    assert_false(config.url.session.tls);
    assert_good("zks://h", &config);
    assert_true(config.url.session.tls);
    assert_int_equal(config.url.session.servers[0].port, 2281);
    assert_string_equal(config.url.files.ca, "");
}

TEST(servers_are_taken_apart)
{
    static const struct {
        const char *text;
        const char *host;
        uint16_t port;
    } rows[] = {
        {"zk://h:1", "h", 1},
        {"zk://h:65535", "h", 65535},
        {"zk://h:02181", "h", 2181},
        {"zk://zk-1.example.com.:2182", "zk-1.example.com.", 2182},
        {"zk://_zk.example:2182", "_zk.example", 2182},
        {"zk://127.0.0.1", "127.0.0.1", 2181},
        {"zk://[::1]", "::1", 2181},
        {"zk://[2001:db8::7]:2182", "2001:db8::7", 2182},
        {"zk://[fe80::1%25eth0]:2182", "fe80::1%eth0", 2182},
        {"zk://[::ffff:127.0.0.1]:2182", "::ffff:127.0.0.1", 2182},
    };
    struct hf_zk_engine_config config;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_good(rows[i].text, &config);
        assert_int_equal(config.url.session.server_count, 1);
        assert_string_equal(config.url.session.servers[0].host, rows[i].host);
        assert_int_equal(config.url.session.servers[0].port, rows[i].port);
    }
    assert_good("zk://a,b:7,[::1]:8,c/x", &config);
    assert_int_equal(config.url.session.server_count, 4);
    assert_string_equal(config.url.session.servers[1].host, "b");
    assert_int_equal(config.url.session.servers[1].port, 7);
    assert_string_equal(config.url.session.servers[2].host, "::1");
    assert_int_equal(config.url.session.servers[2].port, 8);
    assert_string_equal(config.url.session.servers[3].host, "c");
    assert_int_equal(config.url.session.servers[3].port, 2181);
}

TEST(wrong_servers_are_called_by_their_number)
{
    static const struct {
        const char *text;
        const char *part;
    } rows[] = {
        {"zk:", "names no server"},
        {"zk:/locks", "names no server"},
        {"zk://", "names no server"},
        {"zk:///locks", "names no server"},
        {"zk://user:password@", "names no server"},
        {"zk://,", "server 1 of the URL is empty"},
        {"zk://:2181", "server 1 of the URL is empty"},
        {"zk://a,", "server 2 of the URL is empty"},
        {"zk://a,,b", "server 2 of the URL is empty"},
        {"zk://[]:2181", "server 1 of the URL is empty"},
        {"zk://a:0", "server 1 of the URL has no valid port"},
        {"zk://a,b:70000", "server 2 of the URL has no valid port"},
        {"zk://a:65536", "no valid port"},
        {"zk://a:655350", "no valid port"},
        {"zk://a:", "no valid port"},
        {"zk://a:+1", "no valid port"},
        {"zk://a:-1", "no valid port"},
        {"zk://a: 1", "no valid port"},
        {"zk://a:1x", "no valid port"},
        {"zk://a:http", "no valid port"},
        {"zk://::1:2181", "more than one ':'"},
        {"zk://::1", "more than one ':'"},
        {"zk://2001:db8::1", "more than one ':'"},
        {"zk://[::1", "'[' without its ']'"},
        {"zk://[::1]2181", "goes on behind"},
        {"zk://[h]:2181", "no IPv6 address"},
        {"zk://[127.0.0.1]:2181", "no IPv6 address"},
        {"zk://[::1%25]", "no IPv6 address"},
        {"zk://[::1%25e/0]", "'[' without its ']'"},
        {"zk://[::1%25e%20]", "no IPv6 address"},
        {"zk://[0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0]",
         "no IPv6 address"},
        {"zk://a b", "no host name"},
        {"zk://a%2Fb", "no host name"},
        {"zk://-a", "no host name"},
        {"zk://.", "no host name"},
        {"zk://h\u00f6st", "no host name"},
    };
    char text[HF_URL_BYTES];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_refused(rows[i].text, rows[i].part);
    memset(text, 'a', sizeof(text));
    memcpy(text, "zk://", 5);
    text[5 + HF_ZK_HOST_BYTES] = '\0';
    assert_refused(text, "too long");
}

TEST(many_servers)
{
    char text[HF_URL_BYTES] = "zk://h";
    struct hf_zk_engine_config config;

    for (int i = 1; i < HF_ZK_SERVERS_MAX; i++)
        strcat(text, ",h");
    assert_good(text, &config);
    assert_int_equal(config.url.session.server_count, HF_ZK_SERVERS_MAX);
    strcat(text, ",h");
    assert_refused(text, "more than 32 servers");
}

TEST(a_list_of_servers_alone)
{
    static const struct {
        const char *text, *part;
    } bad[] = {
        {"", "server 1 of the list is empty"},
        {"a,b:0", "server 2 of the list has no valid port"},
        {"user:password@a", "server 1 of the list"},
        {"zk://a", "server 1 of the list"},
        {"a/chroot", "server 1 of the list has characters"},
    };
    struct hf_zk_session_config config = {.tls = true, .server_count = 7};
    struct hf_error error;

    assert_int_equal(hf_zk_url_parse_servers(&config, "a,[::1]:3,b:4", &error),
                     HF_OK);
    assert_int_equal(config.server_count, 3);
    assert_string_equal(config.servers[1].host, "::1");
    assert_int_equal(config.servers[0].port, HF_ZK_PORT_TLS);
    assert_int_equal(config.servers[2].port, 4);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(hf_zk_url_parse_servers(&config, bad[i].text, &error),
                         HF_EURL);
        assert_non_null(strstr(error.text, bad[i].part));
        assert_null(strstr(error.text, "password"));
    }
}

TEST(chroots)
{
    static const struct {
        const char *text;
        const char *chroot;
    } good[] = {
        {"zk://h", ""},       {"zk://h/", ""},
        {"zk://h/a", "/a"},   {"zk://h/a/b.c/..d", "/a/b.c/..d"},
        {"zk://h/%20", "/ "}, {"zk://h/gr\u00fc\u00df", "/gr\u00fc\u00df"},
    };
    static const struct {
        const char *text;
        const char *part;
    } bad[] = {
        {"zk://h/a/", "at its end"},
        {"zk://h//", "empty component"},
        {"zk://h//a", "empty component"},
        {"zk://h/a//b", "empty component"},
        {"zk://h/.", "\".\" or \"..\""},
        {"zk://h/a/../b", "\".\" or \"..\""},
        {"zk://h/a/%2E%2E", "\".\" or \"..\""},
        {"zk://h/a%0Ab", "a control character"},
        {"zk://h/a%C2%85", "a control character"},
        {"zk://h/\uE000", "private use"},
        {"zk://h/%F0%9F%98%80", "above U+FFFF"},
    };
    char text[HF_URL_BYTES];
    struct hf_zk_engine_config config;

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_good(good[i].text, &config);
        assert_string_equal(config.url.chroot, good[i].chroot);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_refused(bad[i].text, bad[i].part);
    memset(text, 'a', sizeof(text));
    memcpy(text, "zk://h/", 7);
    text[6 + HF_ZK_CHROOT_BYTES - 1] = '\0';
    assert_good(text, &config);
    assert_int_equal(strlen(config.url.chroot), HF_ZK_CHROOT_BYTES - 1);
    text[6 + HF_ZK_CHROOT_BYTES - 1] = 'a';
    text[6 + HF_ZK_CHROOT_BYTES] = '\0';
    assert_refused(text, "1024 bytes");
}

TEST(options_are_taken)
{
    struct hf_zk_engine_config config;

    assert_good("zk://h?timeout=1s&timeout_floor=4s&tick=2s&proof=strict"
                "&clock_drift=1"
                "&token_floor=42"
                "&layout=curator&acl=creator&auth_file=/etc/holdfast.auth",
                &config);
    assert_int_equal(config.url.session.timeout_ms, 1000);
    assert_int_equal(config.url.session.timeout_floor_ms, 4000);
    assert_int_equal(config.url.session.tick_ms, 2000);
    assert_int_equal(config.url.session.clock_drift, 1);
    assert_int_equal(config.url.session.proof, HF_ZK_PROOF_STRICT);
    assert_int_equal(config.token_floor, 42);
    assert_int_equal(config.layout, HF_ZK_CURATOR);
    assert_int_equal(config.url.acl, HF_ZK_ACL_CREATOR);
    assert_good("zk://h?timeout=10m&token_floor=9223372036854775807", &config);
    assert_int_equal(config.url.session.timeout_ms, 600000);
    assert_true(config.token_floor == INT64_MAX);
    assert_int_equal(config.url.session.clock_drift, 9);
    assert_good("zk://h?proof=lazy", &config);
    assert_int_equal(config.url.session.proof, HF_ZK_PROOF_LAZY);
    assert_good("zk://h?proof=eager", &config);
    assert_int_equal(config.url.session.proof, HF_ZK_PROOF_EAGER);
    assert_good("zks://h?ca=/ca.pem&cert=/cert.pem&key=/key.pem", &config);
    assert_int_equal(config.layout, HF_ZK_CURATOR);
    assert_string_equal(config.url.files.ca, "/ca.pem");
    assert_string_equal(config.url.files.cert, "/cert.pem");
    assert_string_equal(config.url.files.key, "/key.pem");
}

TEST(layouts_are_taken)
{
    struct hf_zk_engine_config config;

    assert_good("zk://h?layout=curator", &config);
    assert_int_equal(config.layout, HF_ZK_CURATOR);
    assert_good("zk://h?layout=kazoo", &config);
    assert_int_equal(config.layout, HF_ZK_KAZOO);
    assert_good("zks://h?layout=writelock", &config);
    assert_int_equal(config.layout, HF_ZK_WRITELOCK);
}

TEST(wrong_options_are_named)
{
    static const struct {
        const char *text;
        const char *part;
    } rows[] = {
        {"zk://h?timeot=10s", "\"timeot\""},
        {"zk://h?ca=/ca.pem", "\"ca\""},
        {"zk://h?timeout=", "timeout=\"\""},
        {"zk://h?timeout=10", "timeout=\"10\""},
        {"zk://h?timeout=999ms", "timeout=\"999ms\""},
        {"zk://h?timeout=0s", "from 1s to 10m"},
        {"zk://h?timeout=601s", "timeout=\"601s\""},
        {"zk://h?timeout=99999999999999999999s", "timeout="},
        {"zk://h?timeout_floor=999ms", "timeout_floor=\"999ms\""},
        {"zk://h?tick=0s", "tick=\"0s\""},
        {"zk://h?tick=61s", "tick=\"61s\""},
        {"zk://h?clock_drift=0", "from 1 to 50: by how many percent clocks"},
        {"zk://h?proof=lax", "proof=\"lax\" is not known; expected "
                             "proof=eager or lazy or strict"},
        {"zk://h?layout=nonsense", "layout=\"nonsense\" is not known; expected "
                                   "layout=curator or kazoo or writelock"},
        {"zk://h?layout=", "layout=\"\" is not known"},
        {"zk://h?layout=Kazoo", "layout=\"Kazoo\" is not known"},
        {"zk://h?acl=all", "expected acl=open or creator"},
        {"zk://h?token_floor=", "token_floor=\"\""},
        {"zk://h?token_floor=-1", "token_floor=\"-1\""},
        {"zk://h?token_floor=0x10", "token_floor=\"0x10\""},
        {"zk://h?token_floor=9223372036854775808", "token_floor="},
        {"zk://h?token_floor=99999999999999999999", "token_floor="},
        {"zk://h?token_floor=18446744073709551616000000", "token_floor="},
        {"zks://h?ca=ca.pem", "ca=\"ca.pem\""},
        {"zks://h?ca=", "ca=\"\""},
        {"zks://h?cert=/c.pem", "only one of cert= and key="},
        {"zks://h?key=/k.pem", "only one of cert= and key="},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_refused(rows[i].text, rows[i].part);
}

#define PASSWORD "QJXZW"

TEST(credentials)
{
    struct hf_zk_engine_config config;

    assert_good("zk://u:" PASSWORD "@h", &config);
    assert_string_equal(config.url.session.auth, "u:" PASSWORD);
    assert_true(is_private(&config));
    assert_good("zk://u:a%3A%40b@h?acl=open", &config);
    assert_string_equal(config.url.session.auth, "u:a:@b");
    assert_false(is_private(&config));
    assert_good("zk://u:p@h?acl=creator", &config);
    assert_true(is_private(&config));
    /* The file is read later, see transport/credentials. */
    assert_good("zk://h?auth_file=/f", &config);
    assert_string_equal(config.url.session.auth, "");
    assert_int_equal(config.url.acl, HF_ZK_ACL_BY_CREDENTIALS);
    assert_good("zk://h?auth_file=/f&acl=open", &config);
    assert_int_equal(config.url.acl, HF_ZK_ACL_OPEN);
}

TEST(acl_creator_needs_credentials)
{
    struct hf_zk_engine_config config;
    struct hf_error error;

    assert_good("zk://h?acl=creator", &config);
    assert_int_equal(
        hf_zk_acl_choose(&config.url.session, config.url.acl, &error), HF_EURL);
    assert_non_null(strstr(error.text, "expected USER:PASSWORD@"));
}

/* Whatever else is wrong with the URL, and wherever the password is. */
TEST(a_password_is_never_reported)
{
    static const char *const texts[] = {
        "zk://:" PASSWORD "@h",
        "zk://" PASSWORD "@h",
        "zk://u:" PASSWORD "@",
        "zk://u:" PASSWORD "@h:0",
        "zk://u:" PASSWORD "@h,",
        "zk://u:" PASSWORD "@h//",
        "zk://u:" PASSWORD "@h?timeout=1",
        "zk://u:" PASSWORD "@h?auth_file=/f",
        "zk://u%3A:" PASSWORD "@h",
        "zk://u%3Au:" PASSWORD "@h",
        "zk://u:" PASSWORD "@h?nonsense=1",
        "zk://u:" PASSWORD "%40h",
        "zk://u%3A" PASSWORD "%40h",
        "zk://u:" PASSWORD,
        "zk://u:x," PASSWORD "!",
        "zk://u:x,[" PASSWORD,
    };
    char text[HF_URL_BYTES];
    struct hf_zk_engine_config config;
    struct hf_error error;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(parse(texts[i], &config, &error), HF_EURL);
        if (strstr(error.text, PASSWORD) != NULL)
            fail_msg("%s: %s", texts[i], error.text);
    }
    strcpy(text, "zk://u:");
    while (strlen(text) < HF_ZK_AUTH_BYTES + 10)
        strcat(text, PASSWORD);
    strcat(text, "@h");
    assert_int_equal(parse(text, &config, &error), HF_EURL);
    assert_null(strstr(error.text, PASSWORD));
    assert_non_null(strstr(error.text, "510 bytes"));
}

TEST(each_client_draws_its_own_order)
{
    static const char url[] = "zk://h0:100,h1:101,h2:102,h3:103";
    struct hf_zk_engine_config config;
    bool first[4] = {false, false, false, false};

    for (uint64_t seed = 1; seed <= 64; seed++) {
        bool seen[4] = {false, false, false, false};

        assert_good(url, &config);
        hf_random_seed(&config.url.session.random, seed);
        hf_zk_url_shuffle(&config.url.session);
        for (size_t i = 0; i < 4; i++) {
            size_t which = (size_t)config.url.session.servers[i].port - 100;

            assert_int_equal(config.url.session.servers[i].host[1],
                             '0' + (int)which);
            assert_false(seen[which]);
            seen[which] = true;
        }
        first[config.url.session.servers[0].port - 100] = true;
    }
    for (size_t i = 0; i < 4; i++)
        assert_true(first[i]);
    assert_good("zk://h", &config);
    hf_random_seed(&config.url.session.random, 1);
    hf_zk_url_shuffle(&config.url.session);
    assert_string_equal(config.url.session.servers[0].host, "h");
}

TEST(sasl_has_a_mechanism_and_a_principal)
{
    static const struct {
        const char *text;
        const char *part;
    } rows[] = {
        {"zk://h/?sasl=PLAIN", "sasl=DIGEST-MD5 or GSSAPI"},
        {"zk://h/?sasl=", "sasl=DIGEST-MD5 or GSSAPI"},
        {"zk://h/?sasl_host=a", "expected sasl=DIGEST-MD5 or sasl=GSSAPI, too"},
        {"zk://h/?sasl_service=a", "expected sasl=DIGEST-MD5 or"},
        {"zk://h/?sasl=GSSAPI&sasl_host=", "the host in the principal"},
        {"zk://h/?sasl=GSSAPI&sasl_host=a/b", "the host in the principal"},
        {"zk://h/?sasl=GSSAPI&sasl_service=a%40b", "the service in the"},
    };
    struct hf_zk_engine_config config;
    const struct hf_zk_session_config *session = &config.url.session;

    assert_good("zk://h/", &config);
    assert_int_equal(session->sasl.mechanism, HF_ZK_SASL_NONE);
    assert_good("zk://u:p@h/?sasl=DIGEST-MD5", &config);
    assert_int_equal(session->sasl.mechanism, HF_ZK_SASL_DIGEST_MD5);
    assert_string_equal(session->sasl.service, "zookeeper");
    assert_string_equal(session->sasl.host, "");
    assert_string_equal(session->auth, "u:p");
    assert_true(is_private(&config));
    assert_good("zk://h/?sasl=GSSAPI&sasl_service=zk&sasl_host=z.example",
                &config);
    assert_int_equal(session->sasl.mechanism, HF_ZK_SASL_GSSAPI);
    assert_string_equal(session->sasl.service, "zk");
    assert_string_equal(session->sasl.host, "z.example");
    assert_true(is_private(&config));
    assert_good("zk://h/?sasl=GSSAPI&acl=open", &config);
    assert_false(is_private(&config));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_refused(rows[i].text, rows[i].part);
}
