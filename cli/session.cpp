// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "messages.hpp"
#include "progress.hpp"
#include "session.hpp"
#include "status.hpp"
#include "text.hpp"
#include <colock/observer.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <openssl/ssl.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <variant>

namespace cli {

namespace {

/// Notes what the client has seen of its server.
struct server_watch final : colock::observer {
    explicit server_watch(std::shared_ptr<session::sight> to) : seen{std::move(to)} {}
    void on_event(colock::client_event const& what) noexcept override
    {
        if (std::holds_alternative<colock::events::link_up>(what))
            seen->connection = true;
        else if (auto const* const lost = std::get_if<colock::events::lost>(&what))
            seen->loss = lost->cause;
    }
    std::shared_ptr<session::sight> seen;
};

colock::config with_ears(
    colock::config settings,
    bool is_verbose,
    std::string const& command,
    std::shared_ptr<session::sight> seen,
    std::shared_ptr<std::vector<std::string>> said
)
{
    settings.observer = std::make_shared<server_watch>(std::move(seen));
    settings.log = {
        [said = std::move(said), is_verbose, command](colock::log_level, std::string_view line) {
            auto const text = safe_to_print(std::string{line});
            if (is_verbose)
                remark("colock " + command + ": " + text);
            // These explain no failure: without a label the command works as well.
            bool const is_cause =
                !text.starts_with("label: ") && text.find(": connected again after ") == text.npos;
            if (is_cause && std::ranges::find(*said, text) == said->end())
                said->push_back(text);
        },
        colock::log_level::warning};
    return settings;
}

std::string from_environment(char const* name)
{
    auto const* const value = std::getenv(name);
    return value ? value : "";
}

/// Each connection has a place for TLS, and OpenSSL reads its configuration for the first one: a
/// millisecond that a command without TLS need not spend.
void spare_tls() { OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr); }

}  // namespace

colock::config settings_of(options const& o)
{
    auto const of_environment = from_environment("COLOCK_URL");
    if (o.url.empty() && of_environment.empty() && std::getenv("COLOCK_URL"))
        throw failure{
            status_usage,
            "$COLOCK_URL is empty: unset it for redis://127.0.0.1:6379, or say --url"};
    auto const url = !o.url.empty() ? o.url
        : !of_environment.empty()   ? of_environment
                                    : std::string{"redis://127.0.0.1:6379"};
    auto parsed = colock::config::parse(url);
    if (!parsed)
        throw failure{
            status_usage,
            std::string{"the URL of "} + (o.url.empty() ? "$COLOCK_URL" : "--url") + ": " +
                parsed.error().message() + "; it is redis://host[:port][/db], unix://, " +
                "redis+sentinel://, redis+cluster:// or redis+replicated:// ('colock --help' has "
                "all " +
                "forms)"};
    auto settings = std::move(*parsed);
    settings.sentinel_username = from_environment("COLOCK_SENTINEL_USERNAME");
    settings.sentinel_password = from_environment("COLOCK_SENTINEL_PASSWORD");
    bool const is_tls_told =
        !o.ca_file.empty() || !o.certificate_file.empty() || !o.server_name.empty() || o.insecure;
    if (is_tls_told && !settings.tls.enabled)
        throw failure{status_usage, "--tls-... needs a URL that begins with rediss"};
    settings.tls.ca_file = o.ca_file;
    settings.tls.certificate_file = o.certificate_file;
    settings.tls.private_key_file = o.private_key_file;
    settings.tls.server_name = o.server_name;
    settings.tls.verify = !o.insecure;
    if (!settings.tls.enabled)
        spare_tls();
    settings.links = 1;
    settings.timeout = o.connect_timeout;
    settings.durability = o.durability.value_or(colock::durability::none);
    settings.replicas = o.replicas;
    settings.client_name = "colock-" + o.command;
    if (!o.runs_program())
        settings.label = "";  // it holds nothing that anybody would look for
    return settings;
}

std::string place_of(colock::config const& settings)
{
    std::string text;
    for (auto const& each : settings.addresses)
        text += (text.empty() ? "" : ",") + colock::describe(each);
    if (settings.topology == colock::topology::replicated)
        text = "the primary among " + text;
    if (settings.topology == colock::topology::sentinel)
        text = shown(settings.master_name) + " of the Sentinels " + text;
    return text;
}

namespace {

constexpr std::string_view for_the_moment = " for the moment: ";

/// Of a line of a link's that says why it has no connection, or no answer, that alone; and without
/// advice for a program.
std::string cause_in(std::string line)
{
    constexpr std::string_view before = ": no connection to ", after = "; trying again";
    // The log sums up lines that it has left out.
    if (auto const at = line.rfind(" (and "); at != line.npos && line.ends_with(')'))
        line.resize(at);
    for (std::string_view const advice :
         {"; check the address, and the log for the reason", ", or config::fencing = false"})
        if (auto const at = line.find(advice); at != line.npos)
            line.erase(at, advice.size());
    if (auto const at = line.find(before); at != line.npos)
        line.erase(0, std::min(line.size(), line.find(": ", at + before.size()) + 2));
    if (auto const at = line.find(for_the_moment); at != line.npos)
        line.erase(0, at + for_the_moment.size());
    if (line.ends_with(after))
        line.resize(line.size() - after.size());
    return line;
}

}  // namespace

