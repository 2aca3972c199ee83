/* Time, in ticks. */

/* Whoever must act has acted: what is under way arrives, and who is due asks, within a tick. */
#define quiet(c) (empty(link[c]) && empty(answers[c]) && empty(push[c]) && !wants_channel[c] && \
    !must_ask(c) && !must_give_back(c) && !must_get_up(c) && !must_end(c) && !must_renew(c) && \
    has_read(c))

#ifdef FORCES
#define has_read(c) (empty(letters[c]) && !wants_box[c])
#else
#define has_read(c) true
#endif

#ifdef TIMELY
#if CLIENTS == 2
#define all_quiet (quiet(0) && quiet(1))
#else
#define all_quiet (quiet(0) && quiet(1) && quiet(2))
#endif
#else
#define all_quiet true
#endif

#define pass(of) of = (of > 0 -> of - 1 : 0)

inline tick_client(c) {
    pass(me.left);
    pass(me.step_left);
    pass(me.renewal_left);
    pass(me.sleep);
    me.heard = (me.heard != NEVER && me.heard > 0 -> me.heard - 1 : me.heard);
#ifdef TIMELY
    me.tenure = (me.phase == holding && me.tenure < LONGEST_TENURE -> me.tenure + 1 : me.tenure)
#endif
}

proctype clock() {
    byte c;
    do
    :: d_step {
        all_quiet ->
#ifdef TIMELY
        taken_in_time();
#ifdef FORCES
        for (c : 0 .. CLIENTS - 1) {
            notice_in_time(c)
        }
#endif
#endif
        for (c : 0 .. CLIENTS - 1) {
            tick_client(c)
        }
        c = 0;
        pass(ttl);
        if
        :: ttl == 0 -> owner = NOBODY
        :: else
        fi
    }
    od
}
