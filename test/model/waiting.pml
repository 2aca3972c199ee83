/* How a client waits and gets the lock next: told -> ask, a wait list at the server, one mailbox a client.
   One lock; N clients of colock with W waiting tasks each; one client of Redisson if FOREIGN. check.py runs it; what
   the searches show is in docs/internals/proofs.md.

   Switches: N=2|3 W=1|2 LEASE=n CAP=n (poll cap) GRACE=n (a turn is kept for) TENURE=n (hand-overs in a row), all in
   ticks or counts. TIMELY: a tick comes only when nobody who runs has anything to do; else at any moment, and every
   step, answer and message is as slow as it likes. FREE_MAX=n: ticks for which a lock is free while a client waits that
   runs. ALL_MAX=n: the same, added up over a whole run. PASS_MAX=n: holds of others while a client stands in the list.
   DEAF_MAX=n: ticks for which Redisson holds the lock and no waiter hears its channel. ENDS: a hold ends within a tick.
   LIVE: mailboxes are live from the beginning. NOMAIL: nobody has one, and who is refused may ask at any moment (for
   exclusion alone). CANCELS: waiters give up. AGAIN: a release puts its client at the end of the list. FOREIGN=n:
   Redisson takes the lock n times. Faults, how often: BREAKS (of a command link: step or answer lost), LATE (a lost ask
   or release may run later), CUTS (of a mailbox), LOSSES (messages), CRASHES (the server sees it), VANISHES (it does
   not), PAUSES, FORCES, EVICTS (the list is lost), RESTARTS (all is lost). STANDING: only who stands in the list dies. */
#ifndef N
#define N 2
#endif
#ifndef W
#define W 1
#endif
#ifndef LEASE
#define LEASE 3
#endif
#ifndef CAP
#define CAP 1
#endif
#ifndef GRACE
#define GRACE 1
#endif
#ifndef TENURE
#define TENURE 1
#endif
#ifndef FREE_MAX
#define FREE_MAX 0
#endif
#ifndef DEAF_MAX
#define DEAF_MAX 0
#endif
#ifndef FOREIGN
#define FOREIGN 0
#endif
#ifndef BREAKS
#define BREAKS 0
#endif
#ifndef CUTS
#define CUTS 0
#endif
#ifndef LOSSES
#define LOSSES 0
#endif
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef VANISHES
#define VANISHES 0
#endif
#ifndef PAUSES
#define PAUSES 0
#endif
#ifndef FORCES
#define FORCES 0
#endif
#ifndef EVICTS
#define EVICTS 0
#endif
#ifndef RESTARTS
#define RESTARTS 0
#endif
#define NUMS 6       /* numbers of requests of a client: one that nothing mentions is as good as new */
#define NOBODY 9
#define FGN 8
#define L (3*N)

/* ---- the server: the lock; the list in its order, those that were told in front ---- */
byte owner = NOBODY, onum, ttl;
byte cnt, ec[L], en[L], ed[L];               /* client, number, 0 or 1 + ticks since it was told */
bit sub[N], chs[N];                          /* it has the subscription of the mailbox, of the lock's own channel */

/* ---- on the way. Of an ask: 0 none, 1 sent, 2 answered, 3 lost; a release runs at some time and is answered later ---- */
byte a_st[N], a_age[N]; bit a_nm[N], a_ok[N], a_fst[N];
bit r_st[N], r_in[N];
byte q[N]; bit cf[N], fm[N];                 /* mailbox: numbers that were told, a bit each; confirmation; "forced" */
bit ccf[N], cm[N];                           /* the lock's channel: confirmation, message */
byte late, late_c, late_n, late_j; bit late_nm;    /* 0 none, 1 an ask, 2 a release */

/* ---- the clients ---- */
bit alive[N] = 1, paused[N];
byte w[N];                                   /* tasks that wait */
bit h[N]; byte valid[N], ten[N]; bit sus[N]; /* a task holds; for how long it is sure; hand-overs in a row; told "forced" */
byte num[N]; bit left[N];                    /* the open request, or the hold: its number; it may have left something at the server */
byte rank[N];                                /* the order in which the waiting clients first joined: `since` */
bit due[N], sl[N]; byte pin[N];              /* to ask; asleep, polls in */
byte ml[N], ls[N];                           /* mailbox, lock's channel: 0 off, 1 asked for, 2 live */
byte ro[N], rj[N];                           /* number to be released; number that joins by that */

