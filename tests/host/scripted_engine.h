/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine that does on cue what a real one cannot be made to do: loaded as a
 * module, with one queue in memory and a session that obeys the test.
 */
#ifndef HF_TESTS_SCRIPTED_ENGINE_H
#define HF_TESTS_SCRIPTED_ENGINE_H

/* Commands, one character each, written to the descriptor that the URL names:
 * "scripted:?fd=7&timeout=300ms". */
enum {
    SCRIPTED_CONNECT = 'c', /* a session, the old one resumed if there is one */
    SCRIPTED_SUSPEND = 's',
    SCRIPTED_LOSE = 'l',
    SCRIPTED_MUTE = 'm',           /* answer nothing */
    SCRIPTED_ANSWER = 'a',         /* answer, what was asked meanwhile too */
    SCRIPTED_PROOFS_FAIL = 'd',    /* let proofs prove nothing */
    SCRIPTED_LAZY = 'z',           /* the sessions to come are */
    SCRIPTED_BLOCK = 'b',          /* put a stranger's ticket at the head */
    SCRIPTED_UNBLOCK = 'u',        /* and take it away */
    SCRIPTED_REPLACE_HOLDER = 'h', /* once more: have the holder go, and another
                               come, before somebody asks it to */
    /* Strangers at a double barrier, whose ids are lower and higher than that
     * of anybody else, and who stamp nothing. */
    SCRIPTED_FIRST_ENTERS = 'F',
    SCRIPTED_FIRST_LEAVES = 'f',
    SCRIPTED_LAST_ENTERS = 'L',
    SCRIPTED_LAST_LEAVES = 'g'
};

#endif
