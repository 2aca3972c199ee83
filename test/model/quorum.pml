/* The quorum lock: one lock on a majority of N independent servers, with one fencing token, and
 * with parts that are taken again when they are lost.
 *
 * docs/internals/model.md says what is modelled, what is left out and why that is sound; check.py
 * has the configurations, each a set of the switches below, and the mutants, each a switch MUTANT_x
 * that takes one rule out of the protocol.
 *
 * The code is src/locks/group_acquire.cpp and group_acquire_requests.cpp (asking, agreement),
 * group_hold.cpp (a hold and its healer), src/decide/quorum.hpp (the token, the votes), and the
 * scripts acquire, raise and release.
 *
 * Time is abstract. A client may cease to believe in a part at any moment: its validity is over. A
 * server may end a lease at any moment at which its owner does not believe in it. That is what the
 * arithmetic of leases gives: sent + lease - drift is never later than the server's end. A step
 * runs and is answered at once; that includes slow answers, because a client may wait before it
 * uses one.
 *
 * Tokens are small numbers, and the search ends above the highest. A server's clock is in the same
 * unit, and what is stored of it is how far it has come at least. So a draw and a raise choose how
 * late it is, and no clock has to tick.
 */

/* ---- Switches: sizes ------------------------------------------------------------------------ */

#define N 3           /* servers */
#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 1    /* of each client; each has a field of its own */
#endif
#ifndef BREAKS
#define BREAKS 0      /* so many steps are lost, come late or run twice */
#endif
#ifndef CRASHES
#define CRASHES 0     /* so often a server restarts empty */
#endif
#ifndef LEAP
#define LEAP 1        /* a draw finds the clock so far ahead of the counter at most */
#endif
#ifndef TOKENS
#define TOKENS (LEAP + CLIENTS * ATTEMPTS + 1)
#endif

/* ---- Switches: what there is ----------------------------------------------------------------
 *
 * EXCLUSIVE  two holds never count at the same time; else only their tokens are looked at
 * VOTING     a server that has restarted has no vote for as long as anybody may believe in what it
 *            has lost; else it votes at once (vote_after = 0)
 * PROXY      a step that is under way to a server outlives its restart
 * ROTATE     a server restarts only while a hold has all parts, and holders renew in time: then
 *            the hold has a majority, always
 * CLOCKLESS  counters don't follow clocks: a lost one begins at 0, and a raise asks for no clock
 * FORCES     somebody forces the lock on all servers
 */

#define NOBODY 0
#ifdef MUTANT_ONE_FEWER
#define NEEDED (N / 2)
#else
#define NEEDED (N / 2 + 1)
#endif

mtype:step = { acquire, raise, release };
mtype:answer = { done, refused, not_yet, unanswered };
mtype:phase = { resting, asking, holding };
#define YES 1
#define NO 2

/* ---- The servers ----------------------------------------------------------------------------- */

byte owner[N];                      /* whose field stands in the key */
byte counter[N];
byte clock[N];                      /* at least */
bit lost_data[N];                   /* and somebody may still believe in it */

/* A step that was given up, which the server runs all the same, at any time. */
mtype:step late_step;
byte late_server, late_field, late_token;

byte crashes, breaks;

/* ---- The clients ----------------------------------------------------------------------------- */

typedef part_state {
    bit mine;                       /* the client believes that it has this part */
    bit asked;                      /* it has been granted in this attempt */
    byte drawn;                     /* its token, until the hold begins */
    byte reached;                   /* its counter, as far as known */
    byte votes;                     /* what its server has said: unknown, yes or no */
    bit counts;                     /* of a hold: it is at the token, and its server votes */
#ifdef FORCES
    bit confirmed;                  /* of a missing one: most others have said that they are there */
#endif
}

typedef client_state {
    mtype:phase phase;
    byte attempt;
    byte token;                     /* of the hold */
    bit stands;                     /* the hold counts */
    part_state part[N];
}
client_state cl[CLIENTS];

#define me cl[c]
#define mine_here cl[c].part[s]

/* ---- Ghosts: what the properties are about, and no client knows ------------------------------- */

byte highest;                       /* token of all that have counted */
int used;                           /* tokens of all that have counted, a bit each */
byte since[CLIENTS];                /* the highest when it began to ask */
bit began[CLIENTS];                 /* the hold has counted */
bit forced[CLIENTS];                /* the hold was taken away on all servers */

