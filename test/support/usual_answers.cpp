// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "support/fake_transport.hpp"
#include <colock_scripts.hpp>

#include <openssl/sha.h>

#include <array>
#include <cstdlib>

namespace colock::test {

namespace wire {

namespace {

std::string aggregate(char kind, std::vector<std::string> const& values)
{
    auto all = kind + std::to_string(values.size()) + "\r\n";
    for (auto const& each : values)
        all += each;
    return all;
}

}  // namespace

std::string text(std::string_view value)
{
    return ("$" + std::to_string(value.size()) + "\r\n").append(value).append("\r\n");
}

std::string number(std::int64_t value) { return ":" + std::to_string(value) + "\r\n"; }

std::string list(std::vector<std::string> const& values) { return aggregate('*', values); }

std::string push(std::vector<std::string> const& values) { return aggregate('>', values); }

std::string failure(std::string_view words) { return std::string{"-"}.append(words) + "\r\n"; }

std::string slot_map(std::vector<slots> const& ranges)
{
    std::vector<std::string> all;
    for (auto const& each : ranges) {
        auto const id = std::to_string(each.port) + std::string(35, 'a');
        all.push_back(list(
            {number(each.first),
             number(each.last),
             list({text("127.0.0.1"), number(each.port), text(id), list({})})}
        ));
    }
    return list(all);
}

}  // namespace wire

std::string sha1_of(std::string const& script)
{
    std::array<unsigned char, SHA_DIGEST_LENGTH> digest{};
    ::SHA1(reinterpret_cast<unsigned char const*>(script.data()), script.size(), digest.data());
    std::string hex;
    for (unsigned const byte : digest) {
        hex += "0123456789abcdef"[byte / 16];
        hex += "0123456789abcdef"[byte % 16];
    }
    return hex;
}

namespace {

std::string hello(bool is_cluster, std::size_t connection)
{
    using namespace wire;
    auto const pairs = list(
        {text("server"),
         text("redis"),
         text("version"),
         text("7.0.15"),
         text("proto"),
         number(3),
         text("id"),
         number(static_cast<std::int64_t>(connection)),
         text("mode"),
         text(is_cluster ? "cluster" : "standalone"),
         text("role"),
         text("master"),
         text("modules"),
         list({})}
    );
    return "%7" + pairs.substr(pairs.find('\r'));
}

}  // namespace

std::string usual_answers::to(words const& command, std::size_t connection)
{
    using namespace wire;
    auto const& verb = command.front();
    if (verb == "HELLO")
        return hello(!cluster_slots.empty(), connection);
    if (verb == "AUTH" || verb == "SELECT" || verb == "ASKING" || verb == "READONLY")
        return ok();
    if (verb == "PING")
        return command.size() > 1 ? text(command[1]) : "+PONG\r\n";
    if (verb == "CLIENT")
        return to_client(command, connection);
    if (verb == "INFO")
        return text(info());
    if (verb == "ROLE")
        return list({text("master"), number(0), list({})});
    if (verb == "SCRIPT")
        return text(sha1_of(command.back()));
    if (verb == "EVAL")
        return list({});
    if (verb == "EVALSHA")
        return to_script(command);
    if (verb == "WAIT")
        return number(0);
    if (verb == "PUBSUB")
        return list({});
    if (verb.ends_with("SUBSCRIBE"))
        return to_subscriber(command);
    if (verb == "SENTINEL" && primary != 0)
        return to_sentinel(command);
    if (verb == "CLUSTER" && command.back() == "SLOTS")
        return cluster_slots.empty() ? failure("ERR This instance has cluster support disabled")
                                     : cluster_slots;
    return failure("ERR unknown command '" + verb + "', with args beginning with: ");
}

std::string usual_answers::to_client(words const& command, std::size_t connection) const
{
    if (command.at(1) == "ID")
        return wire::number(static_cast<std::int64_t>(connection));
    return command.at(1) == "KILL" ? wire::number(0) : wire::ok();
}

std::string usual_answers::to_sentinel(words const& command) const
{
    using namespace wire;
    bool const is_address =
        command.at(1) == "GET-MASTER-ADDR-BY-NAME" || command.at(1) == "get-master-addr-by-name";
    return is_address ? list({text("127.0.0.1"), text(std::to_string(primary))}) : list({});
}

namespace {

bool is_sum_of(scripts::script const& what, std::string_view sha1) noexcept
{
    return sha1 == what.sha1 || sha1 == what.sharded->sha1 || sha1 == what.both->sha1;
}

}  // namespace

bool is_sum_of_acquire(std::string_view sha1) noexcept { return is_sum_of(scripts::acquire, sha1); }

std::string usual_answers::to_script(words const& command)
{
    bool const is_acquire = is_sum_of_acquire(command.at(1));
    auto const keys = std::strtoul(command.at(2).c_str(), nullptr, 10);
    bool const is_fenced = is_acquire && !command.at(3 + keys).empty();
    std::vector<std::string> values;
    if (is_sum_of(scripts::look, command.at(1))) {
        // The number of each key, and that it is to be asked for.
        for (std::size_t i = 1; i <= keys; ++i)
            values.insert(
                values.end(), {wire::number(static_cast<std::int64_t>(i)), wire::number(0)}
            );
        return wire::list(values);
    }
    for (std::size_t i = 0; i != keys / (is_fenced ? 2 : 1); ++i)
        values.push_back(wire::number(is_acquire ? ++last_token_ : 1));
    return wire::list(values);
}

std::string usual_answers::to_subscriber(words const& command) const
{
    auto event = command.front();
    for (auto& letter : event)
        letter = static_cast<char>(letter | 0x20);
    std::string all;
    for (std::size_t i = 1; i != command.size(); ++i)
        all += wire::push({wire::text(event), wire::text(command[i]), wire::number(1)});
    return all;
}

std::string usual_answers::info() const
{
    return std::string{"# Server\r\nredis_version:7.0.15\r\nredis_mode:"} +
        (cluster_slots.empty() ? "standalone" : "cluster") + "\r\nrun_id:" + std::string(40, 'b') +
        "\r\n";
}

}  // namespace colock::test
