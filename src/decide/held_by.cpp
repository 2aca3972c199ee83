#include "decide/client_report.hpp"
#include "decide/held_by.hpp"
#include "decide/names.hpp"
#include "decide/permit_id.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace colock::decide {

namespace {

constexpr std::size_t uuid_length = 36;
constexpr std::string_view write_side = ":write";

/// A hash of the application may have millions of fields, and readers are seldom as many.
constexpr char const* most_holders = "1000";
constexpr std::size_t most_listed = 1'000;  ///< of permits: one more says that there may be others

/// The clients whose labels are looked up, at most.
constexpr std::size_t most_clients = 256;

/// A permit without a lease, in Redisson's layout.
constexpr double no_lease = 922'337'203'685'477;

enum place : std::size_t {
    hash,
    ttl,
    queue,
    list,
    counter,
    plain,
    sharded,
    number,
    leases,
    time,
    places
};

bool is_uuid(std::string_view text)
{
    if (text.size() != uuid_length)
        return false;
    for (std::size_t i = 0; i != uuid_length; ++i) {
        bool const is_hyphen = i == 8 || i == 13 || i == 18 || i == 23;
        bool const is_hex = (text[i] >= '0' && text[i] <= '9') ||
            (text[i] >= 'a' && text[i] <= 'f') || (text[i] >= 'A' && text[i] <= 'F');
        if (is_hyphen ? text[i] != '-' : !is_hex)
            return false;
    }
    return true;
}

std::int64_t sum_of(reply const& counts)
{
    std::int64_t sum = 0;
    for (std::size_t i = 1; i < counts.items.size(); i += 2)
        sum += counts.items[i].number;
    return sum;
}

bool is_wrong_type(reply const& r)
{
    return r.what == reply::kind::error && r.text.starts_with("WRONGTYPE");
}

bool is_refused(reply const& r) { return r.what == reply::kind::error && !is_wrong_type(r); }

/// The holders among the fields; false if it is no lock's hash.
bool read_fields(reply const& fields, lock_info& into)
{
    bool has_sides = false;
    for (std::size_t i = 0; i + 1 < fields.items.size(); i += 2) {
        auto const& field = fields.items[i].text;
        if (field == "mode") {
            has_sides = true;
            continue;
        }
        auto const depth = number_of<std::int64_t>(fields.items[i + 1]);
        if (!is_owner(field) || !depth)
            return false;
        into.holders.push_back({field, std::string{client_of(field)}, {}, {}, *depth});
    }
    std::ranges::sort(into.holders, {}, &lock_holder::id);
    into.what = has_sides ? lock_info::content::read_write : lock_info::content::lock;
    if (has_sides)
        for (auto& each : into.holders)
            each.side = each.id.ends_with(write_side) ? "write" : "read";
    return !into.holders.empty();
}

/// In RESP3 each permit is a list of its id and the end of its lease. Permits whose lease has ended
/// are free, though they still stand there.
error_code read_permits(std::vector<reply> const& answers, lock_info& into)
{
    if (is_refused(answers[time]))
        return error::server_refused;
    auto const& clock = answers[time].items;
    auto const seconds = clock.size() == 2 ? number_of<std::int64_t>(clock[0]) : std::nullopt;
    auto const micros = clock.size() == 2 ? number_of<std::int64_t>(clock[1]) : std::nullopt;
    auto const now = static_cast<double>(seconds.value_or(0)) * 1000 +
        static_cast<double>(micros.value_or(0)) / 1000;
    for (auto const& each : answers[leases].items) {
        if (each.items.size() != 2)
            continue;
        auto const ends = number_of<double>(each.items[1]).value_or(0);
        if (ends <= now) {
            ++into.value;
            continue;
        }
        lock_holder one{hex_of(each.items[0].text), {}, {}, {}, 1};
        one.lease = ends >= no_lease ? milliseconds::max()
                                     : milliseconds{static_cast<std::int64_t>(ends - now)};
        into.holders.push_back(std::move(one));
    }
    std::ranges::sort(into.holders, {}, &lock_holder::id);
    into.what = lock_info::content::permits;
    into.is_whole = answers[leases].items.size() <= most_listed;
    return {};
}

bool has_leases(std::vector<reply> const& answers)
{
    return answers[leases].what == reply::kind::list && !answers[leases].items.empty();
}

/// The name is a bare number: a semaphore, a latch, or a permit semaphore.
error_code read_counter(std::vector<reply> const& answers, lock_info& into)
{
    auto const value = number_of<std::int64_t>(answers[number]);
    if (is_refused(answers[number]))
        return error::server_refused;
    if (!value)
        return error::wrong_type;
    into.what = lock_info::content::counter;
    into.value = *value;
    return has_leases(answers) ? read_permits(answers, into) : error_code{};
}

/// One entry a client: the key of its report.
std::vector<std::string> report_keys(lock_info const& of, std::string_view prefix)
{
    std::vector<std::string> keys;
    for (auto const& each : of.holders) {
        auto key = each.client.empty() ? permit_report_key(each.id, prefix)
                                       : client_report_key(each.client, prefix);
        if (keys.size() != most_clients && std::ranges::find(keys, key) == keys.end())
            keys.push_back(std::move(key));
    }
    return keys;
}

}  // namespace

