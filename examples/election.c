/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One of several candidates does the work; the others wait.
 *
 *     cc election.c -o election $(pkg-config --cflags --libs holdfast)
 *     ./election scheduler
 *
 * Run it several times at once and stop the one that leads: the next one
 * becomes the leader.  HOLDFAST_URL says where the candidates meet; without it,
 * they meet on this machine.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <holdfast/holdfast.h>

/* Say why the last call failed. */
static int complain(void)
{
    fprintf(stderr, "%s\n", hf_last_error()->text);
    return 1;
}

/* Begin what only the leader does; give each write the token. */
static void on_elected(void *arg, struct hf_election *election, uint64_t token)
{
    (void)arg;
    (void)election;
    printf("%ld leads with token %" PRIu64 "\n", (long)getpid(), token);
    fflush(stdout);
}

/* Stop at once: another candidate may lead by now.  This one campaigns again
 * by itself. */
static void on_deposed(void *arg, struct hf_election *election, uint64_t token)
{
    (void)arg;
    (void)election;
    printf("%ld lost token %" PRIu64 "\n", (long)getpid(), token);
    fflush(stdout);
}

static void on_ended(void *arg, struct hf_election *election,
                     const struct hf_error *why)
{
    (void)arg;
    (void)election;
    fprintf(stderr, "%s\n", why->text);
    kill(getpid(), SIGTERM);
}

static void show_leader(struct hf_election *election)
{
    struct hf_tickets *tickets;

    if (hf_election_tickets(election, HF_TICKETS_HOLDERS, 1000, &tickets) !=
        HF_OK)
        return;
    if (hf_tickets_count(tickets) == 1)
        printf("the leader says: %s\n", hf_tickets_at(tickets, 0)->owner);
    hf_tickets_free(tickets);
}

/* Campaign until a signal comes. */
static int stand(struct hf_election *election, const sigset_t *stops)
{
    int signal;

    if (hf_election_campaign_start(election) != HF_OK)
        return complain();
    (void)sigwait(stops, &signal);
    show_leader(election);
    return hf_election_resign(election) == HF_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct hf_election_opts opts = HF_ELECTION_OPTS_INIT;
    struct hf_client *client;
    struct hf_election *election;
    sigset_t stops;
    int status;

    sigemptyset(&stops);
    sigaddset(&stops, SIGINT);
    sigaddset(&stops, SIGTERM);
    sigprocmask(SIG_BLOCK, &stops, NULL);
    if (hf_client_open(NULL, NULL, &client) != HF_OK)
        return complain();
    opts.text = "an example";
    opts.on_elected.fn = on_elected;
    opts.on_deposed.fn = on_deposed;
    opts.on_ended.fn = on_ended;
    if (hf_election_open(client, argc > 1 ? argv[1] : "scheduler", &opts,
                         &election) != HF_OK) {
        hf_client_close(client);
        return complain();
    }
    status = stand(election, &stops);
    hf_election_free(election);
    hf_client_close(client);
    return status;
}
