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
constexpr milliseconds shortest_refresh_pause{100};
constexpr milliseconds longest_refresh_pause{2'000};

/// A node that is cut off from the others has nothing new, however often it is asked.
constexpr int most_in_vain = 3;

/// How long a node may take before another one is asked beside it, and how many at most.
constexpr milliseconds patience{250};
constexpr std::size_t most_side_by_side = 4;

}  // namespace

topology_refresher::asker::asker(topology_refresher& whose, address where)
    : of_{whose}
    , loop_{std::make_shared<connection_loop>(
          whose.context_,
          static_cast<connection_loop::listener&>(*this),
          connection_loop::description{
              "cluster topology", std::move(where), set_up::role::any, map_limits(), map_limits()}
      )}
{}

void topology_refresher::asker::write_probe(resp::writer& to)
{
    to.push("CLUSTER", "SLOTS");
    to.push("PUBSUB", "SHARDNUMSUB");
}

topology_refresher::topology_refresher(link_context const& context, listener& who)
    : context_{context}
    , listener_{who}
    , pause_{shortest_refresh_pause}
{
    for (auto const& where : context.settings.addresses)
        note(where);
    if (nodes_.empty())
        nodes_.emplace_back();  // `run()` reports errors of the addresses
}

topology_refresher::~topology_refresher() { *alive_ = false; }

void topology_refresher::start()
{
    started_ = true;
    if (askers_.empty())
        add_asker();
    askers_.front()->loop().start();
    await_map(patience);
}

void topology_refresher::stop()
{
    started_ = asking_ = false;
    up_ = nullptr;
    again_.clear();
    beside_.clear();
    askers_.resize(std::min<std::size_t>(askers_.size(), 1));
    for (auto const& each : askers_)
        each->loop().stop();
}

// ---- The nodes ---------------------------------------------------------------------------------

void topology_refresher::note(address const& where)
{
    if (std::ranges::find(nodes_, where, &node::where) == nodes_.end())
        nodes_.push_back({where});
}

topology_refresher::node& topology_refresher::of(address const& where)
{
    note(where);
    return *std::ranges::find(nodes_, where, &node::where);
}

/// The one that has failed least recently, among those that no other connection is for.
topology_refresher::node const& topology_refresher::next_for(asker const* who) const
{
    auto const is_asked = [&](node const& n) {
        return std::ranges::any_of(askers_, [&](auto const& each) {
            return each.get() != who && each->loop().where() == n.where;
        });
    };
    auto best = nodes_.begin();
    for (auto at = nodes_.begin(); at != nodes_.end(); ++at)
        if (std::pair{is_asked(*at), at->failed} < std::pair{is_asked(*best), best->failed})
            best = at;
    return *best;
}

void topology_refresher::send_on(asker& who)
{
    of(who.loop().where()).failed = clock::now();
    who.loop().connect_to(next_for(&who).where);
}

failure topology_refresher::refusal() const noexcept
{
    bool const is_refused =
        std::ranges::all_of(nodes_, [](auto const& n) { return bool{n.refused}; });
    return is_refused ? nodes_.back().refused : failure{};
}

failure topology_refresher::down_reason() const noexcept
{
    auto const refused = refusal();
    return refused ? refused : last_failure_;
}

// ---- Asking ------------------------------------------------------------------------------------

void topology_refresher::refresh()
{
    if (!up_ || again_.is_set())
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
    pause_ = shortest_refresh_pause;
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
    if (!up_ || std::exchange(asking_, true))
        return;
    asked_at_ = clock::now();
    await_map(patience);
    up_->loop().ask(
        [](resp::writer& out) { out.push("CLUSTER", "SLOTS"); },
        [this, who = up_](error_code ec, replies const& got) {
            if (ec)
                return;  // the connection is lost
            switch (read_map(*who, got.front())) {
            case found::nonsense: return who->loop().restart(error::bad_reply);
            case found::no_map: return move_on();
            case found::map: return judge_answer();
            }
        }
    );
}

void topology_refresher::await_map(milliseconds limit)
{
    context_.set_alarm(beside_, clock::now() + limit);
}

void topology_refresher::add_asker()
{
    askers_.push_back(std::make_unique<asker>(*this, next_for(nullptr).where));
}

bool topology_refresher::may_add_asker() const noexcept
{
    return askers_.size() < std::min(most_side_by_side, nodes_.size());
}

/// No answer yet: asks one more node.
void topology_refresher::ask_beside()
{
    if (!started_ || (up_ && !asking_) || !may_add_asker())
        return;
    add_asker();
    askers_.back()->loop().start();
    await_map(patience);
}

