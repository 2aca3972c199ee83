// How a connection logs in: first by HELLO, and again by AUTH before the credentials expire.
#include "redis/connection_loop.hpp"
#include "redis/link_settings.hpp"
#include "redis/permissions.hpp"

#include <string_view>
#include <utility>

namespace colock {

void connection_loop::get_credentials()
{
    query_.start(where_, [this](credential_query::result got) {
        has_credentials_ = got.words.empty();
        credentials_ = std::move(got.found);
        expires_ = got.expires;
        if (!has_credentials_) {
            end_reason_ = error::unavailable;
            words_ = std::move(got.words);
        }
        news_.set(news::credentials);
    });
}

// HELLO, SELECT and the listener's questions go out in one write, and cost one round trip.
void connection_loop::send_set_up()
{
    resp::writer probe;
    listener_->write_probe(probe);
    auto& out = pipeline().out();
    // Room for all of it: growing would leave a copy of the password in freed memory.
    out.reserve(std::size_t{4} * 1'024 + probe.bytes().size());
    set_up_of_servers(context_.settings, credentials_, wanted_role_).write(out);
    out.append(probe);
    expect_surely(out.commands(), [this](error_code ec, replies const& got) {
        if (!ec) {
            answered_ = got;
            news_.set(news::answered);
        } else if (!got.empty() && got.front().what == decide::reply::kind::error)
            // A server that refuses all clients says so in one error, and closes.
            end_reason_ = judge_set_up(got);
    });
    context_.set_alarm(alarm_, clock::now() + connect_limit(context_.settings));
    connection_->flush(true);
}

error_code connection_loop::judge_set_up(replies const& got)
{
    auto const accepted =
        set_up_of_servers(context_.settings, credentials_, wanted_role_).judge(got);
    is_replica_ = accepted.is_replica;
    if (!accepted.ec)
        return {};
    std::string_view const words{accepted.words};
    words_ = redacted(words, context_.settings, credentials_.password);
    if (context_.settings.credentials && words.find("WRONGPASS") != words.npos)
        words_ += ". Remedy: a user and password that the server accepts, from config::credentials";
    if (auto const by_rule = words.find("NOPERM"); by_rule != words.npos)
        words_ += permission_remedy(words.substr(by_rule), context_.settings);
    return accepted.ec;
}

// ---- While the connection is up ---------------------------------------------------------------

void connection_loop::send_auth(credentials const& who, exchange::on_replies done)
{
    resp::writer command;
    // Room for all of it, as in the set-up.
    constexpr std::size_t framing = 64;
    command.reserve(who.username.size() + who.password.size() + framing);
    command.push(
        "AUTH",
        who.username.empty() ? std::string_view{"default"} : who.username,
        std::string_view{who.password}
    );
    pipeline().write_alone(std::move(command));
    expect(1, std::move(done));
    flush();
}

void connection_loop::report(std::string words)
{
    say(log_level::warning, "login", words, describe(where_) + ": " + words);
}

void connection_loop::replace(error_code why)
{
    restart(why, why == error::unavailable ? "its credentials are about to expire" : "");
}

}  // namespace colock
