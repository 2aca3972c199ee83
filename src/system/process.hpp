#pragma once

namespace colock {

/// Which process this is. Another one has neither this one's threads nor its connections, so what
/// a fork has copied is told by it.
int process_id() noexcept;

}  // namespace colock
