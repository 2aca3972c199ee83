/* A client that waits in the wait list, gets the lock by a message or an answer, and holds it. */

/* From what is left of a lease to what is left of a claim that began at the same time. */
#define as_claim(x) ((x) > VALID - CLAIM_VALID -> (x) - (VALID - CLAIM_VALID) : 0)
#define fresh(x, whole) (2 * (x) >= (whole) && (x) > 0)

/* ---- Numbers ---------------------------------------------------------------------------------- */

#define mentions(x) (owner == (x) || late == (x) || late_with == (x) || cl[c].number == (x) || \
    cl[c].next == (x) || cl[c].owed == (x) || push[c] ?? [passed, eval(x)])

inline look_for(x) {
    found = mentions(x);
    for (at : 0 .. PLACES - 1) {
        found = (found || list[at] == x)
    }
    at = 0;
    found = (found || link[c] ?? [acquire, eval(x), _] || link[c] ?? [confirm, eval(x), _] ||
        link[c] ?? [renew, eval(x), _] || link[c] ?? [release, eval(x), _] ||
        link[c] ?? [leave, eval(x), _] || link[c] ?? [release, _, eval(x)]);
    found = (found || answers[c] ?? [acquire, eval(x), _] || answers[c] ?? [confirm, eval(x), _] ||
        answers[c] ?? [renew, eval(x), _] || answers[c] ?? [release, eval(x), _] ||
        answers[c] ?? [leave, eval(x), _])
}

/* first: one that nothing mentions is as good as a new one. */
inline new_number(c) {
    first = number_of(c, 0);
#ifndef MUTANT_NUMBER_AGAIN
    do
    :: first < number_of(c, NUMBERS) ->
        look_for(first);
        if
        :: found -> first++
        :: else -> break
        fi
    :: else -> break
    od;
    assert(first < number_of(c, NUMBERS));          /* there are numbers enough */
#ifdef ONCE
    was_registered[first] = false;
#endif
#endif
    found = false
}

/* ---- Asking ----------------------------------------------------------------------------------- */

#ifdef TIMELY
#define later(c) cl[c].sleep = POLL; cl[c].soon = false
#define no_pause(c) cl[c].sleep = 0
#define at_the_cap(c) cl[c].sleep = POLL
#define at_once(c) cl[c].soon = true
#define is_due(c) (cl[c].soon || cl[c].sleep == 0)
#define waits(c) cl[c].want
#define nobody_waits(c) !cl[c].want
#else
#define later(c) skip
#define no_pause(c) skip
#define at_the_cap(c) skip
#define at_once(c) skip
#define is_due(c) true
#define waits(c) true               /* tasks come and leave as they are needed */
#ifdef CANCELS
#define nobody_waits(c) true
#else
#define nobody_waits(c) false
#endif
#endif

inline wait_no_more(c) {
    me.confirming = false;
    me.confirm_rest = 0;
    me.kept = 0;
    later(c)
}

inline ask(c, how) {
    wait_no_more(c);
    me.rest = VALID;
    me.phase = asking;
    link[c] ! acquire, me.number, how
}

inline forget_number(c) {
    wait_no_more(c);
    no_pause(c);
    me.number = NOBODY;
    me.next = NOBODY;
    me.rest = 0;
    me.left = 0;
    me.renewing = false;
    me.renew_rest = 0;
    me.told = false;
    me.phase = idle;
    forced[c] = false;
    excused[c] = false
}

/* With a number that was never used, unless it has to be repeated: so it is registered once. */
inline ask_anew(c) {
    forget_number(c);
    new_number(c);
    me.number = first;
    first = 0;
    if
#ifdef PLAINS
    :: ask(c, by_name)
#endif
#ifdef BARGES
    :: ask(c, none)
#endif
    :: me.live -> ask(c, last)
    :: !me.live -> ask(c, none)
    fi
}

inline leave_by(c, x) {
#ifndef MUTANT_NO_LEAVE
    link[c] ! leave, x, 0
#else
    skip
#endif
}

inline let_in(c, until) {
    me.left = until;
    wait_no_more(c);
    me.phase = holding;
#ifdef TIMELY
    me.want = false;
#endif
    me.told = false;
    me.rest = 0;
#ifdef TIMELY
    me.tenure = 0;
    nobody_for = 0;
#endif
    let_into_his_own(c);
    mutual_exclusion()
}

inline give_back(c) {
    wait_no_more(c);
    me.left = 0;
    me.told = false;
    me.renewing = false;
    me.renew_rest = 0;
    me.rest = 0;
    me.phase = ending;
    link[c] ! release, me.number, 0
}

inline give_back_and_join(c) {
    sent_rest = first;
    first = 0;
    give_back_with(c, sent_rest);
    sent_rest = 0
}

inline give_back_with(c, x) {
    wait_no_more(c);
    me.left = 0;
    me.renewing = false;
    me.renew_rest = 0;
    me.next = x;
    me.rest = VALID;
    me.phase = ending;
    link[c] ! release, me.number, x
}

#ifdef MUTANT_CLAIM_AS_LEASE
#define claim_left(x) VALID - CLAIM_VALID + (x)
#else
#define claim_left(x) (x)
#endif

/* It was passed on to this number. `base`: of the claim, from the last step that found the entry in
 * the list. The rest is as with any grant. */