/* Scratch, zero between steps. */
byte i, j, n, x, target, drew;
mtype:answer got;
bit is_enough, other_stands;

#define field(c) (1 + (c) * ATTEMPTS + cl[c].attempt - 1)
#define client_of(number) (((number) - 1) / ATTEMPTS)
#define has_field(c, s) (owner[s] == field(c))

/* ---- The scripts ------------------------------------------------------------------------------ */

#ifdef CLOCKLESS
#define follows_clock false
#else
#define follows_clock true
#endif

/* scripts/parts/draw.lua: a counter that is behind the clock is set to it, and one that was lost is
 * far behind. It is never ahead of the clock for as long as a restart takes. */
#define ahead(s) (clock[s] > counter[s] -> clock[s] : counter[s])
#ifdef MUTANT_LOST_COUNTER_FROM_ZERO
#define may_follow(s) (follows_clock && counter[s] != 0)
#else
#define may_follow(s) follows_clock
#endif
#define can_draw(s) (counter[s] < TOKENS && \
    (counter[s] != 0 || !may_follow(s) || clock[s] < TOKENS))

inline draw(s) {
    if
    :: counter[s] != 0 || !may_follow(s) -> drew = counter[s] + 1
    :: may_follow(s) && ahead(s) < TOKENS -> drew = ahead(s) + 1
#if LEAP > 0
    :: may_follow(s) && ahead(s) + LEAP < TOKENS -> drew = ahead(s) + 1 + LEAP
#endif
    fi;
    counter[s] = drew;
    clock[s] = (clock[s] < drew -> drew : clock[s])
}

inline execute(step, s, who, value) {
    if
    :: step == acquire && can_draw(s) && (owner[s] == NOBODY || owner[s] == who) ->
        draw(s);
        owner[s] = who;
        got = done
    :: step == acquire && (!can_draw(s) || owner[s] != NOBODY && owner[s] != who) -> got = refused
#ifdef MUTANT_RAISES_FOR_ANYBODY
    :: step == raise ->
#else
    :: step == raise && owner[s] != who -> got = refused
    :: step == raise && owner[s] == who ->
#endif
        if
        :: counter[s] >= value -> got = done
#if defined(MUTANT_RAISES_PAST_CLOCK) || defined(CLOCKLESS)
        :: counter[s] < value -> counter[s] = value; got = done
#else
        :: counter[s] < value && clock[s] < value -> got = not_yet
        :: counter[s] < value ->
            counter[s] = value;
            clock[s] = (clock[s] < value -> value : clock[s]);
            got = done
#endif
        fi
    :: step == release && owner[s] == who -> owner[s] = NOBODY; got = done
    :: step == release && owner[s] != who -> got = refused
    fi
}

/* Runs it and hears of it; or only runs it; or it runs later, whatever the client does until
 * then. */
inline send(step, s, who, value) {
    if
    :: execute(step, s, who, value)
#if BREAKS > 0
    :: breaks < BREAKS -> breaks++; execute(step, s, who, value); drew = 0; got = unanswered
    :: breaks < BREAKS && late_step == 0 ->
        breaks++;
        late_step = step;
        late_server = s;
        late_field = who;
        late_token = value;
        got = unanswered
#endif
    fi;
#ifdef MUTANT_NO_ANSWER_IS_YES
    got = (got == unanswered && step == raise -> done : got)
#else
    skip
#endif
}

inline forget_late() {
    late_step = 0;
    late_server = 0;
    late_field = 0;
    late_token = 0
}

/* ---- A hold ------------------------------------------------------------------------------------ */

/* group_hold::stands: so many parts count, and are valid, as it needs. */
inline count_parts(c) {
    for (i : 0 .. N - 1) {
        n = n + (me.part[i].mine && me.part[i].counts)
    }
    is_enough = (me.phase == holding && n >= NEEDED);
    i = 0;
    n = 0
}

inline forget_part(c, s) {
    mine_here.mine = 0;
    mine_here.drawn = 0;
    mine_here.reached = 0;
    mine_here.votes = 0;
    mine_here.counts = 0
}

