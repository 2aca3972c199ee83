#include "redis/link_settings.hpp"
#include "redis/topology_refresher.hpp"

#include <algorithm>
#include <utility>

namespace colock {

using decide::reply;

namespace {

enum probe_place : std::size_t { place_slots, place_sharded, places };

/// A cluster that recovers does so within seconds. If a node stays down for long, do not go on
/// asking so often: the answer is long, and many clients ask.
constexpr milliseconds shortest_pause{100};
constexpr milliseconds longest_pause{2'000};

/// A node that is cut off from the others has nothing new, however often it is asked.
constexpr int most_in_vain = 3;

}  // namespace

topology_refresher::topology_refresher(link_context const& context, listener& who)
    : context_{context}
    , listener_{who}
    , nodes_{context.settings.addresses}
    , loop_{std::make_shared<connection_loop>(
          context,
          static_cast<connection_loop::listener&>(*this),
          connection_loop::description{
              "cluster topology",
              nodes_.empty() ? address{} : nodes_.front(),
              set_up::role::any,
              map_limits(),
              map_limits()}
      )}
    , again_{[this] { ask(); }}
    , pause_{shortest_pause}
{}

topology_refresher::~topology_refresher()
{
    *alive_ = false;
    loop_->detach();
}

void topology_refresher::start() { loop_->start(); }

void topology_refresher::stop()
{
    again_.clear();
    loop_->stop();
}

void topology_refresher::note(address const& node)
{
    if (std::ranges::find(nodes_, node) == nodes_.end())
        nodes_.push_back(node);
}

void topology_refresher::refresh()
{
    if (!loop_->is_up() || again_.is_set())
        return;  // it asks when it is up, or soon
    if (asking_)
        wanted_ = true;
    else if (clock::now() - asked_at_ >= pause_)
        ask();
    else
        ask_after(pause_);
}

// The pause may have grown since the last failover.
void topology_refresher::refresh_soon()
{
    pause_ = shortest_pause;
    again_.clear();
    refresh();
}

void topology_refresher::ask_after(milliseconds pause)
{
    context_.set_alarm(again_, clock::now() + pause);
}

void topology_refresher::ask()
{
    again_.clear();
    if (!loop_->is_up() || std::exchange(asking_, true))
        return;
    asked_at_ = clock::now();
    loop_->ask(
        [](resp::writer& out) { out.push("CLUSTER", "SLOTS"); },
        [this, alive = alive_](error_code ec, replies const& got) {
            if (!*alive)
                return;
            asking_ = false;
            if (ec)
                return;
            switch (read_map(got.front())) {
            case found::nonsense: return loop_->restart(error::bad_reply);
            case found::no_map: return move_on();
            case found::map: return judge_answer();
            }
        }
    );
}

/// With a map from the asked node. A changed map is progress even while links to the new primary
/// are still down: a node may know of a failover before the others do.
void topology_refresher::judge_answer()
{
    auto const alive = alive_;
    listener_.on_map(found_, has_sharded_);
    if (!*alive)
        return;
    bool const is_content = listener_.is_content();
    bool const is_news = std::exchange(is_news_, false);
    if (is_news || is_content)
        in_vain_ = 0;
    if (is_news)
        pause_ = shortest_pause;
    if (!is_content && !is_news && ++in_vain_ > most_in_vain)
        return move_on();
    if (std::exchange(wanted_, false) || !is_content) {
        ask_after(pause_);
        pause_ = std::min(pause_ + pause_ / 2, longest_pause);
    } else if (is_content)
        pause_ = shortest_pause;
}

/// Asks another node, if there is one.
void topology_refresher::move_on()
{
    in_vain_ = 0;
    if (nodes_.size() == 1) {
        ask_after(pause_);
        pause_ = std::min(pause_ + pause_ / 2, longest_pause);
        return;
    }
    is_moving_ = true;
    loop_->move_to(next_node());
}

address const& topology_refresher::next_node()
{
    asked_ = (asked_ + 1) % nodes_.size();
    return nodes_[asked_];
}

// A node that has left the cluster, or has never been in one, answers with no slots. That is not a
// map: the known slots and nodes stay.
topology_refresher::found topology_refresher::read_map(reply const& r)
{
    auto read = decide::read_cluster_slots(r, loop_->where().host);
    if (!read)
        return found::nonsense;
    auto const now = loop_->where();
    if (read->empty()) {
        if (++without_map_ == nodes_.size())
            write_log(
                context_.settings.log,
                log_level::warning,
                loop_->name() + ": no node knows of any slots, the last one asked was " +
                    describe(now) + ". Remedy: addresses of nodes that are members of the cluster"
            );
        return found::no_map;
    }
    without_map_ = 0;
    is_news_ = *read != found_;
    found_ = std::move(*read);
    // Nodes that have left are not asked any more.
    if (decide::are_whole(found_))
        nodes_ = context_.settings.addresses;
    for (auto const& range : found_)
        note(range.primary);
    note(now);
    asked_ = static_cast<std::size_t>(std::ranges::find(nodes_, now) - nodes_.begin());
    return found::map;
}

void topology_refresher::write_probe(resp::writer& to)
{
    to.push("CLUSTER", "SLOTS");
    to.push("PUBSUB", "SHARDNUMSUB");
}

error_code topology_refresher::judge_probe(replies const& got)
{
    if (got.size() != places)
        return error::bad_reply;
    auto const& slots = got[place_slots];
    if (slots.what != reply::kind::error) {
        bool const has_sharded = got[place_sharded].what != reply::kind::error;
        switch (read_map(slots)) {
        case found::nonsense: return error::bad_reply;
        case found::no_map: return error::unavailable;
        case found::map: break;
        }
        has_sharded_ = has_sharded;
        bool const is_asked = context_.settings.publish == publishing::automatic;
        if (is_asked && got[place_sharded].text.starts_with("NOPERM"))
            context_.warn_once(
                loop_->name() +
                ": the user may not ask whether the server knows sharded channels, "
                "so plain ones are taken. Remedy: +pubsub|shardnumsub, or config::publish"
            );
        return {};
    }
    if (decide::classify(slots.text) == decide::fault::not_now)
        return error::unavailable;
    bool const is_alone = slots.text.find("cluster support disabled") != slots.text.npos;
    write_log(
        context_.settings.log,
        log_level::error,
        loop_->name() + ": " + describe(loop_->where()) +
            " refuses CLUSTER SLOTS: " + redacted(slots.text, context_.settings) +
            (is_alone ? ". Remedy: redis:// instead of redis+cluster://" : "")
    );
    return is_alone ? error::wrong_topology : error::server_refused;
}

void topology_refresher::on_up()
{
    asking_ = wanted_ = false;
    refused_ = 0;
    asked_at_ = clock::now();
    judge_answer();
}

void topology_refresher::on_down(error_code)
{
    again_.clear();
    asking_ = false;
    if (!std::exchange(is_moving_, false))
        loop_->connect_to(next_node());
}

void topology_refresher::on_failed(error_code why)
{
    refused_ = is_refusal(why) ? refused_ + 1 : 0;
    loop_->connect_to(next_node());
    if (refused_ >= nodes_.size())
        listener_.on_refresh_refused(why);
}

}  // namespace colock