/* ---- the foreign client; ghosts and budgets ---- */
byte turns = FOREIGN;
bit forced[N], a_fcd[N];                     /* taken away and not told */
byte free_for, free_all, deaf, passed[N];
byte breaks = BREAKS, cuts = CUTS, losses = LOSSES, crashes = CRASHES, vanishes = VANISHES, pauses = PAUSES,
     forces = FORCES, evicts = EVICTS, restarts = RESTARTS;
hidden byte i, j, k, x, f1, f2;

#define runs(c) (alive[c] && !paused[c])
#define told(p) (ed[p] > 0)
#define on_its_way(p) (ed[p] > 0 && ed[p] <= GRACE)

/* ---- the list ---- */
inline insert(pos, c_, n_)
{
    assert(cnt < L); i = cnt;
    do :: i > pos -> ec[i] = ec[i-1]; en[i] = en[i-1]; ed[i] = ed[i-1]; i-- :: else -> break od;
    ec[pos] = c_; en[pos] = n_; ed[pos] = 0; cnt++
}
inline erase(pos)
{
    i = pos;
    do :: i + 1 < cnt -> ec[i] = ec[i+1]; en[i] = en[i+1]; ed[i] = ed[i+1]; i++ :: else -> break od;
    cnt--; ec[cnt] = 0; en[cnt] = 0; ed[cnt] = 0
}
inline find(c_, n_) { k = 0; do :: k < cnt && !(ec[k] == c_ && en[k] == n_) -> k++ :: else -> break od; if :: k == cnt -> k = L :: else -> skip fi }
inline first_standing() { x = 0; do :: x < cnt && told(x) -> x++ :: else -> break od }
inline promised(c_, n_)         /* f1: the turn of another one is on its way */
{
    k = 0; f1 = 0;
    do
    :: k < cnt ->
        if
#if defined(MUTANT_KEPT_FOR_EVER)  /* a turn is kept for ever */
        :: told(k) && !(ec[k] == c_ && en[k] == n_) -> f1 = 1
#else
        :: on_its_way(k) && !(ec[k] == c_ && en[k] == n_) -> f1 = 1
#endif
        :: else -> skip
        fi; k++
    :: else -> break
    od
}
inline stand(c_, n_)            /* once, by `since`; who was told in vain stands again where it stood */
{
    find(c_, n_);
#if !defined(MUTANT_STAYS_TOLD)  /* who was told in vain stays told */
    if :: k < L && told(k) -> erase(k); k = L :: else -> skip fi;
#endif
    if
    :: k == L ->
        if
        :: rank[c_] == 0 -> j = 0; do :: j < N -> if :: rank[j] > rank[c_] -> rank[c_] = rank[j] :: else -> skip fi; j++ :: else -> break od; rank[c_]++
        :: else -> skip
        fi;
        first_standing();
#if !defined(MUTANT_BACK_AT_THE_END)  /* who comes back stands at the end */
        do :: x < cnt && rank[ec[x]] != 0 && rank[ec[x]] <= rank[c_] -> x++ :: else -> break od;
#else
        x = cnt;
#endif
        insert(x, c_, n_)
    :: else -> skip
    fi
}
inline tell()                   /* f2: somebody has the turn. Who did not come in time, or is not connected, is taken out */
{
    f2 = 0;
    do
    :: cnt > 0 && !f2 ->
        if
        :: on_its_way(0) -> f2 = 1
#if defined(MUTANT_ABSENT_KEEPS_TURN)  /* who did not come stays in front and counts as told */
        :: told(0) && !on_its_way(0) -> f2 = 1
#else
        :: told(0) && !on_its_way(0) -> erase(0)
#endif
        :: !told(0) ->
            if
            :: sub[ec[0]] -> f2 = 1; ed[0] = 1;
                if
                :: !alive[ec[0]] -> skip
#if LOSSES
                :: losses > 0 -> losses--
#endif
                :: alive[ec[0]] -> q[ec[0]] = q[ec[0]] | (1 << en[0])
                fi
#if defined(MUTANT_UNHEARD_COUNTS)  /* who is not connected counts as told */
            :: !sub[ec[0]] -> f2 = 1; ed[0] = 1
#else
            :: !sub[ec[0]] -> erase(0)
#endif
            fi
        fi
    :: else -> break
    od
}
inline tell_front(c_, n_)       /* who waits behind the first tells it now and then, to find out whether it lives */
{
#if !defined(MUTANT_FIRST_UNCHECKED)
    if :: cnt > 0 && !(ec[0] == c_ && en[0] == n_) -> tell() :: else -> skip fi
#else
    skip
#endif
}
inline publish() { k = 0; do :: k < N -> if :: chs[k] -> cm[k] = 1 :: else -> skip fi; k++ :: else -> break od }

