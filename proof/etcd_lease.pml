/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a lease of etcd is proven (docs/engine-etcd.md, "The argument for
 * safe-until"), a configuration of its own.
 *
 * Three members, and a client with one lease.  The log has what was committed;
 * each entry has the term of its leader.  Members apply it late.  The leader of a
 * term counts the lease in its own memory: it may be deposed and not know it, and
 * then goes on renewing.  Time is a number that rises at any moment, by itself.
 *
 * The client sends a keep-alive, and a write when that was answered.  If both
 * answers have the same term, the lease is proven until one TTL after the sending
 * of the keep-alive.  The property: nobody revokes it before.
 */
#define MEMBERS 3
#define NOBODY 255
#ifndef TTL
#define TTL 2
#endif
#ifndef TIMES
#define TIMES 3
#endif
#ifndef TERMS
#define TERMS 2 /* one is there in the beginning */
#endif
#ifndef KEEPALIVES
#define KEEPALIVES 1
#endif
/* The first entry of each term, the writes, and a revocation. */
#define ENTRIES (TERMS + KEEPALIVES + 1)

byte now;

/* The log: of each entry its term. */
byte entry_term[ENTRIES];
byte committed;

byte last_term = 1;
byte leader_of[TERMS + 1] = NOBODY;
bool begun[TERMS + 1]; /* the first entry of the term is committed */

/* Of each member. */
byte term[MEMBERS];    /* that it voted in, or accepted an entry of */
byte stored[MEMBERS];  /* entries in its log */
byte applied[MEMBERS];
byte known_term[MEMBERS]; /* whose leader it takes for the leader */
bool primary[MEMBERS]; /* its clock of the lease runs */
byte expiry[MEMBERS];  /* and says this */
byte decided[MEMBERS]; /* the term in which it decided to revoke; 0: it did not */

/* Of the client. */
byte safe = TTL; /* the grant was sent at 0 */

byte revocation = NOBODY; /* its entry */
byte revoked_at;

bool broken_exclusion;

#define HEADER(m) entry_term[applied[m] - 1]
#define KNOWS_LEASE(m) (revocation == NOBODY || applied[m] <= revocation)

/* Of each term there is at most one leader, and it can commit while a majority
 * has no later term. */
#define IN_OFFICE(t)                                                           \
    (leader_of[t] != NOBODY && term[leader_of[t]] == t)
#define ACCEPTS(m, t) (m != leader_of[t] && term[m] <= t)
#define NEXT(m) ((m + 1) % MEMBERS)
#define OTHER(m) ((m + 2) % MEMBERS)
#define CAN_COMMIT(t)                                                          \
    (IN_OFFICE(t) && (ACCEPTS(NEXT(leader_of[t]), t) ||                        \
                      ACCEPTS(OTHER(leader_of[t]), t)))

inline accept(m, t)
{
    term[m] = t;
    stored[m] = committed + 1
}

/* Append an entry in term t, for which CAN_COMMIT(t): its leader and another
 * member have it. */
inline commit(t)
{
    if
    :: ACCEPTS(NEXT(leader_of[t]), t) -> accept(NEXT(leader_of[t]), t)
    :: ACCEPTS(OTHER(leader_of[t]), t) -> accept(OTHER(leader_of[t]), t)
    fi;
    stored[leader_of[t]] = committed + 1;
    entry_term[committed] = t;
    committed++
}

/* The member learns who leads in term t. */
inline learn(m, t)
{
    if
    :: t > known_term[m] ->
        known_term[m] = t;
        if
        :: leader_of[t] != m -> primary[m] = false
        :: else
        fi
    :: else
    fi
}

proctype member(byte m)
{
    byte t;

end:
    do
    /* It is elected by another one, whose log is no longer than its own. */
    :: atomic {
        last_term < TERMS && (stored[m] >= stored[NEXT(m)] ||
                              stored[m] >= stored[OTHER(m)]) ->
        if
        :: stored[m] >= stored[NEXT(m)] -> t = NEXT(m)
        :: stored[m] >= stored[OTHER(m)] -> t = OTHER(m)
        fi;
        last_term++;
        term[m] = last_term;
        term[t] = last_term;
        leader_of[last_term] = m;
        t = 0
    }
    /* It commits the first entry of its term. */
    :: atomic {
        leader_of[term[m]] == m && !begun[term[m]] && CAN_COMMIT(term[m]) ->
        t = term[m];
        commit(t);
        begun[t] = true;
        t = 0
    }
    /* It applies the next entry.  It has learnt of the leader of its term by
     * then, and if that is itself, each lease begins anew. */
    :: atomic {
        applied[m] < committed ->
        t = entry_term[applied[m]];
        learn(m, t);
        if
        :: leader_of[t] == m && entry_term[applied[m] - 1] != t ->
            primary[m] = true;
            expiry[m] = now + TTL
        :: else
        fi;
        applied[m]++;
        if
        :: term[m] < t -> term[m] = t
        :: else
        fi;
        if
        :: stored[m] < applied[m] -> stored[m] = applied[m]
        :: else
        fi;
        t = 0
    }
#ifndef LEARNS_LATE
    /* It learns of a leader earlier. */
    :: atomic {
        known_term[m] < term[m] && leader_of[term[m]] != NOBODY &&
            leader_of[term[m]] != m ->
        learn(m, term[m])
    }
#endif
    /* Its clock says that the lease is over. */
    :: atomic {
        primary[m] && expiry[m] <= now && decided[m] != known_term[m] &&
            KNOWS_LEASE(m) ->
        decided[m] = known_term[m]
    }
    /* What it decided is committed in the term in which it did: what is assumed
     * of an old leader. */
    :: atomic {
        decided[m] != 0 && revocation == NOBODY ->
#ifdef ETCD_OLD_LEADER_REVOKES
        t = last_term;
#else
        t = decided[m];
#endif
        if
        :: begun[t] && CAN_COMMIT(t) ->
            commit(t);
            revocation = committed - 1;
            revoked_at = now;
            broken_exclusion = revoked_at < safe;
            assert(!broken_exclusion)
        :: else -> decided[m] = 0
        fi;
        t = 0
    }
    od
}

active proctype clock()
{
end:
    do
    :: now < TIMES -> now++
    od
}

/* The client commits a write by whichever leader can; index is its entry. */
inline write()
{
    atomic {
        if
        :: begun[1] && CAN_COMMIT(1) -> t = 1
        :: begun[2] && CAN_COMMIT(2) -> t = 2
#if TERMS > 2
        :: begun[3] && CAN_COMMIT(3) -> t = 3
#endif
        fi;
        index = committed;
        commit(t);
        t = 0
    }
}

/* Any member. */
inline choose(m)
{
    if
    :: m = 0
    :: m = 1
    :: m = 2
    fi
}

#ifdef ETCD_READ_PROVES
#define HAS_APPLIED(m, index) true
#else
#define HAS_APPLIED(m, index) (applied[m] > index)
#endif

/* The term of the answer of a member that has applied the write. */
inline write_answered()
{
    atomic {
        if
        :: HAS_APPLIED(0, index) -> m = 0
        :: HAS_APPLIED(1, index) -> m = 1
        :: HAS_APPLIED(2, index) -> m = 2
        fi;
        write_term = HEADER(m)
    }
}

active proctype client()
{
    byte count, m, target, sent, keepalive_term, write_term, index, t;

    (committed > 0); /* init has run */
end:
    do
    :: count < KEEPALIVES ->
        atomic {
            count++;
            sent = now;
            choose(m)
        }
#ifdef ETCD_WRITE_FIRST
end_write:
        write();
end_answered:
        write_answered();
        sent = now;
#endif
        /* The member fills in the header, and then renews. */
end_header:
        atomic {
            KNOWS_LEASE(m) -> keepalive_term = HEADER(m)
        }
end_renew:
        atomic {
            if
            :: primary[m] -> expiry[m] = now + TTL; target = NOBODY
            :: !primary[m] && leader_of[known_term[m]] != m ->
                target = leader_of[known_term[m]]
            fi
        }
        if
        :: target != NOBODY ->
end_forward:
            atomic {
                primary[target] && KNOWS_LEASE(target) ->
                expiry[target] = now + TTL
            }
        :: else
        fi;
#ifndef ETCD_LATE_KEEP_ALIVE
        if
        :: now >= safe -> break /* the session is lost */
        :: else
        fi;
#endif
#ifdef ETCD_SAFE_FROM_ANSWER
        sent = now;
#endif
#if !defined(ETCD_KEEP_ALIVE_ALONE) && !defined(ETCD_READ_PROVES) && \
    !defined(ETCD_WRITE_FIRST)
end_write:
        write();
#endif
#if defined(ETCD_KEEP_ALIVE_ALONE)
        write_term = keepalive_term;
#elif !defined(ETCD_WRITE_FIRST)
end_answered:
        write_answered();
#endif
        atomic {
            if
#ifdef ETCD_TERMS_NOT_COMPARED
            :: true ->
#else
            :: write_term == keepalive_term ->
#endif
                if
                :: sent + TTL > safe -> safe = sent + TTL
                :: else
                fi;
                broken_exclusion = revocation != NOBODY && revoked_at < safe;
                assert(!broken_exclusion)
            :: else
            fi;
            keepalive_term = 0;
            write_term = 0;
            index = 0;
            m = 0;
            target = 0;
            sent = 0
        }
    :: else -> break
    od
}

init
{
    byte m;

    atomic {
        leader_of[0] = NOBODY;
        leader_of[1] = 0;
        begun[1] = true;
        entry_term[0] = 1;
        for (m : 0 .. MEMBERS - 1) {
            term[m] = 1;
            stored[m] = 1;
            applied[m] = 1;
            known_term[m] = 1
        }
        primary[0] = true;
        expiry[0] = TTL;
        committed = 1;
        for (m : 0 .. MEMBERS - 1) {
            run member(m)
        }
    }
}
