/* The protocol of colock's lock: clients that contend for one key of a Redis server.
 *
 * docs/internals/model.md says what is modelled, what is left out and why that is sound; check.py has the
 * configurations, each a set of the switches below, and the mutants, each a switch MUTANT_x that
 * takes one rule out of the protocol.
 *
 * An ownership is what src/holds/ownership.hpp makes of one passage from free to held; its number is
 * the field of the lock's hash. Numbers are only ever compared, so one that nothing mentions any
 * more is as good as one never used: `new_number` takes such a one, and runs have no end.
 */

/* ---- Switches: sizes ------------------------------------------------------------------------ */

#ifndef CLIENTS
#define CLIENTS 3     /* 2 or 3 */
#endif
#ifndef TASKS
#define TASKS 2       /* that wait in one client at a time */
#endif
#ifndef LEASE
#define LEASE 4       /* in ticks, as all times */
#endif
#ifndef DRIFT
#define DRIFT 1       /* by how much the server's lease may be shorter, reckoned by a client's clock */
#endif
#ifndef CAP
#define CAP 2         /* the poll cap */
#endif
#ifndef LONGEST_TENURE
#define LONGEST_TENURE 2
#endif

/* ---- Switches: what there is ----------------------------------------------------------------
 *
 * TIMELY   time stands still while anybody has something to do; else ticks come at any moment,
 *          so every message, answer and process may be as slow as it likes
 * LISTEN   the channel, sleeping and the poll cap; else who is refused may ask at any moment,
 *          which includes whatever a channel could bring about
 * LOSSY    messages get lost
 * BREAKS   command links break; of what was under way one step may be run later
 * CRASHES  clients die, and others begin in their place
 * FORCES   somebody takes the lock away
 * REENTRY  a holder enters once more
 * LEAVES   tasks stop waiting
 * UNSUBSCRIBES  a client that nobody waits in drops its subscription
 */

#ifdef MUTANT_NO_DRIFT
#define VALID LEASE
#else
#define VALID (LEASE - DRIFT)       /* decide::valid_until */
#endif
#define NEVER 15
#define NOBODY 0
#define NUMBERS 3                   /* a client's: in the key, in a late step, and the next */
#define client_of(number) (((number) - 1) / NUMBERS)

mtype:step = { acquire, renew, extend, release };
mtype:answer = { granted, refused, done, gone, unanswered };
mtype:news = { message, confirmed };
mtype:phase = { resting, asking, asleep, holding, entering, leaving };
mtype:channel = { deaf, subscribing, live };

/* ---- The server and the links ---------------------------------------------------------------- */

byte owner = NOBODY;                /* the ownership whose field stands in the key */
byte ttl;
bool listens[CLIENTS];              /* whom the server has as subscriber */
bool wants_channel[CLIENTS];        /* SUBSCRIBE is under way */

chan link[CLIENTS] = [2] of { mtype:step, byte };             /* step, ownership */
chan answers[CLIENTS] = [2] of { mtype:step, mtype:answer, byte };  /* PTTL or receivers */
chan push[CLIENTS] = [2] of { mtype:news };

/* A step of a connection thought dead, which the server runs all the same, at any time. */
mtype:step late_step;
byte late = NOBODY;

#ifdef FORCES
/* Mailboxes. A client opens its own when it is first refused, or renews, and keeps it. */
chan letters[CLIENTS] = [2] of { byte };                      /* the ownership that was forced */
bool has_box[CLIENTS];
bool wants_box[CLIENTS];            /* SUBSCRIBE is under way */
#endif

/* ---- The clients ----------------------------------------------------------------------------- */

typedef client_state {
    byte tasks;                     /* that wait */
    mtype:phase phase;
    byte number;                    /* of the ownership asked for or had */
    byte step_left;                 /* what would be left of the validity if the step succeeds */

    bool held;                      /* a task holds it, and has not been told otherwise */
    byte left;                      /* of its validity */
    bool renewing;                  /* the answer of the renewal under way is of interest */
    bool in_flight;                 /* a renewal is unanswered */
    byte renewal_left;              /* what would be left of the validity if it succeeds */
    byte tenure;                    /* ticks since the first grant */

    mtype:channel heard_on;         /* what the client knows of its subscription */
    bool wake;                      /* ask at once */
    byte heard;                     /* ask after so many ticks, because of a message */
    byte sleep;                     /* ask after so many ticks in any case */
    byte doubt;                     /* 1: somebody may have taken it; 2: a step asks */
    bool disturbed;                 /* a letter came before the answer of the acquire */

}
client_state cl[CLIENTS];

#define me cl[c]

/* ---- Ghosts: what the properties are about, and no client knows ------------------------------- */

bool overtaken[CLIENTS];            /* another ownership was granted since this client's */
bool forced[CLIENTS];               /* its ownership was taken away */
bool told[CLIENTS];                 /* has heard that its ownership was taken away */
bool written_to[CLIENTS];           /* its mailbox was live when that happened */
byte free_for;                      /* ticks in a row that the lock is free and wanted */
byte nobody_for;                    /* ticks in a row that it is wanted and nobody gets in */

#include "lock/properties.pml"
#include "lock/server.pml"
#include "lock/client.pml"
#include "lock/time.pml"

init {
    atomic {
        byte k;
        for (k : 0 .. CLIENTS - 1) {
            cl[k].phase = resting;
            cl[k].heard_on = deaf;
            cl[k].heard = NEVER;
            run client(k);
            run server(k)
        }
        k = 0;
#if defined(BREAKS) || defined(FORCES)
        run fate();
#endif
        run clock()
    }
}