inline note_passed(c_)          /* ghost: somebody of c_ enters */
{
    j = 0;
    do
    :: j < N ->
        x = 0; k = 0;
        do :: k < cnt -> if :: ec[k] == j && en[k] == num[j] -> x = 1 :: else -> skip fi; k++ :: else -> break od;
        if
        :: j != c_ && runs(j) && w[j] > 0 && !h[j] && x ->
            passed[j]++;
#ifdef PASS_MAX
            assert(passed[j] <= PASS_MAX)
#else
            passed[j] = 0
#endif
        :: else -> skip
        fi; j++
    :: else -> break
    od
}

/* ---- the scripts ---- */
inline run_ask(c_, n_, nm_)     /* f2: granted */
{
    promised(c_, n_); f2 = 0;
    if
#if !defined(MUTANT_OWN_FIELD_FORGOTTEN)  /* a repeated ask does not know its own field */
    :: owner == c_ && onum == n_ -> f2 = 1
#endif
#if defined(MUTANT_NEWCOMER_FIRST)  /* a newcomer takes what is free though somebody was told */
    :: owner == NOBODY -> f2 = 1
#else
    :: owner == NOBODY && !(nm_ && f1) -> f2 = 1
#endif
    :: else -> skip
    fi;
    if
    :: f2 ->
        if :: owner != c_ -> note_passed(c_); free_for = 0 :: else -> skip fi;
        owner = c_; onum = n_; ttl = LEASE;
        find(c_, n_);
        if :: k < L -> erase(k) :: else -> skip fi
    :: !f2 && nm_ ->
        find(c_, n_); f1 = (k < L && !told(k));
        stand(c_, n_);
        if :: f1 && owner == FGN -> tell_front(c_, n_); f2 = 0 :: else -> skip fi
    :: else -> skip
    fi
}
inline run_release(c_, n_, j_)  /* of a hold, a grant that nobody wants, or a wait that is over. f2: j_ has joined */
{
    find(c_, n_); f1 = 0;
    if
    :: k < L && !(owner == c_ && onum == n_) ->      /* who holds stands nowhere */
        first_standing();
#if defined(MUTANT_PASSES_ON_TOLD_ALONE)  /* the first passes on only a turn that it was told */
        f1 = told(k);
#else
        f1 = told(k) || k == x;
#endif
        erase(k)
    :: else -> skip
    fi;
#if defined(MUTANT_LEAVES_SILENTLY)  /* who leaves passes nothing on */
    f1 = 0;
#endif
    f2 = 0;
    if
#if defined(MUTANT_TAKES_ANY_FIELD)  /* it takes away whatever its client has */
    :: owner == c_ -> owner = NOBODY; onum = 0; ttl = 0; f1 = 1; publish(); f2 = 1
#else
    :: owner == c_ && onum == n_ -> owner = NOBODY; onum = 0; ttl = 0; f1 = 1; publish(); f2 = 1
#endif
    :: else -> skip
    fi;
    if
    :: f1 && (owner == NOBODY || owner == FGN) -> f1 = f2; tell(); f2 = f2 && f1
    :: else -> f2 = 0
    fi;
#if defined(MUTANT_JOINS_WITHOUT_TURN)  /* `next` joins though nobody has the turn */
    f2 = 1;
#endif
    if :: f2 && j_ != 0 -> rank[c_] = 0; stand(c_, j_); f2 = 1 :: else -> f2 = 0 fi
}

