// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "help.hpp"

#include <array>

namespace cli {

namespace {

constexpr std::array<help, 11> all{{
    {"run",
     "colock run [OPTION...] KEY -- CMD [ARG...]",
     "Takes the lock KEY, runs CMD while holding it, and releases it.",
     R"(CMD finds COLOCK_KEY, COLOCK_TOKEN (the fencing token) and COLOCK_OWNER (the field in
Redis) in its environment. Signals are passed on to it. KEY may be any text; one that
begins with '-' stands between two '--'.

Exit status: that of CMD, 128+n if signal n ended it, and
  64  wrong usage                     75  the wait was over (--conflict-exit-code)
  65  KEY holds something else        77  Redis refuses us
  69  no connection                   126 CMD can't be run
  70  the lock was lost, CMD ended    127 there is no CMD

Examples:
  colock run nightly -- ./backup.sh
  colock run --wait 0 --conflict-exit-code 0 cron:report -- make report
  colock run --wait 1m --lease 10s deploy:web -- sh -c 'deploy --token "$COLOCK_TOKEN"'
  colock run --kind read catalogue -- ./export
  colock run --wait 0 --at-least 4m cron:report -- make report   each 5 minutes, on one node)"},
    {"elect",
     "colock elect [OPTION...] KEY -- CMD [ARG...]",
     "Runs CMD on one node at a time: waits until this one leads, and runs CMD while it does.",
     R"(When the leadership is lost, CMD is ended as 'colock run' does it, and colock waits until
it leads again; then it runs CMD again. It ends when CMD has ended by itself, with its
status, or by a signal. CMD finds COLOCK_KEY, COLOCK_TOKEN (the fencing token) and
COLOCK_OWNER in its environment. Programs read who leads with colock::election.

Examples:
  colock elect leader:mailer -- ./mailer
  colock elect --lease 5s --say "$HOSTNAME:8080" leader:api -- ./api --port 8080)"},
    {"info",
     "colock info [OPTION...] KEY",
     "Says who holds the lock KEY, how often, how much of the lease is left, and who waits.",
     R"(Examples:
  colock info order:1
  colock info --json order:1 | jq .holders)"},
    {"ls",
     "colock ls [OPTION...] [PATTERN]",
     "Lists the locks that are held, of all primaries.",
     R"(Scans with SCAN, so that the server serves others meanwhile, and reads no values of other
keys. Semaphores and latches have no owners and aren't listed.

Examples:
  colock ls
  colock ls 'order:*'
  colock ls --json | jq -r 'select(.lease_ms == null) | .key')"},
    {"watch",
     "colock watch [OPTION...] KEY | --web PORT [PATTERN]",
     "Shows each release and each change of holder of the lock KEY, until it is interrupted.",
     R"(Reads on every message and every 200 ms. What happens between two readings shows as its
outcome; hand-overs inside a process don't show. Ends when its output has no reader any more.

Examples:
  colock watch order:1
  colock watch order:1 | grep -m 1 released
  colock watch --json order:1 >> order1.log

With --web it shows all locks on a page instead, until SIGINT or SIGTERM: who holds them, since
when, and how many wait. It prints the address of the page. It reads only while somebody looks.
  colock watch --web 8000
  colock watch --web 0 'order:*')"},
    {"acquire",
     "colock acquire --lease DURATION [OPTION...] KEY",
     "Takes the lock KEY for another command, 'colock release', and writes a claim for it.",
     R"(Nobody renews the lock in between: it is free when the lease ends, and nobody is told. If one
command can do all of the work, 'colock run' is safer. The claim is a line; whoever has it can release
the lock. A file of it is for its owner alone. Exits with 75 if somebody else has the lock.

Examples:
  colock acquire --lease 1h --wait 1m --claim-file /run/backup.claim backup
  claim=$(colock acquire --lease 10m --wait 0 report) && make-report; colock release <<< "$claim"

In a unit of systemd:
  ExecStartPre=colock acquire --lease 1h --claim-file /run/backup.claim backup
  ExecStopPost=colock release --claim-file /run/backup.claim)"},
    {"release",
     "colock release [OPTION...] [< CLAIM]",
     "Releases the lock that 'colock acquire' has taken, and wakes who waits.",
     R"(Reads the claim from standard input, or from --claim-file, which it then deletes. Exits with 70
if the lock was not the claim's any more: its lease had ended, or somebody took it away.

Example:
  colock release --claim-file /run/backup.claim)"},
    {"unlock",
     "colock unlock [OPTION...] KEY",
     "Takes the lock KEY away from the holders that it shows, and wakes who waits.",
     R"(The holder is told; until it has heard, two may be at work. On a terminal it asks first;
elsewhere --yes has to be said. Exits with 1 if the answer is no, or if the lock has changed
hands meanwhile: then nothing is released.

Examples:
  colock unlock order:1
  colock unlock --yes order:1)"},
    {"doctor",
     "colock doctor [--deadlocks] [OPTION...] [URL...]",
     "Checks the server's set-up, and says what in it would hurt locks.",
     R"(Looks at the version, the eviction policy, memory, persistence, replicas, permissions,
connections, delays and the rate of the clock, at each primary. Changes nothing. Exits
with 1 if something is bad.

Then it says whether a failover can lose a lock of clients with this --durability and
--lease, by the settings of the primary, its replicas and its Sentinels. With --durability it also prints each
condition, and exits with 3 if a failover can lose a lock, and with 2 if no single fault can.
Several URLs are those of a red lock: no two of them may be one server, or copy each other.

With --deadlocks it looks for clients that wait for each other instead, and reads twice, six
seconds apart. Exits with 1 if there are some. It sees the clients that have a label.

Examples:
  colock doctor
  colock doctor --deadlocks
  colock doctor --durability majority --failovers paused
  colock doctor --url rediss://app@redis.example:6380 --json | jq 'select(.level == "bad")')"},
    {"bench",
     "colock bench [OPTION...] W1..W12|W1d|keys",
     "Puts load on the server, and measures how locks do there.",
     R"(Uses keys that begin with --key, and deletes them. What the numbers mean is in
docs/benchmarks.md.

Examples:
  colock bench W1
  colock bench W4 --seconds 10 --json)"},
    {"",
     "colock COMMAND [OPTION...] [ARG...]",
     "Distributed locks over Redis or Valkey, from the shell.",
     R"(The server is that of --url, else of $COLOCK_URL, else redis://127.0.0.1:6379:
  redis://[user[:password]@]host[:port][/database]        rediss:// with TLS
  unix://[user[:password]@]/path[?db=database]
  redis+sentinel://host[:port][,...]/name[/database]      rediss+sentinel://
  redis+cluster://host[:port][,...][/database]            rediss+cluster://
  redis+replicated://host[:port][,...][/database]         rediss+replicated://
A password belongs into $COLOCK_URL: others may read the words of a command.

Durations are 500ms, 2s, 1m, 1h, or plain seconds. 'colock COMMAND --help' says more, and
so does man colock.)"},
}};

}  // namespace

help const& help_of(std::string_view command)
{
    for (auto const& each : all)
        if (each.command == command)
            return each;
    return all.back();
}

}  // namespace cli
