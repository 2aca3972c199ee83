#include "meter.hpp"
#include "raw_link.hpp"
#include "recording.hpp"
#include "statistics.hpp"
#include "workloads.hpp"

#include <algorithm>
#include <deque>
#include <stdexcept>

namespace bench {

namespace {

/// What all workers share.
struct raw_run {
    ledger done;
    std::deque<raw_link> links;
    int running = 0;

    void worker_ended()
    {
        if (--running == 0)
            for (auto& link : links)
                link.close();
    }
};

/// Sends its commands one after the other, and again.
class raw_worker final : public raw_caller {
public:
    raw_worker(raw_run& all, int id, script_calls calls)
        : all_{&all}
        , id_{id}
        , link_{&all.links[static_cast<std::size_t>(id) % all.links.size()]}
        , calls_{std::move(calls)}
    {
        ++all.running;
    }

    void begin()
    {
        start_ = steady::now();
        if (!all_->done.goes_on(id_, start_))
            return all_->worker_ended();
        next_ = 0;
        send_next();
    }

    void answered(bool granted) override
    {
        if (!granted)
            all_->done.note_error();
        if (next_ != calls_.size())
            return send_next();
        auto const end = steady::now();
        all_->done.note(id_, start_, end, end - start_);
        begin();
    }

private:
    void send_next() { link_->send(calls_[next_++], *this); }

    raw_run* all_;
    int id_;
    raw_link* link_;
    script_calls calls_;
    std::size_t next_ = 0;
    steady::time_point start_;
};

std::vector<script_calls> calls_of(plan const& asked)
{
    if (asked.workload != "PING")
        return record_pairs(asked);
    return std::vector<script_calls>(
        static_cast<std::size_t>(asked.workers), script_calls{encode({"PING"})}
    );
}

}  // namespace

json::object run_raw(plan const& asked)
{
    auto const& c = asked.redis;
    if (c.topology != colock::topology::single || c.tls.enabled || !c.password.empty() ||
        c.database != 0)
        throw std::runtime_error("--raw needs a single server without TLS, password and database");
    auto calls = calls_of(asked);
    server_info server{asked};
    asio::io_context context{1};
    meter spent{server};
    raw_run all{ledger{asked}, {}};
    for (int i = 0; i != std::min(static_cast<int>(c.links), asked.workers); ++i)
        all.links.emplace_back(context, c.addresses.front());
    std::deque<raw_worker> workers;
    for (int i = 0; i != asked.workers; ++i)
        workers.emplace_back(all, i, std::move(calls[static_cast<std::size_t>(i)]));
    for (auto& worker : workers)
        worker.begin();
    context.run();
    json::object out;
    all.done.describe(out);
    spent.describe(out);
    put_costs(out, all.done.acquired_in_all());
    return out;
}

}  // namespace bench
