/* A lock that a failover does not take: WAIT on the lane, releases that stay owed until replicas
 * have them, and strict renewals. One key of one primary with two replicas, and failovers.
 *
 * docs/internals/model.md says what is modelled, what is left out and why that is sound; check.py
 * has the configurations, each a set of the switches below, and the mutants, each a switch MUTANT_x
 * that takes one rule out of the protocol.
 *
 * The rules are those of config::durability: in src/redis/replica_waits.hpp a WAIT on the lane says
 * what replicas have, a grant that they lack in time is given back, a release that they lack stays
 * owed, and a renewal that they lack proves nothing. Re-entry, adopt, permits and counters are left
 * out, and so are servers that lose their data.
 *
 * Time is abstract. The leases of an ownership are numbered in the order in which they end, and a
 * key has the number of its lease. A client may cease to believe in its hold at any moment, and a
 * primary may end a lease at any moment at which nobody believes in it or in an earlier one: that
 * is what sent + lease - drift gives, if the clocks of the servers agree.
 *
 * A connection that ends takes along what is under way on it, and a client that has been at the new
 * primary does not go back to the old one.
 */

/* ---- Switches: sizes ------------------------------------------------------------------------ */

#ifndef ACKS
#define ACKS 2        /* so many replicas have to acknowledge: 2 is all, 1 the majority */
#endif
#ifndef FAILOVERS
#define FAILOVERS 1
#endif
#ifndef LAG
#define LAG 2         /* writes that a replica may be behind */
#endif
#ifndef LEASES
#define LEASES 2      /* that an ownership may set: the first, repeats, renewals */
#endif

/* ---- Switches: what there is ----------------------------------------------------------------
 *
 * KILLS    the primary dies, and comes back as a replica
 * CUTS     a replica is promoted beside the old primary, which goes on for a while: a manual
 *          failover, or a net that is cut
 * STAY     some replicas stay with the old primary then
 * PAUSES   the primary stands still until the replica to be promoted has everything
 * HIGHEST  the replica that has the most is promoted; else any
 * MIXED    some callers want no replicas, and the lock is handed over between callers of a client
 */

#define CLIENTS 2
#define NODES 3
#define NONE 3                      /* no node */
#define NUMBERS 2                   /* a client's: owed, and asked for or held */
#define NOBODY 0
#define entry(f, lease) (1 + (f) * LEASES + (lease) - 1)
#define field_in(value) (((value) - 1) / LEASES)
#define lease_in(value) (((value) - 1) % LEASES + 1)
#define client_of(f) ((f) / NUMBERS)

mtype:phase = { resting, asking, holding };

/* ---- The servers ----------------------------------------------------------------------------- */

byte key[NODES];                    /* field and lease */
chan stream[NODES] = [LAG] of { byte };     /* what a replica has not applied yet */
byte follows[NODES] = NONE;         /* its primary; itself; or it is away */
byte newest, oldest = NONE;         /* the primary, and the one before it if it is alive */
byte failovers;

/* ---- The clients ----------------------------------------------------------------------------- */

typedef client_state {
    mtype:phase phase;
    byte at;                        /* the primary that its lane leads to */
    byte number;
    byte sent;                      /* the last lease that it has asked for */
    byte answered;                  /* the lease that a primary has set, and WAIT does not cover */
    byte until;                     /* the lease that it believes in; 0: none */
    bit wants_replicas;
    bit owed[NUMBERS];              /* releases */
    bit done[NUMBERS];              /* of these: answered on this connection, and not covered */
    byte behind[NODES];             /* writes of a replica before it has the last one of this lane */
}
client_state cl[CLIENTS];

#define me cl[c]
#define field(c) ((c) * NUMBERS + cl[c].number)

/* Scratch, zero between steps. */
byte i, j, k, n, value;
bit found, is_hold_taken, is_without_holder;

/* ---- What is checked --------------------------------------------------------------------------- */

#define is_of(value, f) (value != NOBODY && field_in(value) == (f))

/* The owner of this field knows of it: it asks, holds or has to release. */
#define is_known(f) (cl[client_of(f)].owed[(f) % NUMBERS] || \
    cl[client_of(f)].phase != resting && field(client_of(f)) == (f))

/* A hold that believes in a lease, and wants replicas, has it at the newest primary. So no two
 * believe, either. */
#define has_its_lease(c) (cl[c].until == 0 || !cl[c].wants_replicas || \
    is_of(key[newest], field(c)) && lease_in(key[newest]) >= cl[c].until)

