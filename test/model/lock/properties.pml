/* What has to hold, asserted where it could first be broken. */

/* Holds, within its validity and not told otherwise. */
#define relies(k) (cl[k].held && cl[k].left > 0)

/* Whose ownership was taken away by force may be beside the next one, until he hears of it: see
 * `notice_in_time`. */
#ifdef FORCES
#define excludes(k) (relies(k) && !forced[k])
#else
#define excludes(k) relies(k)
#endif

#if CLIENTS == 2
#define holders (excludes(0) + excludes(1))
#define wanted (cl[0].tasks > 0 || cl[1].tasks > 0)
#else
#define holders (excludes(0) + excludes(1) + excludes(2))
#define wanted (cl[0].tasks > 0 || cl[1].tasks > 0 || cl[2].tasks > 0)
#endif

inline mutual_exclusion() {
    assert(holders <= 1)                            /* mutual exclusion */
}

/* Whoever is let in is let in to a lock that is his. */
inline let_into_his_own(c) {
#ifndef FORCES
    assert(owner == me.number)                      /* let into his own */
#else
    assert(!told[c]);                               /* no hand-over of what was taken away */
    assert(owner == me.number || forced[c])         /* let into his own */
#endif
}

/* A step that takes effect does so on its own ownership, and on the newest one there is. */
inline touches_its_own(number) {
    assert(owner == number)                         /* no late step touches a later ownership */
#ifdef FORCES
    ; assert(!overtaken[client_of(number)])           /* no old ownership comes back */
#endif
}

/* While nothing gets lost a free lock that is wanted is taken at once, else at the cap. */
inline taken_in_time() {
    if
    :: owner == NOBODY && wanted -> free_for++
    :: else -> free_for = 0
    fi;
    assert(free_for <= LONGEST_FREE)                /* no lost wake-up */
#ifdef LONGEST_WITHOUT
    ; if
    :: wanted -> nobody_for++
    :: else -> nobody_for = 0
    fi;
    assert(nobody_for <= LONGEST_WITHOUT)           /* no deadlock: somebody gets in */
#endif
}

/* A forced release is heard at once by who has a mailbox, and found by others with the next renewal. */
inline notice_in_time(k) {
    if
    :: relies(k) && owner != cl[k].number ->
        assert(!written_to[k]);                     /* told at once */
        assert(cl[k].left > RENEW_AT)               /* told at the next renewal */
    :: else
    fi
}
