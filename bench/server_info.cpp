#include "dial.hpp"
#include "server_info.hpp"

#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include <sstream>
#include <stdexcept>

namespace bench {

namespace asio = boost::asio;

namespace {

/// The lines `name:value` of a text of INFO.
std::map<std::string, std::string> fields(std::string const& text)
{
    std::map<std::string, std::string> found;
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);)
        if (auto const colon = line.find(':'); colon != line.npos)
            found[line.substr(0, colon)] = line.substr(colon + 1);
    return found;
}

/// The value of `name=` in a list of those with commas between.
double part(std::string const& list, std::string const& name)
{
    auto const at = list.find(name + "=");
    return at == list.npos ? 0 : std::stod(list.substr(at + name.size() + 1));
}

}  // namespace

server_usage server_usage::since(server_usage const& earlier) const
{
    server_usage spent{
        cpu_seconds - earlier.cpu_seconds,
        script_seconds - earlier.script_seconds,
        received - earlier.received,
        sent - earlier.sent,
        {}};
    for (auto const& [command, count] : calls) {
        auto const before = earlier.calls.find(command);
        auto const more = count - (before == earlier.calls.end() ? 0 : before->second);
        if (more)
            spent.calls[command] = more;
    }
    return spent;
}

std::int64_t server_usage::wire_commands() const
{
    std::int64_t sum = 0;
    for (auto const* command : {"evalsha", "eval", "subscribe", "unsubscribe", "ping"})
        if (auto const found = calls.find(command); found != calls.end())
            sum += found->second;
    return sum;
}

server_info::server_info(plan const& asked)
    : socket_{dial(context_, asked.info.value_or(asked.redis.addresses.front()))}
{
    auto const& c = asked.redis;
    if (!c.password.empty())
        ask({"AUTH", c.username.empty() ? "default" : c.username, c.password});
    if (c.database)
        ask({"SELECT", std::to_string(c.database)});
}

server_usage server_info::usage()
{
    server_usage now;
    for (auto const& [name, list] : fields(bulk({"INFO", "commandstats"})))
        if (name.starts_with("cmdstat_")) {
            now.calls[name.substr(8)] = static_cast<std::int64_t>(part(list, "calls"));
            if (name == "cmdstat_evalsha")
                now.script_seconds = part(list, "usec") / 1e6;
        }
    now.cpu_seconds = number("cpu", "used_cpu_user") + number("cpu", "used_cpu_sys");
    // The server has counted this very question, and not yet its answer.
    auto const answered = own_received_;
    auto const traffic = fields(bulk({"INFO", "stats"}));
    auto const bytes = [&](char const* name) {
        auto const field = traffic.find(name);
        return field == traffic.end() ? std::int64_t{0} : std::stoll(field->second);
    };
    now.received = bytes("total_net_input_bytes") - own_sent_;
    now.sent = bytes("total_net_output_bytes") - answered;
    return now;
}

bool server_info::exists(std::string_view key) { return ask({"EXISTS", key}) == ":1"; }

double server_info::number(std::string_view section, std::string_view name)
{
    auto const found = fields(bulk({"INFO", section}));
    auto const field = found.find(std::string{name});
    return field == found.end() ? 0 : std::stod(field->second);
}

std::string server_info::ask(std::initializer_list<std::string_view> command)
{
    std::string text = "*" + std::to_string(command.size()) + "\r\n";
    for (auto const word : command)
        text.append("$" + std::to_string(word.size()) + "\r\n").append(word).append("\r\n");
    asio::write(socket_, asio::buffer(text));
    own_sent_ += static_cast<std::int64_t>(text.size());
    auto head = line();
    if (head.starts_with('-'))
        throw std::runtime_error("server: " + head);
    return head;
}

std::string server_info::line()
{
    auto const end = asio::read_until(socket_, asio::dynamic_buffer(buffer_), "\r\n");
    auto head = buffer_.substr(0, end - 2);
    buffer_.erase(0, end);
    own_received_ += static_cast<std::int64_t>(end);
    return head;
}

void server_info::begin_monitor() { ask({"MONITOR"}); }

std::string server_info::next_monitor_line() { return line(); }

std::string server_info::bulk(std::initializer_list<std::string_view> command)
{
    auto const size = static_cast<std::size_t>(std::stoul(ask(command).substr(1))) + 2;
    if (buffer_.size() < size)
        asio::read(
            socket_, asio::dynamic_buffer(buffer_), asio::transfer_exactly(size - buffer_.size())
        );
    auto text = buffer_.substr(0, size - 2);
    buffer_.erase(0, size);
    own_received_ += static_cast<std::int64_t>(size);
    return text;
}

}  // namespace bench
