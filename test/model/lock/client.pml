/* One client: its tasks that wait for the lock, the one attempt for the first of them, the
 * ownership it has. As src/locks/exclusive_lock*.cpp, src/holds/ownership*.cpp and src/decide have it. */

/* ---- Small things ----------------------------------------------------------------------------- */

#define number_of(c, n) (1 + NUMBERS * (c) + (n))

/* A new one is always called 0, and what is left of older ones 1 and 2: renaming changes nothing,
 * for numbers are only compared, and keeps what is alike from being looked at twice. */
inline new_number(c) {
    assert(empty(link[c]));                         /* nothing mentions the last one there */
    if
    :: late != NOBODY && client_of(late) == c && late != owner -> late = number_of(c, 2)
    :: late != NOBODY && client_of(late) == c && late == owner -> late = number_of(c, 1)
    :: else
    fi;
    if
    :: owner != NOBODY && client_of(owner) == c -> owner = number_of(c, 1)
    :: else
    fi;
    me.number = number_of(c, 0)
}

inline forget_number(c) {
    me.number = NOBODY
#ifdef FORCES
    ; overtaken[c] = false;
    forced[c] = false;
    told[c] = false;
    written_to[c] = false
#endif
}

inline forget_hold(c) {
    me.held = false;
    me.left = 0;
    me.renewing = false;
    me.doubt = 0
}

inline stop_sleeping(c) {
    me.wake = false;
    me.heard = NEVER;
    me.sleep = 0
}

/* Where time is free, tasks come and leave as they are needed. */
#ifdef TIMELY
#define waits(c) (cl[c].tasks > 0)
#define nobody_waits(c) (cl[c].tasks == 0)
#define take_task(c) cl[c].tasks--
#else
#define waits(c) true
#define nobody_waits(c) true
#define take_task(c) skip
#endif

/* is_fresh: at least half of its validity is left. */
#define fresh(left) (2 * (left) >= VALID)

/* ---- The channel ------------------------------------------------------------------------------ */

inline subscribe(c) {
#ifdef LISTEN
    if
    :: me.heard_on == deaf -> me.heard_on = subscribing; wants_channel[c] = true
    :: else
    fi
#else
    skip
#endif
}

inline unsubscribe(c) {
    do
    :: push[c] ? _
    :: empty(push[c]) -> break
    od;
    me.heard_on = deaf;
    listens[c] = false;
    wants_channel[c] = false
}

inline on_message(c) {
    if
    :: me.phase == asking || me.phase == asleep -> me.heard = 0
    :: else
    fi
}

/* What was published before is missed. */
inline on_confirmed(c) {
    me.heard_on = live;
#ifndef MUTANT_NO_RETRY
    me.wake = (me.phase == asking || me.phase == asleep)
#endif
}

/* ---- The mailbox ------------------------------------------------------------------------------ */

inline open_box(c) {
#ifdef FORCES
    wants_box[c] = !has_box[c]
#else
    skip
#endif
}

/* What is about another ownership means nothing. */
inline on_letter(c) {
    if
    :: number == me.number && (me.phase == holding || me.phase == entering) ->
        me.doubt = 1;
        told[c] = (owner != me.number)
#ifndef MUTANT_EARLY_LETTER_FORGOTTEN
    :: number == me.number && me.phase == asking -> me.disturbed = true
#endif
    :: else
    fi
}

/* ---- Asking ----------------------------------------------------------------------------------- */

inline ask(c) {
    if
    :: me.number == NOBODY -> new_number(c)
    :: else
    fi;
    stop_sleeping(c);
    me.disturbed = false;
    me.step_left = VALID;
    me.phase = asking;
    link[c] ! acquire(me.number)
}

inline let_in(c) {
    me.held = true;
#ifdef MUTANT_FROM_THE_ANSWER
    me.left = VALID;
#else
    me.left = me.step_left;
#endif
    take_task(c);
    me.phase = holding;
    me.doubt = (me.disturbed -> 1 : 0);
    stop_sleeping(c);
#ifdef LISTEN
    unsubscribe(c);                                 /* nobody else has it, so there is nothing to hear */
#endif
    me.disturbed = false;
#ifdef FORCES
    told[c] = false;
#endif
    let_into_his_own(c);
    mutual_exclusion()
}

#ifdef MUTANT_LATE_GRANT
#define good_enough(left) true
#else
#define good_enough(left) fresh(left)
#endif

