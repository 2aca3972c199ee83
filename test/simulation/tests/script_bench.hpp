// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "colock_scripts.hpp"
#include "decide/names.hpp"
#include "simulation/conformance/subject.hpp"

#include <algorithm>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::simulation {

/// Where scripts run: a real server of this kind, or the one in process.
struct script_place {
    std::optional<test::server_kind> real{};
};

std::ostream& operator<<(std::ostream&, script_place);

/// The server in process, and each real one that is here.
std::vector<script_place> script_places();

inline auto each_place() { return boost::unit_test::data::make(script_places()); }

inline std::string text(std::int64_t n) { return std::to_string(n); }

/// Texts as one, so that tests may compare them.
template <class Texts = strings>
std::string line(Texts const& texts)
{
    std::string all;
    for (auto const& t : texts)
        all.append(all.empty() ? "" : " ").append(t);
    return all;
}

/// The field of an ownership of ours, and of a thread of Redisson's.
inline std::string ours(int number)
{
    return "0b7e4b0c-1111-4907-87fd-6c719a6b4586:" + text(number);
}
/// Of a client that has a mailbox, and its channel.
inline std::string newer(int number)
{
    return "5f2a1d7c-8b2e-9c11-9c55-0d3f5e2b7a10:" + text(number);
}
inline std::string const mailbox_names = decide::mailbox_prefix({});
inline std::string const mailboxes = "+" + mailbox_names;
inline std::string mailbox_of(std::string const& field)
{
    return mailbox_names + field.substr(0, field.find(':'));
}
/// The letter that it gets, as `script_bench::heard` writes it.
inline std::string letter_to(std::string const& field, std::string const& lock)
{
    return mailbox_of(field) + " forced " + field.substr(field.find(':') + 1) + '=' + lock;
}
inline std::string java(int thread)
{
    return "8743c9c0-0795-4907-87fd-6c719a6b4586:" + text(thread);
}

/// An empty server, whose clock stands still, and calls of scripts there as a link makes them.
class script_bench {
public:
    explicit script_bench(script_place);
    script_bench(script_bench const&) = delete;
    script_bench& operator=(script_bench const&) = delete;
    ~script_bench();

    // ---- Time ----------------------------------------------------------------------------------

    /// The server's clock in microseconds, at first `begin`.
    std::int64_t now() const noexcept { return now_; }
    std::int64_t now_ms() const noexcept { return now_ / 1'000; }
    void pass(std::int64_t milliseconds) { set_clock(now_ + 1'000 * milliseconds); }
    void set_clock(std::int64_t microseconds);

    // ---- Calls ---------------------------------------------------------------------------------

    /// The parts of the reply; of an error, that alone.
    std::vector<reply> run_many(
        scripts::script const&, strings const& keys, strings const& arguments
    );

    /// The one part.
    reply run(scripts::script const&, strings const& keys, strings const& arguments);

    template <class... Words>
    reply ask(Words const&... words)
    {
        return command({std::string{words}...});
    }
    reply command(strings const& words) { return at_.command(words); }

    /// Runs `what` with as little memory as the server allows, and then with all again.
    template <class What>
    void without_memory(What what)
    {
        at_.set_full(true);
        what();
        at_.set_full(false);
    }

    // ---- What is there -------------------------------------------------------------------------

    std::int64_t pttl(std::string const& key) { return ask("PTTL", key).number; }
    bool exists(std::string const& key) { return ask("EXISTS", key).number == 1; }
    std::string get(std::string const& key) { return ask("GET", key).text; }
    std::int64_t members_of(std::string const& key)
    {
        return ask("ZCOUNT", key, "-inf", "+inf").number;
    }

    reply everything() { return at_.everything(); }

    /// The texts of a reply.
    template <class... Words>
    strings texts(Words const&... words)
    {
        strings found;
        for (auto const& item : ask(words...).items)
            found.push_back(item.text);
        return found;
    }

    /// All keys.
    std::string keys()
    {
        auto all = texts("KEYS", "*");
        std::ranges::sort(all);
        return line(all);
    }

    // ---- Messages ------------------------------------------------------------------------------

    void listen(std::string const& channel, audience = audience::channel);
    void unlisten(std::string const& channel, audience = audience::channel);

    /// What came since, as `channel=payload`.
    std::string heard();

private:
    void take_in();

    subject& at_;
    std::int64_t now_;
    std::set<std::pair<audience, std::string>> channels_;
    strings heard_;

public:
    std::int64_t const begin;
};

inline bool is(reply const& got, std::int64_t wanted)
{
    return got.what == reply::kind::integer && got.number == wanted;
}
inline bool is_granted(reply const& r) { return r.what == reply::kind::integer; }
inline bool is_gone(reply const& r) { return r.what == reply::kind::nil; }
inline bool is_error(reply const& r) { return r.what == reply::kind::error; }
inline bool is_wrong_type(reply const& r) { return is_error(r) && r.text.starts_with("WRONGTYPE"); }

/// The number in a refusal; -100 if it is none.
inline std::int64_t refusal(reply const& r)
{
    return r.what == reply::kind::list && !r.items.empty() ? r.items[0].number : -100;
}

/// Refused; it has no place in the wait list.
inline bool is_refused(reply const& r, std::int64_t number = -1)
{
    return refusal(r) == number && r.items.size() == 3 && is(r.items[1], 0) && is(r.items[2], 0);
}

}  // namespace colock::simulation