inline exclusive()              /* at most one has a right to believe that it holds the lock */
{
    j = 0; x = (owner == FGN);
    do :: j < N -> if :: alive[j] && h[j] && valid[j] > 0 && !forced[j] -> x++ :: else -> skip fi; j++ :: else -> break od;
    assert(x <= 1)
}

/* ---- a client ---- */
inline fresh(c_)                /* x: a number */
{
    x = 1; f1 = 1;
    do
    :: f1 -> find(c_, x);
        f1 = k < L || (owner == c_ && onum == x) || num[c_] == x || ro[c_] == x || rj[c_] == x || ((q[c_] >> x) & 1) ||
             (late != 0 && late_c == c_ && (late_n == x || late_j == x));
        if :: f1 -> x++ :: else -> skip fi
    :: else -> break
    od;
#if defined(MUTANT_NUMBER_AGAIN)  /* a number is used for more than one hold */
    x = 1;
#endif
    assert(x <= NUMS)
}
inline unlisten(c_) { ls[c_] = 0; chs[c_] = 0; cm[c_] = 0; ccf[c_] = 0 }
inline unrank(c_)
{
    j = 0;
    do :: j < N -> if :: rank[c_] != 0 && rank[j] > rank[c_] -> rank[j]-- :: else -> skip fi; j++ :: else -> break od;
    rank[c_] = 0; passed[c_] = 0
}
inline stop_waiting(c_)         /* nobody waits here, nothing is under way */
{
    due[c_] = 0; sl[c_] = 0; pin[c_] = 0; unlisten(c_); unrank(c_);
#if !defined(MUTANT_LEAVES_BEHIND)  /* who gives up leaves what it has at the server */
    if :: left[c_] -> ro[c_] = num[c_] :: else -> skip fi;
#endif
    num[c_] = 0; left[c_] = 0
}
inline ask_soon(c_) { due[c_] = 1; sl[c_] = 0; pin[c_] = 0 }
inline fall_asleep(c_) { due[c_] = 0; sl[c_] = 1; pin[c_] = CAP }
inline lose(c_)                 /* by the clock, or by news: the field is given back all the same */
{
    h[c_] = 0; valid[c_] = 0; forced[c_] = 0; ten[c_] = 0; sus[c_] = 0; ro[c_] = num[c_]; num[c_] = 0; left[c_] = 0;
    if :: w[c_] > 0 -> ask_soon(c_) :: else -> skip fi
}
inline ask_runs(c_)
{
    run_ask(c_, num[c_], a_nm[c_]); a_ok[c_] = f2;
    first_standing();
    a_fst[c_] = !f2 && a_nm[c_] && owner == FGN && x < cnt && ec[x] == c_ && en[x] == num[c_];
    if
    :: alive[c_] -> a_st[c_] = 2
    :: else -> a_st[c_] = 0; num[c_] = 0; a_nm[c_] = 0; a_ok[c_] = 0; a_fst[c_] = 0; a_age[c_] = 0
    fi
}
#define may_ask(c) (runs(c) && w[c] > 0 && !h[c] && due[c] && a_st[c] == 0 && ro[c] == 0)

