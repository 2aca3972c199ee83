// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A connection's conversation. The input says what is written, what comes, in which pieces and
// when: each reply finds the command that it belongs to, whoever is owed one hears of the end once,
// and nothing is due before its time.
#include "fuzz/fuzz.hpp"
#include "resp/pipeline.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace colock::fuzz {

namespace {

using resp::answered_by;
using std::chrono::milliseconds;
using verdict = resp::pipeline::verdict;

class conversation;

/// The commands of one `expect`.
class asker final : public resp::reply_handler {
public:
    asker(conversation& in, unsigned replies, answered_by how, std::uint8_t reaction)
        : in_{in}
        , left_{replies}
        , how_{how}
        , reaction_{reaction}
    {}

    void on_reply(resp::message const&) override;
    void on_lost(error_code) override;
    bool is_answered_by(resp::message const& m) override { return m.nodes().size() > 2; }
    bool is_done() const noexcept { return left_ == 0 || is_lost_; }

private:
    conversation& in_;
    unsigned left_;
    answered_by how_;
    std::uint8_t reaction_;
    bool is_lost_ = false;
};

class conversation final : resp::push_handler {
public:
    explicit conversation(std::string_view input) : input_{input} { line_.begin(now_); }

    void run()
    {
        while (!input_.empty() && !line_.is_failed())
            step(take());
        line_.fail(error::closed);
        require(line_.is_idle(), "nothing is owed after the end");
        for (auto const& each : askers_)
            require(each->is_done(), "whoever is owed a reply hears of the end");
    }

    void ask(unsigned replies, answered_by how, std::uint8_t reaction)
    {
        for (unsigned i = 0; i != replies; ++i)
            line_.out().push("GET", i);
        askers_.push_back(std::make_unique<asker>(*this, replies, how, reaction));
        if (!line_.is_failed())
            owed_.push_back({askers_.back().get(), replies});
        line_.expect(askers_.back().get(), now_, how);
    }
    void answered(asker const* by)
    {
        while (!owed_.empty() && !owed_.front().who)
            owed_.pop_front();  // the replies to PINGs are dropped
        require(!owed_.empty() && owed_.front().who == by, "a reply is for whoever asked first");
        if (--owed_.front().left == 0)
            owed_.pop_front();
    }
    void fail() { line_.fail(error::unavailable); }
    bool is_failed() const noexcept { return line_.is_failed(); }

private:
    struct debt {
        asker const* who;
        unsigned left;
    };

    std::uint8_t take()
    {
        if (input_.empty())
            return 0;
        auto const byte = static_cast<std::uint8_t>(input_.front());
        input_.remove_prefix(1);
        return byte;
    }
    void step(std::uint8_t op)
    {
        unsigned const size = (op >> 3U) + 1;
        switch (op & 7U) {
        case 0: ask(1 + size % 3, answered_by::reply, take()); break;
        case 1: ask(1, answered_by::push, take()); break;
        case 2: pass(milliseconds{size}); break;
        case 3: pass(milliseconds{size * 100}); break;
        case 4: take_output(); break;
        case 5: receive(":1\r\n"); break;
        case 6: receive(">2\r\n+subscribe\r\n:1\r\n"); break;
        default:
            auto const bytes = input_.substr(0, size);
            input_.remove_prefix(bytes.size());
            receive(bytes);
        }
        require(line_.round_trip() >= clock::duration{}, "a round trip takes time");
    }
    void receive(std::string_view bytes)
    {
        auto const room = line_.prepare();
        require(room.size() >= bytes.size(), "there is room for a little");
        std::memcpy(room.data(), bytes.data(), bytes.size());
        if (auto const ec = line_.received(bytes.size(), now_))
            line_.fail(ec);
        else
            require(!line_.is_failed(), "a pipeline that failed says so");
        require(!line_.is_failed() || line_.is_idle(), "a failed pipeline owes nothing");
    }
    void pass(milliseconds time)
    {
        now_ += time;
        look();
        // The silence and what is owed may be due at once.
        for (int i = 0; i != 2 && !line_.is_failed() && line_.next_look() <= now_; ++i)
            look();
        require(line_.is_failed() || line_.next_look() > now_, "a look is not due for ever");
    }
    void look()
    {
        bool const is_due = now_ >= line_.next_look();
        bool const had_output = line_.has_output();
        auto const what = line_.look(now_);
        require(is_due || what == verdict::fine, "nothing is due before its time");
        require(what != verdict::write || line_.has_output(), "there is something to write");
        require(what == verdict::write || line_.has_output() == had_output, "nothing is written");
        if (what == verdict::write)
            owed_.push_back({nullptr, 1});
        if (what == verdict::silent)
            line_.fail(error::unavailable);
    }
    void take_output()
    {
        std::string bytes;
        line_.take_output(bytes);
        require(!line_.has_output(), "what was taken is not there any more");
    }
    void on_push(resp::message const& m) override
    {
        require(m.is_push(), "what is no push is a reply");
        require(!line_.is_failed(), "a failed pipeline hears nothing");
    }

    std::string_view input_;
    time_point now_{};
    resp::pipeline line_{{}, {.message_bytes = 4'096}, this};
    std::deque<debt> owed_;
    std::vector<std::unique_ptr<asker>> askers_;
};

void asker::on_reply(resp::message const& m)
{
    require(!is_done(), "nobody hears more than was asked");
    require(!in_.is_failed(), "a failed pipeline hears nothing");
    require(m.is_push() == (how_ == answered_by::push) || m.is_error(), "a push for a push");
    require(!m.nodes().empty(), "a message has a value");
    --left_;
    in_.answered(this);
    if (reaction_ % 4 == 1)
        in_.ask(1, answered_by::reply, reaction_ / 4);
    else if (reaction_ % 32 == 2)
        in_.fail();
}

void asker::on_lost(error_code why)
{
    require(!is_done(), "whoever is owed a reply hears of the end once");
    require(why.failed(), "an end has a reason");
    is_lost_ = true;
    if (reaction_ % 4 == 3)
        in_.ask(1, answered_by::reply, reaction_ / 4);
}

}  // namespace

void pipeline(std::string_view bytes);

void pipeline(std::string_view bytes) { conversation{bytes}.run(); }

}  // namespace colock::fuzz
