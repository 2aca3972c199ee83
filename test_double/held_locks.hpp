#pragma once

#include "base/clock.hpp"
#include "decide/reply.hpp"
#include "outside.hpp"
#include "script_call.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace colock::testing {

using decide::reply;

/// The locks that are one hash each, plain and read-write, with a lease for each field.
class held_locks {
public:
    explicit held_locks(outside& o) : outside_{o} {}

    // The scripts of these names.
    reply acquire(script_call const&);
    reply extend(script_call const&);
    reply renew(script_call const&);
    reply release(script_call const&);
    reply leave(script_call const&);
    reply force(script_call const&);
    reply adopt(script_call const&);
    reply request(script_call const&);
    reply inspect(script_call const&);
    reply read_acquire(script_call const&);
    reply read_extend(script_call const&);
    reply read_release(script_call const&);
    reply write_acquire(script_call const&);
    reply write_release(script_call const&);
    reply read_write_force(script_call const&);
    reply leader_publish(script_call const&);
    reply leader_read(script_call const&);

    /// The last token of this counter; 0 if it gave none.
    std::int64_t last_token(std::string const& counter) const;

    /// Keeps a wait list alive; false if it is gone, or has not the entry that the text names, too.
    bool keep_list(std::string const& text);

    /// What is left of its lease, as PTTL says it: -2 if nobody holds it.
    std::int64_t pttl(std::string const& key);

    /// The code under test has it.
    bool is_held(std::string const& key) { return find(key) != nullptr; }
    bool has(std::string const& key, std::string const& field);
    std::vector<std::string> held();

    bool remove(std::string const& key) { return locks_.erase(key) != 0; }
    bool remove(std::string const& key, std::string const& field);

    /// Takes it; `draws`: its last key is a counter of tokens.
    reply grant(script_call const&, bool draws);
    void forget()
    {
        locks_.clear();
        lists_.clear();
        leaders_.clear();
    }

private:
    struct passing_words;
    struct ownership {
        std::int64_t depth = 1;
        time_point until{};
        bool reads = false;
    };
    using fields = std::map<std::string, ownership>;

    /// The clients that wait for a lock, or to write.
    struct wait_list {
        std::deque<std::string> clients;
        time_point until{};

        /// It lives for a while from now on.
        void keep();
    };

    /// Without what has run out; none if nothing is left.
    fields* find(std::string const& key);
    wait_list* list_of(std::string const& channel);
    bool is_written(std::string const& key);
    bool is_read(std::string const& key);
    reply refusal(std::string const& key, std::string const& channel = {});
    reply listed_refusal(script_call const&);
    reply give_back(script_call const&, std::string const& message, bool passes);
    std::int64_t join(std::string const& channel, std::string const& client, bool is_first);
    bool drop(std::string const& channel, std::string const& client);
    void tell_holder(std::string const& field, std::string const& channel);
    bool pass(std::string const& key, std::string const& channel, passing_words const&);
    bool tell_first(
        std::string const& channel, std::int64_t message, std::string const& passed_key = {}
    );

    outside& outside_;
    /// What the leader of an election says, and the field that says it.
    struct leader_words {
        std::string field, words;
        std::int64_t token = 0;
    };

    std::map<std::string, fields> locks_;
    std::map<std::string, leader_words> leaders_;  ///< by key
    std::map<std::string, std::int64_t> tokens_;   ///< by counter
    std::map<std::string, wait_list> lists_;       ///< by name
};

}  // namespace colock::testing
