// client::inspect: reads who holds a lock, and then who these clients are.
#include "base/completion.hpp"
#include "core/arguments.hpp"
#include "core/core.hpp"
#include "decide/held_by.hpp"
#include <colock/admin.hpp>
#include <colock/client.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace colock {
inline namespace v0_3 {
namespace detail {

namespace {

using decide::reply;

/// One call: first the questions about the lock, then those about its clients.
class inspection final : public operation {
public:
    inspection(core_ptr c, std::string k) : inside_{std::move(c)}, key_{std::move(k)} {}

    static void start(
        core_ptr inside, completion<lock_info>::handler_type handler, failure wrong, std::string key
    )
    {
        auto const self = std::make_shared<inspection>(std::move(inside), std::move(key));
        self->listen(self->inside_->strand(), handler);
        self->done_ = {std::move(handler), self->inside_->executor()};
        asio::dispatch(self->inside_->strand(), [self, wrong] {
            if (wrong)
                return self->complete(wrong);
            auto const& settings = self->inside_->settings();
            if (!self->inside_->is_stopped())  // which an alarm would keep busy
                self->inside_->set_alarm(self->limit_, clock::now() + settings.timeout);
            self->ask(
                decide::questions_about(self->key_, settings.key_prefix), &inspection::on_lock
            );
        });
    }

    void cancel() override { complete(asio::error::operation_aborted); }

private:
    using step_done = void (inspection::*)();

    void ask(std::vector<decide::question> all, step_done then)
    {
        answers_.assign(all.size(), {});
        left_ = all.size();
        for (std::size_t i = 0; i != all.size(); ++i)
            send_raw_command(
                inside_,
                asio::bind_executor(
                    inside_->strand(),
                    [self = shared(), i, then](failure ec, reply got) {
                        self->on_answer(i, ec, std::move(got), then);
                    }
                ),
                std::move(all[i].about),
                std::move(all[i].words)
            );
    }

    void on_answer(std::size_t i, failure ec, reply got, step_done then)
    {
        if (!done_)
            return;
        if (ec)
            return complete(ec);
        answers_[i] = std::move(got);
        if (--left_ == 0)
            (this->*then)();
    }

    void on_lock()
    {
        auto const ec = decide::read_lock_info(answers_, found_);
        if (ec)
            return complete(ec);
        auto about = decide::questions_about_clients(found_, inside_->settings().key_prefix);
        if (about.empty())
            return complete({});
        ask(std::move(about), &inspection::on_clients);
    }

    void on_clients()
    {
        decide::add_labels(found_, key_, answers_);
        complete({});
    }

    void complete(failure ec)
    {
        auto const life = shared_from_this();
        limit_.clear();
        if (done_)
            done_(ec, ec ? lock_info{} : std::move(found_));
    }

    std::shared_ptr<inspection> shared()
    {
        return std::static_pointer_cast<inspection>(shared_from_this());
    }

    core_ptr inside_;
    std::string key_;
    decide::alarm_queue::alarm limit_{
        [this] { complete(error::unavailable); }};  ///< of both rounds
    completion<lock_info> done_;
    std::vector<reply> answers_;
    std::size_t left_ = 0;
    lock_info found_;
};

}  // namespace

void client_inspect(core_ptr inside, handler<inspected> handler, std::string name)
{
    auto const wrong = check_name(*inside, name);
    auto key = inside->key_of(std::move(name));
    inspection::start(std::move(inside), std::move(handler), wrong, std::move(key));
}

}  // namespace detail
}  // namespace v0_3
}  // namespace colock
