#pragma once

#include "base/strand_task.hpp"
#include "decide/alarm_queue.hpp"
#include "redis/connection.hpp"
#include "redis/credential_query.hpp"
#include "redis/exchange.hpp"
#include "redis/link_context.hpp"
#include "redis/link_settings.hpp"
#include "redis/reauthentication.hpp"
#include "redis/sentinel_query.hpp"
#include "redis/set_up.hpp"

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace colock {

using detail::failure;

/// The reason of a connection that was given up because a replica has refused to write.
bool is_refused_write(error_code) noexcept;

/// Keeps one connection to a server up: finds the server, gets the credentials, connects, sets the
/// connection up, lets its listener ask its first questions, and begins again after a loss. While
/// the connection is up, it stays logged in.
///
/// It sends only the set-up and the listener's questions until both have been answered, because a
/// server also runs commands behind a refused set-up.
class connection_loop final :
    public std::enable_shared_from_this<connection_loop>,
    private connection::listener,
    private reauthentication::listener {
public:
    class listener {
    public:
        /// Writes the questions that follow the set-up, for each connection. Only questions without
        /// effects. A PING with a number comes behind them.
        virtual void write_probe(resp::writer&) = 0;

        /// Judges the probe's replies. On an error the loop drops the connection and reconnects.
        virtual error_code judge_probe(replies const&) = 0;

        virtual void on_up() = 0;
        virtual void on_down(error_code why) = 0;

        /// No connection came up. If `is_refusal(why)`, waiting does not help.
        virtual void on_failed(failure why) = 0;

    protected:
        ~listener() = default;
    };

    struct description {
        std::string name;  ///< of the link, for logs
        address where;     ///< with Sentinels it is not used
        set_up::role wanted = set_up::role::any;
        resp::limits first_replies = set_up_limits();  ///< to the set-up and the probe
        resp::limits least{0, 0, 0, 0};                ///< later replies may be as large as this
    };

    connection_loop(
        link_context const& context,
        listener& who,
        description here,
        resp::push_handler* pushes = nullptr
    );
    ~connection_loop() { detach(); }

    void start();

    /// Ends the loop; `on_down` follows if the link was up.
    void stop();

    /// From the next connection on.
    void connect_to(address where);

    /// Drops the connection to connect to another server. If it has lasted, there is no pause.
    void move_to(address where)
    {
        connect_to(std::move(where));
        is_moved_ = connected_ && !up_;
        restart(error::unavailable, "the primary is " + describe(where_) + " now");
    }
    address const& where() const noexcept { return where_; }

    /// That address is of the primary, as far as anybody can know: the server says so, or most of
    /// the Sentinels do.
    bool is_primary_known() const noexcept { return is_primary_known_; }

    /// Drops the connection, for this reason; the loop makes a new one. `words`: for the log.
    void restart(error_code why, std::string words = {});

    /// The same if the server refuses with these words because the login has expired, and a
    /// provider has others. True if so.
    bool restart_if_logged_out(std::string_view refusal);

    /// Drops a connection that has lasted, to look where its address leads by now. True if so.
    bool renew();

    /// Logs a line about its server, whose pace it shares with lines that begin so.
    void say(log_level, std::string_view about, std::string const& cause, std::string const& line);

    /// The server has refused to write. It may no longer be a primary, or its name may lead to
    /// another server by now. As `restart`, but if it was a replica from the start, not before a
    /// second has passed.
    void leave_replica();

    /// While up: the pipeline for commands, each followed by `expect`. `flush` sends them.
    resp::pipeline& pipeline() noexcept { return connection_->pipeline(); }
    void flush() { connection_->flush(); }

    /// A `flush` now sends: the connection does not end yet.
    bool can_send() const noexcept { return connection_ && connection_->can_send(); }

    /// While up: sends the commands that `write` writes, and returns their replies, one per
    /// command, or an error if the connection is lost first. Errors of the server are replies. A
    /// PING with a number behind them tells that they are the replies to these commands.
    template <class Write>
    void ask(Write const& write, exchange::on_replies done)
    {
        auto& out = pipeline().out();
        auto const before = out.commands();
        write(out);
        expect_surely(out.commands() - before, std::move(done));
        flush();
    }

    bool is_up() const noexcept { return up_; }
    std::uint64_t epoch() const noexcept { return epoch_; }
    failure down_reason() const noexcept { return down_reason_; }

    /// The server, for people.
    std::string what_is_tried() const;

    /// Says why the answers to a probe are refused, to the log and to those that wait.
    void explain(std::string words) { words_ = std::move(words); }

    /// While up: the server was a replica when it accepted us.
    bool is_replica() const noexcept { return is_replica_; }

    /// The server of the connection, also of one that has just ended; none on a unix socket.
    auto peer() const { return connection_ ? connection_->peer() : std::nullopt; }
    std::string const& name() const noexcept { return name_; }

    /// Forgets the listener: nothing is called any more.
    void detach() noexcept;

private:
    enum class news { nothing, found, credentials, opened, answered, ended };

    strand_task keep_up(std::shared_ptr<connection_loop> self);
    void forget_attempt();
    void find_primary();
    void on_primary_found(sentinel_query::result const&);
    void get_credentials();
    void open();
    void send_set_up();
    void begin();
    error_code judge_set_up(replies const& got);
    void finish();
    void note_endpoint();
    void on_alarm();
    milliseconds next_pause();
    void on_open() override;
    void on_closed(error_code) override;
    void expect(std::size_t commands, exchange::on_replies done);
    void expect_surely(std::size_t commands, exchange::on_replies done);
    bool is_by_sentinel() const noexcept;
    std::uint32_t servers_in_turn() const noexcept;
    bool ends_round() noexcept;
    void try_next_server();
    void send_auth(credentials const&, exchange::on_replies done) override;
    void report(std::string words) override;
    void replace(error_code why) override;
    std::string why_not_ready(replies const& answers) const;
    void explain_failure();
    void add_words();
    void report_failure();
    void report_end(bool is_stopped);

    link_context const& context_;
    listener* listener_;
    std::string name_;
    address where_;
    set_up::role wanted_role_;
    resp::limits first_replies_, least_;
    resp::push_handler* pushes_;

    std::shared_ptr<connection> connection_;
    address opened_;  ///< of the connection
    std::unique_ptr<sentinel_query> sentinels_;
    credential_query query_;
    credentials credentials_;     ///< of the connection that is being made
    time_point expires_ = never;  ///< of those
    reauthentication reauthentication_;
    std::list<exchange> asked_;
    event<news> news_;
    decide::alarm_queue::alarm alarm_;
    std::uint32_t tries_ = 0;   ///< in a row, since a connection that lasted
    std::uint32_t failed_ = 0;  ///< since a connection was up: servers of a list
    replies answered_;
    std::uint64_t epoch_ = 0;
    error_code end_reason_{};  ///< why the connection ended or could not be made
    failure down_reason_;
    std::string words_;  ///< about the end, for people
    time_point up_since_{};
    time_point down_since_{};
    bool is_replica_ = false;
    bool is_primary_known_ = false;
    bool has_credentials_ = true;  ///< for the connection that was to be made
    bool wanted_ = false;
    bool looping_ = false;
    bool is_moved_ = false;   ///< the connection that was being made is dropped for `where_`
    bool connected_ = false;  ///< there is a connection, or it is being made
    bool up_ = false;
};

}  // namespace colock
