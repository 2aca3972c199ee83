#pragma once

#include "resp/message.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace colock::resp {

/// The limits of a server's messages. A message beyond a limit breaks the connection.
struct limits {
    static constexpr unsigned deepest = 16;

    unsigned depth = 8;                      ///< lists within lists, at most `deepest`
    std::size_t string_bytes = 64U << 20U;   ///< of one string
    std::size_t elements = 1U << 20U;        ///< of all lists of a message
    std::size_t message_bytes = 64U << 20U;  ///< of a whole message, as it comes over the wire
};

/// An incremental parser of RESP2 and RESP3.
///
/// It owns the buffer that is read into: `prepare` gives the room, `commit` says how much came, and
/// `next` gives each whole message. Memory grows with the bytes that have arrived, never with an
/// announced length, and the memory of a large message is freed after it. Throws nothing but
/// `std::bad_alloc`; a message for which there is no memory breaks the connection.
///
/// Maps and sets come as lists, doubles, big numbers and verbatim strings as texts, booleans as
/// 0 and 1. Attributes are skipped. Streamed values are refused: no server sends them.
class parser {
public:
    enum class outcome {
        message,  ///< `last()` has one
        more,     ///< the rest has not arrived
        broken    ///< not RESP, or beyond a limit: nothing after it can be trusted
    };

    explicit parser(limits most = {}) noexcept : limits_{most} {}

    /// Applies to messages that are parsed from now on.
    void set_limits(limits most) noexcept { limits_ = most; }

    /// Room for the next read. Invalidates the last message.
    std::span<char> prepare();

    /// This many bytes of that room are filled.
    void commit(std::size_t bytes) noexcept { end_ += bytes; }

    /// Parses on. Invalidates the last message.
    outcome next();

    message last() const noexcept { return {nodes_, is_push_}; }

    /// The last message, a list, without its first element, which is no list. Invalidates what
    /// `last` has given. Call it once.
    message without_first() noexcept;

    /// Why it is broken, for a log.
    char const* complaint() const noexcept { return complaint_; }

    /// True if bytes of an unfinished message are there.
    bool has_partial() const noexcept { return end_ != (is_whole_ ? at_ : begin_); }

    /// Gives the memory of a large message back, but for the room of the next read, if it has more
    /// than `most` bytes and no message has begun. Invalidates the last message.
    void shrink(std::size_t most) noexcept;

    /// Bytes of memory that it keeps.
    std::size_t capacity() const noexcept
    {
        return capacity_ + nodes_.capacity() * sizeof(node) +
            texts_.capacity() * sizeof(span_of_text);
    }

private:
    struct aggregate {
        std::uint64_t left;      ///< elements that have not come
        std::size_t first_node;  ///< of an attribute: where its contents begin
        bool is_attribute;
    };
    /// A text stored by its place, because the buffer may move before the message is whole.
    struct span_of_text {
        std::size_t begin = 0;
        std::size_t size = 0;
    };

    outcome parse_message();
    outcome parse_value();
    outcome parse_line(char type, std::string_view line);
    outcome parse_string(char type, std::string_view length);
    outcome parse_aggregate(char type, std::string_view count);
    bool add(node value, span_of_text where = {0, 0});
    outcome add_whole(node value, span_of_text where = {0, 0});
    void finish_value() noexcept;
    outcome fail(char const* complaint) noexcept;
    void begin_message() noexcept;
    void keep_nodes(std::size_t most) noexcept;
    void make_room(std::size_t least);

    limits limits_;
    std::unique_ptr<char[]> buffer_;
    std::size_t capacity_ = 0;
    std::size_t begin_ = 0;    ///< of the message that is being parsed
    std::size_t at_ = 0;       ///< what is parsed of it ends here
    std::size_t scanned_ = 0;  ///< no end of a line before here
    std::size_t end_ = 0;      ///< of what has arrived
    std::size_t wanted_ = 0;   ///< bytes that the string being read still lacks

    std::vector<node> nodes_;
    std::vector<span_of_text> texts_;  ///< of the nodes, from `begin_`
    std::array<aggregate, limits::deepest> open_;
    unsigned depth_ = 0;
    bool is_push_ = false;
    bool is_whole_ = false;
    char const* complaint_ = nullptr;
};

}  // namespace colock::resp
