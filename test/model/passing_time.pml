/* What a client does when, what goes wrong, and time. */

#define link_free(c) (len(link[c]) < 2 && len(link[c]) + len(answers[c]) < 3)
#ifdef TIMELY
#define may_read(c) (len(link[c]) < 2)
#else
#define may_read(c) (len(link[c]) == 0)     /* fewer orders; what is read means the same */
#endif
#define may_act(c) (!paused[c] && !vanished[c])

#ifdef TIMELY
#define must_ask(c) (cl[c].phase == idle && cl[c].want && is_due(c))
#define must_check(c) (cl[c].phase == waiting && cl[c].want && cl[c].soon)
#define must_confirm(c) (cl[c].phase == waiting && cl[c].want && !cl[c].soon && cl[c].sleep == 0)
#define must_leave(c) (cl[c].phase == waiting && !cl[c].want)
#define must_renew(c) (cl[c].phase == holding && !cl[c].renewing && cl[c].left > 0 && \
    (cl[c].soon || cl[c].left <= 1))
#define must_end(c) (cl[c].phase == holding && (cl[c].tenure >= 1 || cl[c].left == 0))
#define quiet(c) (!may_act(c) || (len(link[c]) == 0 && len(answers[c]) == 0 && len(push[c]) == 0 && \
    !must_ask(c) && !must_check(c) && !must_confirm(c) && !must_leave(c) && !must_renew(c) && \
    !must_end(c)))
#define all_quiet (!anybody(is_loud))
#define is_loud(c) (!quiet(c))
#else
#define must_ask(c) (cl[c].phase == idle)
#define must_check(c) (cl[c].phase == waiting)
#define must_confirm(c) (cl[c].phase == waiting && cl[c].kept < CLAIM_VALID)
#define must_leave(c) (cl[c].phase == waiting)
#define must_renew(c) (cl[c].phase == holding && cl[c].left > 0 && cl[c].left < VALID)
#define all_quiet true
#endif

proctype client(byte c) {
    mtype:step step;
    mtype:answer got;
    mtype:news what;
    byte number;
    do
#ifdef TIMELY
    :: atomic { may_act(c) && !me.want && !me.came && me.phase != ending -> me.want = true; me.came = true }
#endif
    :: atomic { may_act(c) && link_free(c) && must_ask(c) -> ask_anew(c) }
    :: atomic { may_act(c) && link_free(c) && must_check(c) -> ask(c, check) }
#if defined(CONFIRMS) || defined(TIMELY)
    :: atomic {
        may_act(c) && link_free(c) && must_confirm(c) && !me.confirming ->
        me.confirming = true;
        me.confirm_rest = VALID;
        later(c);
        link[c] ! confirm, me.number, 0
    }
#endif
#if defined(TIMELY) && defined(CANCELS)
    :: atomic { may_act(c) && me.want && me.phase != holding -> me.want = false }
#endif
#ifdef CANCELS
    :: atomic {
        may_act(c) && link_free(c) && must_leave(c) ->
        me.owed = me.number;
        leave_by(c, me.number);
        forget_number(c)
    }
#endif
#if defined(RENEWS) || defined(TIMELY)
    :: atomic {
        may_act(c) && link_free(c) && must_renew(c) && !me.renewing ->
        me.renewing = true;
        me.renew_rest = VALID;
#ifdef TIMELY
        me.soon = false;
#endif
        link[c] ! renew, me.number, 0
    }
#endif
    :: atomic { may_act(c) && link_free(c) && me.phase == holding -> give_back(c) }
#ifdef JOINS
    :: atomic {
        may_act(c) && link_free(c) && me.phase == holding && me.left > 0 && waits(c) && me.live ->
        new_number(c);
        give_back_and_join(c)
    }
#endif
#ifdef BY_SCRIPT
    :: atomic {                                     /* the next waiter here has another lease */
        may_act(c) && link_free(c) && me.phase == holding && me.left > 0 && waits(c) && !me.renewing ->
        me.left = 0;
#ifdef MUTANT_ASK_LAST_AGAIN
        ask(c, last)
#else
        ask(c, none)
#endif
    }
#endif
    :: atomic {
        may_act(c) && len(answers[c]) > 0 && may_read(c) ->
        answers[c] ? step, number, got;
        if
        :: step == leave ->
            if
            :: got == unanswered -> leave_by(c, number)
            :: else -> me.owed = (me.owed == number -> NOBODY : me.owed)
            fi
        :: step == confirm && number == me.number -> on_confirmed(c)
        :: step == renew && number == me.number -> on_renewed(c)
        :: step == acquire && number == me.number && me.phase == asking -> on_asked(c)
        :: step == release && number == me.number && me.phase == ending -> on_released(c)
        :: else
        fi;
        step = 0; number = 0; got = 0
    }
    :: atomic {
        may_act(c) && len(push[c]) > 0 && may_read(c) && link_free(c) ->
        push[c] ? what, number;
        on_news(c);
        what = 0; number = 0
    }
    od
}

/* ---- Faults ------------------------------------------------------------------------------------ */

/* What is under way is lost, but for one step that may be run later. */
inline cut(c) {
    do
    :: link[c] ? step, number, with ->
#ifdef BREAKS
        if
        :: late == NOBODY -> late = number; late_step = step; late_with = with
        :: true
        fi
#endif
    :: len(link[c]) == 0 -> break
    od;
    do
    :: answers[c] ? _, _, _
    :: len(answers[c]) == 0 -> break
    od;
    step = 0; number = 0; with = 0
}

