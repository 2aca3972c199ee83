#pragma once

#include "decide/reply.hpp"
#include "redis/step_list.hpp"
#include "resp/pipeline.hpp"
#include "resp/writer.hpp"
#include <colock/config.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace colock {

/// The form of a script for this way of publishing.
scripts::script const& form_of(scripts::script const&, publishing) noexcept;

/// Scripts that were sent to a server as text, so that it knows their sums.
using known_scripts = std::vector<scripts::script const*>;

/// The calls of one write. Each call is one script for several steps. It gives each step its answer
/// when the call's reply comes.
///
/// The pipeline gives each call a number that comes back with its reply, so that no step gets the
/// reply to another one. An error has no number, so it waits for the next reply that has one.
///
/// A link uses it again once it is answered.
class call_batch final :
    public resp::reply_handler,
    public std::enable_shared_from_this<call_batch> {
public:
    class listener {
    public:
        /// `in_company`: this is an error that answers a whole call for several steps, so it may be
        /// about another one of them.
        virtual void on_step(step&, decide::reply&&, bool in_company, time_point sent) = 0;
        virtual void on_step_lost(step&, time_point sent) = 0;

        /// All steps have their answers.
        virtual void on_batch_over(call_batch&) = 0;

    protected:
        ~listener() = default;
    };

    /// How calls are written.
    struct manner {
        bool as_text = false;  ///< for a server that refuses EVALSHA
        bool by_slot = false;  ///< for a server that refuses calls with keys of several slots
        publishing publish = publishing::plain;
        known_scripts* known = nullptr;         ///< none: the server knows all
        decide::connection_life* on = nullptr;  ///< none: nobody asks for the order
        resp::pipeline* numbers = nullptr;  ///< of what is written; none: the calls have no numbers
        config const* settings = nullptr;   ///< none: nobody asks for copies of what finds its work
                                            ///< done
    };

    explicit call_batch(listener& who) noexcept : listener_{who} {}

    /// Takes in all steps and writes their calls.
    void fill(step_list& from, manner how, resp::writer& out, time_point now);

    /// In the order in which they are written.
    std::span<step* const> steps() const noexcept { return steps_; }

    /// How many steps it has had, including those with answers.
    std::size_t size() const noexcept { return size_; }

    /// Destroys the tasks that wait for its steps.
    void drop_steps() noexcept;

private:
    struct call {
        std::size_t first;
        std::size_t count;
        bool whole = false;       ///< the reply is one step's, as it is
        bool asking = false;      ///< an ASKING stands before it
        bool is_command = false;  ///< no script: its reply has no number
    };

    void on_reply(resp::message const&) override;
    void on_lost(error_code) override;

    void on_call_reply(resp::message const&);
    void pass_on(call const&, resp::message const&);
    void pass_on(std::size_t at, decide::reply&&, bool in_company);
    void settle_kept();
    void arrange(step_list& from, bool by_slot);
    call alone(std::size_t at) const;
    std::size_t alike(std::size_t at, bool by_slot) const;
    void write(std::span<step* const>, manner const& how, resp::writer& out);
    void write_mark(config const&, resp::writer& out) const;
    bool is_sure(call const&, resp::message const&) const noexcept;
    bool is_as_text(step const&, scripts::script const& form, manner const&) const;

    listener& listener_;
    std::vector<call> calls_;
    std::vector<step*> steps_;  ///< null: it has its answer
    std::size_t size_ = 0;
    time_point sent_{};
    std::size_t next_call_ = 0;
    std::size_t left_ = 0;  ///< replies that have not come
    bool is_past_asking_ = false;
    bool is_dropped_ = false;            ///< the link has gone
    resp::pipeline* numbers_ = nullptr;  ///< of the calls
    std::vector<decide::reply> kept_;    ///< of the last calls: they wait for a number
};

}  // namespace colock
