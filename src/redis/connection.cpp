#include "base/completion_turn.hpp"
#include "redis/connection.hpp"
#include "redis/link_settings.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/write.hpp>
#include <openssl/crypto.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace colock {

using asio::ip::tcp;

namespace {

/// How long a connection still reads after a failed write.
constexpr milliseconds last_words{100};

/// An encrypted connection is read so often before its commands have their turn.
constexpr int most_encrypted_reads = 8;

/// Of each buffer, while nothing is said.
constexpr std::size_t largest_kept_idle = 4U << 10U;

bool would_block(error_code ec) noexcept
{
    return ec == asio::error::would_block || ec == asio::error::try_again;
}

/// A proxy in front of many connections may mix up their replies as well, so that they do not all
/// begin at the same number.
std::uint64_t first_number(link_context const& context)
{
    constexpr double most = 100'000;
    return 1 + static_cast<std::uint64_t>(most * context.jitter());
}

}  // namespace

connection::connection(
    link_context const& context, listener& who, resp::push_handler* pushes, resp::limits most
)
    : context_{&context}
    , listener_{&who}
    , socket_{context.strand}
    , pipeline_{time_limits_of(context.settings), most, pushes, first_number(context)}
    , lookup_{context.strand}
    , limit_{[this] { step_.set(asio::error::timed_out); }}
    , look_{[this] { look(); }}
{}

connection::~connection()
{
    wipe();
    if (auto* const secret = pipeline_.waiting_alone())
        ::OPENSSL_cleanse(secret->data(), secret->size());
}

// Each handler begins with this: it keeps the connection, and the client while it runs.
template <class Act>
auto connection::guarded(Act act)
{
    return [self = shared_from_this(), act = std::move(act)](auto... results) {
        if (!self->listener_)
            return;
        if (auto const life = self->context_->life.lock())
            act(*self, results...);
    };
}

void connection::set_alarm(decide::alarm_queue::alarm& e, time_point at)
{
    context_->set_alarm(e, at);
}

// ---- The way to a connection --------------------------------------------------------------------

void connection::open(address where, endpoint_history known, milliseconds patience)
{
    connect(std::move(where), std::move(known), patience);
}

strand_task connection::connect(address where, endpoint_history known, milliseconds patience)
{
    auto const limit = connect_limit(context_->settings);
    std::vector<endpoint> addresses;
    if (where.unix_socket.empty()) {
        start_lookup(where, known.good() ? std::min(limit, patience) : limit);
        auto const ec = co_await step_;
        addresses = known.in_order(ec ? name_lookup::endpoints{} : found_);
        if (addresses.empty())
            co_return close(ec);
    } else
        addresses.emplace_back(asio::local::stream_protocol::endpoint{where.unix_socket});

    stage_ = stage::address;
    auto const ends = clock::now() + limit;
    error_code failed = asio::error::host_not_found;
    for (auto to = addresses.begin(); failed && to != addresses.end(); ++to) {
        start_connect(*to, (ends - clock::now()) / (addresses.end() - to));
        failed = co_await step_;
        if (failed)
            close_socket();
        else
            peer_ = *to;
    }
    if (failed)
        co_return close(failed);
    set_options();
    if (context_->tls)
        shake_hands(std::move(where));
    else
        begin_exchange();
}

strand_task connection::shake_hands(address where)
{
    stage_ = stage::tls;
    auto const ends = clock::now() + connect_limit(context_->settings);
    auto failed = begin_tls(where);
    while (!failed && !tls_->is_established()) {
        failed = tls_->shake_hands();
        if (tls_->has_output()) {  // after a failure, it tells the server why
            start_write(ends - clock::now());
            if (auto const unsent = co_await step_)
                co_return close(failed ? failed : unsent);
            sending_.clear();
        }
        if (!failed && !tls_->is_established()) {
            start_wait(ends - clock::now());
            failed = co_await step_;
            bool is_more = false;
            if (!failed)
                failed = receive_encrypted(is_more);
        }
    }
    if (failed)
        close(failed);
    else
        begin_exchange();
}

/// A step ends by its handler or by its limit. A later handler belongs to no step.
void connection::begin_step(clock::duration limit)
{
    ++step_number_;
    step_.reset();
    set_alarm(limit_, clock::now() + limit);
}

void connection::start_lookup(address const& where, clock::duration limit)
{
    begin_step(limit);
    error_code is_name;
    auto const numeric = asio::ip::make_address(where.host, is_name);
    if (!is_name) {
        found_ = {tcp::endpoint{numeric, where.port}};
        return step_.set({});
    }
    lookup_
        .start(where.host, where.port, [this](error_code ec, name_lookup::endpoints const& found) {
            auto const self = shared_from_this();
            auto const life = listener_ ? context_->life.lock() : nullptr;
            if (!life || stage_ != stage::name)
                return;
            found_ = found;
            step_.set(ec);
        });
}