/* The client hears that nobody knows. */
inline unanswer(c) {
    me.confirming = false;
    me.confirm_rest = 0;
    if
    :: me.phase == asking -> answers[c] ! acquire, me.number, unanswered
    :: me.phase == ending -> answers[c] ! release, me.number, unanswered
    :: me.renewing -> answers[c] ! renew, me.number, unanswered
    :: else
    fi;
    if
    :: me.owed != NOBODY -> answers[c] ! leave, me.owed, unanswered
    :: else
    fi
}

inline cut_push(c) {
    listens[c] = false;
    me.live = false;
    if
    :: true ->
        do
        :: push[c] ? _, _
        :: len(push[c]) == 0 -> break
        od
    :: true                                         /* what has arrived is still read */
    fi
}

inline die(c) {
    cut(c);
    do
    :: push[c] ? _, _
    :: len(push[c]) == 0 -> break
    od;
#ifdef TIMELY
    me.want = false;
#endif
    me.owed = NOBODY;
    forget_number(c);
    me.live = false;
#ifdef TIMELY
    me.tenure = 0;
#endif
    listens[c] = false
}

inline no_list() {
    for (at : 0 .. PLACES - 1) {
        list[at] = 0
    }
    at = 0
}

inline some_client() {
    if
    :: c = 0
    :: c = 1
#if CLIENTS == 3
    :: c = 2
#endif
    fi
}

#ifdef SEEN
#define UNSEEN false
#else
#define UNSEEN true
#endif

proctype fate() {
    mtype:step step;
    mtype:answer got;
    byte number, with, c;
    do
#ifdef BREAKS
    :: atomic {
        breaks_left > 0 ->
        some_client();
        if
        :: len(link[c]) > 0 || len(answers[c]) > 0 ->
            breaks_left = (BREAKS < 9 -> breaks_left - 1 : breaks_left);
            cut(c);
            unanswer(c)
        :: else
        fi;
        c = 0
    }
    :: atomic {
        late != NOBODY && room_to_publish ->
        step = late_step; number = late; with = late_with;
        late_step = 0; late = NOBODY; late_with = 0;
        if
        :: execute(step, number, with)
        :: true                                     /* it never comes */
        fi;
        step = 0; number = 0; with = 0; got = 0
    }
#endif
#ifdef CUTS
    :: atomic {
        cuts_left > 0 ->
        some_client();
        if
        :: listens[c] -> cuts_left = (CUTS < 9 -> cuts_left - 1 : cuts_left); cut_push(c)
        :: else
        fi;
        c = 0
    }
#endif
#ifdef CRASHES
    :: atomic {
        crashes_left > 0 ->
        crashes_left = (CRASHES < 9 -> crashes_left - 1 : crashes_left);
        some_client();
        die(c);
        c = 0
    }
#endif
#if defined(CUTS) || defined(CRASHES)
    :: atomic {
        some_client();
        if
        :: !listens[c] && len(push[c]) < MESSAGES && !vanished[c] -> listens[c] = true; push[c] ! up, 0
        :: else
        fi;
        c = 0
    }
#endif
#ifdef VANISHES
    :: atomic { !vanished[0] && client_of(owner) != 0 -> die(0); vanished[0] = true; listens[0] = UNSEEN }
    :: atomic { vanished[0] && listens[0] -> listens[0] = false }
#endif
#ifdef PAUSES
    :: atomic { !paused[0] && pauses_left > 0 -> pauses_left--; paused[0] = true }
    :: atomic { paused[0] -> paused[0] = false }
#endif
#ifdef FORCES
    :: atomic {
        owner != NOBODY && room_to_publish ->
        forced[client_of(owner)] = (forced[client_of(owner)] ||
            owner == cl[client_of(owner)].number || owner == cl[client_of(owner)].next);
        owner = NOBODY;
        ttl = 0;
        hand_on(false);
        first = 0; got = 0
    }
#endif
#ifdef RESTARTS
    :: atomic {
        restarts_left > 0 ->
        restarts_left--;
        late = NOBODY; late_step = 0; late_with = 0;
        for (at : 0 .. CLIENTS - 1) {
            c = at;
            excused[c] = (me.number != NOBODY);
            cut(c);
            unanswer(c);
            do
            :: push[c] ? _, _
            :: len(push[c]) == 0 -> break
            od;
            me.live = false;
            push[c] ! up, 0;
            listens[c] = true
        }
        c = 0;
        owner = NOBODY; ttl = 0;
        no_list()
    }
#endif
    :: false
    od
}

/* ---- Time ------------------------------------------------------------------------------------- */

#define down(x) x = (x > 0 -> x - 1 : 0)

proctype clock() {
    byte c;
    do
    :: atomic {
        all_quiet ->
#ifdef TIMELY
        taken_in_time();
#endif
        for (c : 0 .. CLIENTS - 1) {
            down(me.rest);
            down(me.confirm_rest);
            down(me.kept);
            down(me.left);
            down(me.renew_rest);
#ifdef TIMELY
            down(me.sleep);
            me.came = false;
            me.tenure = (me.phase == holding && me.tenure < 1 -> me.tenure + 1 : me.tenure);
#endif
        }
        c = 0;
        down(ttl);
        if
        :: ttl == 0 -> owner = NOBODY
        :: else
        fi;
#ifdef TIMELY
        down(list_ttl);
        if
        :: list_ttl == 0 -> no_list()
        :: else
        fi
#else
        if
        :: list[0] != 0 -> no_list()
        :: true
        fi
#endif
    }
    od
}
