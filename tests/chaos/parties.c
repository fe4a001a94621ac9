/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One of several parties that meet at a double barrier, round after round.
 *
 *     parties URL NAME PARTIES ROUNDS BOARD
 *
 * BOARD is a file of zeros that all of them map, with two counters for each
 * round: who wants to enter it, and who wants to leave it.  Each counts itself
 * before it asks and sees, once it has been let through, that all have: else it
 * says so and fails.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <holdfast/holdfast.h>

#define WAIT_MS 120000

struct round {
    _Atomic unsigned enter;
    _Atomic unsigned leave;
};

static struct round *map_board(const char *path, unsigned rounds)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *board = fd < 0 ? MAP_FAILED
                         : mmap(NULL, rounds * sizeof(struct round),
                                PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (fd >= 0)
        (void)close(fd);
    return board == MAP_FAILED ? NULL : board;
}

static bool let_through(struct hf_double_barrier *barrier, hf_status status,
                        unsigned round, unsigned there, unsigned parties)
{
    struct hf_error error;

    if (status != HF_OK) {
        hf_double_barrier_error(barrier, &error);
        fprintf(stderr, "round %u: %s\n", round, error.text);
    } else if (there != parties) {
        fprintf(stderr, "round %u: let through with %u of %u\n", round, there,
                parties);
    }
    return status == HF_OK && there == parties;
}

static bool meet(struct hf_double_barrier *barrier, struct round *board,
                 unsigned round, unsigned parties)
{
    hf_status status;

    atomic_fetch_add(&board[round].enter, 1);
    status = hf_double_barrier_enter(barrier, WAIT_MS);
    if (!let_through(barrier, status, round, atomic_load(&board[round].enter),
                     parties))
        return false;
    atomic_fetch_add(&board[round].leave, 1);
    status = hf_double_barrier_leave(barrier, WAIT_MS);
    return let_through(barrier, status, round, atomic_load(&board[round].leave),
                       parties);
}

int main(int argc, char **argv)
{
    struct hf_double_barrier *barrier;
    unsigned parties, rounds, round = 0;
    struct hf_client *client;
    struct hf_error error;
    struct round *board;

    if (argc != 6)
        return 64;
    parties = (unsigned)strtoul(argv[3], NULL, 10);
    rounds = (unsigned)strtoul(argv[4], NULL, 10);
    board = map_board(argv[5], rounds);
    if (board == NULL ||
        hf_client_open(argv[1], NULL, &client, &error) != HF_OK ||
        hf_double_barrier_open(client, argv[2], parties, &barrier) != HF_OK) {
        fprintf(stderr, "there is no double barrier to be had\n");
        return EXIT_FAILURE;
    }
    while (round < rounds && meet(barrier, board, round, parties))
        round++;
    hf_double_barrier_free(barrier);
    return hf_client_close(client) == HF_OK && round == rounds ? EXIT_SUCCESS
                                                               : EXIT_FAILURE;
}
