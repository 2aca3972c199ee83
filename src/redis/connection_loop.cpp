#include "redis/connection_loop.hpp"
#include "redis/permissions.hpp"

#include <boost/redis/error.hpp>

#include <charconv>
#include <utility>

namespace colock {

namespace redis = boost::redis;

namespace {

constexpr milliseconds steady_after{1'000};

/// A short one, for a failover is over when a connection to the new primary is up.
constexpr milliseconds longest_pause{250};
constexpr milliseconds between_reports{10'000};

/// AUTH as part of HELLO; with the name, if there is one.
void push_hello(
    redis::request& to,
    std::string const& username,
    std::string const& password,
    std::string const& client_name
)
{
    std::vector<std::string_view> words{"3"};
    if (!username.empty() || !password.empty())
        words.insert(
            words.end(),
            {"AUTH", username.empty() ? std::string_view{"default"} : username, password}
        );
    if (!client_name.empty())
        words.insert(words.end(), {"SETNAME", client_name});
    to.push_range("HELLO", words);
}

/// Builds a tree from nodes in the order of the wire. A reply that a lost connection cuts in half
/// is never given to anybody: its request ends with an error.
class reply_builder {
public:
    reply_builder(
        std::shared_ptr<std::vector<decide::reply>> into, std::shared_ptr<time_point> heard
    )
        : into_{std::move(into)}
        , heard_{std::move(heard)}
    {}

    void
    operator()(redis::any_adapter::parse_event what, redis::resp3::node_view const& node, boost::system::error_code&)
    {
        if (what == redis::any_adapter::parse_event::done && heard_)
            *heard_ = clock::now();
        if (what != redis::any_adapter::parse_event::node)
            return;
        auto& siblings = node.depth == 0 ? *into_ : path_[node.depth - 1]->items;
        siblings.push_back(value_of(node));
        path_.resize(node.depth);
        path_.push_back(&siblings.back());
    }

private:
    static decide::reply value_of(redis::resp3::node_view const& node)
    {
        using type = redis::resp3::type;
        switch (node.data_type) {
        case type::number: {
            std::int64_t n = 0;
            auto const end = node.value.data() + node.value.size();
            auto const [at, ec] = std::from_chars(node.value.data(), end, n);
            // What is no number, or too great, is none that a reader takes.
            return ec == std::errc{} && at == end ? decide::reply::of(n)
                                                  : decide::reply::of(node.value);
        }
        case type::null: return {};
        case type::simple_error:
        case type::blob_error: return decide::reply::error(node.value);
        default:
            if (redis::resp3::is_aggregate(node.data_type))
                return decide::reply::of(std::vector<decide::reply>{});
            return decide::reply::of(node.value);
        }
    }

    std::shared_ptr<std::vector<decide::reply>> into_;
    std::shared_ptr<time_point> heard_;
    std::vector<decide::reply*> path_;
};

}  // namespace

redis::any_adapter collect_replies(
    std::shared_ptr<std::vector<decide::reply>> into, std::shared_ptr<time_point> heard
)
{
    return redis::any_adapter{
        redis::any_adapter::impl_t{reply_builder{std::move(into), std::move(heard)}}};
}

connection_loop::connection_loop(
    link_context const& context, owner& who, std::string name, address where
)
    : context_{context}
    , owner_{&who}
    , name_{std::move(name)}
    , where_{std::move(where)}
    , alarm_{[this] { tell(news::paused, generation_); }}
    , backoff_{milliseconds{50}, longest_pause}
    , down_reason_{error::unavailable}
    , last_log_{std::make_shared<std::string>()}
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
    alarm_.clear();  // it would keep the context busy
    if (connection_ && running_)
        connection_->cancel();
    else
        tell(news::paused, generation_);
}

void connection_loop::restart(error_code why)
{
    if (!running_)
        return;
    restart_reason_ = why;
    connection_->cancel();
}

void connection_loop::detach() noexcept
{
    owner_ = nullptr;
    wanted_ = false;
    alarm_.clear();
    if (connection_ && !context_.is_context_gone())
        connection_->cancel();
    news_.drop();
}

sequence connection_loop::keep_up([[maybe_unused]] std::shared_ptr<connection_loop> self)
{
    looping_ = true;
    while (wanted_) {
        news_.reset();
        open();
        set_alarm(time_to_connect());  // for all until the probe's answer
        news const what = co_await news_;
        alarm_.clear();
        begin(what);
        while (running_) {
            if (up_ && wanted_ && checks_health_)
                set_alarm(check_health());
            co_await news_;
        }
        alarm_.clear();

        connection_->cancel();  // what was queued and not written goes with it
        note_why_down();
        // One that drops as soon as it is up is not made again without a pause.
        if (up_ && clock::now() - up_since_ >= steady_after)
            backoff_.reset();
        if (std::exchange(up_, false))
            owner_->on_down(down_reason_);
        else {
            if (wanted_)
                report_failure();
            owner_->on_failed(down_reason_);
        }
        if (!wanted_)
            break;
        set_alarm(backoff_.next(context_.dice()));
        co_await news_;
        alarm_.clear();
    }
    looping_ = false;
    if (!wanted_)
        down_reason_ = error::unavailable;
    connection_.reset();  // until it is wanted again
}

/// With the first that is heard of a connection.
void connection_loop::begin(news what)
{
    if (what == news::probed && !probe_error_)
        probe_error_ = owner_->judge_probe(probed_);
    if (what == news::probed && !probe_error_ && wanted_) {
        up_ = true;
        ++epoch_;
        down_reason_ = {};
        reported_.clear();
        up_since_ = *heard_ = clock::now();
        owner_->on_up();
    } else if (what == news::paused)
        restart(asio::error::timed_out);
    else if (what == news::probed && probe_error_ != asio::error::operation_aborted)
        restart(probe_error_);
}

void connection_loop::note_why_down()
{
    down_reason_ = restart_reason_ ? restart_reason_ : run_error_;
    if (set_up_refused())
        down_reason_ = is_refusal(probe_error_) ? probe_error_ : error::server_refused;
    if (up_)
        return;
    if (auto const words = last_log_->find("NOPERM"); words != last_log_->npos)
        last_log_->append(permission_remedy(last_log_->substr(words), context_.settings));
    // Of a set-up that went with its connection the line says only that it was cancelled.
    if (last_log_->empty() ||
        (last_log_->starts_with("Setup") && run_error_ != redis::error::resp3_hello))
        *last_log_ = down_reason_.message();
    auto why = context_.tls ? context_.tls->refusal(run_error_, *last_log_, tls_host()) : "";
    if (!why.empty()) {
        *last_log_ = std::move(why);
        down_reason_ = error::tls_refused;
    } else if (where_.unix_socket.empty())
        last_log_->append(tls_hint(run_error_, context_.tls != nullptr));
}

// The same again is no news until a while has passed.
void connection_loop::report_failure()
{
    bool const by_sentinel = context_.settings.topology == topology::sentinel;
    auto line = name_ + ": no connection to " +
        (by_sentinel ? "the primary of " + context_.settings.master_name : describe(where_)) +
        ": " + *last_log_ + "; trying again";
    auto const now = clock::now();
    if (line == reported_ && now - reported_at_ < between_reports)
        return;
    write_log(context_.settings.log, log_level::warning, line);
    reported_ = std::move(line);
    reported_at_ = now;
}

// With Sentinels, any of which may be down, there are as many connections as it takes to ask them.
milliseconds connection_loop::time_to_connect() const noexcept
{
    auto const& from = context_.settings;
    auto const sentinels = from.topology == topology::sentinel ? from.addresses.size() : 0;
    return connect_limit(from) * static_cast<milliseconds::rep>(1 + sentinels);
}

bool connection_loop::set_up_refused() const noexcept
{
    if (run_error_ == redis::error::sentinel_resolve_failed) {
        // Those that were reached don't know the primary, or don't let us ask.
        return last_log_->find("establishment error") == std::string::npos &&
            last_log_->find("error while executing") == std::string::npos;
    }
    if (run_error_ != redis::error::resp3_hello)
        return is_refusal(probe_error_);
    // In Boost.Redis's line the server's words come last, and begin with their code.
    auto const words = last_log_->rfind(": ");
    return words == std::string::npos ||
        decide::classify(std::string_view{*last_log_}.substr(words + 2)) != decide::fault::not_now;
}

void connection_loop::open()
{
    auto const generation = ++generation_;
    last_log_->clear();
    probe_error_ = run_error_ = restart_reason_ = {};
    connection_ = make_connection();
    owner_->prepare(connection_);

    // The handlers keep the connection and this loop: destroying a connection that runs is not
    // allowed.
    running_ = true;
    connection_->async_run(
        make_settings(),
        [self = shared_from_this(), generation, running = connection_](error_code ec) {
            auto const life = self->context_life();
            if (generation != self->generation_ || !life)
                return;
            self->running_ = false;
            self->run_error_ = ec;
            self->tell(news::ended, generation);
        }
    );

    auto probe = std::make_shared<redis::request>();
    owner_->write_probe(*probe);
    auto answers = std::make_shared<replies>();
    auto& sending = *probe;
    connection_->async_exec(
        sending,
        collect_replies(answers),
        [self = shared_from_this(),
         generation,
         probe = std::move(probe),
         answers,
         running = connection_](error_code ec, std::size_t) {
            auto const life = self->context_life();
            if (generation != self->generation_ || !self->running_ || !life)
                return;
            self->probe_error_ = ec;
            self->probed_ = std::move(*answers);
            self->tell(news::probed, generation);
        }
    );
}

void connection_loop::exec(std::shared_ptr<redis::request> request, on_replies done)
{
    auto answers = std::make_shared<replies>();
    answers->reserve(request->get_expected_responses());
    auto& sending = *request;
    connection_->async_exec(
        sending,
        collect(answers),
        [self = shared_from_this(),
         request = std::move(request),
         answers,
         done = std::move(done),
         generation = generation_,
         running = connection_](error_code ec, std::size_t) {
            auto const life = self->context_life();
            if (!life)
                return;
            bool const is_over = generation != self->generation_ || !self->running_;
            done(is_over ? asio::error::operation_aborted : ec, *answers);
        }
    );
}

redis::any_adapter connection_loop::collect(std::shared_ptr<replies> into) const
{
    return collect_replies(std::move(into), heard_);
}

// When to look again. A PING is looked for twice: after a pause of the process or of its event loop
// the first look may come before the answer is read that lies there.
milliseconds connection_loop::check_health()
{
    auto const limit = silence_limit(context_.settings);
    auto const now = clock::now();
    if (pinged_ > *heard_) {
        if (++looks_ == 2)
            restart(asio::error::timed_out);
    } else if (now - *heard_ < limit) {
        return std::chrono::ceil<milliseconds>(*heard_ + limit - now);
    } else {
        pinged_ = now;
        looks_ = 0;
        auto ping = std::make_shared<redis::request>();
        ping->push("PING");
        exec(std::move(ping), [](error_code, replies const&) {});
    }
    return std::chrono::ceil<milliseconds>(limit / 2.);
}

std::shared_ptr<connection_loop::redis_connection> connection_loop::make_connection() const
{
    asio::any_io_executor const executor{context_.strand};
    if (!context_.tls)
        return std::make_shared<redis_connection>(executor, make_logger());
    return std::make_shared<redis_connection>(
        executor, context_.tls->context_for(tls_host()), make_logger()
    );
}

// Sentinels name servers by address, so all of them have to go by the one name of the config.
std::string const& connection_loop::tls_host() const noexcept
{
    static std::string const unknown;
    return context_.settings.topology == topology::sentinel ? unknown : where_.host;
}

redis::config connection_loop::make_settings() const
{
    auto const& from = context_.settings;
    redis::config c;
    if (from.topology == topology::sentinel) {
        for (auto const& each : from.addresses)
            c.sentinel.addresses.push_back({each.host, std::to_string(each.port)});
        c.sentinel.master_name = from.master_name;
        c.sentinel.setup.clear();
        push_hello(c.sentinel.setup, from.sentinel_username, from.sentinel_password, {});
        c.sentinel.resolve_timeout = c.sentinel.connect_timeout = c.sentinel.request_timeout =
            c.sentinel.ssl_handshake_timeout = std::min(connect_limit(from), milliseconds{500});
    } else if (where_.unix_socket.empty())
        c.addr = {where_.host, std::to_string(where_.port)};
    else
        c.unix_socket = where_.unix_socket;
    c.reconnect_wait_interval = clock::duration::zero();
    c.resolve_timeout = c.connect_timeout = connect_limit(from);
    // Sooner than the limit of all, so that it is seen what was waited for.
    c.ssl_handshake_timeout = connect_limit(from) * 9 / 10;
    c.use_ssl = c.sentinel.use_ssl = context_.tls != nullptr;
    c.health_check_interval = milliseconds{0};
    c.log_prefix.clear();
    c.use_setup = true;
    c.setup = make_set_up();
    return c;
}

// Nothing here that may be refused to a valid user, for one refusal makes the link useless.
redis::request connection_loop::make_set_up() const
{
    auto const& from = context_.settings;
    redis::request set_up;
    push_hello(set_up, from.username, from.password, from.client_name);
    if (from.database != 0)
        set_up.push("SELECT", from.database);
    return set_up;
}

// The server's own words on a refused set-up are in Boost.Redis's log and nowhere else.
redis::logger connection_loop::make_logger() const
{
    return {
        redis::logger::level::err,
        [last = last_log_](redis::logger::level, std::string_view line) { last->assign(line); }};
}

std::shared_ptr<void> connection_loop::context_life() const noexcept
{
    return owner_ ? context_.life.lock() : nullptr;
}

void connection_loop::tell(news what, std::uint64_t generation)
{
    if (generation == generation_ && owner_)
        news_.set(what);
}

void connection_loop::set_alarm(milliseconds after)
{
    if (context_.agenda.set(alarm_, clock::now() + after))
        context_.agenda_changed();
}

}  // namespace colock
