#include "decide/backoff.hpp"
#include "redis/link_settings.hpp"
#include "redis/reauthentication.hpp"

#include <algorithm>
#include <utility>

namespace colock {

namespace {

constexpr milliseconds first_retry{250};
constexpr milliseconds last_retry{10'000};

}  // namespace

reauthentication::reauthentication(link_context const& context, listener& who)
    : context_{context}
    , listener_{who}
    , query_{context, credential_query::purpose::servers}
    , alarm_{[this] { on_alarm(); }}
{}

void reauthentication::begin(address const& server, time_point expires)
{
    server_ = server;
    plan(expires);
}

void reauthentication::end() noexcept
{
    alarm_.clear();
    query_.cancel();
    wipe(offered_);
}

// The connections of a client get their credentials at about the same time. The jitter spreads what
// follows.
void reauthentication::plan(time_point expires)
{
    tries_ = 0;
    is_refused_ = false;
    replace_at_ = expires;
    if (expires == never)
        return;
    auto const now = clock::now();
    auto const left = std::max(expires - now, clock::duration{});
    auto const some = std::chrono::duration_cast<clock::duration>(left * (context_.jitter() / 16));
    replace_at_ = expires - left / 16 - some;
    context_.set_alarm(alarm_, now + std::max<clock::duration>(left * 3 / 4 - some, first_retry));
}

void reauthentication::on_alarm()
{
    if (is_refused_ && clock::now() >= replace_at_)
        return listener_.replace(error::unavailable);
    query_.start(server_, [this](credential_query::result got) { authenticate(std::move(got)); });
}

void reauthentication::authenticate(credential_query::result got)
{
    if (got.words.empty() && got.found.password.empty())
        got.words =
            "config::credentials gave no password. Remedy: a password each time, if it expires";
    if (!got.words.empty()) {
        is_refused_ = false;  // a new connection would have no credentials either
        listener_.report(got.words + "; trying again, the connection stays logged in as before");
        return try_again();
    }
    offered_ = std::move(got.found);
    expires_ = got.expires;
    listener_.send_auth(offered_, [this](error_code ec, replies const& reply) {
        judge(ec, reply);
    });
}

void reauthentication::judge(error_code ec, replies const& got)
{
    if (ec)
        return;
    auto const& answer = got.front();
    auto const text = redacted(answer.text, context_.settings, offered_.password);
    wipe(offered_);
    if (answer.what == decide::reply::kind::text && answer.text == "OK")
        return plan(expires_);
    if (answer.what != decide::reply::kind::error)
        return listener_.replace(error::bad_reply);  // it is the answer to another command
    is_refused_ = true;
    listener_.report(
        "the server refuses AUTH with the new credentials: " + text +
        ". Remedy: a user and password that the server accepts, from config::credentials; trying "
        "again, and with a new connection before the old credentials expire"
    );
    try_again();
}

void reauthentication::try_again()
{
    auto const pause =
        decide::backoff_pause(first_retry, last_retry, 2, ++tries_, context_.jitter());
    auto at = clock::now() + pause;
    if (is_refused_)
        at = std::min(at, std::max(replace_at_, clock::now()));
    context_.set_alarm(alarm_, at);
}

}  // namespace colock
