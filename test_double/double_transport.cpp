#include "double_transport.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <utility>

namespace colock {
inline namespace v0_3 {
namespace testing {

namespace {

/// Steps of one turn go in this order, as a link sends them: an older renewal must not shorten what
/// an extension sets, and a release makes way for an acquire.
int rank_of(step const* s)
{
    auto const name = s->what.name;
    return name.ends_with("renew")  ? 0
        : name.ends_with("extend")  ? 1
        : name.ends_with("release") ? 2
                                    : 3;
}

/// What the client asks by itself, for what it holds or waits for.
bool is_background(step const& s)
{
    auto const name = s.what.name;
    return name.ends_with("renew") || name.ends_with("keep") || name == "permit_extend" ||
        name == "look";
}

}  // namespace

double_transport::double_transport(
    detail::core& inside, transport_listener& who, std::shared_ptr<double_server> server
)
    : in_process_transport{inside, who}
    , server_{std::move(server)}
{
    server_->tell(
        [this](simulation::audience, std::string_view channel, std::string_view payload) {
            return publish(std::string{channel}, std::string{payload});
        },
        [this](simulation::audience, std::string_view channel) {
            return std::int64_t{subscribed().contains(std::string{channel})};
        }
    );
}

double_transport::~double_transport()
{
    server_->tell({}, {});
    destroy_pending();
}

// ---- Steps -------------------------------------------------------------------------------------

void double_transport::write_waiting()
{
    if (!is_up_)
        return;
    std::ranges::stable_sort(waiting_, {}, &rank_of);
    for (auto* const s : std::exchange(waiting_, {})) {
        s->on = life_.write();
        sent_.push_back({s, clock::now()});
    }
    if (!silent_)
        later([this] { answer_sent(); });
}

// An answer resumes its waiting coroutine, which may hand over more steps and end the client.
void double_transport::answer_sent()
{
    auto const lives = alive();
    while (*lives && !silent_ && !sent_.empty()) {
        auto const [s, at] = sent_.front();
        sent_.erase(sent_.begin());
        auto got = server_->run(*s);
        got.sent = at;
        got.has = s->wants;  // its server has all copies that anybody asks for
        s->answered.set(std::move(got));
    }
}

bool double_transport::owes_answers() const noexcept
{
    return std::ranges::any_of(waiting_, [](step const* s) { return !is_background(*s); }) ||
        std::ranges::any_of(sent_, [](sent_step const& s) { return !is_background(*s.what); });
}

void double_transport::destroy_pending() noexcept
{
    drop_waiting();
    while (!sent_.empty()) {
        auto* const s = sent_.back().what;
        sent_.pop_back();
        s->answered.destroy_waiting();
    }
}

// ---- Connections -------------------------------------------------------------------------------

void double_transport::start()
{
    started_ = true;
    later([this] { open(); });
}

void double_transport::stop()
{
    started_ = false;
    later([this] { close(asio::error::operation_aborted); });
    refuse_waiting();
}

void double_transport::connect()
{
    reachable_ = true;
    later([this] { open(); });
}

void double_transport::disconnect()
{
    reachable_ = false;
    later([this] { close(asio::error::connection_reset); });
}

void double_transport::reconnect()
{
    later([this] {
        close(asio::error::eof);
        later([this] { open(); });
    });
}

void double_transport::open()
{
    if (!started_ || !reachable_ || is_up_)
        return;
    is_up_ = true;
    silent_ = false;
    life_.begin(static_cast<std::uint32_t>(++epoch_), true);
    listener_.on_link_up(0, epoch_);
    if (epoch_ > 1)
        listener_.on_reached([](unsigned) { return true; });
    open_wanted_pubsub();
    flush();
}

void double_transport::close(error_code why)
{
    if (!is_up_)
        return;
    auto const lives = alive();
    is_up_ = false;
    for (auto const& [s, at] : std::exchange(sent_, {}))
        if (*lives)
            s->answered.set({answer::kind::lost, {}, error::unavailable, at});
    if (!*lives)
        return;
    listener_.on_link_down(0, why);
    close_pubsub(why);
}

void double_transport::make_confirm(unsigned slot)
{
    later([this, slot] { listener_.on_reached([slot](unsigned s) { return s == slot; }); });
}

failure double_transport::down_reason(unsigned) const noexcept
{
    return is_up_ ? failure{} : failure{error::unavailable};
}

std::size_t double_transport::links_up() const noexcept
{
    return (is_up_ ? 1U : 0U) + (is_pubsub_up() ? 1U : 0U);
}

// ---- Subscriptions -----------------------------------------------------------------------------

void double_transport::want_pubsub(unsigned)
{
    pubsub_wanted_ = true;
    later([this] { open_wanted_pubsub(); });
}

void double_transport::open_wanted_pubsub()
{
    if (is_up_ && pubsub_wanted_)
        open_pubsub();
}

void double_transport::change_subscriptions(unsigned, subscription_change const& what)
{
    begin_change(what);
    later([this] { answer_change(); });
}

std::int64_t double_transport::publish(std::string const& channel, std::string payload)
{
    if (!subscribed().contains(channel))
        return 0;
    send_message(channel, std::move(payload));
    return 1;
}

}  // namespace testing
}  // namespace v0_3
}  // namespace colock
