#pragma once

#include "decide/slot_map.hpp"
#include "redis/connection_loop.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace colock {

/// A connection to some node of a cluster, to ask it for the map.
///
/// If that node can't be reached, or does not know the owner of a slot, it asks the next one: the
/// nodes of the config, and those that it has learned of since.
class topology_refresher final : private connection_loop::listener {
public:
    class listener {
    public:
        /// Reports the map, and whether the servers have sharded channels.
        virtual void on_map(std::vector<decide::slot_range> const&, bool has_sharded) = 0;

        /// Waiting does not help: all known nodes have refused, one after the other, or are not
        /// nodes of a cluster.
        virtual void on_refresh_refused(error_code) = 0;

        /// Whether all slots are served, as far as the client knows. If not, it asks again soon.
        virtual bool is_content() const = 0;

    protected:
        ~listener() = default;
    };

    topology_refresher(link_context const& context, listener& who);
    ~topology_refresher();

    void start();
    void stop();

    /// Asks for the map. However often this is called, one question is under way, and questions
    /// that bring nothing new come with growing pauses.
    void refresh();

    /// The same with the shortest pause: a link that was up is lost.
    void refresh_soon();

    /// A node that may be asked as well.
    void note(address const&);

    /// Why waiting for a map does not help; no error as long as it may.
    error_code refusal() const noexcept
    {
        return refused_ >= nodes_.size() ? loop_->down_reason() : error_code{};
    }

private:
    void write_probe(resp::writer&) override;
    error_code judge_probe(replies const&) override;
    void on_up() override;
    void on_down(error_code) override;
    void on_failed(error_code) override;

    enum class found { map, no_map, nonsense };

    found read_map(decide::reply const&);
    void ask();
    void ask_after(milliseconds);
    void judge_answer();
    void move_on();
    address const& next_node();

    link_context const& context_;
    listener& listener_;
    std::vector<address> nodes_;
    std::size_t asked_ = 0;  ///< which of them
    std::shared_ptr<connection_loop> loop_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
    decide::alarm_queue::alarm again_;
    std::vector<decide::slot_range> found_;
    int in_vain_ = 0;              ///< answers since one that was enough
    std::size_t refused_ = 0;      ///< nodes in a row that have refused us
    std::size_t without_map_ = 0;  ///< nodes in a row that know of no slots
    milliseconds pause_;           ///< until the next question
    time_point asked_at_{};
    bool has_sharded_ = false;
    bool asking_ = false;
    bool is_news_ = false;    ///< the last answer differs from the one before
    bool is_moving_ = false;  ///< it is changing to another node
    bool wanted_ = false;     ///< once more, when the answer has come
};

}  // namespace colock
