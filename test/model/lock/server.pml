/* Redis, which runs one script at a time, and the links to it. */

#ifdef MUTANT_FIELD_AGAIN
#define field(number) (1 + client_of(number))       /* of an owner, as Redisson has it */
#else
#define field(number) (number)
#endif

#define is_there(number) (owner != NOBODY && field(owner) == field(number))

#ifdef FORCES
#define room_to_publish (nfull(push[0]) && nfull(push[1]) && nfull(letters[0]) && nfull(letters[1]))
#elif CLIENTS == 2
#define room_to_publish (nfull(push[0]) && nfull(push[1]))
#else
#define room_to_publish (nfull(push[0]) && nfull(push[1]) && nfull(push[2]))
#endif

/* PUBLISH: `receivers` counts those whom it was sent to, whether it arrives or not. */
inline publish() {
    receivers = 0;
#ifdef LISTEN
    for (k : 0 .. CLIENTS - 1) {
        if
        :: listens[k] ->
            receivers++;
            if
            :: push[k] ! message
#ifdef LOSSY
            :: true                                 /* lost */
#endif
            fi
        :: else
        fi
    }
    k = 0
#endif
}

inline set_lease() {
    if
    :: ttl = LEASE
#ifndef TIMELY
    :: ttl = LEASE - DRIFT
#endif
    fi
}

/* scripts/acquire.lua, renew.lua, extend.lua and release.lua. */
inline execute(step, number) {
    receivers = 0;
    if
    :: step == acquire && (owner == NOBODY || is_there(number)) ->
        note_taken(number);
        owner = number;
        set_lease();
        got = granted
    :: step == acquire && owner != NOBODY && !is_there(number) ->
        receivers = ttl;
        got = refused
    :: (step == renew || step == extend) && is_there(number) ->
        touches_its_own(number);
        set_lease();
        got = done
#ifdef MUTANT_RE_ENTRY_CREATES
    :: step == extend && owner == NOBODY ->
        owner = number;
        touches_its_own(number);
        set_lease();
        got = done
#else
    :: step == extend && owner == NOBODY -> got = gone
#endif
    :: step == renew && owner == NOBODY -> got = gone
    :: (step == renew || step == extend) && owner != NOBODY && !is_there(number) -> got = gone
    :: step == release && is_there(number) ->
        touches_its_own(number);
        owner = NOBODY;
        ttl = 0;
        publish();
        got = done
    :: step == release && !is_there(number) -> got = gone
    fi
}

inline note_taken(number) {
    free_for = 0;
    nobody_for = 0;
#ifdef FORCES
    for (k : 0 .. CLIENTS - 1) {
        overtaken[k] = (cl[k].number != number && cl[k].number != NOBODY)
    }
    k = 0;
#endif
    skip
}

/* What is under way on a link that breaks is lost, but for one step that may be run later; the
 * client hears that nobody knows. `c` is whose it is. */
inline cut(c) {
    do
    :: link[c] ? step, number ->
#ifdef BREAKS
        if
        :: late == NOBODY -> late = number; late_step = step
        :: true
        fi
#endif
    :: empty(link[c]) -> break
    od;
    do
    :: answers[c] ? _, _, _
    :: empty(answers[c]) -> break
    od;
    step = 0;
    number = 0
}

inline forget() {
    step = 0;
    got = 0;
    number = 0;
    receivers = 0
}

/* What the server does next for one client. */
proctype server(byte c) {
    mtype:step step;
    mtype:answer got;
    byte number, receivers, k;
    do
    :: atomic {
        nempty(link[c]) && room_to_publish ->
        link[c] ? step, number;
        execute(step, number);
        answers[c] ! step, got, receivers;
        forget()
    }
#ifdef FORCES
    :: atomic { wants_box[c] -> wants_box[c] = false; has_box[c] = true }
#endif
#ifdef LISTEN
    :: atomic {
        wants_channel[c] && nfull(push[c]) ->
        wants_channel[c] = false;
        listens[c] = true;
        push[c] ! confirmed
    }
#endif
    od
}

/* What comes from nowhere. */
proctype fate() {
    mtype:step step;
    mtype:answer got;
    byte number, receivers, k, c;
    do
#ifdef BREAKS
    :: atomic {
        late != NOBODY && room_to_publish ->
        number = late;
        step = late_step;
        late = NOBODY;
        late_step = 0;
        if
        :: execute(step, number)
        :: true                                     /* it never comes */
        fi;
        forget()
    }
#endif
#ifdef FORCES
    :: atomic {
        owner != NOBODY && room_to_publish ->       /* scripts/force.lua */
        c = client_of(owner);
        forced[c] = (owner == cl[c].number);
        if
        :: has_box[c] ->
            written_to[c] = forced[c];
#ifndef MUTANT_SILENT_FORCE
            letters[c] ! owner
#endif
        :: else
        fi;
        c = 0;
        owner = NOBODY;
        ttl = 0;
        publish();
        forget()
    }
#endif
    :: false
    od
}
