#include "redis/cluster_scout.hpp"

#include <algorithm>
#include <utility>

namespace colock {

namespace redis = boost::redis;
using decide::reply;

namespace {

enum probe_place : std::size_t { place_slots, place_sharded, places };

/// A cluster that mends itself does so within seconds, and 10 questions a second hurt nobody.
constexpr milliseconds pause{100};

/// A node that was cut off from the others knows nothing new, however often it is asked.
constexpr int patience = 3;

}  // namespace

cluster_scout::cluster_scout(link_context const& context, listener& who)
    : context_{context}
    , listener_{who}
    , nodes_{context.settings.addresses}
    , loop_{std::make_shared<connection_loop>(
          context,
          static_cast<connection_loop::owner&>(*this),
          "cluster scout",
          nodes_.empty() ? address{} : nodes_.front()
      )}
    , again_{[this] { refresh(); }}
{}

cluster_scout::~cluster_scout()
{
    *alive_ = false;
    loop_->detach();
}

void cluster_scout::start() { loop_->start(); }

void cluster_scout::stop()
{
    again_.clear();
    loop_->stop();
}

void cluster_scout::note(address const& node)
{
    if (std::ranges::find(nodes_, node) == nodes_.end())
        nodes_.push_back(node);
}

void cluster_scout::refresh()
{
    if (!loop_->is_up())
        return;  // it asks when it is
    if (std::exchange(asking_, true)) {
        wanted_ = true;
        return;
    }
    auto request = std::make_shared<redis::request>();
    request->push("CLUSTER", "SLOTS");
    loop_->exec(
        std::move(request),
        [this, alive = alive_](error_code ec, connection_loop::replies const& got) {
            if (!*alive)
                return;
            asking_ = false;
            if (ec)
                return;
            if (got.size() != 1 || !take(got.front())) {
                loop_->restart(error::bad_reply);
                return;
            }
            listener_.on_map(found_, has_sharded_);
            if (*alive)
                ask_later();
        }
    );
}

// Who has just heard of a failover knows it before others do, and links to the new primary take a
// moment: his answer was not in vain.
void cluster_scout::ask_later()
{
    bool const is_content = listener_.is_content();
    if (std::exchange(is_news_, false) || is_content)
        in_vain_ = 0;
    else if (++in_vain_ > patience) {
        is_moving_ = true;
        return loop_->move_to(next_node());
    }
    wanted_ = wanted_ || !is_content;
    if (std::exchange(wanted_, false) && context_.agenda.set(again_, clock::now() + pause))
        context_.agenda_changed();
}

address const& cluster_scout::next_node()
{
    in_vain_ = 0;
    asked_ = (asked_ + 1) % nodes_.size();
    return nodes_[asked_];
}

bool cluster_scout::take(reply const& r)
{
    auto read = decide::read_cluster_slots(r, loop_->where().host);
    if (!read)
        return false;
    is_news_ = *read != found_;
    found_ = std::move(*read);
    for (auto const& range : found_)
        note(range.primary);
    return true;
}

void cluster_scout::write_probe(redis::request& to)
{
    to.push("CLUSTER", "SLOTS");
    to.push("PUBSUB", "SHARDNUMSUB");
}

error_code cluster_scout::judge_probe(connection_loop::replies const& got)
{
    if (got.size() != places)
        return error::bad_reply;
    has_sharded_ = got[place_sharded].what != reply::kind::error;
    auto const& slots = got[place_slots];
    if (slots.what != reply::kind::error)
        return take(slots) ? error_code{} : error::bad_reply;
    if (decide::classify(slots.text) == decide::fault::not_now)
        return error::unavailable;
    bool const is_alone = slots.text.find("cluster support disabled") != slots.text.npos;
    write_log(
        context_.settings.log,
        log_level::error,
        loop_->name() + ": " + describe(loop_->where()) + " refuses CLUSTER SLOTS: " + slots.text +
            (is_alone ? ". Remedy: redis:// instead of redis+cluster://" : "")
    );
    return is_alone ? error::wrong_topology : error::server_refused;
}

void cluster_scout::on_up()
{
    asking_ = wanted_ = false;
    auto const alive = alive_;
    listener_.on_map(found_, has_sharded_);
    if (*alive)
        ask_later();
}

void cluster_scout::on_down(error_code)
{
    again_.clear();
    asking_ = false;
    if (!std::exchange(is_moving_, false))
        loop_->connect_to(next_node());
}

void cluster_scout::on_failed(error_code why)
{
    loop_->connect_to(next_node());
    if (is_refusal(why))
        listener_.on_scout_refused(why);
}

}  // namespace colock
