#include "base/completion_turn.hpp"

namespace colock {

thread_local completion_turn* completion_turn::current_ = nullptr;

completion_turn::~completion_turn() { finish(); }

void completion_turn::finish() noexcept
{
    if (!std::exchange(is_over_, true))
        current_ = outer_;
}

void completion_turn::resume()
{
    finish();
    if (auto act = std::exchange(only_, nullptr))
        std::move(act)();
}

void completion_turn::keep(asio::any_io_executor on, action act)
{
    if (!only_ && !has_several_) {
        on_ = std::move(on);
        only_ = std::move(act);
        return;
    }
    has_several_ = true;
    if (auto first = std::exchange(only_, nullptr))
        post(on_, std::move(first));
    post(on, std::move(act));
}

}  // namespace colock
