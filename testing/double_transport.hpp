#pragma once

#include "double_server.hpp"
#include "redis/transport.hpp"
#include "service/core.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace colock::testing {

/// Hands the client's steps to the double in the same process. A step is written one turn of the
/// event loop after it was handed over, and answered one turn later, as over a connection.
class double_transport final : public transport {
public:
    double_transport(detail::core&, transport_listener&, std::shared_ptr<double_server>);
    ~double_transport() override;

    // ---- What the test says --------------------------------------------------------------------

    void disconnect(error_code why);
    void connect();

    /// What is asked from now on is not answered, until the connection goes.
    void fall_silent() noexcept { silent_ = true; }
    bool is_silent() const noexcept { return silent_; }

    /// The connection goes and comes back.
    void reconnect();

    /// The client asks whether what it holds in this slot still stands.
    void make_confirm(unsigned slot);

    /// Something that somebody waits for is not sent, or not answered.
    bool owes_answers() const noexcept;

    // ---- transport -----------------------------------------------------------------------------

    void start() override;
    void stop() override;
    void submit(step&) override;
    bool withdraw(step&) noexcept override;
    unsigned lane_of(unsigned) const noexcept override { return 0; }
    bool is_up(unsigned) const noexcept override { return is_up_; }
    void want_link(unsigned) override {}
    error_code down_reason(unsigned) const noexcept override;
    unsigned push_of(std::string_view) const noexcept override { return 0; }
    void change(unsigned push, subscription_change const&) override;
    void want_push(unsigned push) override;
    std::size_t links_up() const noexcept override;
    void abandon() noexcept override;

private:
    struct sent_step {
        step* what;
        time_point at;
    };

    /// Runs it on the strand in a later turn, if this is still there.
    template <class F>
    void later(F f);

    void open();
    void close(error_code why);
    void open_push();
    void flush();
    void answer_sent();
    void answer_change();
    std::int64_t publish(std::string const& channel, std::string payload);

    detail::core& core_;
    transport_listener& listener_;
    strand_type strand_;
    std::shared_ptr<double_server> server_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

    std::vector<step*> waiting_;
    std::vector<sent_step> sent_;
    bool flushing_ = false;

    std::uint64_t epoch_ = 0;
    error_code why_down_ = error::unavailable;
    bool started_ = false;
    bool is_up_ = false;
    bool reachable_ = true;
    bool silent_ = false;

    bool push_wanted_ = false;
    bool push_up_ = false;
    std::optional<subscription_change> changing_;
    std::set<std::string> subscribed_;
};

}  // namespace colock::testing
