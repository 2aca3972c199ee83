#pragma once

#include "base/clock.hpp"
#include "resp/parser.hpp"
#include "resp/writer.hpp"
#include <colock/error.hpp>

#include <chrono>
#include <cstddef>
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
    /// gone.
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
class pipeline {
public:
    enum class verdict { fine, write, silent };

    pipeline(time_limits how_long, limits most, push_handler* pushes) noexcept
        : time_limits_{how_long}
        , parser_{most}
        , pushes_{pushes}
    {}

    // ---- Out -----------------------------------------------------------------------------------

    /// The writer for commands. Each must be followed by `expect` before bytes come in.
    writer& out() noexcept { return out_; }

    /// Sets the handler of the commands that were written since the last call; without one their
    /// replies are dropped. The handler must live until its last reply or its `on_lost`, which a
    /// failed pipeline calls at once. Commands that a push answers need a handler.
    void expect(reply_handler* who, time_point now, answered_by how = answered_by::reply);

    bool has_output() const noexcept { return !out_.empty(); }

    /// Moves the outgoing bytes into an empty buffer, whose memory is used next.
    void take_output(std::string& into) noexcept;

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

private:
    struct owed {
        reply_handler* who;
        std::size_t replies;
        time_point sent;
        answered_by how;
        bool is_first = true;  ///< none of them has come
    };

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
    clock::duration round_trip_{};
    time_point heard_{};
    time_point silence_ends_{};  ///< when to check the silence again
    bool asked_ = false;         ///< by a PING, because of the silence
    bool looked_ = false;        ///< once, in vain, for the answer to that PING
    bool probed_ = false;        ///< a PING was sent after the commands that wait for replies
    error_code failed_{};
};

}  // namespace colock::resp
