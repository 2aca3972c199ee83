#pragma once

#include "base/completion.hpp"
#include "base/sequence.hpp"
#include "decide/agenda.hpp"
#include "redis/transport.hpp"
#include "service/pause.hpp"
#include "service/question.hpp"
#include "service/resident.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace colock {

using detail::core_ptr;

class errands;

/// A change that somebody wants of a key that knows no owners: so many permits more, a count less.
struct errand final : operation {
    errand(core_ptr c, std::string n, scripts::script const& s, std::int64_t a, std::string ch);
    void cancel() override;
    void finish(error_code, std::int64_t result);

    core_ptr inside;
    std::string name;
    scripts::script const& what;
    std::int64_t amount;
    std::string channel;
    bool owed = false;  ///< it is carried out though nobody waits for it any more
    std::function<void(error_code, std::int64_t result)> done;
    errands* at = nullptr;        ///< where it is under way, while its caller waits
    decide::agenda::entry limit;  ///< `config::timeout` for the caller
};

/// The changes of one key, one after the other: each takes effect once, however often its answer
/// is lost. What is asked for together and can be added up goes as one.
///
/// The server keeps the number of the last change, and its result. So each has a higher number than
/// the one before it, and none is sent before that is answered.
class errands final : public resident {
public:
    errands(core& inside, std::string known_as, std::string name);
    ~errands() override;

    void add(std::shared_ptr<errand>);

    void on_link_up() override {}
    void end_waiters(error_code) override;
    void release_all() override {}
    void abandon() noexcept override;

    /// What is to be sent is not, if its last caller has gone and it is owed to nobody.
    void take_back_unwanted();

private:
    /// One or several errands as one step.
    struct change {
        std::uint64_t number = 0;
        std::int64_t amount = 0;
        time_point first_sent{};
        bool unsure = false;         ///< an answer was lost
        std::uint32_t refusals = 0;  ///< in a row
        std::vector<std::shared_ptr<errand>> of;
    };

    sequence run();
    bool take_next();
    question next_step() const;
    bool is_wanted() const noexcept;
    bool is_to_be_repeated(answer const&) const noexcept;
    void rest(answer const&);
    void end(errand&, error_code, std::int64_t result);
    void conclude(answer const&);

    std::string name_;
    std::string record_;
    std::vector<std::shared_ptr<errand>> waiting_;
    change now_;
    step* sending_ = nullptr;
    pause pause_;
    decide::agenda::entry expiry_;  ///< of the change under way, whose answer was lost
    bool running_ = false;
};

}  // namespace colock
