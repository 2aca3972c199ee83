#include "decide/backoff.hpp"
#include "redis/connection_loop.hpp"
#include "redis/link_settings.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace colock {

namespace {

constexpr milliseconds steady_after{1'000};
constexpr milliseconds first_pause{50};

/// Name servers that take longer are not waited for if there is an endpoint that has served. Each
/// try that fails waits twice as long, so a name that leads elsewhere by now is followed.
constexpr milliseconds first_lookup_patience{250};

/// A failover is over when a connection to the new primary is up, so the pauses are short at first
/// and grow with the outage.
constexpr milliseconds shortest_longest_pause{250};
constexpr milliseconds longest_pause{1'000};

/// A server that refuses the user may count the attempts, and lock the user out.
constexpr milliseconds first_pause_refused{250};
constexpr milliseconds longest_pause_refused{10'000};

/// The issuer of credentials may count as well, but the holds wait for the connection.
constexpr milliseconds longest_pause_denied{2'000};

/// A line about this ends the faults of its server.
constexpr std::string_view is_up_again = "up";

/// Why a connection to a replica is given up.
class refused_writes_category final : public boost::system::error_category {
public:
    char const* name() const noexcept override { return "colock.link"; }
    std::string message(int) const override { return "the server is a replica and refuses writes"; }
};

boost::system::error_category const& refused_writes() noexcept
{
    static refused_writes_category const instance;
    return instance;
}

/// The error of calls without a connection. The words of Asio, the system and OpenSSL are its text.
error_code for_calls(error_code end_reason) noexcept
{
    return end_reason.category() == error_category() ? end_reason : error::unavailable;
}

}  // namespace

bool is_refused_write(error_code why) noexcept { return why.category() == refused_writes(); }

connection_loop::connection_loop(
    link_context const& context, listener& who, description here, resp::push_handler* pushes
)
    : context_{context}
    , listener_{&who}
    , name_{std::move(here.name)}
    , where_{std::move(here.where)}
    , wanted_role_{here.wanted}
    , first_replies_{here.first_replies}
    , least_{here.least}
    , pushes_{pushes}
    , query_{context, credential_query::purpose::servers}
    , reauthentication_{context, static_cast<reauthentication::listener&>(*this)}
    , alarm_{[this] { on_alarm(); }}
    , down_reason_{error::unavailable}
{}

void connection_loop::start()
{
    wanted_ = true;
    if (!looping_)
        keep_up(shared_from_this());
}

void connection_loop::stop()
{
    wanted_ = false;
    alarm_.clear();  // an alarm would keep the context busy
    if (sentinels_)
        sentinels_->cancel();
    query_.cancel();
    if (connected_)
        connection_->close(error::closed);
    else
        news_.set(news::nothing);
}

void connection_loop::restart(error_code why, std::string words)
{
    if (!connected_)
        return;
    words_ = std::move(words);
    connection_->close(why);
}

bool connection_loop::restart_if_logged_out(std::string_view refusal)
{
    bool const is_logged_out = context_.settings.credentials && refusal.starts_with("NOAUTH");
    if (is_logged_out)
        restart(error::unavailable, "the login has ended (NOAUTH)");
    return is_logged_out;
}

void connection_loop::leave_replica()
{
    if (is_replica_ && context_.settings.topology == topology::single)
        context_.warn_once(
            name_ + ": " + describe(where_) +
            " is a replica and refuses writes (READONLY). Remedy: the address of the primary, or "
            "redis+sentinel://"
        );
    if (is_replica_ && clock::now() - up_since_ < steady_after)
        return;
    restart({1, refused_writes()});
}

bool connection_loop::renew()
{
    bool const has_lasted = up_ && clock::now() - up_since_ >= steady_after;
    if (has_lasted)
        restart(error::unavailable, describe(opened_) + " leads to another server by now");
    return has_lasted;
}

void connection_loop::connect_to(address where) { where_ = std::move(where); }

void connection_loop::detach() noexcept
{
    listener_ = nullptr;
    wanted_ = connected_ = false;
    alarm_.clear();
    sentinels_.reset();
    query_.cancel();
    reauthentication_.end();
    if (connection_)
        connection_->detach();
    asked_.clear();
    news_.destroy_waiting();
}

// ---- The loop -----------------------------------------------------------------------------------

strand_task connection_loop::keep_up([[maybe_unused]] std::shared_ptr<connection_loop> self)
{
    looping_ = true;
    down_since_ = clock::now();
    while (wanted_) {
        forget_attempt();
        if (is_by_sentinel()) {
            find_primary();
            co_await news_;
        }
        if (wanted_ && !end_reason_) {
            get_credentials();
            co_await news_;
        }
        if (wanted_ && !end_reason_)
            open();
        while (connected_) {
            auto const what = co_await news_;
            if (what == news::opened)
                send_set_up();
            else if (what == news::answered)
                begin();
        }
        finish();
        if (!wanted_)
            break;
        context_.set_alarm(alarm_, clock::now() + next_pause());
        co_await news_;
        alarm_.clear();
    }
    looping_ = false;
    connection_.reset();
    if (listener_)
        down_reason_ = error::unavailable;
}

void connection_loop::forget_attempt()
{
    news_.reset();
    end_reason_ = {};
    words_.clear();
    has_credentials_ = true;
    is_replica_ = false;
    is_primary_known_ = context_.settings.topology == topology::replicated;
    connection_.reset();
}

void connection_loop::on_alarm()
{
    if (connected_)
        restart(asio::error::timed_out);
    else
        news_.set(news::nothing);
}

bool connection_loop::is_by_sentinel() const noexcept
{
    return context_.settings.topology == topology::sentinel;
}

void connection_loop::find_primary()
{
    if (!sentinels_)
        sentinels_ =
            std::make_unique<sentinel_query>(context_, [this](sentinel_query::result const& found) {
                on_primary_found(found);
                news_.set(news::found);
            });
    sentinels_->start();
}

// Sentinels that are all down say nothing against the primary that they have named before. The
// set-up refuses it if it is a replica by now.
void connection_loop::on_primary_found(sentinel_query::result const& found)
{
    auto& last = context_.known->primary;
    is_primary_known_ = found.is_agreed;
    context_.known->replicas.note({}, found.replicas);
    if (found.primary) {
        if (found.is_by_most)
            last = found.primary;
        return connect_to(*found.primary);
    }
    if (last && !found.is_answered) {
        say(log_level::warning,
            "no Sentinel answers",
            found.words,
            "no Sentinel answers: " + found.words + "; trying the last primary, " + describe(*last)
        );
        return connect_to(*last);
    }
    end_reason_ = found.ec;
    words_ = found.words;
}

// How many servers are tried before a pause.
std::uint32_t connection_loop::servers_in_turn() const noexcept
{
    bool const is_list = context_.settings.topology == topology::replicated;
    return is_list ? static_cast<std::uint32_t>(context_.settings.addresses.size()) : 1;
}

// A server of a list that refuses, or is a replica, says nothing of the others: only the last one
// decides what is told. A provider of credentials that fails is the same for all.
bool connection_loop::ends_round() noexcept
{
    if (!has_credentials_)
        failed_ = 0;
    else
        ++failed_;
    return failed_ % servers_in_turn() == 0;
}

// Of a primary and its replicas, any may be the primary now, and a name may lead to any.
void connection_loop::try_next_server()
{
    auto const& all = context_.settings.addresses;
    if (context_.settings.topology != topology::replicated)
        return;
    auto const here = std::ranges::find(all, where_);
    bool const is_last = here == all.end() || std::next(here) == all.end();
    connect_to(is_last ? all.front() : *std::next(here));
}

void connection_loop::open()
{
    connection_ = std::make_shared<connection>(
        context_, static_cast<connection::listener&>(*this), pushes_, first_replies_
    );
    connected_ = true;
    opened_ = where_;
    auto const patience = first_lookup_patience * (1U << std::min(failed_, 5U));
    connection_->open(where_, context_.known->endpoints.of(opened_), patience);
}

void connection_loop::on_open() { news_.set(news::opened); }

void connection_loop::on_closed(error_code why)
{
    connected_ = false;
    if (!end_reason_)
        end_reason_ = {why.value(), why.category()};  // without the place in Asio's source
    news_.set(news::ended);
}

/// In the server's words, if it has said some.
std::string connection_loop::why_not_ready(replies const& answers) const
{
    std::string words = "the server is not ready to serve";
    for (auto const& each : answers)
        if (each.what == decide::reply::kind::error &&
            decide::classify(each.text) == decide::fault::not_now)
            return words + ": " + redacted(each.text, context_.settings);
    return words;
}

void connection_loop::begin()
{
    auto const first = set_up_of_servers(context_.settings, credentials_, wanted_role_);
    auto refused = judge_set_up(answered_);
    if (!refused) {
        auto const begins = answered_.begin() + static_cast<std::ptrdiff_t>(first.replies());
        refused = listener_->judge_probe({begins, answered_.end()});
    }
    auto const answers = std::exchange(answered_, {});
    if (refused) {
        end_reason_ = refused;
        if (words_.empty() && refused == error::unavailable)
            words_ = why_not_ready(answers);
        return restart(refused, std::move(words_));
    }
    alarm_.clear();
    wipe(credentials_);
    reauthentication_.begin(where_, expires_);
    pipeline().set_limits(larger(reply_limits(context_.settings), least_));
    context_.known->endpoints.of(opened_).served(*connection_->peer());
    up_ = true;
    failed_ = 0;
    ++epoch_;
    down_reason_ = {};
    up_since_ = clock::now();
    say(log_level::info, is_up_again, {}, "up, connection " + std::to_string(epoch_));
    listener_->on_up();
}

/// The connection has ended, or none came up.
void connection_loop::finish()
{
    alarm_.clear();
    reauthentication_.end();
    wipe(credentials_);
    bool const is_moved = std::exchange(is_moved_, false);
    if (!listener_)
        return;
    note_endpoint();
    auto const now = clock::now();
    // If a connection drops as soon as it is up, the client reconnects only after a pause, which
    // grows as if it had not been up.
    if (up_ && now - up_since_ >= steady_after) {
        tries_ = 0;
        down_since_ = now;
    }
    bool const is_stopped = !wanted_ || end_reason_ == error::closed;
    down_reason_ = is_stopped ? error::unavailable : for_calls(end_reason_);
    if (std::exchange(up_, false)) {
        report_end(is_stopped);
        return listener_->on_down(is_stopped ? error::unavailable : end_reason_);
    }
    if (is_moved && !is_stopped) {
        failed_ = 0;
        return;
    }
    if (!is_stopped) {
        explain_failure();
        add_words();
        if (ends_round())
            report_failure();
        else
            down_reason_ = down_reason_.as(error::unavailable);
        try_next_server();
    }
    listener_->on_failed(down_reason_);
}

// An endpoint that accepts connections, and is silent, a replica or not ready, comes last at the
// next try: the name may lead to others.
void connection_loop::note_endpoint()
{
    bool const is_to_blame =
        !up_ || end_reason_ == asio::error::timed_out || is_refused_write(end_reason_);
    if (is_to_blame && connection_ && connection_->peer() && end_reason_ != error::closed)
        context_.known->endpoints.of(opened_).failed(*connection_->peer());
}

milliseconds connection_loop::next_pause()
{
    if (failed_ % servers_in_turn() != 0)
        return milliseconds{0};  // the next server of the list
    ++tries_;
    auto const jitter = context_.jitter();
    if (!has_credentials_)
        return decide::backoff_pause(first_pause_refused, longest_pause_denied, 2, tries_, jitter);
    if (is_refusal(down_reason_))
        return decide::backoff_pause(first_pause_refused, longest_pause_refused, 2, tries_, jitter);
    if (tries_ == 1)
        return milliseconds{0};
    auto const outage = std::chrono::duration_cast<milliseconds>(clock::now() - down_since_);
    auto const longest = std::clamp(outage / 20, shortest_longest_pause, longest_pause);
    return decide::backoff_pause(first_pause, longest, 2, tries_ - 1, jitter);
}

void connection_loop::expect(std::size_t commands, exchange::on_replies done)
{
    auto const at = asked_.emplace(asked_.end(), commands, nullptr);
    at->when_over([this, at, done = std::move(done)](error_code ec, replies const& got) {
        auto const tell = done;
        asked_.erase(at);
        tell(ec, got);
    });
    pipeline().expect(&*at, clock::now());
}

void connection_loop::expect_surely(std::size_t commands, exchange::on_replies done)
{
    pipeline().write_ping();
    expect(commands + 1, [done = std::move(done)](error_code ec, replies const& got) {
        auto wanted = got;
        if (!ec)
            wanted.pop_back();
        done(ec, wanted);
    });
}

// ---- What is said of a failure -----------------------------------------------------------------

void connection_loop::explain_failure()
{
    if (!words_.empty())
        return;
    words_ = end_reason_.message();
    auto* const line = connection_ ? &connection_->pipeline() : nullptr;
    if (end_reason_ == error::bad_reply && line && line->complaint())
        words_ = std::string{"the server's answer is not RESP: "} + line->complaint();
    else if (line && line->lacks_push())
        words_ =
            "SUBSCRIBE is not confirmed by a push of RESP3. Remedy: a server, and a proxy, that "
            "speaks RESP3 to subscribers too";
    else if (line && line->is_out_of_step())
        words_ =
            "a reply is missing, came twice, or is that to another command, so none of them is "
            "believed. Remedy: a server, and a proxy, that answers each command once and in order, "
            "also a PING with a text";
    auto const& tls = context_.tls;
    auto why =
        tls && connection_ ? tls->refusal(end_reason_, connection_->tls_complaint(), opened_) : "";
    if (!why.empty()) {
        words_ = std::move(why);
        down_reason_ = error::tls_refused;
    } else if (where_.unix_socket.empty() && connection_) {
        bool const in_handshake = connection_->how_far() == connection::stage::tls;
        words_.append(tls_hint(end_reason_, tls != nullptr, in_handshake));
    }
}

// A call whose wait is over gets them with its error.
void connection_loop::add_words()
{
    if (down_reason_ == error::server_refused)
        down_reason_ = detail::refusal(words_, false, what_is_tried());
    else
        down_reason_ = {down_reason_, "no connection to " + what_is_tried() + ": " + words_};
}

// A connection that was up.
void connection_loop::report_end(bool is_stopped)
{
    if (is_stopped)
        return write_log(context_.settings.log, log_level::debug, name_ + ": closed");
    if (end_reason_ == error::bad_reply)
        explain_failure();
    else if (words_.empty())
        words_ = end_reason_.message();
    down_reason_ = {down_reason_, "the connection to " + what_is_tried() + " was lost: " + words_};
    say(log_level::warning, "lost", words_, "lost: " + words_ + "; connecting again");
}

void connection_loop::report_failure()
{
    auto const what = "no connection to " + what_is_tried();
    say(log_level::warning, what, words_, what + ": " + words_ + "; trying again");
}

// With Sentinels, the address that they have named: it may be one of another network.
std::string connection_loop::what_is_tried() const
{
    if (!is_by_sentinel())
        return describe(where_);
    auto const at = connection_ ? " at " + describe(where_) : std::string{};
    return "the primary of " + context_.settings.master_name + at;
}

// The links to a server have its faults together.
void connection_loop::say(
    log_level level, std::string_view about, std::string const& cause, std::string const& line
)
{
    // A server that refuses commands over a connection is not away.
    bool const is_of_connection = !up_ || about == is_up_again;
    if (context_.log.takes(level))
        context_.log.write(
            level,
            {.about = describe(where_) + ' ' + std::string{about},
             .cause = cause,
             .server = is_of_connection ? describe(where_) : std::string{},
             .is_up = about == is_up_again},
            name_ + ": " + line
        );
}

}  // namespace colock
