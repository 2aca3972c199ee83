#pragma once

#include "double_server.hpp"
#include "in_process_transport.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace colock {
inline namespace v0_3 {
namespace testing {

/// Hands the client's steps to the double in the same process. A step is written one turn of the
/// event loop after it was handed over, and answered one turn later, as over a connection.
class double_transport final : public in_process_transport {
public:
    double_transport(detail::core&, transport_listener&, std::shared_ptr<double_server>);
    ~double_transport() override;

    // ---- What the test says --------------------------------------------------------------------

    void disconnect();
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
    unsigned lane_of(unsigned) const noexcept override { return 0; }
    bool is_up(unsigned) const noexcept override { return is_up_; }
    failure down_reason(unsigned) const noexcept override;
    void change_subscriptions(unsigned pubsub, subscription_change const&) override;
    void want_pubsub(unsigned pubsub) override;
    std::size_t links_up() const noexcept override;
    void destroy_pending() noexcept override;

private:
    struct sent_step {
        step* what;
        time_point at;
    };

    void open();
    void close(error_code why);
    void open_wanted_pubsub();
    void write_waiting() override;
    void answer_sent();
    std::int64_t publish(std::string const& channel, std::string payload);

    std::shared_ptr<double_server> server_;
    std::vector<sent_step> sent_;

    std::uint64_t epoch_ = 0;
    decide::connection_life life_{.link = 1};
    bool started_ = false;
    bool is_up_ = false;
    bool reachable_ = true;
    bool silent_ = false;

    bool pubsub_wanted_ = false;
};

}  // namespace testing
}  // namespace v0_3
}  // namespace colock
