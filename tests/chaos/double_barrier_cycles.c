/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One participant of a double barrier, which it enters and leaves again and
 * again.
 *
 *     double_barrier_cycles URL NAME PARTICIPANTS CYCLES BOARD
 *
 * BOARD is a file of zeros that all participants map.  It has two counters for
 * each cycle: how many have asked to enter, and how many to leave.  A
 * participant counts itself before it asks.  Once it has entered or left, the
 * counter must be PARTICIPANTS; else the participant says so and fails.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <holdfast/holdfast.h>

#define WAIT_MS 120000

struct cycle {
    _Atomic unsigned enter;
    _Atomic unsigned leave;
};

static struct cycle *map_board(const char *path, unsigned cycles)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *board = fd < 0 ? MAP_FAILED
                         : mmap(NULL, cycles * sizeof(struct cycle),
                                PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (fd >= 0)
        (void)close(fd);
    return board == MAP_FAILED ? NULL : board;
}

static bool is_complete(hf_status status, unsigned cycle, unsigned there,
                        unsigned participants)
{
    if (status != HF_OK) {
        fprintf(stderr, "cycle %u: %s\n", cycle, hf_last_error()->text);
    } else if (there != participants) {
        fprintf(stderr, "cycle %u: %u of %u have asked\n", cycle, there,
                participants);
    }
    return status == HF_OK && there == participants;
}

static bool run_cycle(struct hf_double_barrier *barrier, struct cycle *board,
                      unsigned cycle, unsigned participants)
{
    hf_status status;

    atomic_fetch_add(&board[cycle].enter, 1);
    status = hf_double_barrier_enter(barrier, WAIT_MS);
    if (!is_complete(status, cycle, atomic_load(&board[cycle].enter),
                     participants))
        return false;
    atomic_fetch_add(&board[cycle].leave, 1);
    status = hf_double_barrier_leave(barrier, WAIT_MS);
    return is_complete(status, cycle, atomic_load(&board[cycle].leave),
                       participants);
}

int main(int argc, char **argv)
{
    struct hf_double_barrier *barrier;
    unsigned participants, cycles, cycle = 0;
    struct hf_client *client;
    struct cycle *board;

    if (argc != 6)
        return 64;
    participants = (unsigned)strtoul(argv[3], NULL, 10);
    cycles = (unsigned)strtoul(argv[4], NULL, 10);
    board = map_board(argv[5], cycles);
    if (board == NULL || hf_client_open(argv[1], NULL, &client) != HF_OK ||
        hf_double_barrier_open(client, argv[2], participants, &barrier) !=
            HF_OK) {
        fprintf(stderr, "the double barrier cannot be opened\n");
        return EXIT_FAILURE;
    }
    while (cycle < cycles && run_cycle(barrier, board, cycle, participants))
        cycle++;
    hf_double_barrier_free(barrier);
    return hf_client_close(client) == HF_OK && cycle == cycles ? EXIT_SUCCESS
                                                               : EXIT_FAILURE;
}
