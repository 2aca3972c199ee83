// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace cli {

using std::chrono::milliseconds;

/// `500ms`, `2s`, `1m`, `1h` or plain seconds, with a fraction if wanted; rounded up to whole
/// milliseconds. Nothing if it is none of these, or over ten years.
std::optional<milliseconds> read_duration(std::string_view text);

/// The number that the whole text is; nothing if it is no number, or one too large.
template <class Number>
std::optional<Number> number_of(std::string_view text) noexcept
{
    Number n{};
    auto const* const end = text.data() + text.size();
    auto const [at, ec] = std::from_chars(text.data(), end, n);
    return ec == std::errc{} && at == end ? std::optional{n} : std::nullopt;
}

/// For people: `80 ms`, `29.3 s`, `4 min`.
std::string shown(milliseconds);

/// A key, a field or a word of the server, safe for a terminal: as it is if it is printable UTF-8,
/// else quoted, with what is not as `\xNN`. Long ones are cut where `longest` says so.
std::string shown(std::string_view text, std::size_t longest = 200);

/// Whether all of it is well-formed UTF-8.
bool is_utf8(std::string_view text);

/// A message, which may have words of the server in it: what could steer a terminal or forge a line
/// stands there as `\x1b`. All between `://` and `@` is taken out, because what may be a password
/// is never printed. The `@` is the last one before a blank or a quote or, where there is none, the
/// last one of the line.
std::string safe_to_print(std::string text);

/// `1 client`, `2 clients`.
std::string counted(std::int64_t number, std::string_view what, std::string_view ending = "s");

/// Whether the descriptor is a terminal that may be coloured: NO_COLOR and TERM=dumb forbid it.
bool has_colours(int descriptor);

/// Thrown when nobody reads what we write any more: the end of a command that only shows.
struct nobody_reads {};

/// To standard output, all of it, also where that is a pipe that doesn't block. With SIGPIPE
/// ignored a reader that has gone is noticed. \throws nobody_reads, failure
void write_out(std::string_view text);

/// While it lives, a reader that has gone raises no SIGPIPE. The status of colock says what has
/// become of the command: a signal would say something else.
class no_pipe_signal {
public:
    no_pipe_signal();
    no_pipe_signal(no_pipe_signal const&) = delete;
    no_pipe_signal& operator=(no_pipe_signal const&) = delete;
    ~no_pipe_signal();

private:
    sigset_t pipe_{}, before_{};
    bool was_pending_ = false;
};

/// To standard error, safe to print, in one piece and with an end of line. Raises no SIGPIPE.
void complain(std::string const& line);

}  // namespace cli