/// With a map from the asked node. A changed map is progress even while links to the new primary
/// are still down: a node may know of a failover before the others do.
void topology_refresher::judge_answer()
{
    asking_ = false;
    beside_.clear();
    for (auto const& each : askers_)
        if (each.get() != up_)
            of(each->loop().where()).failed = clock::now();  // it was slower
    std::erase_if(askers_, [this](auto const& each) { return each.get() != up_; });
    auto const alive = alive_;
    listener_.on_map(found_, has_sharded_);
    if (!*alive)
        return;
    bool const is_content = listener_.is_content();
    bool const is_news = std::exchange(is_news_, false);
    if (is_news || is_content)
        in_vain_ = 0;
    if (is_news)
        pause_ = shortest_refresh_pause;
    if (!is_content && !is_news && ++in_vain_ > most_in_vain)
        return move_on();
    if (std::exchange(wanted_, false) || !is_content) {
        ask_after(pause_);
        pause_ = std::min(pause_ + pause_ / 2, longest_refresh_pause);
    } else if (is_content)
        pause_ = shortest_refresh_pause;
}

/// Asks another node, if there is one.
void topology_refresher::move_on()
{
    in_vain_ = 0;
    asking_ = false;
    if (nodes_.size() == 1) {
        ask_after(pause_);
        pause_ = std::min(pause_ + pause_ / 2, longest_refresh_pause);
    } else if (up_)
        up_->loop().restart(error::closed);
}

// A node that has left the cluster, or has never been in one, answers with no slots. That is not a
// map: the known slots and nodes stay.
topology_refresher::found topology_refresher::read_map(asker& who, reply const& r)
{
    auto const now = who.loop().where();
    auto read = decide::read_cluster_slots(r, now.host);
    if (!read)
        return found::nonsense;
    if (read->empty()) {
        bool const is_new = !std::exchange(of(now).is_empty, true);
        if (is_new && std::ranges::all_of(nodes_, &node::is_empty))
            who.loop().say(
                log_level::warning,
                "slots",
                {},
                "no node knows of any slots, the last one asked was " + describe(now) +
                    ". Remedy: addresses of nodes that are members of the cluster"
            );
        return found::no_map;
    }
    for (auto& range : *read)
        range.primary = context_.reached_at(range.primary);
    is_news_ = *read != found_;
    found_ = std::move(*read);
    bool const is_whole = decide::are_whole(found_);
    for (auto const& range : found_)
        note(range.primary);
    auto const is_known = [&](node const& n) {
        auto const& seeds = context_.settings.addresses;
        return n.where == now || std::ranges::find(seeds, n.where) != seeds.end() ||
            std::ranges::find(found_, n.where, &decide::slot_range::primary) != found_.end();
    };
    // Nodes that have left are not asked any more.
    std::erase_if(nodes_, [&](node const& n) { return is_whole && !is_known(n); });
    for (auto& each : nodes_)
        each.is_empty = false;
    of(now) = {now};
    return found::map;
}

// ---- The connections ---------------------------------------------------------------------------

error_code topology_refresher::judge_probe(asker& who, replies const& got)
{
    if (got.size() != places)
        return error::bad_reply;
    auto const& slots = got[place_slots];
    if (slots.what != reply::kind::error) {
        bool const has_sharded = got[place_sharded].what != reply::kind::error;
        switch (read_map(who, slots)) {
        case found::nonsense: return error::bad_reply;
        case found::no_map: return error::unavailable;
        case found::map: break;
        }
        has_sharded_ = has_sharded;
        bool const is_asked = context_.settings.publish == publishing::automatic;
        if (is_asked && got[place_sharded].text.starts_with("NOPERM"))
            context_.warn_once(
                who.loop().name() +
                ": the user may not ask whether the server knows sharded channels, "
                "so plain ones are taken. Remedy: +pubsub|shardnumsub, or config::publish"
            );
        return {};
    }
    if (decide::classify(slots.text) == decide::fault::not_now)
        return error::unavailable;
    bool const is_alone = slots.text.find("cluster support disabled") != slots.text.npos;
    auto const words = redacted(slots.text, context_.settings);
    who.loop().say(
        log_level::error,
        "refuses",
        words,
        describe(who.loop().where()) + " refuses CLUSTER SLOTS: " + words +
            (is_alone ? ". Remedy: redis:// instead of redis+cluster://" : "")
    );
    return is_alone ? error::wrong_topology : error::server_refused;
}

void topology_refresher::on_up(asker& who)
{
    up_ = &who;
    wanted_ = false;
    asked_at_ = clock::now();
    judge_answer();
}

void topology_refresher::on_down(asker& who)
{
    again_.clear();
    asking_ = false;
    up_ = nullptr;
    if (!started_)
        return;
    send_on(who);
    await_map(patience);
}

// Another one follows after a pause, but a node that has not failed yet is asked at once.
void topology_refresher::on_failed(asker& who, failure why)
{
    if (!started_)
        return;
    auto& failed = of(who.loop().where());
    failed.refused = is_refusal(why) ? why : failure{};
    failed.failed = clock::now();
    last_failure_ = why.as(error::unavailable);
    if (may_add_asker() && next_for(nullptr).failed == time_point{})
        ask_beside();
    send_on(who);
    if (auto const ec = refusal())
        listener_.on_refresh_refused(ec);
}

}  // namespace colock
