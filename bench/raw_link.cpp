#include "dial.hpp"
#include "raw_link.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <charconv>
#include <cstring>

namespace bench {

namespace {

/// The number in a head such as `$12` or `*3`.
long number_of(std::string_view head)
{
    long n = -1;
    std::from_chars(head.data() + 1, head.data() + head.size(), n);
    return n;
}

}  // namespace

raw_reply front_reply(std::string_view text)
{
    auto const end = text.find("\r\n");
    if (end == text.npos)
        return {};
    auto const head = text.substr(0, end);
    raw_reply found{end + 2, head.front() != '-'};
    if (head.front() == '$' && number_of(head) >= 0) {
        found.size += static_cast<std::size_t>(number_of(head)) + 2;
        return found.size <= text.size() ? found : raw_reply{};
    }
    if (head.front() == '*') {
        auto const elements = number_of(head);
        for (auto left = elements; left > 0; --left) {
            auto const part = front_reply(text.substr(found.size));
            if (part.size == 0)
                return {};
            bool const is_number_of_call = left == elements;
            found.granted = found.granted && (is_number_of_call || text[found.size] == ':');
            found.size += part.size;
        }
    }
    return found;
}

raw_link::raw_link(asio::io_context& context, colock::address const& where)
    : socket_{dial(context, where)}
{
    socket_.non_blocking(true);
    read();
}

std::size_t raw_link::write(std::string_view text)
{
    boost::system::error_code failed;
    auto const written = socket_.write_some(asio::buffer(text), failed);
    if (failed && failed != asio::error::would_block)
        throw boost::system::system_error{failed, "raw"};
    return written;
}

void raw_link::send(std::string_view command, raw_caller& who)
{
    owed_.push_back(&who);
    if (!unsent_.empty()) {
        unsent_.append(command);
        return;
    }
    unsent_ = command.substr(write(command));
    if (!unsent_.empty())
        flush_when_writable();
}

// It waits and then writes, because `unsent_` may grow and move in between.
void raw_link::flush_when_writable()
{
    socket_.async_wait(socket_.wait_write, [this](boost::system::error_code failed) {
        if (failed == asio::error::operation_aborted)
            return;
        if (failed)
            throw boost::system::system_error{failed, "raw"};
        unsent_.erase(0, write(unsent_));
        if (!unsent_.empty())
            flush_when_writable();
    });
}

void raw_link::read()
{
    auto const rest = asio::buffer(buffer_) + filled_;
    socket_.async_read_some(rest, [this](boost::system::error_code failed, std::size_t n) {
        if (failed == asio::error::operation_aborted)
            return;
        if (failed)
            throw boost::system::system_error{failed, "raw"};
        filled_ += n;
        take_replies();
        if (socket_.is_open())
            read();
    });
}

void raw_link::take_replies()
{
    std::size_t taken = 0;
    for (;;) {
        auto const reply = front_reply({buffer_.data() + taken, filled_ - taken});
        if (reply.size == 0)
            break;
        taken += reply.size;
        auto* const who = owed_.front();
        owed_.pop_front();
        who->answered(reply.granted);
    }
    filled_ -= taken;
    std::memmove(buffer_.data(), buffer_.data() + taken, filled_);
}

void raw_link::close() { socket_.close(); }

}  // namespace bench