inline check() {
    is_hold_taken = !(has_its_lease(0) && has_its_lease(1));
    assert(!is_hold_taken);                         /* a failover takes no hold */
    is_without_holder = (key[newest] != NOBODY && !is_known(field_in(key[newest])));
    assert(!is_without_holder)                      /* and leaves no lock without a holder */
}

/* ---- Replication ------------------------------------------------------------------------------- */

#define is_replica_of(k, p) (follows[k] == (p) && k != (p))
#define has_room(k, p) (!is_replica_of(k, p) || nfull(stream[k]))
#define may_write(p) (has_room(0, p) && has_room(1, p) && has_room(2, p))
#define may_send(c) may_write(cl[c].at)

/* All replicas of the primary get it. */
inline write(p, what) {
    key[p] = what;
    for (j : 0 .. NODES - 1) {
        if
        :: is_replica_of(j, p) -> stream[j] ! what
        :: else
        fi
    }
    j = 0
}

inline forget_behind(c) {
    for (j : 0 .. NODES - 1) {
        me.behind[j] = 0
    }
    j = 0
}

/* By a script of this client: WAIT counts from here. */
inline write_of(c, what) {
    write(me.at, what);
    for (j : 0 .. NODES - 1) {
        me.behind[j] = (is_replica_of(j, me.at) -> len(stream[j]) : 0)
    }
    j = 0
}

/* It copies all when it comes back. */
inline leave_primary(k) {
    do
    :: stream[k] ? _
    :: empty(stream[k]) -> break
    od;
    key[k] = NOBODY;
    follows[k] = NONE;
    for (j : 0 .. CLIENTS - 1) {
        cl[j].behind[k] = 0
    }
    j = 0
}

/* ---- A connection -------------------------------------------------------------------------------- */

/* The steps that are not covered are lost, as if they had no answer. */
inline reconnect(c, p) {
    me.at = p;
#ifndef MUTANT_NEXT_CONNECTION_COVERS
    me.answered = 0;
    for (j : 0 .. NUMBERS - 1) {
        me.done[j] = 0
    }
    j = 0;
#endif
    forget_behind(c)
}

inline reconnect_all(p) {
    for (i : 0 .. CLIENTS - 1) {
        if
        :: cl[i].at == p ->
#ifdef MUTANT_UNBLOCKED_COVERS
            cover(i);
#endif
            reconnect(i, newest)
        :: else
        fi
    }
    i = 0
}

/* A primary has answered, and WAIT has not. */
#define waits_for_cover(c) (cl[c].answered != 0 || cl[c].done[0] || cl[c].done[1])

/* ---- Steps --------------------------------------------------------------------------------------- */

inline forget_number(c) {
    me.phase = resting;
    me.answered = 0;
    me.until = 0;
    me.sent = 0;
    me.wants_replicas = 0;
    if
    :: waits_for_cover(c)
    :: else -> forget_behind(c)
    fi
}

/* Nobody has it any more, or ever had: the release is owed. */
inline leave(c) {
#ifdef MUTANT_UNDO_IS_NOT_OWED
    if
    :: me.phase == asking ->
        if
        :: may_send(c)
        :: true -> found = 1                        /* the undo is lost */
        fi;
        if
        :: !found && is_of(key[me.at], field(c)) -> write_of(c, NOBODY)
        :: found || !is_of(key[me.at], field(c))
        fi;
        found = 0
    :: me.phase == holding -> me.owed[me.number] = 1
    fi;
#else
    me.owed[me.number] = 1;
#endif
    forget_number(c)
}

inline grant(c) {
    me.phase = holding;
    me.until = me.answered;
    me.answered = 0;
    if
    :: waits_for_cover(c)
    :: else -> forget_behind(c)
    fi
}

/* scripts/acquire.lua; a repeat sets a later lease. */
inline acquire(c) {
    if
    :: key[me.at] == NOBODY || is_of(key[me.at], field(c)) ->
        me.sent++;
        write_of(c, entry(field(c), me.sent));
        me.answered = me.sent;
#ifdef MUTANT_NO_WAIT
        grant(c)
#else
        if
        :: !me.wants_replicas -> grant(c)
        :: else
        fi
#endif
    :: key[me.at] != NOBODY && !is_of(key[me.at], field(c)) -> forget_number(c)
    fi
}

/* scripts/renew.lua. */
inline renew(c) {
    if
    :: is_of(key[me.at], field(c)) ->
        me.sent++;
        write_of(c, entry(field(c), me.sent));
        me.answered = me.sent;
#ifdef MUTANT_RENEWAL_IS_NOT_STRICT
        grant(c)
#else
        if
        :: !me.wants_replicas -> grant(c)
        :: else
        fi
#endif
    :: !is_of(key[me.at], field(c)) -> forget_number(c)
    fi
}