/* Each part is released, or left until its lease ends. */
inline give_back(c) {
    me.phase = resting;
    me.token = 0;
    me.stands = 0;
    since[c] = 0;
    began[c] = 0;
    forced[c] = 0;
    for (i : 0 .. N - 1) {
        if
#ifdef MUTANT_RELEASES_BY_NAME
        :: has_field(c, i) || me.part[i].asked -> owner[i] = NOBODY
#else
        :: has_field(c, i) -> owner[i] = NOBODY
#endif
#if BREAKS > 0
        :: has_field(c, i) && breaks < BREAKS && late_step == 0 ->
            breaks++;
            late_step = release;
            late_server = i;
            late_field = field(c)
#endif
        :: true
        fi;
        forget_part(c, i);
        me.part[i].asked = 0;
#ifdef FORCES
        me.part[i].confirmed = 0
#endif
    }
    i = 0
}

/* What is checked when a hold begins to count. */
inline begins(c) {
    assert(!began[c]);                              /* what has ceased to count never does again */
    assert(me.token > since[c]);                    /* tokens rise */
    assert(!((used >> me.token) & 1));              /* no token twice */
    began[c] = 1;
    used = used | (1 << me.token);
#ifdef EXCLUSIVE
    assert(me.token > highest);                     /* also beside those who began to ask earlier */
    for (j : 0 .. CLIENTS - 1) {
        if
        :: j != c -> count_parts(j); other_stands = other_stands || is_enough
        :: else
        fi
    }
    j = 0;
    assert(!other_stands);                          /* mutual exclusion */
    is_enough = 1;
#endif
    highest = (highest < me.token -> me.token : highest)
}

/* After each step that may let a hold count, or end it. */
inline look(c) {
    count_parts(c);
    if
    :: is_enough && !me.stands -> begins(c)
    :: else
    fi;
    me.stands = is_enough;
    is_enough = 0;
#ifdef ROTATE
    for (i : 0 .. N - 1) {
        n = n + has_field(c, i)
    }
    assert(me.phase != holding || me.stands && n >= NEEDED);    /* a hold is not lost */
    i = 0;
    n = 0;
#endif
#ifdef FORCES
    for (i : 0 .. N - 1) {
        n = n + (has_field(c, i) && me.part[i].mine && me.part[i].counts)
    }
    assert(!forced[c] || n < NEEDED);               /* what was forced does not come back */
    i = 0;
    n = 0;
#endif
#if !defined(MUTANT_HEALS_AFTER_THE_END) && !defined(MUTANT_LATE_RENEWAL_REVIVES)
    if
    :: me.phase == holding && !me.stands -> give_back(c)
    :: else
    fi
#endif
}

/* group_hold::on_part_ended */
inline lose(c, s) {
    forget_part(c, s);
    look(c)
}

/* healer::confirm: no part is taken again before most others have said that they are there, because
 * somebody may have forced them all. Without FORCES it is taken at any time. */
#if defined(FORCES) && !defined(MUTANT_NO_CONFIRMATION)
#define may_take_again(p) p.confirmed
#else
#define may_take_again(p) true
#endif

inline confirm(c, s) {
    for (i : 0 .. N - 1) {
        n = n + (has_field(c, i) && me.part[i].mine && me.part[i].counts)
    }
    mine_here.confirmed = (n >= NEEDED);
    i = 0;
    n = 0
}

/* ---- Agreement --------------------------------------------------------------------------------- */

#ifdef MUTANT_LAPSED_PARTS_STAND
#define is_good(p) (p.drawn != 0)
#else
#define is_good(p) (p.mine)
#endif

/* The server of a part has to say whether it votes. If not, the part is out of the round. */
#ifdef MUTANT_VOTES_UNASKED
#define has_vote(p) (p.votes != NO)
#else
#define has_vote(p) (p.votes == YES)
#endif
#define is_in(p) (is_good(p) && p.votes != NO)

/* requests::token, decide::common_token: the token of the part with which they are enough, by
 * their tokens. x is 0 if there are too few. */
inline common_token(c) {
    for (i : 0 .. N - 1) {
        if
        :: is_in(me.part[i]) ->
            for (j : 0 .. N - 1) {
                n = n + (is_in(me.part[j]) &&
                    me.part[j].drawn <= me.part[i].drawn)
            }
            j = 0;
#if defined(MUTANT_LOWEST_TOKEN)
            x = (x == 0 || me.part[i].drawn < x -> me.part[i].drawn : x);
#elif defined(MUTANT_TOKEN_OF_ONE)
            x = (x == 0 -> me.part[i].drawn : x);   /* of the first */
#else
            x = (n >= NEEDED && (x == 0 || me.part[i].drawn < x) -> me.part[i].drawn : x);
#endif
            n = 0
        :: else
        fi
    }
    i = 0
}

