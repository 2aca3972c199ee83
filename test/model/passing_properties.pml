/* What has to hold where locks are passed on. */

#define relies(k) (cl[k].phase == holding && cl[k].left > 0)
#define excludes(k) (relies(k) && !forced[k] && !excused[k])
#if CLIENTS == 2
#define number_of_holders (excludes(0) + excludes(1))
#define anybody(p) (p(0) || p(1))
#else
#define number_of_holders (excludes(0) + excludes(1) + excludes(2))
#define anybody(p) (p(0) || p(1) || p(2))
#endif

inline mutual_exclusion() {
    assert(number_of_holders <= 1)                  /* mutual exclusion */
}

inline let_into_his_own(c) {
    assert(owner == me.number || forced[c] || excused[c])   /* let into his own */
}

#ifdef TIMELY
#define waits_here(k) (cl[k].want && cl[k].phase != holding && !paused[k] && !vanished[k])
#define waits_and_hears(k) (waits_here(k) && cl[k].live)
#define is_gone_away(k) (paused[k] || vanished[k])
#define has_something(k) (cl[k].want || cl[k].phase != idle || cl[k].owed != NOBODY)
#define is_his(k) (owner == cl[k].number || owner == cl[k].next)

/* Who does not hear has no place in the list, and asks at the poll cap. For that one there is no
 * bound while others come, take the lock and give it up, each time in the very moment. */
inline taken_in_time() {
    if
    :: owner == NOBODY && anybody(waits_here) -> free_for++
    :: else -> free_for = 0
    fi;
    assert(free_for <= LONGEST_FREE);               /* a free lock is taken */
    if
    :: anybody(waits_and_hears) && !anybody(relies) -> nobody_for++
    :: else -> nobody_for = 0
    fi;
    assert(nobody_for <= LONGEST_WITHOUT);          /* somebody gets in */
    if
    :: owner != NOBODY && !is_gone_away(client_of(owner)) && !is_his(client_of(owner)) ->
        unwanted_for++
    :: else -> unwanted_for = 0
    fi;
    assert(unwanted_for <= LONGEST_UNWANTED);       /* nobody has what he does not want */
    if
    :: !anybody(has_something) && (owner != NOBODY || list[0] != 0) -> quiet_for++
    :: else -> quiet_for = 0
    fi;
    assert(quiet_for <= LONGEST_LEFT)               /* nothing is left behind */
}
#endif