std::vector<question> questions_about(std::string const& key, std::string_view prefix)
{
    fair_keys const fair{key, prefix};
    std::vector<std::string> numsub{"PUBSUB", "NUMSUB"}, shards{"PUBSUB", "SHARDNUMSUB"};
    for (auto const& channel :
         {lock_channel(key, prefix),
          read_write_channel(key, prefix),
          semaphore_channel(key, prefix),
          latch_channel(key, prefix)}) {
        numsub.push_back(channel);
        shards.push_back(channel);
    }
    return {
        {key, {"HSCAN", key, "0", "COUNT", most_holders}},
        {key, {"PTTL", key}},
        {key, {"LRANGE", fair.queue, "0", "-1"}},
        {key, {"ZCOUNT", wait_list(key, prefix), "-inf", "+inf"}},
        {key, {"EXISTS", token_counter(key, prefix)}},
        {key, std::move(numsub)},
        {key, std::move(shards)},
        {key, {"GET", key}},
        {key, {"ZRANGE", permit_leases(key, prefix), "0", most_holders, "WITHSCORES"}},
        {key, {"TIME"}}};
}

error_code read_lock_info(std::vector<reply> const& answers, lock_info& into)
{
    using content = lock_info::content;
    if (answers.size() != places)
        return error::bad_reply;
    for (auto const wanted : {hash, ttl})
        if (is_refused(answers[wanted]))
            return error::server_refused;
    // The first of the list may listen to the channel, too.
    into.waiting =
        std::max(sum_of(answers[plain]) + sum_of(answers[sharded]), answers[list].number);
    if (is_wrong_type(answers[hash]))
        return read_counter(answers, into);
    auto const& scanned = answers[hash].items;
    if (scanned.size() != 2)
        return error::bad_reply;
    auto const in_queue = static_cast<std::int64_t>(answers[queue].items.size());
    into.waiting = std::max(into.waiting, in_queue);
    if (scanned[1].items.empty()) {
        return has_leases(answers) ? read_permits(answers, into) : error_code{};
    }
    if (!read_fields(scanned[1], into))
        return error::wrong_type;
    into.is_whole = scanned[0].text == "0";
    if (into.what == content::lock && in_queue != 0)
        into.what = content::fair;
    else if (into.what == content::lock && answers[counter].number != 0)
        into.what = content::fenced;
    if (answers[ttl].number >= 0)
        into.lease = milliseconds{answers[ttl].number};
    return {};
}

}  // namespace colock::decide

namespace colock {
inline namespace v0_3 {
namespace admin {

lock_names::lock_names(std::string_view key, std::string_view prefix)
    : wait_list{decide::wait_list(key, prefix)}
    , queue{decide::fair_keys{key, prefix}.queue}
    , token_counter{decide::token_counter(key, prefix)}
    , channel{decide::lock_channel(key, prefix)}
    , read_write_channel{decide::read_write_channel(key, prefix)}
    , permit_channel{decide::semaphore_channel(key, prefix)}
{}

bool is_owner(std::string_view field)
{
    if (field.size() <= decide::uuid_length + 1 || field[decide::uuid_length] != ':' ||
        !decide::is_uuid(field.substr(0, decide::uuid_length)))
        return false;
    // A transaction of Redisson has its id behind the number.
    auto digits = field.substr(decide::uuid_length + 1);
    digits = digits.substr(0, digits.find(':'));
    if (digits.starts_with('-'))
        digits.remove_prefix(1);
    return !digits.empty() && digits.find_first_not_of("0123456789") == digits.npos;
}

std::string_view client_of(std::string_view field) { return field.substr(0, decide::uuid_length); }

std::vector<question> questions_about_clients(lock_info const& of, std::string_view prefix)
{
    std::vector<question> all;
    for (auto const& key : decide::report_keys(of, prefix)) {
        all.push_back({key, {"GET", key}});
        all.push_back({key, {"PTTL", key}});
    }
    return all;
}

void add_labels(lock_info& of, std::string const& key, std::vector<reply> const& answers)
{
    for (std::size_t i = 0; i + 1 < answers.size(); i += 2) {
        auto const report = read_client_report(answers[i].text);
        if (!report || !decide::is_uuid(report->client))
            continue;
        auto const since_then = report_life - std::chrono::milliseconds{answers[i + 1].number};
        auto const report_key = decide::client_report_key(report->client);
        for (auto& each : of.holders) {
            bool const is_its = each.client.empty()
                ? decide::permit_report_key(each.id) == report_key
                : each.client == report->client;
            if (!is_its)
                continue;
            each.client = report->client;
            each.label = report->label;
            for (auto const& entry : report->entries)
                if (!entry.waits && entry.key == key && entry.id == each.id)
                    each.held_for = entry.age + std::max(since_then, std::chrono::milliseconds{0});
        }
    }
}

}  // namespace admin
}  // namespace v0_3
}  // namespace colock
