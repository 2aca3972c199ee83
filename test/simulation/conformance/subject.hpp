// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "colock_scripts.hpp"
#include "decide/reply.hpp"
#include "simulated_server/server.hpp"
#include "support/redis_server.hpp"
#include "support/seed.hpp"
#include "support/shared_memory.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::simulation {

using decide::reply;
using strings = std::vector<std::string>;

/// A server that is compared with another. Its wall clock stands still between two steps.
class subject {
public:
    virtual ~subject() = default;

    virtual void set_clock(std::int64_t microseconds) = 0;
    virtual reply command(strings const& words) = 0;
    virtual reply run(std::string_view script, strings const& keys, strings const& arguments) = 0;

    /// The same for a script of the client, with the number of the call, which its reply begins
    /// with and this does not.
    reply call(std::string_view script, strings const& keys, strings arguments);

    /// From now on it hears what is published there, or no longer.
    virtual void listen(audience, std::string const& channel, bool) = 0;

    /// What was heard since it was last asked, in order.
    virtual strings heard() = 0;

    /// Whether it refuses what needs memory.
    virtual void set_full(bool) = 0;

    /// Each key in order, with its type, PTTL and content.
    reply everything();
};

/// The server in process.
class simulated final : public subject {
public:
    simulated();

    void set_clock(std::int64_t microseconds) override { now_ = microseconds; }
    reply command(strings const& words) override;
    reply run(std::string_view script, strings const& keys, strings const& arguments) override;
    void listen(audience, std::string const& channel, bool) override;
    strings heard() override { return std::exchange(heard_, {}); }
    void set_full(bool is) override { server_.is_full = is; }

private:
    std::int64_t now_ = 0;
    server server_{[this] { return now_; }};
    std::set<std::pair<audience, std::string>> channels_;
    strings heard_;
};

/// A server of its own with a wall clock of our making.
class real final : public subject {
public:
    explicit real(test::server_kind);

    void set_clock(std::int64_t microseconds) override;
    reply command(strings const& words) override { return server_->command(words); }
    reply run(std::string_view script, strings const& keys, strings const& arguments) override;
    void listen(audience, std::string const& channel, bool) override;
    strings heard() override;
    void set_full(bool is) override
    {
        server_->command({"CONFIG", "SET", "maxmemory", is ? "1" : "0"});
    }

private:
    test::temporary_file file_;
    test::shared_memory clock_{file_.path(), sizeof(std::int64_t)};
    std::unique_ptr<test::redis_server> server_;
    std::unique_ptr<test::redis_cli> ear_;
};

/// Whether both replies are the same. Numbers with a fraction, or beyond 64 bits, may be written
/// with other digits, and Valkey does not call itself Redis in its errors.
bool are_alike(reply const&, reply const&);

std::string to_string(reply const&);

/// Each server that is here.
inline auto each_server() { return boost::unit_test::data::make(test::installed_servers()); }

inline constexpr std::int64_t some_day = 1'795'300'000'123'456;

using test::random_numbers;

/// What a script takes: the roles of its keys and arguments for each lock, by their names, and of
/// the arguments that stand once in front.
struct script_form {
    scripts::script const& what;
    std::string_view kinds;  ///< of locks
    std::string_view keys;
    std::string_view arguments;
    std::string_view front = "";
};

/// All scripts, each once.
std::vector<script_form> const& script_forms();

struct script_call {
    scripts::script const* what = nullptr;
    scripts::script const* form = what;  ///< as it publishes
    strings keys{};
    strings arguments{};

    std::string describe() const;
};

/// Makes up calls and commands on a few locks and their keys. Many in a row are of the same lock
/// and the same owner, for else hardly anybody would release what he has.
class step_maker {
public:
    explicit step_maker(random_numbers& dice);

    /// From now on the locks are of the kinds of these scripts alone, and the scripts come often.
    void aim_at(std::vector<script_form const*> scripts);

    /// A script's call for one to three locks; with `odd` some arguments are none that colock
    /// gives.
    script_call call(bool odd);

    /// A command that puts something by hand where scripts look, or takes it away.
    strings by_hand();

    /// By how many microseconds the clock moves: mostly not at all.
    std::int64_t pause();

    /// A channel that scripts publish to.
    std::string channel();

    /// As time passes.
    void set_clock(std::int64_t microseconds) { now_ = microseconds; }

private:
    void change_scene();
    script_form const& form();
    std::string name();
    std::string key(std::string_view role, std::string const& name);
    std::string argument(std::string_view role, std::string const& name);
    std::string time(std::string_view role);
    std::string odd_argument(std::string_view role);
    std::string channel_of(std::string_view role, std::string const& name);
    std::string any_key();
    std::string field();
    static std::string field_of(int owner);
    std::string id(char second = 'f') const;

    template <class... Texts>
    std::string one_of(Texts const&... texts)
    {
        strings const all{std::string{texts}...};
        return all[static_cast<std::size_t>(dice_.below(static_cast<int>(all.size())))];
    }
    std::string number(int least, int most)
    {
        return std::to_string(least + dice_.below(most - least + 1));
    }

    random_numbers& dice_;
    std::int64_t now_ = 0;
    int request_ = 10;  ///< the number of the last counted request
    std::vector<std::string_view> kinds_;
    std::vector<script_form const*> aimed_at_;
    std::string_view kind_ = "plain";
    std::string name_ = "plain";
    int owner_ = 1;
};

/// Takes the same steps on two servers, which must be alike after each.
class comparison {
public:
    comparison(subject& a, subject& b) : a_{a}, b_{b} {}

    void set_clock(std::int64_t to)
    {
        for (auto* const one : {&a_, &b_})
            one->set_clock(to);
    }

    void listen(audience to, std::string const& channel, bool does)
    {
        for (auto* const one : {&a_, &b_})
            one->listen(to, channel, does);
    }

    void ask(strings const& words)
    {
        std::string said;
        for (auto const& word : words)
            said += '\'' + word + "' ";
        compare(said, a_.command(words), b_.command(words));
    }

    void run(std::string_view text, strings const& keys, strings const& arguments)
    {
        std::string said{text};
        for (auto const& word : arguments)
            said += " '" + word + '\'';
        compare(said, a_.run(text, keys, arguments), b_.run(text, keys, arguments));
    }

    /// True if it has changed something.
    bool run(script_call const& c)
    {
        auto const before = a_.everything();
        auto const of_a = a_.call(c.form->text, c.keys, c.arguments);
        auto const of_b = b_.call(c.form->text, c.keys, c.arguments);
        return !are_alike(before, compare(c.describe(), of_a, of_b));
    }

private:
    /// Gives what is there now.
    reply compare(std::string const& said, reply const& of_a, reply const& of_b)
    {
        check(said, of_a, of_b);
        auto all = a_.everything();
        check(said, all, b_.everything());
        auto const heard_by_a = a_.heard(), heard_by_b = b_.heard();
        BOOST_TEST_INFO(said);
        BOOST_TEST_REQUIRE(heard_by_a == heard_by_b, boost::test_tools::per_element());
        return all;
    }

    static void check(std::string const& said, reply const& of_a, reply const& of_b)
    {
        BOOST_TEST_INFO(said);
        BOOST_TEST_REQUIRE(are_alike(of_a, of_b), to_string(of_a) << " is not " << to_string(of_b));
    }

    subject& a_;
    subject& b_;
};

}  // namespace colock::simulation
