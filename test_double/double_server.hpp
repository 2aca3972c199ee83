#pragma once

#include "base/clock.hpp"
#include "redis/transport.hpp"
#include "simulated_server/server.hpp"

#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace colock {
inline namespace v0_3 {
namespace testing {

using decide::reply;

/// The server of a scripted client: the scripts themselves, on a server in process. Keys are whole,
/// with the prefix.
///
/// What somebody else has is not in its data: which kind of object a name is, and so what its key
/// would hold, only the next script tells. It is put there while such a script runs.
class double_server {
public:
    explicit double_server(std::string prefix);

    /// The answer to a step of the client.
    answer run(step const&);

    /// Who hears what is published.
    void tell(simulation::publisher, simulation::subscriber_count);

    // ---- What the test says --------------------------------------------------------------------

    void occupy(std::string const& key);

    /// Somebody else gives it back, with a message; false if nobody else had it.
    bool vacate(std::string const& key);

    /// The hold of the code under test there is gone; false if it had none.
    bool remove(std::string const& key);
    void remove_all();

    bool is_held(std::string const& key);
    std::vector<std::string> held();

    std::set<std::string> refusing;

    /// When the code under test was last refused what somebody else has.
    std::map<std::string, time_point> const& refused() const noexcept { return refused_; }

private:
    reply run_script(step const&, bool beside_others);
    reply run_beside_others(step const&);
    simulation::value content_for(std::string_view script, std::string const& key);
    reply ask(std::initializer_list<std::string_view> words);
    void note(step const&);
    bool lose_permits(std::string const& key);
    void tell_all(std::string const& key);

    std::string prefix_;
    simulation::server redis_;
    std::set<std::string> occupied_;
    std::map<std::string, time_point> refused_;
    std::set<std::string> locks_;       ///< what the code under test has asked for as a lock
    std::set<std::string> semaphores_;  ///< or as a semaphore of either kind
};

}  // namespace testing
}  // namespace v0_3
}  // namespace colock
