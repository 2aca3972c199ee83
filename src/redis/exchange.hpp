#pragma once

#include "decide/reply.hpp"
#include "resp/pipeline.hpp"

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace colock {

using replies = std::vector<decide::reply>;

/// Some commands whose replies are needed together.
class exchange final : public resp::reply_handler {
public:
    using on_replies = std::function<void(error_code, replies const&)>;

    /// `done` is called once, when all have come or the connection has gone; it may destroy this.
    exchange(std::size_t count, on_replies done) : count_{count}, done_{std::move(done)} {}

    void when_over(on_replies done) { done_ = std::move(done); }

private:
    void on_reply(resp::message const& got) override
    {
        got_.push_back(resp::to_reply(got));
        if (got_.size() == count_)
            complete({});
    }

    void on_lost(error_code why) override { complete(why); }

    void complete(error_code ec)
    {
        auto const done = std::exchange(done_, nullptr);
        auto const got = std::move(got_);
        if (done)
            done(ec, got);
    }

    std::size_t count_;
    on_replies done_;
    replies got_;
};

}  // namespace colock