session::session(options const& o, colock::config settings)
    : options_{o}
    , place_{place_of(settings)}
    , redis_{context_.get_executor(), with_ears(std::move(settings), o.verbose, o.command, seen_, said_)}
    , server_{redis_}
{
    redis_.run([this](error_code ec) { ended_ = ec; });
}

int session::run(asio::awaitable<int> work)
{
    int status = status_ok;
    std::exception_ptr failed;
    asio::co_spawn(context_, std::move(work), [&](std::exception_ptr e, int s) {
        failed = e;
        status = s;
        context_.stop();  // what is still to come is for nobody
    });
    context_.run();
    if (failed)
        std::rethrow_exception(failed);
    return status;
}

asio::awaitable<void> session::connect()
{
    progress const line{context_.get_executor(), options_.command, [this] {
                            auto const last =
                                said_->empty() ? std::string{} : " (" + said_->back() + ")";
                            return "connecting to " + place_ + last;
                        }};
    auto const [ec, taken] = co_await redis_.ping(asio::as_tuple(asio::deferred));
    if (ec)
        throw because("connect", ec);
}

asio::awaitable<reply> session::ask(std::string about, std::vector<std::string> words)
{
    auto const what = words.front();
    auto asked = server_.ask(std::move(about), std::move(words), asio::as_tuple(asio::deferred));
    auto [ec, answer] = co_await std::move(asked);
    if (ec)
        throw because("ask with " + what, ec);
    co_return std::move(answer);
}

asio::awaitable<std::vector<reply>> session::ask_all(std::vector<question> all)
{
    std::vector<reply> answers(all.size());
    std::size_t left = all.size();
    error_code failed;
    std::string of_what;
    asio::steady_timer done{context_, asio::steady_timer::time_point::max()};
    for (std::size_t i = 0; i != all.size(); ++i) {
        auto const what = all[i].words.front();
        server_.ask(
            std::move(all[i].about),
            std::move(all[i].words),
            [&, i, what](error_code ec, reply answer) {
                answers[i] = std::move(answer);
                if (ec && !failed) {
                    failed = ec;
                    of_what = what;
                }
                if (--left == 0)
                    done.cancel();
            }
        );
    }
    if (left != 0)
        co_await done.async_wait(asio::as_tuple(asio::deferred));
    if (failed)
        throw because("ask with " + of_what, failed);
    co_return answers;
}

asio::awaitable<std::vector<reply>> session::ask_many(std::vector<question> all)
{
    std::vector<reply> answers;
    answers.reserve(all.size());
    for (auto next = all.begin(); next != all.end();) {
        auto const left = static_cast<std::size_t>(all.end() - next);
        auto const end = next + static_cast<std::ptrdiff_t>(std::min(most_at_once, left));
        std::vector<question> part{std::make_move_iterator(next), std::make_move_iterator(end)};
        for (auto& each : co_await ask_all(std::move(part)))
            answers.push_back(std::move(each));
        next = end;
    }
    co_return answers;
}

/// The refusal, in the server's own words; without one, why there is no connection.
std::string const& session::telling() const
{
    auto const says_more = [](std::string const& line) {
        return line.find(": no connection to ") == line.npos;
    };
    auto const at = std::find_if(said_->rbegin(), said_->rend(), says_more);
    return at == said_->rend() ? said_->back() : *at;
}

failure session::because(std::string const& doing, error_code ec) const
{
    if (ended_ && *ended_)
        ec = *ended_;
    auto const name = options_.key.empty() ? std::string{} : shown(options_.key) + ": ";
    auto text = name + doing + ": ";
    auto const said = said_->empty() ? std::string{} : ": " + telling();
    if (ec == colock::error::server_refused) {
        auto const why = said_->empty() ? std::string{} : ": " + cause_in(telling());
        return {status_refused, text + place_ + " refuses us" + why};
    }
    if (ec == colock::error::unsupported)
        return {status_refused, text + (said_->empty() ? ec.message() : cause_in(telling()))};
    if (ec == colock::error::not_replicated)
        return {status_unavailable, text + place_ + ": " + ec.message()};
    if (ec == colock::error::wrong_type)
        return {
            status_no_lock,
            text + "the key holds something that is no lock; choose another name, or look at it " +
                "with redis-cli TYPE"};
    if (ec == colock::error::invalid_argument || ec == colock::error::invalid_tls)
        return {status_usage, text + ec.message() + said};
    auto const remedy = was_up() ? "try again when the server is back"
                                 : "check --url or $COLOCK_URL, and that the server runs";
    bool const is_refusal = ec == colock::error::wrong_topology || ec == colock::error::tls_refused;
    auto const cause =
        said_->empty() ? ec.message() : cause_in(is_refusal ? telling() : said_->back());
    bool const is_answered =
        !said_->empty() && said_->back().find(for_the_moment) != std::string::npos;
    auto const what =
        is_answered ? place_ + " refuses for the moment" : "no connection to " + place_;
    return {status_unavailable, text + what + ": " + cause + "; " + remedy};
}

std::string session::why_lost() const
{
    return seen_->loss.empty() ? std::string{} : ": " + seen_->loss;
}

}  // namespace cli
