#include "core/core.hpp"
#include "core/keyed_state.hpp"
#include "decide/names.hpp"
#include "decide/permit_id.hpp"
#include "holds/server_field.hpp"

namespace colock {

server_field::server_field(
    core& inside, lock_traits const& how, std::string_view name, std::uint64_t number
)
    : core_{inside}
    , how_{how}
    , name_{name}
    , number_{number}
    , slot_{decide::slot_of(name)}
{}

std::string const& server_field::prefix() const noexcept { return core_.settings().key_prefix; }

std::string_view server_field::given_name() const noexcept
{
    return std::string_view{name_}.substr(prefix().size());
}

std::string server_field::description() const { return name_ + " (" + shown_id() + ")"; }

std::string_view server_field::kind_word() const noexcept
{
    return word_of(how_.is_permit ? state_kind::permit_semaphore : state_of(how_.kind));
}

std::string server_field::shown_id() const
{
    return how_.is_permit ? decide::hex_of(decide::permit_id(core_.uuid(), number_))
                          : core_.field(number_, how_.field_end);
}

std::string server_field::channel() const { return how_.channel(name_, prefix()); }

void server_field::write_id(script_texts& to) const
{
    if (how_.is_permit)
        return to.add_argument(decide::permit_id(core_.uuid(), number_));
    core_.write_field(to.text(), number_);
    to.add_argument(how_.field_end);
}

void server_field::write_lease(
    script_texts& to, milliseconds lease, std::optional<std::size_t> depth
) const
{
    if (how_.is_permit)
        to.add_key(decide::permit_leases(name_, prefix()));
    else
        to.add_key(name_);
    write_id(to);
    if (depth && !how_.is_permit) {
        decide::write_number(to.text(), *depth);
        to.end_argument();
    }
    decide::write_number(to.text(), lease.count());
    to.end_argument();
    if (how_.has_leases)
        to.add_argument(how_.leases(name_, prefix()));
}

void server_field::write_release(script_texts& to, std::string_view channel, std::uint64_t joins)
    const
{
    to.add_key(name_);
    if (how_.is_permit)
        to.add_key(decide::permit_leases(name_, prefix()));
    for (auto const& key : how_.queue_keys(name_, prefix()))
        to.add_key(key);
    if (how_.tells_list()) {
        core_.write_mailbox_argument(to.text(), slot_);
        to.end_argument();
    }
    write_id(to);
    to.add_argument(channel);
    if (how_.tells_list()) {
        decide::write_wait_list(to.text(), name_, prefix());
        to.end_argument();
    }
    if (how_.tells_list() && !how_.has_leases) {
        if (joins != 0)
            core_.write_field(to.text(), joins);
        to.end_argument();
    }
    if (auto const more = how_.release_argument(name_, prefix()); !more.empty())
        to.add_argument(more);
}

}  // namespace colock
