#pragma once

#include "base/clock.hpp"
#include "resp/parser.hpp"
#include "resp/writer.hpp"
#include <colock/error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace colock::resp {

/// Gets the replies to its commands, one for each, in the order in which they were written.
class reply_handler {
public:
    /// The message is valid during the call.
    virtual void on_reply(message const&) = 0;

    /// The connection was lost before the next of its replies, so no more of them come. Called once
    /// for each `expect` with missing replies.
    virtual void on_lost(error_code why) = 0;

    /// For commands that a push answers: whether this is that push. An error still comes as a
    /// reply.
    virtual bool is_answered_by(message const&) { return false; }

protected:
    ~reply_handler() = default;
};

/// The kind of answer of a command that succeeds.
enum class answered_by { reply, push };

/// Gets the pushes of the server.
class push_handler {
public:
    virtual void on_push(message const&) = 0;

protected:
    ~push_handler() = default;
};

/// How long a server may take.
struct time_limits {
    /// After this much silence the client sends a PING; after as much again, the server counts as
    /// gone. A message ends the silence, and so does each KiB of one.
    clock::duration silence = std::chrono::seconds{2};

    /// If an answer is due for longer than this, and than three round trips, a packet may be lost.
    /// TCP repairs a loss within a round trip if more data follows, otherwise after 200 ms. So one
    /// PING follows.
    clock::duration loss = std::chrono::milliseconds{2};
};

/// One connection's conversation, without its I/O: bytes and time in, bytes and events out.
///
/// It knows which commands were written and which replies are due, tells pushes from replies,
/// measures the round trip, and reports a server that is silent for too long. Handlers may write
/// more commands, and may `fail` the pipeline during their call; the owner must keep it alive until
/// the call into it returns.
///
/// Only the order says to which command a reply belongs. If a server or a proxy loses a reply, or
/// sends one twice, each later one would be taken for that of another command. So commands can have
/// numbers that come back with their replies, and the first reply with another number ends the
/// connection. A reply without a number, as each error, is sure when a number behind it has come.
class pipeline {
public:
    enum class verdict { fine, write, silent };

    /// `first` is the number of the first command that has one. If connections begin at different
    /// numbers, they do not take each other's replies either.
    pipeline(
        time_limits how_long, limits most, push_handler* pushes, std::uint64_t first = 1
    ) noexcept
        : time_limits_{how_long}
        , parser_{most}
        , pushes_{pushes}
        , next_number_{first}
    {}

    // ---- Out -----------------------------------------------------------------------------------

    /// The writer for commands. Each must be followed by `expect` before bytes come in.
    writer& out() noexcept { return out_; }

    /// The number of the command that is being written, which has to be its last word. Its reply
    /// has to be a list that begins with this number, or an error. The handler gets the rest of the
    /// list.
    std::uint64_t number() { return number_last(false); }

    /// Writes a PING with a number. The reply is that number, or an error.
    void write_ping();

    /// Writes this one command, which the server gets when all commands before it are answered, and
    /// nothing else until it is answered, too. For AUTH: many servers do not answer one that they
    /// refuse if an earlier reply is still in their buffer.
    void write_alone(writer&& command);

    /// Sets the handler of the commands that were written since the last call; without one their
    /// replies are dropped. The handler must live until its last reply or its `on_lost`, which a
    /// failed pipeline calls at once. Commands that a push answers need a handler.
    void expect(reply_handler* who, time_point now, answered_by how = answered_by::reply);

    /// Whether bytes may go out now.
    bool has_output() const noexcept;

    /// Moves the outgoing bytes into an empty buffer, whose memory is used next. True if they are
    /// the command of `write_alone`.
    bool take_output(std::string& into);

    /// The bytes of `write_alone` that have not gone out.
    std::string* waiting_alone() noexcept { return alone_ ? &alone_->bytes : nullptr; }

    /// Gives what a crowd of commands or a large message needed back, of each part that has more
    /// than `most` bytes; see `parser::shrink` for what stays. Call it when it `is_idle`.
    void shrink(std::size_t most) noexcept;

    /// Bytes of memory that it keeps.
    std::size_t capacity() const noexcept;

    // ---- In ------------------------------------------------------------------------------------

    std::span<char> prepare() { return parser_.prepare(); }

    /// This many bytes came. Calls the handlers. After an error the connection can't be used any
    /// more.
    error_code received(std::size_t bytes, time_point now);

    /// The connection is gone. Tells all handlers with missing replies. Call it once.
    void fail(error_code why);

    /// As `fail`, but calls no handler.
    void forget_owed() noexcept;

    void set_limits(limits most) noexcept { parser_.set_limits(most); }

    // ---- Time ----------------------------------------------------------------------------------

    /// The time to call `look`.
    time_point next_look() const noexcept;

    /// Says what to do: nothing, to write (it has added a PING), or to give the connection up.
    verdict look(time_point now);

    /// Restarts the silence; call it when the connection comes up.
    void begin(time_point now) noexcept { hear(now); }

    // ---- What is known -------------------------------------------------------------------------

    bool is_idle() const noexcept { return first_owed_ == owed_.size(); }
    bool is_failed() const noexcept { return static_cast<bool>(failed_); }
    clock::duration round_trip() const noexcept { return round_trip_; }
    time_point heard() const noexcept { return heard_; }
    char const* complaint() const noexcept { return parser_.complaint(); }

    /// It has ended because of a reply that belongs to another command.
    bool is_out_of_step() const noexcept { return is_out_of_step_; }

    /// So has it, and the reply came where a push should: the server speaks RESP2 there.
    bool lacks_push() const noexcept { return lacks_push_; }

private:
    struct owed {
        reply_handler* who;
        std::size_t replies;
        time_point sent;
        answered_by how;
        bool is_first = true;  ///< none of them has come
    };

    struct numbered {
        std::size_t command;  ///< its place among all commands
        std::uint64_t number;
        bool is_ping;
    };

    /// A command that nothing may accompany.
    struct lone {
        std::string bytes;
        std::size_t before;  ///< bytes that go out before it
        std::size_t command;
    };

    std::uint64_t number_last(bool is_ping);
    std::optional<message> answer_in(message const&) noexcept;
    error_code end_out_of_step() noexcept;
    void hear(time_point now) noexcept;
    error_code dispatch(message const&, time_point now);
    bool is_answer(message const&);
    void note_answer(owed&, time_point now) noexcept;
    void ping(time_point now);
    time_point quiet_since() const noexcept;
    clock::duration loss_limit() const noexcept;

    time_limits time_limits_;
    parser parser_;
    push_handler* pushes_;
    writer out_;
    std::size_t announced_ = 0;  ///< of the commands written so far, those expected to be answered
    std::vector<owed> owed_;
    std::size_t first_owed_ = 0;
    std::size_t answered_ = 0;  ///< commands
    std::uint64_t next_number_;
    std::vector<numbered> numbered_;  ///< commands, in their order
    std::size_t first_numbered_ = 0;
    std::optional<lone> alone_;  ///< until it is answered
    bool is_out_of_step_ = false;
    bool lacks_push_ = false;
    clock::duration round_trip_{};
    time_point heard_{};
    std::size_t unheard_ = 0;    ///< bytes since then, of a message that has not come whole
    time_point silence_ends_{};  ///< when to check the silence again
    bool asked_ = false;         ///< by a PING, because of the silence
    bool looked_ = false;        ///< once, in vain, for the answer to that PING
    bool probed_ = false;        ///< a PING was sent after the commands that wait for replies
    error_code failed_{};
};

}  // namespace colock::resp
