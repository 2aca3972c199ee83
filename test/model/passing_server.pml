/* The scripts that know the wait list. */

/* Nobody's messages wait in vain: a script runs only while there is room for what it publishes. */
#define has_room(k) (len(push[k]) < MESSAGES || !listens[k] || vanished[k])
#if CLIENTS == 2
#define room_to_publish (has_room(0) && has_room(1))
#else
#define room_to_publish (has_room(0) && has_room(1) && has_room(2))
#endif

#ifdef MUTANT_CLAIM_IS_LEASE
#define PASSED_LEASE LEASE
#else
#define PASSED_LEASE CLAIM
#endif

inline set_ttl(whole) {
    if
    :: ttl = whole
#if DRIFT > 0
    :: ttl = whole - DRIFT
#endif
    fi
}

/* at: where the entry is, or PLACES. */
inline find(e) {
    at = 0;
    do
    :: at < PLACES && list[at] != (e) -> at++
    :: else -> break
    od;
    found = (at < PLACES)
}

inline take_out() {
    do
    :: at < PLACES - 1 -> list[at] = list[at + 1]; at++
    :: else -> break
    od;
    list[PLACES - 1] = 0;
    at = 0
}

/* Where ticks are free the list may be gone after any of them. */
inline keep_list() {
#ifdef TIMELY
    list_ttl = LIST_LIFE
#else
    skip
#endif
}

inline strike_found() {
    if
    :: found -> take_out()
    :: else -> at = 0
    fi
}

/* RPUSH. A full list is a server that refuses. */
inline enlist(e) {
#ifdef ONCE
    if
    :: (e) < PLAIN ->
        assert(!was_registered[e]);                 /* a number is registered once */
        was_registered[e] = true
    :: else
    fi;
#endif
    find(0);
    if
    :: found -> list[at] = e; got = stands; keep_list()
    :: else -> got = refused
    fi;
    at = 0
}

/* found: somebody listens. */
inline publish(e, what, number) {
    at = client_of_entry(e);
    found = listens[at];
    if
    :: vanished[at] || !listens[at]
    :: else -> push[at] ! what, number
    fi;
    at = 0
}

/* parts/pass.lua and parts/tell_first.lua: takes the first of the list, gives it the lock or only
 * tells it. It is told alone if the release has no floor for its tokens, if somebody listens to the
 * lock's channel, or if a call is refused. `first` is NOBODY if nobody was told. */
inline hand_on(may_pass) {
    first = NOBODY;
    do
    :: list[0] == 0 -> break
    :: list[0] != 0 ->
        first = list[0];
        at = 0;
        take_out();
        if
        :: first < PLAIN && may_pass ->
            publish(first, passed, first);
            if
#ifdef MUTANT_NO_PASS_OVER
            :: true -> owner = first; set_ttl(CLAIM); note_taken(); break
#else
            :: found -> owner = first; set_ttl(PASSED_LEASE); note_taken(); break
            :: else -> first = NOBODY
#endif
            fi
#ifdef TIMELY
        :: first >= PLAIN || !may_pass ->
#else
        :: true ->
#endif
            publish(first, turn, 0);
            if
            :: found -> break
            :: else -> first = NOBODY
            fi
        fi
    od;
    found = false
}

inline note_taken() {
#ifdef TIMELY
    free_for = 0;
    quiet_for = 0;
    unwanted_for = 0
#else
    skip
#endif
}

inline run_acquire(number, place) {
    if
    :: owner == NOBODY || owner == number ->
        owner = number;
        set_ttl(LEASE);
        note_taken();
        got = granted;
        if
        :: place == check -> find(number); strike_found()
        :: else
        fi
    :: else ->
        got = refused;
        if
        :: place == last -> enlist(number)
        :: place == check ->
            find(number);
            got = (found -> stands : refused);
            at = 0
#ifdef MUTANT_CHECK_REGISTERS
            ; if
            :: got == refused -> enlist(number)
            :: else
            fi
#endif
        :: place == by_name ->
            find(PLAIN + client_of(number));
            at = 0;
            if
            :: found
            :: else -> enlist(PLAIN + client_of(number))
            fi;
            got = refused
        :: place == none
        fi
    fi
}

inline execute(step, number, with) {
    if
    :: step == acquire -> run_acquire(number, with)
    :: step == confirm ->                           /* expiring.lua */
        find(number);
        got = (found -> (owner == NOBODY -> refused : stands) : gone);
        if
        :: found -> keep_list()
        :: else
        fi;
        at = 0
    :: step == renew ->
        if
        :: owner == number -> set_ttl(LEASE); got = done
        :: else -> got = gone
        fi
    :: step == release ->
        if
        :: owner == number ->
            owner = NOBODY;
            ttl = 0;
            got = done;
            if
            :: hand_on(true)
#ifdef BARGES
            :: true                                 /* by a client that knows no list */
#endif
            fi;
            if
            :: with != 0 && first != NOBODY -> enlist(with)
            :: else
            fi;
            got = (got == refused -> done : got)
        :: else ->
            got = gone
#ifdef MUTANT_PASS_ON_REPEAT
            ; hand_on(true)
#endif
        fi
    :: step == leave ->
        find(number);
        got = done;
        if
        :: found && at > 0 -> take_out()
        :: else ->                                  /* its turn may have come */
            strike_found();
            if
            :: owner == number -> owner = NOBODY; ttl = 0
            :: else
            fi;
#ifndef MUTANT_NO_TELL_ON_LEAVE
            hand_on(false)
#endif
        fi
    fi;
    found = false;
    first = 0
}

proctype server(byte c) {
    mtype:step step;
    mtype:answer got;
    byte number, with;
    do
    :: atomic {
        len(link[c]) > 0 && len(answers[c]) < 3 && room_to_publish ->
        link[c] ? step, number, with;
        execute(step, number, with);
        answers[c] ! step, number, got;
        step = 0; got = 0; number = 0; with = 0
    }
    od
}