/* The answer of an acquire. `resting` with a number: it is asked for again, or given back. */
inline on_asked(c) {
    if
    :: got == granted && waits(c) && good_enough(me.step_left) -> let_in(c)
    :: got == granted && (!waits(c) || !good_enough(me.step_left)) -> me.phase = resting
    :: got == unanswered -> me.phase = resting
    :: got == refused ->
        forget_number(c);
        open_box(c);
#ifdef LISTEN
        me.phase = asleep;
        subscribe(c);
#ifdef MUTANT_NO_CAP
        me.sleep = told_ttl
#else
        me.sleep = (told_ttl < CAP -> told_ttl : CAP)
#endif
#else
        me.phase = resting
#endif
    fi;
    me.step_left = 0
}

#include "holding.pml"

/* ---- Faults ------------------------------------------------------------------------------------ */

inline break_link(c) {
    cut(c);
    if
    :: me.in_flight -> answers[c] ! renew, unanswered, 0
    :: else
    fi;
    if
    :: me.phase == asking -> answers[c] ! acquire, unanswered, 0
    :: me.phase == entering -> answers[c] ! extend, unanswered, 0
    :: me.phase == leaving -> answers[c] ! release, unanswered, 0
    :: else
    fi
}

/* What it has sent may still be run. Another one begins in its place. */
inline crash(c) {
    cut(c);
    unsubscribe(c);
    forget_hold(c);
    forget_number(c);
    stop_sleeping(c);
    me.tasks = 0;
    me.phase = resting;
    me.step_left = 0;
    me.in_flight = false;
    me.renewal_left = 0;
    me.tenure = 0;
    me.disturbed = false
}

/* ---- All that a client does ------------------------------------------------------------------- */

#define is_due(c) (cl[c].wake || cl[c].sleep == 0 || cl[c].heard == 0)

#define must_ask(c) (waits(c) && (cl[c].phase == resting || (cl[c].phase == asleep && is_due(c))))
#define must_give_back(c) (cl[c].phase == resting && nobody_waits(c) && cl[c].number != NOBODY)
#define must_get_up(c) (cl[c].phase == asleep && nobody_waits(c))
#define must_renew(c) (cl[c].phase == holding && !cl[c].in_flight && cl[c].left > 0 && \
    (cl[c].left <= RENEW_AT || cl[c].doubt == 1))
#define must_end(c) (cl[c].phase == holding && (cl[c].tenure >= LONGEST_TENURE || cl[c].left == 0))

proctype client(byte c) {
    mtype:step step;
    mtype:answer got;
    mtype:news news;
    byte told_ttl, number;
    do
#ifdef TIMELY
    :: d_step { me.tasks + me.held < TASKS -> me.tasks++ }
#endif
#ifdef LEAVES
    :: d_step {                                     /* the first of them; the others go silently */
        me.tasks > 0 ->
        me.tasks--;
#ifdef MUTANT_SILENT_HEAD
        stop_sleeping(c);                           /* and takes with it what it has heard */
        me.sleep = (me.phase == asleep -> CAP : 0)
#else
        me.wake = (me.phase == asleep -> true : me.wake)
#endif
    }
#endif
    :: d_step { must_ask(c) -> ask(c) }
    :: d_step { must_give_back(c) -> leave(c) }
    :: d_step { must_get_up(c) -> stop_sleeping(c); me.phase = resting }
    :: atomic { me.phase == holding -> end_hold(c) }
#ifdef TIMELY
    :: d_step { must_renew(c) -> begin_renewal(c) }
#else
    :: d_step { me.phase == holding && !me.in_flight && me.left < VALID -> begin_renewal(c) }
#endif
#ifdef REENTRY
    :: d_step { me.phase == holding && me.left > 0 -> enter_again(c) }
#endif
    :: d_step {
        answers[c] ? step, got, told_ttl ->
        if
        :: step == acquire -> on_asked(c)
        :: step == renew -> on_renewed(c)
        :: step == extend -> on_entered(c)
        :: step == release -> on_left(c)
        fi;
        step = 0;
        got = 0;
        told_ttl = 0
    }
#ifdef LISTEN
#ifdef UNSUBSCRIBES
    :: d_step {                                     /* the linger is over */
        me.phase == resting && me.tasks == 0 && me.number == NOBODY && me.heard_on == live ->
        unsubscribe(c)
    }
#endif
    :: d_step {
        push[c] ? news ->
        if
        :: news == message -> on_message(c)
        :: news == confirmed -> on_confirmed(c)
        fi;
        news = 0
    }
#endif
#ifdef FORCES
    :: d_step { letters[c] ? number -> on_letter(c); number = 0 }
#endif
#ifdef BREAKS
    :: atomic { nempty(link[c]) || nempty(answers[c]) -> break_link(c) }
#endif
#ifdef CRASHES
    :: atomic { me.phase != resting || me.tasks > 0 -> crash(c) }
#endif
    od
}