inline passed_on(c, base) {
    if
    :: nobody_waits(c) -> give_back(c)
    :: waits(c) && fresh(base, CLAIM_VALID) ->
        sent_rest = base;
        let_in(c, claim_left(sent_rest));
        at_once(c)
    :: waits(c) && !fresh(base, CLAIM_VALID) -> ask(c, none)
    fi
}

inline on_asked(c) {
    was_told = me.told;
    me.told = false;
    if
    :: got == granted && nobody_waits(c) -> give_back(c)
    :: got == granted && waits(c) && fresh(me.rest, VALID) -> sent_rest = me.rest; let_in(c, sent_rest)
    :: got == granted && waits(c) && !fresh(me.rest, VALID) -> ask(c, none)
    :: got == stands ->
        me.kept = as_claim(me.rest);
        me.rest = 0;
        me.phase = waiting;
        at_the_cap(c);                              /* unless a message came before the answer */
        if
        :: was_told -> sent_rest = me.kept; passed_on(c, sent_rest)
        :: !was_told && nobody_waits(c) -> me.owed = number; leave_by(c, number); forget_number(c)
        :: else
        fi
    :: got == refused ->
#ifdef MUTANT_TOLD_IS_ENOUGH
        if
        :: was_told && waits(c) && fresh(as_claim(me.rest), CLAIM_VALID) ->
            sent_rest = as_claim(me.rest);
            passed_on(c, sent_rest)
        :: else -> forget_number(c)
        fi
#else
        if
        :: was_told -> me.owed = number; leave_by(c, number)    /* it may have it still */
        :: else
        fi;
        forget_number(c);
        if
        :: !me.live -> later(c)                     /* it has no place, so it asks at the poll cap */
        :: else
        fi
#endif
    :: got == unanswered -> me.told = was_told;
#ifdef MUTANT_ASK_LAST_AGAIN
        ask(c, last)
#else
        ask(c, check)
#endif
    fi;
    was_told = false;
    sent_rest = 0
}

inline on_confirmed(c) {
    if
    :: me.phase == waiting && me.confirming && got == stands ->
#ifdef MUTANT_FROM_THE_ANSWER
        me.kept = CLAIM_VALID
#else
        me.kept = (as_claim(me.confirm_rest) > me.kept -> as_claim(me.confirm_rest) : me.kept)
#endif
    :: me.phase == waiting && me.confirming && (got == gone || got == refused) -> at_once(c)
    :: else
    fi;
    me.confirming = false;
    me.confirm_rest = 0
}

inline on_renewed(c) {
    if
    :: me.phase != holding || !me.renewing
    :: me.phase == holding && me.renewing && me.left == 0 -> give_back(c)
    :: me.phase == holding && me.renewing && me.left > 0 && got == done ->
        me.left = (me.renew_rest > me.left -> me.renew_rest : me.left);
        mutual_exclusion()
    :: me.phase == holding && me.renewing && me.left > 0 && got == gone -> forget_number(c)
    :: me.phase == holding && me.renewing && me.left > 0 && got == unanswered -> at_once(c)
    fi;
    me.renewing = false;
    me.renew_rest = 0
}

/* A message about a number that was freed meanwhile comes before this answer, or it is strange. */
inline on_released(c) {
    was_told = me.told;
    me.told = false;
    if
    :: got == unanswered -> me.told = was_told; me.rest = 0;
        link[c] ! release, me.number, 0             /* it may have registered the next one, or not */
    :: got == stands && me.next != NOBODY && me.rest > 0 ->
        me.number = me.next;
        me.next = NOBODY;
        me.kept = as_claim(me.rest);
        me.rest = 0;
        me.phase = waiting;
        at_the_cap(c);                              /* unless a message came before the answer */
        if
        :: was_told -> sent_rest = me.kept; passed_on(c, sent_rest)
        :: !was_told && nobody_waits(c) -> me.owed = me.number; leave_by(c, me.number); forget_number(c)
        :: else
        fi
    :: else ->
        if
        :: me.next != NOBODY && waits(c) ->          /* unsure */
            me.number = me.next;
            me.next = NOBODY;
            me.told = was_told;
            forced[c] = false;
            ask(c, check)
        :: me.next != NOBODY && nobody_waits(c) ->
            me.owed = me.next;
            leave_by(c, me.next);
            forget_number(c)
        :: else -> forget_number(c)
        fi
    fi;
    was_told = false;
    sent_rest = 0
}

/* ---- Messages --------------------------------------------------------------------------------- */

inline on_news(c) {
    if
    :: what == up ->
        me.live = true;
        at_once(c)
    :: what == turn ->
        if
        :: me.phase == waiting ->                   /* that entry is gone, or was another one */
            if
            :: ask_anew(c)
#ifndef TIMELY
            :: true
#endif
            fi
        :: me.phase == asking || me.phase == ending -> at_once(c)
        :: else
        fi
    :: what == passed && number == me.number && me.phase == waiting ->
#ifdef MUTANT_FROM_THE_MESSAGE
        passed_on(c, CLAIM_VALID)
#else
        sent_rest = me.kept;
        passed_on(c, sent_rest)
#endif
    :: what == passed && number == me.number && me.phase == asking -> me.told = true
    :: what == passed && number == me.next && me.phase == ending -> me.told = true
    :: what == passed && number == me.number && me.phase == holding
    :: else ->
#ifndef MUTANT_STRANGE_IGNORED
        leave_by(c, number);                        /* nobody waits by this number any more */
        me.owed = number
#endif
    fi;
    sent_rest = 0
}
