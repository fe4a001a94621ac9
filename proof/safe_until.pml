/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Safe-until as readers have it (src/core/safe_until.h): one word for the
 * session of a client, one flag for each grant, and readers that may be
 * interrupted between any two loads, as long as it takes for sessions to be lost
 * and to begin.  Each load and each store is a step of its own.
 *
 * An era is what one loss ends: a session, or the time until safe-until passed
 * in it and a proof came after that.  The word stands for the era that its value
 * is of; 0 is no value.  Two grants follow one another, in one era or in two: a
 * user has a handle of each, and an election is one handle of both, with the
 * token of the one by which it leads.
 */
#define GRANTS 2
#define ERAS 3
#define NOBODY 255

byte era = 1;
byte word = 1;         /* whose value it has */
bool flag[GRANTS];     /* .valid of the acquisition */
bool granted[GRANTS];  /* and the user has heard of it */
byte era_of[GRANTS];   /* which the grant belongs to */
byte leader = NOBODY;  /* by which grant: the election's token */
bool valid;            /* of the election: the flag of that grant */
byte next;             /* grant to be made */

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

/* lose_all(), one flag after the other */
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

/* What hf_core_step() and the effects that follow it write, in their order. */
active proctype core()
{
    byte g;

end:
    do
    :: next < GRANTS && leader == NOBODY -> /* admit, tell, lead() */
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
        valid = false;   /* lead_no_more() */
        leader = NOBODY
    :: leader != NOBODY -> /* a release: the word goes on */
        clear_flag(leader);
        leader = NOBODY
    od
}

/* hf_grant_safe_until_ms(), by one who was told of the grant */
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
    byte before, value, after;
    bool is_valid;

    before = leader;
    value = word;
    is_valid = valid;
    after = leader;
#ifdef ELECTION_NOT_COMPARED
    before = after;
#endif
    if
    :: is_valid && before != NOBODY && before == after ->
        broken_loss = value != 0 && value != era_of[before]
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