void connection::start_connect(endpoint const& to, clock::duration limit)
{
    begin_step(limit);
    bool const is_unix = to.protocol().family() == AF_UNIX;
    auto done = [number = step_number_, is_unix](connection& c, error_code ec) {
        if (number != c.step_number_)
            return;
        c.step_.set(ec ? ec : c.judge_connected(is_unix));
    };
    socket_.async_connect(to, guarded(std::move(done)));
}

/// Of a socket that the system takes for connected.
error_code connection::judge_connected(bool is_unix) const
{
    error_code ec;
    auto const there = socket_.remote_endpoint(ec);
    // A unix socket whose queue is full refuses at once, and Asio takes that for a beginning. One
    // of TCP has no peer any more if that has reset it; the first read says so.
    if (is_unix && ec == asio::error::not_connected)
        return asio::error::try_again;
    // On this machine, a port that nobody listens on may be the one that the connection begins at.
    bool const is_itself = !ec && socket_.local_endpoint(ec) == there && !ec;
    return is_itself ? error_code{asio::error::connection_refused} : error_code{};
}

error_code connection::begin_tls(address const& where)
{
    if (auto const ec = context_->load_tls())
        return ec;
    tls_ = std::make_unique<tls_session>(*context_->tls, where, tls_complaint_);
    return tls_->refused();
}

/// The handler of a step.
auto connection::end_step()
{
    return guarded([number = step_number_](connection& c, error_code ec, auto...) {
        if (number == c.step_number_)
            c.step_.set(ec);
    });
}

void connection::start_write(clock::duration limit)
{
    begin_step(limit);
    tls_->take_output(sending_);
    asio::async_write(socket_, asio::buffer(sending_), end_step());
}

void connection::start_wait(clock::duration limit)
{
    begin_step(limit);
    socket_.async_wait(socket_type::wait_read, end_step());
}

// ---- Open ---------------------------------------------------------------------------------------

void connection::set_options()
{
    error_code ignored;
    auto const family = peer_->protocol().family();
    if (family == AF_INET || family == AF_INET6) {
        socket_.set_option(tcp::no_delay{context_->settings.tcp_nodelay}, ignored);
        socket_.set_option(asio::socket_base::keep_alive{true}, ignored);
    }
    socket_.non_blocking(true, ignored);
}

void connection::begin_exchange()
{
    limit_.clear();
    stage_ = stage::open;
    pipeline_.begin(clock::now());
    if (tls_)  // bytes may have come behind those of the handshake
        asio::post(context_->strand, guarded([](connection& c) { c.on_readable({}); }));
    else
        read();
    listener_->on_open();
}

// The strand is entered within the turn, and left before the caller goes on.
template <class Act>
auto connection::off_strand(Act act)
{
    auto const& strand = context_->strand;
    return asio::bind_executor(
        strand.get_inner_executor(),
        [strand, act = std::move(act)](auto... results) mutable {
            completion_turn turn;
            asio::dispatch(strand, [act = std::move(act), results...] { act(results...); });
            turn.resume();
        }
    );
}

void connection::read()
{
    if (tls_) {
        auto done = guarded([](connection& c, error_code ec) { c.on_readable(ec); });
        return socket_.async_wait(socket_type::wait_read, off_strand(std::move(done)));
    }
    auto const room = pipeline_.prepare();
    socket_.async_read_some(
        asio::mutable_buffer{room.data(), room.size()},
        off_strand(guarded([](connection& c, error_code ec, std::size_t n) { c.on_read(ec, n); }))
    );
}

void connection::on_read(error_code ec, std::size_t bytes)
{
    if (closing_)
        return;
    if (ec)
        return close(ec);
    if (!received(bytes))
        return;
    flush();
    if (!closing_)
        read();
}

// A record has one reply as a rule. All that have come are read before more commands go, because
// what they answer goes on together.
void connection::on_readable(error_code ec)
{
    if (closing_)
        return;
    bool is_more = true;
    error_code broken;
    for (int i = 0; !ec && !broken && is_more && i != most_encrypted_reads; ++i) {
        ec = receive_encrypted(is_more);
        while (!broken) {
            auto const room = pipeline_.prepare();
            auto const bytes = tls_->read(room, broken);
            if (bytes == 0)
                break;
            if (!received(bytes))
                return;
        }
    }
    if (broken || ec)
        return close(broken ? broken : ec);
    flush();
    if (!closing_)
        read();
}

/// Takes from the socket, without waiting. `is_more`: there may be more.
error_code connection::receive_encrypted(bool& is_more)
{
    std::array<char, std::size_t{16} << 10U> from;
    error_code ec;
    auto const bytes = socket_.read_some(asio::buffer(from), ec);
    is_more = bytes == from.size();
    tls_->receive({from.data(), bytes});
    if (would_block(ec))
        return {};
    return ec == asio::error::eof ? asio::ssl::error::stream_truncated : ec;
}

