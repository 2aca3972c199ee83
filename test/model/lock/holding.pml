/* A client that holds: renewal, loss, release, hand-over and re-entry. */

inline begin_renewal(c) {
    me.renewing = true;
    me.in_flight = true;
    me.renewal_left = VALID;
    me.doubt = (me.doubt == 1 -> 2 : me.doubt);
    open_box(c);
    link[c] ! renew(me.number)
}

inline on_renewed(c) {
    me.in_flight = false;
    if
    :: !me.renewing || me.phase != holding          /* no news */
    :: me.renewing && me.phase == holding && me.left == 0 -> leave(c)   /* lost, by the clock */
    :: me.renewing && me.phase == holding && me.left > 0 && got == done ->
        me.left = (me.renewal_left > me.left -> me.renewal_left : me.left);
        me.doubt = (me.doubt == 2 -> 0 : me.doubt);
        mutual_exclusion()
    :: me.renewing && me.phase == holding && me.left > 0 && got == gone -> lose_all(c)
    :: me.renewing && me.phase == holding && me.left > 0 && got == unanswered ->
        me.doubt = (me.doubt == 2 -> 1 : me.doubt)
    fi;
    me.renewing = false;
    me.renewal_left = 0
}

/* The server says that the field is gone. */
inline lose_all(c) {
    forget_hold(c);
    forget_number(c);
    me.tenure = 0;
    me.phase = resting
}

/* Nobody has it here any more, or ever had: the release is owed, until it is answered. */
inline leave(c) {
    forget_hold(c);
    me.tenure = 0;
    me.phase = leaving;
    link[c] ! release(me.number)
}

inline on_left(c) {
    if
    :: got == unanswered -> link[c] ! release(me.number)
    :: else ->
        forget_number(c);
        me.phase = resting
    fi
}

/* The end of a hold: decide::handover, by the clock. */
#ifdef MUTANT_LATE_HAND_OVER
#define still_valid(c) true
#define may_pass_at_once(c) true
#else
#define still_valid(c) (cl[c].left > 0)
#ifdef MUTANT_DOUBT_IGNORED
#define may_pass_at_once(c) fresh(cl[c].left)
#else
#define may_pass_at_once(c) (cl[c].doubt == 0 && fresh(cl[c].left))
#endif
#endif

inline end_hold(c) {
    if
    :: !still_valid(c) -> leave(c)
    :: still_valid(c) && waits(c) && may_pass_at_once(c) ->
        take_task(c);                               /* at once: the same field, the same validity */
        let_into_his_own(c)
    :: still_valid(c) && waits(c) && !may_pass_at_once(c) &&
       !me.in_flight ->
        forget_hold(c);                             /* by script: asks with the same field */
        ask(c)
    :: still_valid(c) -> leave(c)                   /* `max_tenure` may have ended at any time */
    fi
}

/* Re-entry, and leaving it again, which sends the same. */
inline enter_again(c) {
    me.phase = entering;
    me.renewing = false;
    me.step_left = VALID;
    me.doubt = (me.doubt == 1 -> 2 : me.doubt);
    link[c] ! extend(me.number)
}

inline on_entered(c) {
    if
    :: me.left == 0 -> leave(c)
    :: me.left > 0 && got == done ->
        me.left = (me.step_left > me.left -> me.step_left : me.left);
        me.doubt = (me.doubt == 2 -> 0 : me.doubt);
        me.phase = holding;
        mutual_exclusion()
    :: me.left > 0 && got == gone -> lose_all(c)
    :: me.left > 0 && got == unanswered -> enter_again(c)
    fi;
    me.step_left = (me.phase == entering -> VALID : 0)
}
