#pragma once

#include "base/sequence.hpp"
#include "base/timer.hpp"
#include "decide/agenda.hpp"
#include "decide/backoff.hpp"
#include "decide/reply.hpp"
#include "redis/link_settings.hpp"
#include "redis/tls.hpp"

#include <boost/redis/connection.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

namespace colock {

/// What links share beside their connections.
struct link_context {
    strand_type strand;
    config const& settings;
    decide::agenda& agenda;
    std::function<void()> agenda_changed;  ///< the agenda has a new earliest entry
    std::function<double()> dice;
    std::weak_ptr<void> life;  ///< held while anything of the client is being run

    /// The execution context has destroyed its handlers: a cancellation would run into them.
    std::function<bool()> is_context_gone;

    std::shared_ptr<colock::tls> tls{};  ///< none: connections are not encrypted
    std::shared_ptr<std::set<std::string>> warned = std::make_shared<std::set<std::string>>();

    /// Loads what connections need; before the first one, and again only if it has failed.
    error_code prepare() const { return tls ? tls->load(settings.log) : error_code{}; }

    /// What each link of a client, and each of its connections, finds out anew is said once.
    void warn_once(std::string const& line) const
    {
        if (warned->insert(line).second)
            write_log(settings.log, log_level::warning, line);
    }
};

/// Keeps one Boost.Redis connection up: connects, sets it up, lets its owner probe it, and begins
/// again after a loss.
///
/// Boost.Redis's own reconnecting is off: it would send queued commands along with the set-up, and
/// the server would run them even where the set-up fails; and it sends a multi-command request
/// again in the middle, which shifts replies. So each connection object is used once, and nothing
/// is sent before the probe has been answered but the probe. Its health checks are off too: they
/// take an error for no answer, and a server that is busy, or can't write to its disk, answers PING
/// with one. It is there all the same.
class connection_loop : public std::enable_shared_from_this<connection_loop> {
public:
    using redis_connection = boost::redis::connection;
    using replies = std::vector<decide::reply>;
    using on_replies = std::function<void(error_code, replies const&)>;

    class owner {
    public:
        /// Fills in what is sent right after the set-up, again for each connection.
        virtual void write_probe(boost::redis::request&) = 0;

        /// Judges the probe's replies. An error: the connection is dropped and made again.
        virtual error_code judge_probe(replies const&) = 0;

        /// Prepares a connection before it runs.
        virtual void prepare(std::shared_ptr<redis_connection>) {}

        virtual void on_up() = 0;
        virtual void on_down(error_code) = 0;

        /// No connection came up. If `is_refusal(why)` there is no use in waiting.
        virtual void on_failed(error_code why) = 0;

    protected:
        ~owner() = default;
    };

    /// With Sentinels, `where` is one of them and stands for all.
    connection_loop(link_context const& context, owner& who, std::string name, address where);

    void start();

    /// Ends the loop; `on_down` follows if the link was up.
    void stop();

    /// Whoever has PINGs of his own needs no others between them.
    void without_health_check() noexcept { checks_health_ = false; }

    /// From the next connection on.
    void connect_to(address where) { where_ = std::move(where); }

    /// Drops the connection for one to another server. It has served, so there is no pause.
    void move_to(address where)
    {
        connect_to(std::move(where));
        backoff_.reset();
        restart(error::unavailable);
    }
    address const& where() const noexcept { return where_; }

    /// Drops the connection, for this reason; the loop makes a new one.
    void restart(error_code why);

    /// Sends a request, while up, and gives its replies, one a command, or an error when the
    /// connection goes first. Errors of the server are replies.
    void exec(std::shared_ptr<boost::redis::request> request, on_replies);

    /// The connection of this epoch, for who sends without `exec`. The server counts as silent but
    /// for what comes by way of `collect`.
    redis_connection& connection() noexcept { return *connection_; }
    boost::redis::any_adapter collect(std::shared_ptr<replies> into) const;
    std::shared_ptr<redis_connection> share_connection() const noexcept { return connection_; }

    bool is_up() const noexcept { return up_; }
    std::uint64_t epoch() const noexcept { return epoch_; }
    error_code down_reason() const noexcept { return down_reason_; }
    std::string const& name() const noexcept { return name_; }

    /// Forgets the owner: nothing is called any more.
    void detach() noexcept;

private:
    enum class news { nothing, probed, ended, paused };

    sequence keep_up(std::shared_ptr<connection_loop> self);
    void open();
    void begin(news what);
    milliseconds time_to_connect() const noexcept;
    std::shared_ptr<redis_connection> make_connection() const;
    std::string const& tls_host() const noexcept;
    void note_why_down();
    bool set_up_refused() const noexcept;
    void report_failure();
    boost::redis::config make_settings() const;
    boost::redis::request make_set_up() const;
    boost::redis::logger make_logger() const;
    milliseconds check_health();
    void tell(news what, std::uint64_t generation);
    void set_alarm(milliseconds after);

    /// Nothing once the owner is detached: the context may then be gone.
    std::shared_ptr<void> context_life() const noexcept;

    link_context const& context_;
    owner* owner_;
    std::string name_;
    address where_;

    std::shared_ptr<redis_connection> connection_;
    std::uint64_t generation_ = 0;  ///< of the connection: late news of an older one is ignored
    std::uint64_t epoch_ = 0;
    event<news> news_;
    decide::agenda::entry alarm_;
    decide::backoff backoff_;
    replies probed_;
    error_code probe_error_{};
    error_code run_error_{};
    error_code down_reason_;
    time_point up_since_{};
    std::shared_ptr<time_point> heard_ = std::make_shared<time_point>();  ///< of the server, last
    time_point pinged_{};
    unsigned looks_ = 0;  ///< for the answer to that PING
    error_code restart_reason_{};
    std::shared_ptr<std::string> last_log_;
    std::string reported_;  ///< the failure that the log has
    time_point reported_at_{};
    bool checks_health_ = true;
    bool wanted_ = false;
    bool looping_ = false;
    bool up_ = false;
    bool running_ = false;
};

/// An adapter that collects replies as values, and notes when the last came, if that is wanted.
boost::redis::any_adapter collect_replies(
    std::shared_ptr<std::vector<decide::reply>> into, std::shared_ptr<time_point> heard = nullptr
);

}  // namespace colock