/// So many bytes for the pipeline. False if the connection ends now.
bool connection::received(std::size_t bytes)
{
    if (auto const bad = pipeline_.received(bytes, clock::now()); bad && listener_)
        close(bad);
    return listener_ && !closing_;
}

bool connection::has_output() const noexcept
{
    return pipeline_.has_output() || (tls_ && tls_->has_output());
}

/// Puts the encrypted bytes in place of those that are to be sent.
error_code connection::encrypt()
{
    auto const ec = sending_.empty() ? error_code{} : tls_->write(sending_);
    if (secret_)
        ::OPENSSL_cleanse(sending_.data(), sending_.size());
    tls_->take_output(sending_);
    return ec;
}

// Writes at once as much as the socket accepts, without waiting for a pass of the event loop.
void connection::flush(bool secret)
{
    writes_secret_ |= secret;
    if (!is_open() || writing_ || write_failed_ || !has_output())
        return;
    bool const is_login = pipeline_.take_output(sending_);
    secret_ = std::exchange(writes_secret_, false) || is_login;
    if (tls_)
        if (auto const ec = encrypt())
            return on_write_failed(ec);
    error_code ec;
    auto const sent = socket_.write_some(asio::buffer(sending_), ec);
    if (ec && !would_block(ec))
        return on_write_failed(ec);
    if (sent == sending_.size())
        wipe();
    else
        write_on(sent);
    watch_pipeline();
}

void connection::write_on(std::size_t from)
{
    writing_ = true;
    auto const rest = asio::buffer(sending_) + from;
    asio::async_write(socket_, rest, guarded([](connection& c, error_code ec, std::size_t) {
                          c.on_written(ec);
                      }));
}

void connection::on_written(error_code ec)
{
    writing_ = false;
    if (ec)
        return on_write_failed(ec);
    wipe();
    flush();
}

// Some outgoing bytes are lost. The reply to anything sent after them would count as their reply,
// so nothing more is sent. A server that refuses all clients says why and closes; the read under
// way brings its words and then the end. If no end comes, `look` ends the connection.
void connection::on_write_failed(error_code why)
{
    wipe();
    write_failed_ = why;
    if (closing_)
        return;
    look_at_ = clock::now() + last_words;
    set_alarm(look_, look_at_);
}

/// Makes room for the next bytes; leaves no password in memory.
void connection::wipe() noexcept
{
    if (secret_)
        ::OPENSSL_cleanse(sending_.data(), sending_.size());
    secret_ = false;
    sending_.clear();
}

/// The text of a script makes the buffers large and comes once; a crowd makes them large, and goes.
/// Looks are milliseconds apart, so that it costs little if the next crowd comes at once.
/// The room of the next read stays: without TLS, a read into it is under way.
void connection::shrink()
{
    pipeline_.shrink(largest_kept_idle);
    if (sending_.empty() && sending_.capacity() > largest_kept_idle)
        std::string{}.swap(sending_);
    if (tls_)
        tls_->shrink(largest_kept_idle);
}

std::size_t connection::capacity() const noexcept
{
    return pipeline_.capacity() + sending_.capacity() + (tls_ ? tls_->capacity() : 0);
}

// ---- Time ---------------------------------------------------------------------------------------

// The alarm is moved only to an earlier time: a look that comes too early finds nothing to do.
void connection::watch_pipeline()
{
    auto const next = pipeline_.next_look();
    if (next >= look_at_)
        return;
    look_at_ = next;
    set_alarm(look_, next);
}

void connection::look()
{
    look_at_ = never;
    if (!is_open())
        return;
    if (write_failed_)
        return close(write_failed_);
    if (pipeline_.is_idle())
        shrink();
    if (pipeline_.look(clock::now()) == resp::pipeline::verdict::silent)
        return close(asio::error::timed_out);
    flush();
    if (is_open())
        watch_pipeline();
}

// ---- The end ------------------------------------------------------------------------------------

void connection::close(error_code why)
{
    if (!listener_ || std::exchange(closing_, true))
        return;
    why_ = why;
    ++step_number_;
    step_.destroy_waiting();  // it stops connecting
    limit_.clear();
    look_.clear();
    lookup_.cancel();
    close_socket();
    asio::post(context_->strand, guarded([](connection& c) { c.finish(); }));
}

void connection::finish()
{
    auto const self = shared_from_this();
    pipeline_.fail(why_);
    if (auto* const told = std::exchange(listener_, nullptr))
        told->on_closed(why_);
}

void connection::detach() noexcept
{
    if (!listener_)
        return;
    auto const is_context_gone = context_->is_context_gone();
    listener_ = nullptr;
    context_ = nullptr;
    limit_.clear();
    look_.clear();
    pipeline_.forget_owed();
    step_.destroy_waiting();
    if (is_context_gone)
        return;
    lookup_.cancel();
    close_socket();
}

}  // namespace colock
