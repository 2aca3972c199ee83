#pragma once

#include <boost/intrusive/list.hpp>

namespace colock::decide {

struct in_any_list;

/// An object that derives from this may stand in one `linked_list`, and leaves it when it is
/// destroyed. For several lists it has several of these, with different tags.
template <class Tag = in_any_list>
using list_hook = boost::intrusive::list_base_hook<
    boost::intrusive::tag<Tag>,
    boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

/// Objects that others own. Its size is counted by walking.
template <class Object, class Hook = list_hook<>>
using linked_list = boost::intrusive::
    list<Object, boost::intrusive::base_hook<Hook>, boost::intrusive::constant_time_size<false>>;

}  // namespace colock::decide