proctype client(byte c)
{
on: do
    :: atomic { runs(c) && w[c] < W && (q[c] & (q[c] - 1)) == 0 && cnt <= N + 1 -> w[c]++;   /* a task comes */
            if :: !h[c] && ro[c] == 0 && a_st[c] == 0 && !sl[c] -> due[c] = 1 :: else -> skip fi }
#ifdef CANCELS
    :: atomic { runs(c) && w[c] > 0 -> w[c]--;
            if :: w[c] == 0 && !h[c] && a_st[c] == 0 && ro[c] == 0 -> stop_waiting(c) :: else -> skip fi }
#endif
    /* -- a hold ends -- */
    :: atomic { runs(c) && h[c] && ro[c] == 0 ->
            if
#if defined(MUTANT_ENDLESS_TENURE)  /* a tenure has no end */
            :: w[c] > 0 && valid[c] > 0 && !sus[c] ->
#elif defined(MUTANT_HANDED_OVER_FORCED)  /* handed over though "forced" was heard */
            :: w[c] > 0 && valid[c] > 0 && ten[c] < TENURE ->
#else
            :: w[c] > 0 && valid[c] > 0 && ten[c] < TENURE && !sus[c] ->
#endif
                w[c]--; assert(!(sus[c] && forced[c]));
#if !defined(MUTANT_ENDLESS_TENURE)
                ten[c]++;
#endif
                note_passed(c); exclusive()
            :: else ->
                h[c] = 0; valid[c] = 0; forced[c] = 0; ten[c] = 0; sus[c] = 0; ro[c] = num[c]; num[c] = 0; left[c] = 0;
                if
#ifdef AGAIN
                :: w[c] > 0 && ml[c] == 2 -> fresh(c); rj[c] = x; num[c] = x; left[c] = 1
#endif
                :: else -> skip
                fi
            fi }
    /* -- ask -- */
    :: atomic { may_ask(c) ->
            due[c] = 0; sl[c] = 0; pin[c] = 0;
            if :: num[c] == 0 -> fresh(c); num[c] = x :: else -> skip fi;
            a_nm[c] = (ml[c] == 2); left[c] = left[c] || a_nm[c]; a_age[c] = 0;
#ifdef TIMELY
            ask_runs(c)
#else
            a_st[c] = 1
#endif
       }
#ifndef TIMELY
    :: atomic { a_st[c] == 1 -> ask_runs(c) }
#endif
    :: atomic { runs(c) && a_st[c] == 2 && a_ok[c] ->
            a_st[c] = 0; a_ok[c] = 0; a_nm[c] = 0; left[c] = 1;
            if
            :: w[c] == 0 -> stop_waiting(c)
#if defined(MUTANT_FROM_THE_ANSWER)  /* the lease is counted from the answer */
            :: w[c] > 0 -> valid[c] = LEASE;
#else
            :: w[c] > 0 && a_age[c] >= LEASE -> due[c] = 1                      /* too late: the same number again */
            :: w[c] > 0 && a_age[c] < LEASE -> valid[c] = LEASE - a_age[c];
#endif
                h[c] = 1; w[c]--; due[c] = 0; ten[c] = 0; unlisten(c); unrank(c);
                forced[c] = a_fcd[c];
                exclusive();
                if :: sus[c] && !(owner == c && onum == num[c]) -> lose(c) :: else -> sus[c] = 0 fi
            fi;
            a_fcd[c] = 0; a_age[c] = 0 }
    :: atomic { runs(c) && a_st[c] == 2 && !a_ok[c] ->
            a_st[c] = 0; a_nm[c] = 0; a_age[c] = 0; sus[c] = 0;
            if
            :: w[c] == 0 -> stop_waiting(c)
            :: w[c] > 0 ->
#ifdef NOMAIL
                due[c] = 1;
#else
                if :: ml[c] == 0 -> ml[c] = 1 :: else -> skip fi;
#endif
                if
#if !defined(MUTANT_DEAF_FIRST)  /* the first does not listen to the lock's channel */
                :: a_fst[c] && ls[c] == 0 -> ls[c] = 1
#endif
                :: !a_fst[c] && ls[c] != 0 -> unlisten(c)
                :: else -> skip
                fi;
                if
#if !defined(MUTANT_NEWS_FORGOTTEN)  /* what was heard while the ask was under way is forgotten */
                :: due[c] -> skip
#endif
                :: else -> fall_asleep(c)
                fi
            fi;
            a_fst[c] = 0 }
    :: atomic { runs(c) && a_st[c] == 3 ->                                  /* again with the same number, or undone */
            a_st[c] = 0; a_nm[c] = 0; a_age[c] = 0;
#if defined(MUTANT_LOST_IS_REFUSED)  /* a lost answer counts as a refusal */
            left[c] = 0; num[c] = 0;
#else
            left[c] = 1;
#endif
            if :: w[c] > 0 -> due[c] = 1 :: else -> stop_waiting(c) fi }
    /* -- release, leave, undo: one step, owed until it is answered -- */
    :: atomic { runs(c) && ro[c] != 0 && !r_st[c] && a_st[c] == 0 ->
            run_release(c, ro[c], rj[c]); r_in[c] = f2; rj[c] = 0; r_st[c] = 1 }
    :: atomic { runs(c) && r_st[c] ->
            r_st[c] = 0; ro[c] = 0;
            if
            :: w[c] == 0 -> stop_waiting(c)
            :: w[c] > 0 && r_in[c] && !due[c] -> fall_asleep(c)
            :: else -> ask_soon(c)
            fi;
            r_in[c] = 0 }
    /* -- the look: of many keys in one call -- */
#if !defined(MUTANT_NO_LOOK)  /* nobody looks */
    :: atomic { runs(c) && sl[c] && pin[c] == 0 ->
            promised(c, num[c]); f2 = (owner == NOBODY && !f1);
            if :: ml[c] == 2 -> find(c, num[c]); f2 = f2 || k == L || (k < L && told(k));
                first_standing();
                f2 = f2 || (owner == FGN && x < cnt && ec[x] == c && ls[c] == 0)
            :: else -> skip fi;
            if
            :: f2 -> ask_soon(c)
            :: else -> pin[c] = CAP;
                if :: owner == FGN -> tell_front(c, num[c]) :: else -> skip fi
            fi }
#endif
    /* -- the mailbox -- */
    :: atomic { runs(c) && ml[c] == 1 && !sub[c] -> sub[c] = 1; cf[c] = 1 }
    :: atomic { runs(c) && cf[c] -> cf[c] = 0; ml[c] = 2;
#if !defined(MUTANT_NO_LOOK_WHEN_LIVE)  /* it does not look when its mailbox is live (again) */
            if :: sl[c] -> pin[c] = 0 :: !sl[c] && !h[c] && (w[c] > 0 || a_st[c] != 0) -> due[c] = 1 :: else -> skip fi
#endif
       }
    :: atomic { runs(c) && !cf[c] && q[c] != 0 ->
            x = 1; do :: !((q[c] >> x) & 1) -> x++ :: else -> break od;
            q[c] = q[c] & (255 - (1 << x));
            if
            :: x == num[c] && !h[c] && a_st[c] == 0 && ro[c] == 0 && w[c] > 0 -> ask_soon(c)
            :: x == num[c] && !h[c] && (a_st[c] != 0 || ro[c] != 0) -> due[c] = 1
            :: else -> skip                                                  /* over since: its release passes the turn on */
            fi }
    :: atomic { runs(c) && fm[c] -> fm[c] = 0;
            if :: h[c] || a_st[c] != 0 -> sus[c] = 1 :: else -> skip fi }
    :: atomic { runs(c) && h[c] && sus[c] ->                                 /* a renewal asks whether the field stands */
            if :: owner == c && onum == num[c] -> sus[c] = 0 :: else -> lose(c) fi }
    /* -- the lock's own channel -- */
    :: atomic { runs(c) && ls[c] == 1 && !chs[c] -> chs[c] = 1; ccf[c] = 1 }
    :: atomic { runs(c) && ccf[c] -> ccf[c] = 0; ls[c] = 2;
#if !defined(MUTANT_NO_ASK_WHEN_LIVE)  /* it does not ask when it listens */
            if :: !h[c] && (w[c] > 0 || a_st[c] != 0) -> ask_soon(c) :: else -> skip fi
#endif
       }
    :: atomic { runs(c) && cm[c] && !ccf[c] -> cm[c] = 0;
#if defined(MUTANT_NEWS_FOR_SLEEPERS)  /* news is for who waits, not for the ask that is under way */
            if :: !h[c] && w[c] > 0 -> ask_soon(c) :: else -> skip fi }
#else
            if :: !h[c] && (w[c] > 0 || a_st[c] != 0) -> ask_soon(c) :: else -> skip fi }
