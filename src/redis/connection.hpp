#pragma once

#include "base/strand_task.hpp"
#include "base/timer.hpp"
#include "decide/alarm_queue.hpp"
#include "redis/endpoint_history.hpp"
#include "redis/link_context.hpp"
#include "redis/name_lookup.hpp"
#include "redis/tls_session.hpp"
#include "resp/pipeline.hpp"

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/generic/stream_protocol.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace colock {

/// One connection to one server: TCP, a unix socket, or TLS over TCP, with a `resp::pipeline` on
/// it. Used once: opened, up, closed.
///
/// `open` goes from the name to TLS, each step with its own limit. After that `flush` sends the
/// pipeline's commands, and incoming bytes go to the pipeline's handlers. The connection watches
/// the pipeline's time: it sends the PINGs, and ends itself when the server is silent.
class connection : public std::enable_shared_from_this<connection> {
public:
    using endpoint = endpoint_history::endpoint;

    /// How far it had come when it ended.
    enum class stage { name, address, tls, open };

    class listener {
    public:
        /// Commands can be sent.
        virtual void on_open() = 0;

        /// The connection has ended, for this reason. Called once, and never from within a call to
        /// the connection. The pipeline's handlers have been told before.
        virtual void on_closed(error_code why) = 0;

    protected:
        ~listener() = default;
    };

    /// `most` limits the server's messages until `pipeline().set_limits`.
    connection(
        link_context const& context, listener& who, resp::push_handler* pushes, resp::limits most
    );
    ~connection();

    /// Begins to connect. Of the endpoints of a name, those come first that have served, by
    /// `known`. If one has, name servers are waited for no longer than `patience`.
    void open(
        address where, endpoint_history known = {}, milliseconds patience = milliseconds::max()
    );

    resp::pipeline& pipeline() noexcept { return pipeline_; }

    /// Sends the commands that were written to the pipeline. `secret`: wipes the bytes from memory
    /// afterwards.
    void flush(bool secret = false);

    /// Ends it; `on_closed` follows.
    void close(error_code why);

    /// Forgets the listener and the pipeline's handlers: nothing is called any more.
    void detach() noexcept;

    bool is_open() const noexcept { return stage_ == stage::open && !closing_; }

    /// A `flush` now sends: no write has failed.
    bool can_send() const noexcept { return is_open() && !write_failed_; }
    stage how_far() const noexcept { return stage_; }

    /// The address that answered.
    std::optional<endpoint> const& peer() const noexcept { return peer_; }

    /// Bytes of memory for what it writes and reads.
    std::size_t capacity() const noexcept;

    /// Why the server's certificate was refused, in OpenSSL's words.
    std::string const& tls_complaint() const noexcept { return tls_complaint_; }

private:
    using socket_type = asio::basic_stream_socket<asio::generic::stream_protocol, strand_type>;

    strand_task connect(address where, endpoint_history known, milliseconds patience);
    void start_lookup(address const& where, clock::duration limit);
    void start_connect(endpoint const& to, clock::duration limit);
    error_code judge_connected(bool is_unix) const;
    strand_task shake_hands(address where);
    error_code begin_tls(address const& where);
    void start_write(clock::duration limit);
    void start_wait(clock::duration limit);
    void begin_step(clock::duration limit);
    auto end_step();
    void close_socket() noexcept
    {
        error_code ignored;
        socket_.close(ignored);
    }
    template <class Act>
    auto guarded(Act act);
    template <class Act>
    auto off_strand(Act act);
    void set_options();
    void begin_exchange();
    void read();
    void on_read(error_code ec, std::size_t bytes);
    void on_readable(error_code ec);
    error_code receive_encrypted(bool& is_more);
    error_code encrypt();
    bool received(std::size_t bytes);
    bool has_output() const noexcept;
    void write_on(std::size_t from);
    void on_written(error_code ec);
    void on_write_failed(error_code why);
    void watch_pipeline();
    void look();
    void finish();
    void wipe() noexcept;
    void shrink();
    void set_alarm(decide::alarm_queue::alarm&, time_point at);

    link_context const* context_;
    listener* listener_;
    socket_type socket_;
    std::unique_ptr<tls_session> tls_;  ///< none: the connection is not encrypted
    std::string tls_complaint_;
    resp::pipeline pipeline_;
    name_lookup lookup_;

    event<error_code> step_;  ///< of the way to a connection
    std::size_t step_number_ = 0;
    decide::alarm_queue::alarm limit_;
    name_lookup::endpoints found_;
    std::optional<endpoint> peer_;
    stage stage_ = stage::name;

    decide::alarm_queue::alarm look_;
    time_point look_at_ = never;
    std::string sending_;  ///< under way to the server
    bool writing_ = false;
    bool secret_ = false;         ///< wipe the bytes after they are sent
    bool writes_secret_ = false;  ///< the bytes that were not yet taken from the pipeline
    bool closing_ = false;
    error_code write_failed_{};  ///< nothing more can be sent
    error_code why_{};
};

}  // namespace colock
