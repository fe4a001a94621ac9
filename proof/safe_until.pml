/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How readers read safe-until (src/core/published_safe_until.h), a configuration of its
 * own.
 *
 * There is one word for the session of a client and one flag for each grant.
 * A reader may be interrupted between any two loads, for so long that
 * sessions are lost and begin meanwhile.  Each load and each store is a step
 * of its own.
 *
 * An era ends with a loss.  It is a session, or the time in a session until
 * safe-until passes; if a proof comes after that, another era begins.  The
 * word holds the number of the era that its value belongs to; 0: no value.
 * Two grants follow one another, in one era or in two.  A user has a handle
 * of each.  An election is one handle of both, with the token of the grant by
 * which it leads.
 */
#define GRANTS 2
#define ERAS 3
#define NOBODY 255

byte era = 1;
byte word = 1;         /* the era that its value belongs to */
bool flag[GRANTS];     /* .valid of the acquisition */
bool granted[GRANTS];  /* and the user was notified of it */
byte era_of[GRANTS];   /* the era that the grant belongs to */
byte leader = NOBODY;  /* the grant by which it leads: the election's token */
bool valid;            /* of the election: the flag of that grant */
byte next;             /* the next grant */

bool broken_loss;

inline clear_flag(g)
{
    flag[g] = false;
    if
    :: leader == g ->
        valid = false
    :: else
    fi
}

/* lose_all(): one flag after the other */
inline clear_flags()
{
    for (g : 0 .. GRANTS - 1) {
        clear_flag(g)
    }
}

inline begin_era()
{
    era++;
    word = era
}

/* The stores of hf_core_step() and of the effects that follow it, in order. */
active proctype core()
{
    byte g;

end:
    do
    :: next < GRANTS && leader == NOBODY -> /* admit, notify, start_leading() */
        era_of[next] = era;
        flag[next] = true;
        granted[next] = true;
        leader = next;
        valid = flag[next];
        next++
    :: era < ERAS -> /* session_over(), connected(); or expire(), proven() */
#ifdef STORE_BEFORE_CLEAR
        begin_era();
        clear_flags();
#else
        clear_flags();
        if
        :: word = 0
        :: skip
        fi;
        begin_era();
#endif
        valid = false;   /* stop_leading() */
        leader = NOBODY
    :: leader != NOBODY -> /* a release: the word stays */
        clear_flag(leader);
        leader = NOBODY
    od
}

/* hf_grant_safe_until_ms(), called by a user who was notified of the grant */
proctype reader(byte g)
{
    byte value;
    bool is_valid;

end:
    do
    :: granted[g] ->
#ifdef FLAG_FIRST
        is_valid = flag[g];
        value = word;
#else
        value = word;
        is_valid = flag[g];
#endif
        broken_loss = is_valid && value != 0 && value != era_of[g];
        assert(!broken_loss);
        break
    od
}

/* hf_election_safe_until_ms(), at any time */
active proctype elector()
{
    byte leader_before, value, leader_after;
    bool is_valid;

    leader_before = leader;
    value = word;
    is_valid = valid;
    leader_after = leader;
#ifdef ELECTION_NOT_COMPARED
    leader_before = leader_after;
#endif
    if
    :: is_valid && leader_before != NOBODY && leader_before == leader_after ->
        broken_loss = value != 0 && value != era_of[leader_before]
    :: else
    fi;
    assert(!broken_loss)
}

init
{
    atomic {
        run reader(0);
        run reader(1)
    }
}