#endif
    /* -- faults -- */
#if BREAKS
    :: atomic { runs(c) && breaks > 0 && (a_st[c] == 1 || a_st[c] == 2) -> breaks--;
#ifdef LATE
            if :: late == 0 && a_st[c] == 1 -> late = 1; late_c = c; late_n = num[c]; late_nm = a_nm[c] :: true -> skip fi;
#endif
            a_st[c] = 3; a_ok[c] = 0; a_fst[c] = 0 }
    :: atomic { runs(c) && breaks > 0 && r_st[c] -> breaks--; r_st[c] = 0; r_in[c] = 0 }
#ifdef LATE
    :: atomic { runs(c) && breaks > 0 && ro[c] != 0 && !r_st[c] && a_st[c] == 0 && late == 0 ->
            breaks--; late = 2; late_c = c; late_n = ro[c]; late_j = rj[c]; rj[c] = 0 }
#endif
#endif
#if CUTS
    :: atomic { runs(c) && cuts > 0 && sub[c] -> cuts--; sub[c] = 0; cf[c] = 0; q[c] = 0; fm[c] = 0; ml[c] = 1;
            if :: ls[c] != 0 -> ls[c] = 1; chs[c] = 0; cm[c] = 0; ccf[c] = 0 :: else -> skip fi }
