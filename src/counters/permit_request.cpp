#include "core/core.hpp"
#include "counters/permit_request.hpp"
#include "decide/names.hpp"

#include <utility>

namespace colock {

permit_request::permit_request(core_ptr c, std::string n)
    : inside{std::move(c)}
    , name{std::move(n)}
    , limit{[this] {
        auto const life = shared_from_this();
        error_code why;
        if (once) {
            why = inside->transport().down_reason(decide::slot_of(name));
            if (!why)
                why = error::unavailable;
        }
        if (queue)
            queue->leave(*this, why);
        else
            complete(why);
    }}
{}

void permit_request::cancel()
{
    if (queue)
        queue->leave(*this, asio::error::operation_aborted);
    else
        complete(asio::error::operation_aborted);
}

void permit_request::complete(error_code ec)
{
    limit.clear();
    answer(ec);
}

void permit_count_request::grant()
{
    limit.clear();
    if (auto* const tried = std::get_if<completion<bool>>(&done))
        (*tried)({}, true);
    else
        std::get<completion<>>(done)({});
}

void permit_count_request::answer(error_code ec)
{
    if (auto* const tried = std::get_if<completion<bool>>(&done); tried && *tried)
        (*tried)(ec, false);
    else if (auto* const waits = std::get_if<completion<>>(&done); waits && *waits)
        (*waits)(ec);
}

}  // namespace colock
