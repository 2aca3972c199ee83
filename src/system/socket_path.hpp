#pragma once

#include <cstddef>

#ifdef _WIN32
#    include <winsock2.h>
//
#    include <afunix.h>
#else
#    include <sys/un.h>
#endif

namespace colock {

/// The longest path of a unix socket that the system takes.
inline constexpr std::size_t longest_socket_path = sizeof(sockaddr_un::sun_path) - 1;

}  // namespace colock
