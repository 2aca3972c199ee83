#pragma once

#include <colock/detail/initiate.hpp>
#include <colock/error.hpp>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace colock {

using detail::core;

/// What a core keeps beside the keys and ownerships of locks, for as long as it has something to do
/// there: a gate, errands, a permit. Known by a name of its own.
class resident : public std::enable_shared_from_this<resident> {
public:
    resident(core& inside, std::string known_as, unsigned slot);
    resident(resident const&) = delete;
    resident& operator=(resident const&) = delete;
    virtual ~resident() = default;

    std::string const& known_as() const noexcept { return known_as_; }
    unsigned slot() const noexcept { return slot_; }

    /// The link of its slot is a new one.
    virtual void on_link_up() = 0;

    /// Nobody is let in any more.
    virtual void end_waiters(error_code why) = 0;

    /// The client closes: what is held is given back.
    virtual void release_all() = 0;

    /// Destroys handlers, answering nobody: the context goes away.
    virtual void abandon() noexcept = 0;

protected:
    /// Nothing is left to do: the core forgets it, which may destroy it.
    void leave() noexcept;

    core& core_;

private:
    std::string known_as_;
    unsigned slot_;
};

/// The residents of a core, by their names.
class resident_list {
public:
    /// What is known under this name, or nothing.
    resident* find(std::string const& known_as) const noexcept;
    void add(std::shared_ptr<resident>);

    /// The one that is no longer there, if it was.
    std::shared_ptr<resident> take_out(resident&) noexcept;

    /// A copy: what is called for one may add and drop others.
    std::vector<std::shared_ptr<resident>> all() const;
    bool is_empty() const noexcept { return known_.empty(); }

private:
    std::unordered_map<std::string, std::shared_ptr<resident>> known_;
};

}  // namespace colock
