#pragma once

#include "plan.hpp"

#include <boost/json/object.hpp>

namespace bench {

/// W1 and W2: each worker has a key of its own; acquire, release, again.
boost::json::object run_pairs(plan const&);

/// W1, W2 and PING by bare sockets that send what colock sends: what a client costs beyond that.
boost::json::object run_raw(plan const&);

/// PING: one after the other.
boost::json::object run_pings(plan const&);

/// W3: the workers of one process on one key, again and again.
boost::json::object run_contended(plan const&);

/// W4 and W7: several processes on one key. With `start_at`, one of them.
boost::json::object run_processes(plan const&);

/// W5: every worker gets the one key once.
boost::json::object run_herd(plan const&);

/// W6: many keys are held and renewed, and nothing else happens.
boost::json::object run_holds(plan const&);

/// W8: a queue, half of which is cancelled.
boost::json::object run_cancelled(plan const&);

/// W9: W1 without and with many holds that are renewed.
boost::json::object run_beside_renewals(plan const&);

/// W10: many clients, each with one waiter for the same key, which each gets once.
boost::json::object run_crowd(plan const&);

/// W11: many processes on many keys, of which few are wanted often.
boost::json::object run_mix(plan const&);

/// keys and W12: another process holds many keys, and this one waits for each.
boost::json::object run_keys(plan const&);

/// many: the time for many free names, by one `acquire_many` or, with the variant "loop", by an
/// acquire for each, all at once.
boost::json::object run_many(plan const&);

/// connections: the memory of many that are open and idle.
boost::json::object run_connections(plan const&);

}  // namespace bench