/* scripts/release.lua. A release that finds nothing writes the marker, because a WAIT behind a
 * script that wrote nothing proves nothing. */
inline release(c, k) {
    if
    :: is_of(key[me.at], c * NUMBERS + k) -> write_of(c, NOBODY)
#ifdef MUTANT_NO_MARKER
    :: !is_of(key[me.at], c * NUMBERS + k)
#else
    :: !is_of(key[me.at], c * NUMBERS + k) -> write_of(c, key[me.at])
#endif
    fi;
#ifdef MUTANT_RELEASE_IS_NOT_OWED
    me.owed[k] = 0
#else
    me.done[k] = 1
#endif
}

/* ---- WAIT ---------------------------------------------------------------------------------------- */

#ifdef MUTANT_WAIT_ON_ANOTHER_CONNECTION
#define has_all_of(c, k) is_replica_of(k, cl[c].at)
#else
#define has_all_of(c, k) (is_replica_of(k, cl[c].at) && cl[c].behind[k] == 0)
#endif
#define acknowledged(c) (has_all_of(c, 0) + has_all_of(c, 1) + has_all_of(c, 2))

#if defined(MUTANT_ONE_FEWER)
#define needed(c) (ACKS - 1)
#elif defined(MUTANT_AS_MANY_AS_ARE_THERE)
#define attached(c) (is_replica_of(0, cl[c].at) + is_replica_of(1, cl[c].at) + \
    is_replica_of(2, cl[c].at))
#define needed(c) (attached(c) < ACKS -> attached(c) : ACKS)
#else
#define needed(c) ACKS
#endif

/* What it covers is all that the connection has been answered. Until then nothing counts that
 * wants replicas, and a step that is covered too late is repeated or given back. */
inline cover(c) {
    if
    :: me.answered != 0 -> grant(c)
    :: else
    fi;
    for (j : 0 .. NUMBERS - 1) {
        me.owed[j] = me.owed[j] && !me.done[j];
        me.done[j] = 0
    }
    j = 0;
    forget_behind(c)
}

/* ---- All that a client does ------------------------------------------------------------------- */

/* Nothing at the servers has this field any more. */
inline look_for(f) {
    for (i : 0 .. NODES - 1) {
        found = found || is_of(key[i], f);
        for (j : 1 .. LEASES) {
            found = found || stream[i] ?? [eval(entry(f, j))]
        }
        j = 0
    }
    i = 0
}

inline begin(c) {
    for (k : 0 .. NUMBERS - 1) {
        found = me.owed[k];
        look_for(c * NUMBERS + k);
        if
        :: !found && me.phase == resting ->
            me.number = k;
            me.phase = asking;
#ifdef MIXED
            if
            :: me.wants_replicas = 1
            :: me.wants_replicas = 0
            fi
#else
            me.wants_replicas = 1
#endif
        :: else
        fi;
        found = 0
    }
    k = 0
}

proctype client(byte c) {
end:
    do
    :: atomic { me.phase == resting -> begin(c) }
    :: atomic { waits_for_cover(c) -> reconnect(c, me.at) }
    :: atomic { me.at != newest -> reconnect(c, newest) }
    :: atomic {
        me.phase == asking && me.answered == 0 && me.sent < LEASES && may_send(c) ->
        acquire(c);
        check()
    }
    :: atomic {
        me.phase == holding && me.answered == 0 && me.sent < LEASES && may_send(c) ->
        renew(c);
        check()
    }
    :: atomic { me.owed[0] && !me.done[0] && may_send(c) -> release(c, 0); check() }
    :: atomic { me.owed[1] && !me.done[1] && may_send(c) -> release(c, 1); check() }
    :: atomic {
        waits_for_cover(c) && acknowledged(c) >= needed(c) ->
        cover(c);
        check()
    }
    /* Too few replicas in time; released; or its validity is over. */
    :: atomic { me.phase == asking && me.sent == 0 -> forget_number(c) }
    :: atomic { me.phase == asking && me.sent > 0 -> leave(c); check() }
    :: atomic { me.phase == holding -> leave(c); check() }
#ifdef MIXED
    :: atomic {                                     /* the next caller wants replicas */
        me.phase == holding && !me.wants_replicas ->
        me.wants_replicas = 1;
#ifndef MUTANT_HANDS_OVER_UNCOVERED
        me.phase = asking;                          /* and takes over the field, by a script */
        me.until = 0;
#endif
        check()
    }
#endif
    od
}