/* decide::quorum_part::counts and agrees */
#ifdef MUTANT_NO_RAISE
#define is_at(p) true
#else
#define is_at(p) (p.reached >= x && has_vote(p))
#endif
#if defined(MUTANT_NO_RAISE) || defined(MUTANT_LOWEST_TOKEN) || defined(MUTANT_TOKEN_OF_ONE)
#define agrees(p) is_at(p)
#else
#define agrees(p) (p.drawn <= x && is_at(p))
#endif

inline grant_if_agreed(c) {
    common_token(c);
    if
    :: x != 0 ->
        for (i : 0 .. N - 1) {
            n = n + (is_in(me.part[i]) && agrees(me.part[i]))
        }
        i = 0
    :: else
    fi;
    if
    :: n >= NEEDED && x != 0 ->
        n = 0;
        me.phase = holding;
        me.token = x;
        for (i : 0 .. N - 1) {
            me.part[i].counts = is_in(me.part[i]) && is_at(me.part[i]);
#ifdef MUTANT_LAPSED_PARTS_STAND
            me.part[i].mine = is_good(me.part[i]);
#endif
            me.part[i].drawn = 0;
            me.part[i].reached = 0;
            me.part[i].votes = 0;
            me.part[i].asked = 0
        }
        i = 0;
        x = 0;
        look(c)
    :: else -> n = 0; x = 0
    fi
}

/* ---- All that a client does ------------------------------------------------------------------- */

proctype client(byte c) {
end:
    do
    :: atomic {
        me.phase == resting && me.attempt < ATTEMPTS ->
        me.attempt++;
        me.phase = asking;
        since[c] = highest
    }
    :: atomic { me.phase == asking -> grant_if_agreed(c) }
    :: atomic { me.phase != resting -> give_back(c) }   /* released, cancelled, or too late */
    od
}

/* Asks for a part until it is granted; or takes it again while the hold stands (class healer). */
inline take(c, s) {
    send(acquire, s, field(c), 0);
    if
    :: got == done ->
        mine_here.mine = 1;
        if
        :: me.phase == asking ->
            mine_here.asked = 1;
            mine_here.drawn = drew;
            mine_here.reached = drew
        :: else ->
#ifdef MUTANT_HEALS_WITHOUT_RAISE
            mine_here.counts = 1
#else
            skip
#endif
        fi
    :: else
    fi;
    got = 0;
    drew = 0;
#ifdef FORCES
    mine_here.confirmed = 0;
#endif
    look(c)
}

#ifdef MUTANT_HEALED_PARTS_VOTE
#define vote_of(s) (me.phase == holding || !lost_data[s] -> YES : NO)
#else
#define vote_of(s) (lost_data[s] -> NO : YES)
#endif

/* Raises its counter to the token, and asks whether its server votes. */
inline raise_to(c, s, value) {
    send(raise, s, field(c), value);
    if
    :: got == refused -> forget_part(c, s)
    :: (got == done || got == not_yet) && me.phase == asking ->
        mine_here.votes = vote_of(s);
        mine_here.reached = (got == not_yet -> mine_here.reached :
            (counter[s] < value -> value : counter[s]))
    :: got == done && me.phase == holding -> mine_here.counts = (vote_of(s) == YES)
    :: else
    fi;
    got = 0;
    look(c)
}

#ifdef MUTANT_HEALS_AFTER_THE_END
#define may_heal(c) true
#else
#define may_heal(c) (cl[c].stands)
#endif
#define is_missing(p) (!p.mine && (me.phase == asking && !p.asked || \
    me.phase == holding && may_heal(c) && may_take_again(p)))

