#pragma once

#include <functional>
#include <string_view>

namespace colock {

/// Writes one line to standard error in one call; with a second call, lines of other processes
/// could come in between. Waits until there is room. There is nobody to report a failure to.
void write_to_standard_error(std::string_view line);

/// Starts a thread that gets no signals: they are for the threads of the program, and SIGPIPE
/// would end it. Throws `std::system_error` if no thread can be started.
void start_quiet_thread(std::function<void()> work);

}  // namespace colock