#endif
#if CRASHES || VANISHES
#ifdef STANDING
    :: atomic { runs(c) && (crashes > 0 || vanishes > 0) && w[c] > 0 && num[c] != 0 && a_st[c] == 0 && !h[c] && owner != c && ro[c] == 0 ->
            find(c, num[c]); if :: k < L && !told(k) -> skip :: else -> goto on fi;
#else
    :: atomic { runs(c) && (crashes > 0 || vanishes > 0) ->
#endif
            if :: crashes > 0 -> crashes--; sub[c] = 0 :: vanishes > 0 -> vanishes-- fi;
            alive[c] = 0; cf[c] = 0; q[c] = 0; chs[c] = 0; fm[c] = 0; w[c] = 0; h[c] = 0; valid[c] = 0; forced[c] = 0;
            ten[c] = 0; sus[c] = 0; due[c] = 0; sl[c] = 0; pin[c] = 0; unlisten(c); unrank(c); ro[c] = 0; rj[c] = 0;
            left[c] = 0; ml[c] = 0; r_st[c] = 0; r_in[c] = 0; a_fcd[c] = 0;
            if
            :: a_st[c] != 1 -> a_st[c] = 0; num[c] = 0; a_nm[c] = 0; a_ok[c] = 0; a_fst[c] = 0; a_age[c] = 0
            :: else -> skip                                                  /* what is on its way runs */
            fi }
#endif
#if PAUSES
    :: atomic { runs(c) && pauses > 0 -> pauses--; paused[c] = 1 }
    :: atomic { paused[c] -> paused[c] = 0; if :: h[c] && valid[c] == 0 -> lose(c) :: else -> skip fi }
#endif
    od
}

#ifdef ENDS             /* a hold ends before the next tick, so leases end only with their clients */
#define OVER(c) h[c]
#else
#define OVER(c) 0
#endif
#if defined(MUTANT_NO_LOOK)
#define LOOKS 0
#else
#define LOOKS 1
#endif
#define busy(c) ((runs(c) && (OVER(c) || a_st[c] != 0 || r_st[c] || q[c] != 0 || cf[c] || cm[c] || ccf[c] || fm[c] || (h[c] && sus[c]) || \
    may_ask(c) || (ro[c] != 0 && a_st[c] == 0) || ml[c] == 1 || ls[c] == 1 || (sl[c] && pin[c] == 0 && LOOKS))) || (!runs(c) && a_st[c] == 1))
#if N == 3
#define quiet (!busy(0) && !busy(1) && !busy(2))
#else
#define quiet (!busy(0) && !busy(1))
#endif

#if CUTS || RESTARTS || LOSSES
#define FORGETS 1       /* the message may be lost: the next renewal finds out */
#else
#define FORGETS 0
#endif

inline check()
{
    j = 0; f1 = 0;
    do
    :: j < N ->
        if :: runs(j) && w[j] > 0 && !h[j] -> f1 = 1 :: else -> skip fi;
        assert(!(runs(j) && h[j] && forced[j] && ml[j] == 2 && !FORGETS));   /* who could hear of it has been told */
#ifndef LATE
        if
        :: runs(j) && !h[j] && (w[j] == 0 || owner == j) -> assert(owner != j); i = 0;   /* nothing is left behind, nobody waits for itself */
            do :: i < cnt -> assert(ec[i] != j); i++ :: else -> break od
        :: else -> skip
        fi;
#endif
        j++
    :: else -> break
    od;
    if
    :: owner == NOBODY && f1 -> free_for++; assert(free_for <= FREE_MAX);
#ifdef ALL_MAX
        free_all++; assert(free_all <= ALL_MAX)
#endif
    :: else -> free_for = 0
    fi;
#if FOREIGN
    j = 0; f1 = 0; f2 = 0;
    do
    :: j < N -> if :: runs(j) && w[j] > 0 && !h[j] && ml[j] == 2 -> f1 = 1; f2 = f2 || ls[j] == 2 :: else -> skip fi; j++
    :: else -> break
    od;
    if :: owner == FGN && f1 && !f2 -> deaf++; assert(deaf <= DEAF_MAX) :: else -> deaf = 0 fi    /* nobody hears Redisson's release */
#endif
}