/* What a client does with one part. */
proctype lane(byte c, s) {
end:
    do
    :: atomic { is_missing(mine_here) -> take(c, s) }
    :: atomic {
        me.phase == asking && mine_here.mine && mine_here.votes != NO ->
        common_token(c);
        target = (mine_here.votes == YES && mine_here.reached >= x -> 0 : x);
        x = 0;
        if
        :: target != 0 -> raise_to(c, s, target)
        :: else
        fi;
        target = 0
    }
    :: atomic {
        me.phase == holding && mine_here.mine && !mine_here.counts ->
        raise_to(c, s, me.token)
    }
#ifdef FORCES
    :: atomic { me.stands && !mine_here.mine && !mine_here.confirmed -> confirm(c, s) }
#endif
    /* Its validity is over, or a renewal finds that it is gone. */
#if defined(ROTATE)
    :: atomic { me.phase == asking && mine_here.mine -> forget_part(c, s) }
    :: atomic { me.phase == holding && mine_here.mine && !has_field(c, s) -> lose(c, s) }
#elif defined(MUTANT_LAPSED_PARTS_STAND)
    :: atomic { me.phase == asking && mine_here.mine -> mine_here.mine = 0 }
    :: atomic { me.phase == holding && mine_here.mine -> lose(c, s) }
#elif defined(MUTANT_LATE_RENEWAL_REVIVES)
    :: atomic { mine_here.mine -> mine_here.mine = 0; look(c) }
    :: atomic {
        me.phase == holding && !mine_here.mine && mine_here.counts && has_field(c, s) ->
        mine_here.mine = 1;
        look(c)
    }
#else
    :: atomic { mine_here.mine -> lose(c, s) }
#endif
    od
}

/* ---- All that a server does -------------------------------------------------------------------- */

/* Somebody believes in a part that the server does not have. */
inline find_believer(s) {
    for (i : 0 .. CLIENTS - 1) {
        is_enough = is_enough || (cl[i].part[s].mine && !has_field(i, s))
    }
    i = 0
}

/* A restart that the hold survives: it has all parts. */
inline find_whole_hold() {
    for (i : 0 .. CLIENTS - 1) {
        for (j : 0 .. N - 1) {
            n = n + (cl[i].part[j].mine && cl[i].part[j].counts && has_field(i, j))
        }
        is_enough = is_enough || (cl[i].phase == holding && n == N);
        j = 0;
        n = 0
    }
    i = 0
}

proctype server(byte s) {
end:
    do
    :: atomic {                                     /* a lease ends */
        owner[s] != NOBODY ->
#ifndef MUTANT_FROM_THE_ANSWER                      /* by which the server may be earlier */
        i = client_of(owner[s]);
        is_enough = (cl[i].part[s].mine && has_field(i, s));
        i = 0;
#endif
        owner[s] = (is_enough -> owner[s] : NOBODY);
        is_enough = 0
    }
#if CRASHES > 0
    :: atomic {
        crashes < CRASHES ->
#ifdef ROTATE
        find_whole_hold();
#else
        is_enough = 1;
#endif
        if
        :: is_enough ->
            crashes++;
            owner[s] = NOBODY;
            counter[s] = 0;
#if defined(VOTING) && !defined(MUTANT_ALWAYS_VOTES)
            lost_data[s] = 1;
#endif
#if BREAKS > 0 && !defined(PROXY)                   /* connections end with the server */
            if
            :: late_step != 0 && late_server == s -> forget_late()
            :: else
            fi
#endif
        :: else
        fi;
        is_enough = 0
    }
#ifdef VOTING
    :: atomic {                                     /* the longest lease is over */
        lost_data[s] ->
        find_believer(s);
        lost_data[s] = is_enough;
        is_enough = 0
    }
#endif
#endif
    od
}

#if BREAKS > 0
active proctype late() {
end:
    do
    :: atomic {
        late_step != 0 ->
        execute(late_step, late_server, late_field, late_token);
        forget_late();
        got = 0;
        drew = 0
    }
    od
}
#endif

#ifdef FORCES
/* scripts/force.lua, on all servers before any part is taken again. */
active proctype force() {
    atomic {
        for (i : 0 .. N - 1) {
            owner[i] = NOBODY
        }
        for (i : 0 .. CLIENTS - 1) {
            forced[i] = (cl[i].phase == holding)
        }
        i = 0
    }
}
#endif

init {
    atomic {
        byte k, l;
        for (k : 0 .. N - 1) {
            run server(k)
        }
        for (k : 0 .. CLIENTS - 1) {
            cl[k].phase = resting;
            run client(k);
            for (l : 0 .. N - 1) {
                run lane(k, l)
            }
        }
        k = 0;
        l = 0
    }
}
