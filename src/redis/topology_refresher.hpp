#pragma once

#include "decide/slot_map.hpp"
#include "redis/connection_loop.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace colock {

using detail::failure;

/// Asks the nodes of a cluster for the map: those of the config, and those that it has learned of
/// since.
///
/// It has a connection to one of them. While that one owes an answer, or does not know the owner of
/// a slot, others are asked beside it, one more each `patience`; the first answer counts, and its
/// node is the one to ask from then on.
class topology_refresher final {
public:
    class listener {
    public:
        /// Reports the map, and whether the servers have sharded channels.
        virtual void on_map(std::vector<decide::slot_range> const&, bool has_sharded) = 0;

        /// Waiting does not help: all known nodes have refused, one after the other, or are not
        /// nodes of a cluster.
        virtual void on_refresh_refused(failure) = 0;

        /// Whether all slots are served, as far as the client knows. If not, it asks again soon.
        virtual bool is_content() const = 0;

    protected:
        ~listener() = default;
    };

    /// A connection to one node after the other, until one of them has a map.
    class asker final : private connection_loop::listener {
    public:
        asker(topology_refresher& whose, address where);
        ~asker() { loop_->detach(); }

        connection_loop& loop() const noexcept { return *loop_; }

    private:
        void write_probe(resp::writer&) override;
        error_code judge_probe(replies const& got) override { return of_.judge_probe(*this, got); }
        void on_up() override { of_.on_up(*this); }
        void on_down(error_code) override { of_.on_down(*this); }
        void on_failed(failure why) override { of_.on_failed(*this, why); }

        topology_refresher& of_;
        std::shared_ptr<connection_loop> loop_;
    };

    topology_refresher(link_context const& context, listener& who);
    ~topology_refresher();

    void start();
    void stop();

    /// Asks for the map. However often this is called, one question is under way at a node, and
    /// questions that bring nothing new come with growing pauses.
    void refresh();

    /// The same with the shortest pause: a link that was up is lost.
    void refresh_soon();

    /// A node that may be asked as well.
    void note(address const&);

    /// Why waiting for a map does not help; no error as long as it may.
    failure refusal() const noexcept;

    /// Why no node has given a map: its refusal, or what became of the last connection.
    failure down_reason() const noexcept;

private:
    enum class found { map, no_map, nonsense };

    struct node {
        address where;
        time_point failed{};    ///< when it last did not answer, or another one was quicker
        failure refused{};      ///< why waiting for it does not help
        bool is_empty = false;  ///< it knows of no slots
    };

    error_code judge_probe(asker&, replies const&);
    void on_up(asker&);
    void on_down(asker&);
    void on_failed(asker&, failure);

    found read_map(asker&, decide::reply const&);
    void ask();
    void ask_after(milliseconds);
    void judge_answer();
    void move_on();
    void await_map(milliseconds patience);
    void add_asker();
    bool may_add_asker() const noexcept;
    void ask_beside();
    node& of(address const&);
    node const& next_for(asker const*) const;
    void send_on(asker&);

    link_context const& context_;
    listener& listener_;
    std::vector<node> nodes_;
    std::vector<std::unique_ptr<asker>> askers_;  ///< one, or several while a map is awaited
    asker* up_ = nullptr;                         ///< the one that has a connection
    failure last_failure_ = error::unavailable;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
    decide::alarm_queue::alarm again_{[this] { ask(); }};
    decide::alarm_queue::alarm beside_{[this] { ask_beside(); }};
    std::vector<decide::slot_range> found_;
    int in_vain_ = 0;     ///< answers since one that was enough
    milliseconds pause_;  ///< until the next question
    time_point asked_at_{};
    bool started_ = false;
    bool has_sharded_ = false;
    bool asking_ = false;
    bool is_news_ = false;  ///< the last answer differs from the one before
    bool wanted_ = false;   ///< once more, when the answer has come
};

}  // namespace colock