/* ---- All that servers do ------------------------------------------------------------------------ */

#ifdef MUTANT_FROM_THE_ANSWER
#define is_over(f, lease) true
#else
#define is_over(f, lease) (cl[client_of(f)].until == 0 || field(client_of(f)) != (f) || \
    cl[client_of(f)].until > (lease))
#endif

#define is_over_in(what, value) (is_of(what, field_in(value)) && \
    lease_in(what) <= lease_in(value))

/* It is over at all servers, whether they know of its end or not. */
inline expire(value) {
    for (i : 0 .. NODES - 1) {
        key[i] = (is_over_in(key[i], value) -> NOBODY : key[i]);
        n = len(stream[i]);
        for (j : 1 .. n) {
            stream[i] ? k;
            k = (is_over_in(k, value) -> NOBODY : k);
            stream[i] ! k
        }
        j = 0;
        k = 0;
        n = 0
    }
    i = 0;
#ifndef MUTANT_LATE_GRANT
    for (i : 0 .. CLIENTS - 1) {
        cl[i].answered = (field(i) == field_in(value) && cl[i].answered <= lease_in(value) -> 0 :
            cl[i].answered)
    }
    i = 0
#endif
}

proctype server(byte s) {
end:
    do
    :: atomic {                                     /* a lease ends */
        follows[s] == s && key[s] != NOBODY && may_write(s) &&
            is_over(field_in(key[s]), lease_in(key[s])) ->
        value = key[s];
        write(s, NOBODY);
        expire(value);
        value = 0;
        check()
    }
    :: atomic {                                     /* a replica applies a write */
        follows[s] != s && nempty(stream[s]) ->
        stream[s] ? key[s];
        for (i : 0 .. CLIENTS - 1) {
            cl[i].behind[s] = (cl[i].behind[s] > 0 -> cl[i].behind[s] - 1 : 0)
        }
        i = 0
    }
    :: atomic {                                     /* it comes back, and copies all */
        follows[s] == NONE ->
        key[s] = key[newest];
        follows[s] = newest
    }
    od
}

#if defined(HIGHEST) && !defined(MUTANT_ANY_IS_PROMOTED)
#define has_less(k, r) (is_replica_of(k, newest) && len(stream[k]) < len(stream[r]))
#define may_become(r) (is_replica_of(r, newest) && \
    !has_less(0, r) && !has_less(1, r) && !has_less(2, r))
#else
#define may_become(r) is_replica_of(r, newest)
#endif

/* This replica is the primary now. */
inline promote(r) {
    failovers++;
    value = newest;
    newest = r;
    follows[r] = r;
    do
    :: stream[r] ? _
    :: empty(stream[r]) -> break
    od;
    for (i : 0 .. CLIENTS - 1) {
        cl[i].behind[r] = 0
    }
    for (i : 0 .. NODES - 1) {
        if
        :: is_replica_of(i, value) -> leave_primary(i)
#if defined(STAY) || defined(MUTANT_SOME_STAY)
        :: is_replica_of(i, value)
#endif
        :: else
        fi
    }
    i = 0;
    value = 0
}

/* The old primary, and who has stayed with it, follow the new one. */
inline end_primary(p) {
    reconnect_all(p);
    for (i : 0 .. NODES - 1) {
        if
        :: follows[i] == p -> leave_primary(i)
        :: else
        fi
    }
    i = 0
}

proctype fate(byte r) {
end:
    do
#ifdef KILLS
    :: atomic {
        failovers < FAILOVERS && oldest == NONE && may_become(r) ->
        n = newest;
        promote(r);
        end_primary(n);
        n = 0;
        check()
    }
#endif
#ifdef CUTS
    :: atomic {
        failovers < FAILOVERS && oldest == NONE && may_become(r) ->
        oldest = newest;
        promote(r);
        check()
    }
    :: atomic {
        oldest != NONE ->
        end_primary(oldest);
        oldest = NONE;
        check()
    }
#endif
#ifdef PAUSES
    :: atomic {
        failovers < FAILOVERS && may_become(r) && empty(stream[r]) ->
        n = newest;
        promote(r);
        end_primary(n);
        n = 0;
        check()
    }
#endif
    :: false
    od
}

init {
    atomic {
        for (k : 0 .. NODES - 1) {
            follows[k] = 0;
            run server(k);
            run fate(k)
        }
        for (k : 0 .. CLIENTS - 1) {
            cl[k].phase = resting;
            run client(k)
        }
        k = 0
    }
}
