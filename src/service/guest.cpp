#include "decide/names.hpp"
#include "service/core.hpp"
#include "service/gate.hpp"
#include "service/guest.hpp"

#include <utility>

namespace colock {

guest::guest(core_ptr c, std::string n)
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
        if (at)
            at->leave(*this, why);
        else
            end(why);
    }}
{}

void guest::cancel()
{
    if (at)
        at->leave(*this, asio::error::operation_aborted);
    else
        end(asio::error::operation_aborted);
}

void guest::end(error_code ec)
{
    limit.clear();
    answer(ec);
}

void counting_guest::let_in()
{
    limit.clear();
    if (auto* const tried = std::get_if<completion<bool>>(&done))
        (*tried)({}, true);
    else
        std::get<completion<>>(done)({});
}

void counting_guest::answer(error_code ec)
{
    if (auto* const tried = std::get_if<completion<bool>>(&done); tried && *tried)
        (*tried)(ec, false);
    else if (auto* const waits = std::get_if<completion<>>(&done); waits && *waits)
        (*waits)(ec);
}

}  // namespace colock
