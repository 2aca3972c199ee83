/* Passing: the release gives the lock to the first of the wait list, by one script.
 *
 * docs/model.md says what is modelled; check.py has the configurations and the mutants. This model
 * has the wait list and none of what lock.pml has already: no hand-over inside a client, no turns.
 *
 * A waiter is registered under the number that its ownership will have. Each number is registered
 * at most once. The release takes the first entry, sets its number as the owner with a short lease,
 * the claim, and tells its client. That client relies on the claim from the sending of the last
 * step that found the entry in the list.
 */

/* ---- Switches: sizes ------------------------------------------------------------------------ */

#ifndef CLIENTS
#define CLIENTS 2     /* 2 or 3 */
#endif
#ifndef NUMBERS
#define NUMBERS 4     /* names for the numbers of one client */
#endif
#ifndef PLACES
#define PLACES 3      /* in the wait list */
#endif
#ifndef LEASE
#define LEASE 3       /* in ticks, as all times */
#endif
#ifndef CLAIM
#define CLAIM 2
#endif
#ifndef DRIFT
#define DRIFT 0       /* by how much the server's lease may be shorter */
#endif
#ifndef POLL
#define POLL 1        /* the poll cap */
#endif
#ifndef LIST_LIFE
#define LIST_LIFE 4
#endif

#ifdef TIMELY
#define MESSAGES 4
#else
#define MESSAGES 2
#endif

/* ---- Switches: what there is ----------------------------------------------------------------
 *
 * TIMELY   time stands still while anybody has something to do; else ticks come at any moment
 * CANCELS  waiters give up
 * JOINS    who releases may register for the next time by the same script
 * RENEWS   holds are renewed; always if TIMELY
 * CONFIRMS  waiters ask whether they stand in the list, beside other steps; always if TIMELY
 * BY_SCRIPT  who holds may ask again with the same number, for the next waiter of this client
 * PLAINS   waiters may register without a number, as clients do that do not pass
 * BARGES   waiters may ask without a place, and a release may look at no list: so do Redisson and
 *          clients before the wait list
 * BREAKS   so many times a command link breaks; of what was under way one step may be run later
 * CUTS     so many times a link for messages breaks
 * CRASHES  so many clients die, and others begin in their place
 * VANISHES one host is gone, and the server goes on sending to it until it finds out
 * SEEN     the server finds it out at once
 * PAUSES   so many times a process stops, and goes on
 * FORCES   somebody takes the lock away
 * RESTARTS so many times the server comes back empty
 * ONCE     checks that no number is registered twice
 */

#define VALID (LEASE - DRIFT)
#define CLAIM_VALID (CLAIM - DRIFT)
#define NOBODY 0
#define number_of(c, n) (1 + NUMBERS * (c) + (n))
#define client_of(number) (((number) - 1) / NUMBERS)
#define PLAIN (1 + NUMBERS * CLIENTS)       /* entries from here on are those of clients */
#define client_of_entry(e) ((e) >= PLAIN -> (e) - PLAIN : client_of(e))

mtype:step = { acquire, confirm, renew, release, leave };
mtype:place = { none, last, check, by_name };
mtype:answer = { granted, stands, refused, done, gone, unanswered };
mtype:news = { passed, turn, up };
mtype:phase = { idle, asking, waiting, holding, ending };

/* ---- The server and the links ---------------------------------------------------------------- */

byte owner = NOBODY;
byte ttl;
byte list[PLACES];
#ifdef TIMELY
byte list_ttl;
#endif
bool listens[CLIENTS];

/* With the place of an acquire; with the number that a release registers, or 0. */
chan link[CLIENTS] = [2] of { mtype:step, byte, byte };
chan answers[CLIENTS] = [3] of { mtype:step, byte, mtype:answer };
chan push[CLIENTS] = [MESSAGES] of { mtype:news, byte };

mtype:step late_step;
byte late = NOBODY, late_with;

/* ---- The clients ----------------------------------------------------------------------------- */

typedef client_state {
    mtype:phase phase;
    byte number;                    /* asked for, registered, or had */
    byte next;                      /* registered by the release under way */
    bool told;                      /* it was passed on, while a step was unanswered */
    byte owed;                      /* a number to leave by */

    byte rest;                      /* of VALID, from the sending of the step of this phase */
    byte confirm_rest;              /* the same of a confirmation under way */
    bool confirming;
    byte kept;                      /* of CLAIM_VALID, from the last step that found the entry */
    byte left;                      /* of the validity of a hold */
    byte renew_rest;
    bool renewing;
    bool live;                      /* its channel, as far as it knows */
#ifdef TIMELY
    bool want;                      /* a task waits */
    bool came;                      /* in this tick: one task comes to a client in a tick */
    bool soon;                      /* ask, or renew, at once */
    byte sleep;
    byte tenure;
#endif
}
client_state cl[CLIENTS];
#define me cl[c]

bool paused[CLIENTS];
bool vanished[CLIENTS];

#ifdef BREAKS
byte breaks_left = BREAKS;
#endif
#ifdef CUTS
byte cuts_left = CUTS;
#endif
#ifdef CRASHES
byte crashes_left = CRASHES;
#endif
#ifdef PAUSES
byte pauses_left = PAUSES;
#endif
#ifdef RESTARTS
byte restarts_left = RESTARTS;
#endif

/* ---- Ghosts ----------------------------------------------------------------------------------- */

bool forced[CLIENTS];               /* its ownership was taken away */
bool excused[CLIENTS];              /* the server has lost its data since it asked */
#ifdef ONCE
bool was_registered[PLAIN];         /* by number */
#endif
#ifdef TIMELY
byte free_for, nobody_for, unwanted_for, quiet_for;
#endif

/* What one step uses; always 0 between steps. */
byte k, at, first, sent_rest;
bool found, was_told;

#include "passing_properties.pml"
#include "passing_server.pml"
#include "passing_client.pml"
#include "passing_time.pml"

init {
    atomic {
        for (k : 0 .. CLIENTS - 1) {
            cl[k].phase = idle;
            cl[k].live = true;
            listens[k] = true
        }
        k = 0;
        run client(0);
        run client(1);
        run server(0);
        run server(1);
#if CLIENTS == 3
        run client(2);
        run server(2);
#endif
        run fate();
        run clock()
    }
}