active proctype rest()
{
    do
#ifdef TIMELY
    :: atomic { quiet -> check();
#else
    :: atomic { true ->
#endif
            i = 0; do :: i < cnt -> if :: told(i) && ed[i] <= GRACE -> ed[i]++ :: else -> skip fi; i++ :: else -> break od;
            if :: owner != NOBODY && ttl > 0 -> ttl--; if :: ttl == 0 -> owner = NOBODY; onum = 0 :: else -> skip fi :: else -> skip fi;
            j = 0;
            do
            :: j < N ->
                if :: a_st[j] != 0 && a_age[j] < LEASE -> a_age[j]++ :: else -> skip fi;
                if :: h[j] && valid[j] > 0 -> valid[j]--; if :: valid[j] == 0 && runs(j) -> lose(j) :: else -> skip fi :: else -> skip fi;
                if :: sl[j] && pin[j] > 0 -> pin[j]-- :: else -> skip fi;
                j++
            :: else -> break
            od }
#ifdef LATE
    :: atomic { late == 1 -> run_ask(late_c, late_n, late_nm); late = 0; late_c = 0; late_n = 0; late_nm = 0 }
    :: atomic { late == 2 -> run_release(late_c, late_n, late_j); late = 0; late_c = 0; late_n = 0; late_j = 0 }
#endif
#if FOREIGN
    :: atomic { owner == NOBODY && turns > 0 -> turns--; free_for = 0; owner = FGN; onum = 0; ttl = 0; exclusive() }
    :: atomic { owner == FGN -> owner = NOBODY; publish() }                  /* its release knows no list */
#endif
#if FORCES
    :: atomic { forces > 0 && owner != NOBODY && owner != FGN -> forces--; j = owner;
            if
            :: h[j] && onum == num[j] -> forced[j] = 1
            :: !h[j] && a_st[j] == 2 && a_ok[j] && onum == num[j] -> a_fcd[j] = 1
            :: else -> skip
            fi;
            if :: sub[j] && alive[j] -> fm[j] = 1 :: else -> skip fi;
            owner = NOBODY; onum = 0; ttl = 0; tell(); publish() }
#endif
#if EVICTS
    :: atomic { evicts > 0 && cnt > 0 -> evicts--; do :: cnt > 0 -> x = cnt - 1; erase(x) :: else -> break od }
#endif
#if RESTARTS
    :: atomic { restarts > 0 -> restarts--; do :: cnt > 0 -> x = cnt - 1; erase(x) :: else -> break od;
            j = 0;
            do
            :: j < N ->
                if :: h[j] && owner == j && onum == num[j] -> forced[j] = 1 :: else -> skip fi;
                if :: a_st[j] == 1 || a_st[j] == 2 -> a_st[j] = 3; a_ok[j] = 0; a_fst[j] = 0 :: else -> skip fi;
                r_st[j] = 0; r_in[j] = 0; sub[j] = 0; cf[j] = 0; q[j] = 0; fm[j] = 0;
                if :: ml[j] != 0 -> ml[j] = 1 :: else -> skip fi;
                if :: ls[j] != 0 -> ls[j] = 1; chs[j] = 0; cm[j] = 0; ccf[j] = 0 :: else -> skip fi;
                j++
            :: else -> break
            od;
            owner = NOBODY; onum = 0; ttl = 0 }
#endif
    od
}

init
{
    atomic {
#ifdef LIVE
        ml[0] = 2; sub[0] = 1; ml[1] = 2; sub[1] = 1;
#if N == 3
        ml[2] = 2; sub[2] = 1;
#endif
#endif
        run client(0); run client(1);
#if N == 3
        run client(2);
#endif
    }
}
