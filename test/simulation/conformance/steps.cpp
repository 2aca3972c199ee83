// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "decide/names.hpp"
#include "simulation/conformance/subject.hpp"

#include <algorithm>
#include <sstream>

namespace colock::simulation {

namespace {

strings words_of(std::string_view text)
{
    std::istringstream from{std::string{text}};
    strings all;
    for (std::string word; from >> word;)
        all.push_back(word);
    return all;
}

constexpr std::string_view kinds[] = {
    "plain", "fair", "read_write", "semaphore", "permits", "latch"};

}  // namespace

std::vector<script_form> const& script_forms()
{
    using namespace scripts;
    constexpr auto fair = "lock queue timeouts tickets";
    static std::vector<script_form> const all{
        {acquire, "plain", "lock counter", "field lease tokens wait_list box since", "way"},
        {extend, "plain fair read_write", "lock", "holder depth lease"},
        {renew, "plain fair read_write", "lock", "holder lease"},
        {release, "plain", "lock", "field channel wait_list joining_entry", "box"},
        {force, "plain", "lock", "channel wait_list box"},
        {adopt, "plain", "lock counter", "claimed field lease", "way"},
        {request, "plain", "lock", "channel"},
        {look, "plain fair read_write", "lock", "wait_list entry sum", "limit box"},
        {inspect, "plain fair read_write", "lock", ""},
        {fair_acquire,
         "fair",
         "lock queue timeouts tickets counter",
         "field lease tokens channel wait ticket_life",
         "way"},
        {fair_keep, "fair", fair, "field wait kept_life"},
        {fair_release, "fair", fair, "field channel wait"},
        {fair_force, "fair", fair, "channel wait box"},
        {read_acquire, "read_write", "lock", "field lease prefix"},
        {read_extend, "read_write", "lock", "field depth lease prefix"},
        {read_renew, "read_write", "lock", "field lease prefix"},
        {read_release, "read_write", "lock", "field read_write_channel wait_list prefix", "box"},
        {write_acquire,
         "read_write",
         "lock counter",
         "writer lease tokens wait_list box since",
         "way"},
        {write_release,
         "read_write",
         "lock",
         "writer read_write_channel wait_list joining_entry prefix",
         "box"},
        {read_write_force, "read_write", "lock", "side read_write_channel wait_list box prefix"},
        {semaphore_acquire,
         "semaphore",
         "lock takings",
         "amount request life semaphore_channel wait_list box since entry permits"},
        {semaphore_undo,
         "semaphore",
         "lock takings",
         "request request amount life semaphore_channel wait_list box entry"},
        {semaphore_release,
         "semaphore permits",
         "lock changes",
         "difference request life semaphore_channel wait_list box"},
        {semaphore_release_existing,
         "semaphore",
         "lock changes",
         "amount request life semaphore_channel wait_list box"},
        {semaphore_set,
         "semaphore permits",
         "lock changes",
         "amount_and_life request life semaphore_channel wait_list box"},
        {semaphore_drain, "semaphore", "lock changes", "zero request life semaphore_channel"},
        {latch_set, "latch", "lock changes", "amount request life latch_channel"},
        {latch_count_down, "latch", "lock changes", "amount request life latch_channel"},
        {latch_remove, "latch", "lock changes", "zero request life latch_channel"},
        {count, "semaphore latch", "lock", ""},
        {leader_publish, "plain", "lock words", "field number spoken life"},
        {leader_read, "plain", "lock words", ""},
        {permit_acquire,
         "permits",
         "lock leases",
         "ids lease semaphore_channel wait_list box since entry permits"},
        {permit_extend, "permits", "leases", "id lease"},
        {permit_release, "permits", "lock leases", "ids semaphore_channel wait_list entry", "box"},
        {permit_return,
         "permits",
         "lock changes leases",
         "ids request life semaphore_channel wait_list box"},
        {permit_set,
         "permits",
         "lock changes leases",
         "amount request life semaphore_channel wait_list box"},
        {permit_remove, "permits", "lock changes leases", "zero request life semaphore_channel"},
        {permit_count, "permits", "lock leases", ""},
    };
    return all;
}

std::string script_call::describe() const
{
    std::string all{form->name};
    for (auto const* part : {&keys, &arguments}) {
        all += part == &keys ? " KEYS" : " ARGV";
        for (auto const& word : *part)
            all += " '" + word + "'";
    }
    return all;
}

// ---- Calls -------------------------------------------------------------------------------------

step_maker::step_maker(random_numbers& dice)
    : dice_{dice}
    , kinds_(std::begin(kinds), std::end(kinds))
{}

void step_maker::aim_at(std::vector<script_form const*> scripts)
{
    kinds_.clear();
    for (auto const* const each : scripts)
        kinds_.push_back(each->kinds.substr(0, each->kinds.find(' ')));
    aimed_at_ = std::move(scripts);
}

void step_maker::change_scene()
{
    if (dice_.one_in(10))
        kind_ = kinds_[static_cast<std::size_t>(dice_.below(static_cast<int>(kinds_.size())))];
    name_ = name();
    if (dice_.one_in(4))
        owner_ = 1 + dice_.below(4);
}

// Now and then a name of another kind, whose key is of another type.
std::string step_maker::name()
{
    auto const kind = dice_.one_in(50) ? "latch" : kind_;
    return dice_.one_in(5) ? "{" + std::string{kind} + "}:b" : std::string{kind};
}

script_form const& step_maker::form()
{
    auto const& all = script_forms();
    if (!aimed_at_.empty() && dice_.one_in(4))
        return *aimed_at_[static_cast<std::size_t>(dice_.below(static_cast<int>(aimed_at_.size()))
        )];
    for (;;) {
        auto const& one = all[static_cast<std::size_t>(dice_.below(static_cast<int>(all.size())))];
        if (one.kinds.find(kind_) != one.kinds.npos || (dice_.one_in(100)))
            return one;
    }
}

script_call step_maker::call(bool odd)
{
    change_scene();
    auto const& of = form();
    script_call made{&of.what};
    if (dice_.one_in(3) && of.what.sharded)
        made.form = dice_.one_in(2) ? of.what.sharded : of.what.both;
    auto const add = [&](std::string_view role) {
        made.arguments.push_back(
            odd && dice_.one_in(12) ? odd_argument(role) : argument(role, name_)
        );
    };
    for (auto const& role : words_of(of.front))
        add(role);
    bool const is_fenced = of.front == "way" && !made.arguments[0].empty();
    auto locks = dice_.one_in(4) ? 1U + static_cast<unsigned>(dice_.below(3)) : 1U;
    for (; locks != 0; --locks) {
        for (auto const& role : words_of(of.keys))
            if (role != "counter" || is_fenced)
                made.keys.push_back(key(role, name_));
        for (auto const& role : words_of(of.arguments))
            add(role);
        if (locks > 1)
            change_scene();
    }
    return made;
}

std::string step_maker::key(std::string_view role, std::string const& of)
{
    decide::fair_keys const fair{of};
    if (role == "queue")
        return fair.queue;
    if (role == "timeouts")
        return fair.timeouts;
    if (role == "tickets")
        return fair.tickets;
    if (role == "counter")
        return std::string{decide::fence_counter(decide::slot_of(of))};
    if (role == "leases")
        return decide::permit_leases(of);
    if (role == "words")
        return decide::leader_words(of);
    if (role == "list")
        return decide::wait_list(of);
    if (role == "takings")
        return decide::request_record(of, "client:take");
    if (role == "changes")
        return decide::request_record(of, "client:change");
    return of;
}

std::string step_maker::field() { return field_of(dice_.one_in(8) ? 1 + dice_.below(4) : owner_); }

std::string step_maker::field_of(int owner)
{
    return (owner < 3 ? "0b7e4b0c-1111-4:" : "8743c9c0-0795-9:") + std::to_string(owner);
}

std::string step_maker::id(char second) const
{
    return std::string{'\0', second} + "edcba98765432" + std::to_string(owner_);
}

std::string step_maker::channel_of(std::string_view role, std::string const& of)
{
    return role == "semaphore_channel" ? decide::semaphore_channel(of)
        : role == "latch_channel"      ? decide::latch_channel(of)
        : role == "read_write_channel" ? decide::read_write_channel(of)
                                       : decide::lock_channel(of);
}

std::string step_maker::argument(std::string_view role, std::string const& of)
{
    if (role == "field" || (role == "holder" && kind_ != "read_write"))
        return field();
    if (role == "claimed")
        return field_of(1 + dice_.below(4));
    if (role == "writer" || role == "holder")
        return field() + ":write";
    if (role == "lease" || role == "wait" || role.ends_with("life"))
        return time(role);
    if ((role == "joining_entry" || role == "entry") && dice_.one_in(3))
        return {};
    if (role == "joining_entry")
        return field();
    if (role == "entry")
        return field() + one_of("", "", ":2", ":4");
    if (role == "wait_list")
        return decide::wait_list(of);
    if (role == "since")
        return one_of("", "0", "0", std::to_string(now_ - dice_.below(1'000'000)));
    if (role == "sum")
        return number(0, 3);
    if (role == "way")
        return one_of("clock", "clock", "redisson", "");
    if (role == "tokens")
        return one_of("1", "64");
    if (role == "number")
        return number(1, 9);
    if (role == "spoken")
        return one_of("", "10.0.0.1:80", "somebody");
    if (role == "depth")
        return number(1, 3);
    if (role == "limit")
        return one_of("0", "400", "30000", "60000");
    if (role == "permits")
        return one_of("", "", "3", "6");
    if (role == "amount")
        return number(1, 4);
    if (role == "difference")
        return number(dice_.one_in(4) ? -3 : 1, 4);
    if (role == "amount_and_life")
        return number(1, 4) + (dice_.one_in(2) ? ":5000" : "");
    if (role == "zero")
        return "0";
    if (role == "request")  // a new one, the last once more, or one that is late
        return std::to_string(dice_.one_in(2) ? ++request_ : request_ - dice_.below(3));
    if (role == "side")
        return one_of("read", "write");
    if (role == "prefix")
        return decide::lease_prefix(of);
    if (role == "box")
        return (dice_.one_in(8) ? "*" : "+") + decide::mailbox_prefix({});
    if (role == "id")
        return id();
    if (role == "ids")  // one or two of one owner
        return dice_.one_in(3) ? id() + id('g') : id();
    if (role == "counted_channel" && dice_.one_in(2))
        return "";
    return channel_of(role, of);
}

std::string step_maker::time(std::string_view role)
{
    if (role == "lease")
        return one_of("30000", "400", "10", "1", "60000");
    if (role == "wait")
        return one_of("300000", "5000");
    if (role == "ticket_life" || role == "kept_life")
        return one_of("5000", "5000", "400", "0");
    return one_of("3600000", "5000");
}

// A depth is how often a script goes round.
std::string step_maker::odd_argument(std::string_view role)
{
    if (role == "depth")
        return one_of("0", "-1", "", "x", "2.5", "4");
    return one_of(
        "0",
        "-1",
        "",
        "x",
        "1.5",
        "007",
        " 1",
        "1e3",
        "nan",
        "inf",
        "9007199254740993",
        "9223372036854775807",
        "-9223372036854775808",
        "99999999999999999999"
    );
}

// ---- By hand -----------------------------------------------------------------------------------

std::string step_maker::any_key()
{
    change_scene();
    if (kind_ == "read_write" && dice_.one_in(2))
        return decide::lease_prefix(name_) + ':' + field() + ":rwlock_timeout:" + number(1, 3);
    auto const role = kind_ == "fair" ? one_of("lock", "queue", "timeouts", "tickets", "counter")
        : kind_ == "permits"          ? one_of("lock", "leases", "list")
        : kind_ == "semaphore"        ? one_of("lock", "takings", "changes", "list")
        : kind_ == "latch"            ? one_of("lock", "changes")
        : kind_ == "plain"            ? one_of("lock", "counter", "words", "list")
                                      : one_of("lock", "counter");
    return key(role, name_);
}

strings step_maker::by_hand()
{
    auto const on = any_key();
    auto const score = std::to_string(now_ / 1'000 + dice_.below(20'000) - 10'000);
    switch (dice_.below(20)) {
    case 0: return {"SET", on, one_of("5", "0", "-2", "text", "", "1 1", "7 3")};
    case 1: return {"SET", on, number(0, 9), "PX", "5000"};
    case 2: return {"HSET", on, field(), one_of("1", "2", "x", "")};
    case 3: return {"HSET", on, "mode", one_of("read", "write", "x"), field() + ":write", "1"};
    case 4: return {"RPUSH", on, field(), field()};
    case 5:
        return {
            "ZADD",
            on,
            one_of(
                score,
                score,
                std::to_string(now_),
                '-' + std::to_string(now_ + dice_.below(150'000))
            ),
            field()};
    case 6: return {"ZADD", on, one_of(score, "922337203685477"), id()};
    case 7: return {"ZREM", on, field(), field(), id()};
    case 8: return {"HDEL", on, field(), "mode"};
    case 9: return {"LPOP", on};
    case 10: return {"LREM", on, number(-1, 1), field()};
    case 11: return {"PERSIST", on};
    case 12: return {"PEXPIRE", on, one_of("0", "-1", "1", "7000")};
    case 13: return {"PEXPIREAT", on, score};
    case 14: return {"INCRBY", on, one_of("3", "9223372036854775800", "-9223372036854775800")};
    default: return {"DEL", on};
    }
}

std::int64_t step_maker::pause()
{
    switch (dice_.below(12)) {
    case 0: return 1;
    case 1: return 1'000 * dice_.below(20);
    case 2: return 1'000 * dice_.below(1'000);
    case 3: return 1'000'000 * dice_.below(10);
    case 4: return dice_.one_in(10) ? 1'000'000LL * dice_.below(100'000) : 0;
    default: return 0;
    }
}

std::string step_maker::channel()
{
    change_scene();
    if (dice_.one_in(6))
        return decide::mailbox_prefix({}) + field().substr(0, 15);
    if (kind_ == "fair")
        return decide::fair_channel(name_, field());
    return channel_of(
        kind_ == "latch"            ? "latch_channel"
            : kind_ == "read_write" ? "read_write_channel"
            : kind_ == "plain"      ? "channel"
                                    : "semaphore_channel",
        name_
    );
}

}  // namespace colock::simulation
