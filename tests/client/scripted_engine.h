/* SPDX-License-Identifier: Apache-2.0 */
/* A scripted engine: a module with one queue in memory whose session and
 * answers follow the commands of the test, so that a test can do what a real
 * server cannot be made to do. */
#ifndef HF_TESTS_SCRIPTED_ENGINE_H
#define HF_TESTS_SCRIPTED_ENGINE_H

/* Commands are single characters, written to the descriptor that the URL
 * names: "scripted:?fd=7&timeout=300ms".  The engine executes one in each
 * turn of its loop, under the client's lock. */
enum {
    SCRIPTED_CONNECT = 'c', /* connect; resume the session if there is one */
    SCRIPTED_SUSPEND = 's',
    SCRIPTED_LOSE = 'l',
    SCRIPTED_GIVE_UP = 'G', /* no connection any more: the server is refused
                               with HF_EUNSUPPORTED */
    SCRIPTED_MUTE = 'm',    /* answer no request from now on */
    SCRIPTED_ANSWER = 'a', /* answer requests again, those of meanwhile first */
    SCRIPTED_PROOFS_FAIL = 'd', /* refuse to prove the session */
    SCRIPTED_LAZY = 'z',        /* later sessions are lazy */
    SCRIPTED_TOO_MANY = 'C',    /* show more tickets to people, and to who looks
                                for a deadlock, than the latter reads */
    SCRIPTED_NO_MEMORY = 'n',   /* fail lists for people with HF_ENOMEM */
    SCRIPTED_MEMORY = 'N',      /* not any more */
    SCRIPTED_NO_PARTICIPANTS = 'P', /* fail lists and watches of participants
                                       with HF_EUNSUPPORTED from now on */
    SCRIPTED_BLOCK =
        'b', /* add another client's ticket at the head of the queue */
    SCRIPTED_UNBLOCK = 'u', /* remove that ticket */
    SCRIPTED_REPLACE_HOLDER =
        'h', /* once for each command: before the engine asks a holder to
                release, replace it by another holder */
    /* Two other participants of a double barrier, with the lowest and the
     * highest ticket id.  They set no generation. */
    SCRIPTED_FIRST_ENTERS = 'F',
    SCRIPTED_FIRST_LEAVES = 'f',
    SCRIPTED_LAST_ENTERS = 'L',
    SCRIPTED_LAST_LEAVES = 'g'
};

#endif
