#include "base/recycling.hpp"
#include "base/strand_task.hpp"
#include "core/owed_step.hpp"
#include "core/reliable.hpp"

#include <utility>

namespace colock {

namespace {

class debt final : public owed_copies, public std::enable_shared_from_this<debt> {
public:
    debt(
        core& inside,
        unsigned slot,
        decide::copies const& wanted,
        time_point end,
        step_again again,
        std::function<void()> over
    )
        : owed_copies{wanted, end}
        , core_{inside}
        , life_{inside.shared_from_this()}
        , owing_{inside}
        , slot_{slot}
        , again_{std::move(again)}
        , over_{std::move(over)}
        , sending_{inside}
    {
        ++core_.count.owed_copies;
    }
    ~debt() { --core_.count.owed_copies; }

    void on_covered() override
    {
        if (over_)
            over_();
    }
    void on_copies_lost() override { send_again(shared_from_this()); }

private:
    std::optional<script_call::request> next() const
    {
        bool const matters = !core_.is_stopped() && clock::now() < until;
        return matters ? again_() : std::nullopt;
    }

    strand_task send_again([[maybe_unused]] std::shared_ptr<debt> self)
    {
        for (auto about = next(); about; about = next()) {
            script_call now{std::move(*about), slot_};
            core_.ask_copies(now.call, wants, core_.settings().lease);
            now.call.repeats = true;
            auto got = co_await sending_.send(now.call, until);
            if (got.unsynced == error::not_replicated)
                got.what = answer::kind::not_now;  // it finds its work done, and asks the copies
            if (!co_await sending_.repeats(got, {.idempotent = true, .owed = true, .until = until}))
                break;
        }
        on_covered();
    }

    core& core_;
    std::shared_ptr<core> life_;
    core::activity owing_;
    unsigned slot_;
    step_again again_;
    std::function<void()> over_;
    reliable sending_;
};

}  // namespace

std::shared_ptr<owed_copies> owe(
    core& inside,
    unsigned slot,
    decide::copies const& wants,
    time_point until,
    step_again again,
    std::function<void()> over
)
{
    return make_recycled<debt>(inside, slot, wants, until, std::move(again), std::move(over));
}

}  // namespace colock
