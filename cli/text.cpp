// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "signals.hpp"
#include "status.hpp"
#include "text.hpp"
#include <colock/printable.hpp>

#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <unistd.h>

namespace cli {

namespace {

/// Whether it needs no quotes.
bool is_plain(std::string_view character)
{
    return character != " " && character != "\"" && character != "\\" &&
        colock::is_shown(character);
}

void append_escaped(std::string& to, std::string_view bytes)
{
    for (char const c : bytes) {
        if (c == ' ') {
            to += c;
            continue;
        }
        if (c == '"' || c == '\\') {
            to += '\\';
            to += c;
            continue;
        }
        std::array<char, 5> code;
        std::snprintf(code.data(), code.size(), "\\x%02x", static_cast<unsigned char>(c));
        to += code.data();
    }
}

}  // namespace

std::optional<milliseconds> read_duration(std::string_view text)
{
    double number = 0;
    auto const end = text.data() + text.size();
    if (text.empty() || text.front() < '0' || text.front() > '9')
        return {};
    auto const [at, ec] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
    if (ec != std::errc{})
        return {};
    std::string_view const unit{at, static_cast<std::size_t>(end - at)};
    double const factor = unit == "ms" ? 1
        : unit == "s" || unit.empty()  ? 1'000
        : unit == "m"                  ? 60'000
        : unit == "h"                  ? 3'600'000
                                       : 0;
    constexpr double ten_years = 10 * 365.25 * 24 * 3'600'000;
    if (factor == 0 || !(number * factor <= ten_years))
        return {};
    return milliseconds{static_cast<std::int64_t>(std::ceil(number * factor - 1e-6))};
}

std::string shown(milliseconds d)
{
    auto const count = d.count();
    if (count < 1'000)
        return std::to_string(count) + " ms";
    if (count < 600'000) {
        auto const tenths = count / 100;
        auto text = std::to_string(tenths / 10);
        if (tenths % 10)
            text += "." + std::to_string(tenths % 10);
        return text + " s";
    }
    return count < 36'000'000 ? std::to_string(count / 60'000) + " min"
                              : std::to_string(count / 3'600'000) + " h";
}

std::string shown(std::string_view text, std::size_t longest)
{
    std::string made;
    bool needs_none = !text.empty();
    auto rest = text.substr(0, longest);
    while (!rest.empty()) {
        auto const length = colock::sequence_length(rest);
        auto const character = rest.substr(0, length == 0 ? 1 : length);
        rest.remove_prefix(character.size());
        if (length != 0 && is_plain(character)) {
            made += character;
            continue;
        }
        needs_none = false;
        append_escaped(made, character);
    }
    if (!needs_none)
        made = '"' + made + '"';
    if (text.size() > longest)
        made += "... (" + std::to_string(text.size()) + " bytes)";
    return made;
}

bool is_utf8(std::string_view text)
{
    while (!text.empty()) {
        auto const length = colock::sequence_length(text);
        if (length == 0)
            return false;
        text.remove_prefix(length);
    }
    return true;
}

std::string safe_to_print(std::string text)
{
    for (auto at = text.find("://"); at != text.npos; at = text.find("://", at + 3)) {
        auto const begin = at + 3;
        auto const last_at = [&](char const* ends) {
            auto const part = std::string_view{text}.substr(0, text.find_first_of(ends, begin));
            auto const found = part.rfind('@');
            return found == part.npos || found < begin ? part.npos : found;
        };
        auto end = last_at(" \t\r\n'\"");
        // A password may have blanks and quotes, too.
        if (end == text.npos)
            end = last_at("\r\n");
        if (end != text.npos)
            text.replace(begin, end - begin, "***");
    }
    return colock::printable(text);
}

std::string counted(std::int64_t number, std::string_view what, std::string_view ending)
{
    auto text = std::to_string(number) + " ";
    text += what;
    if (number != 1)
        text += ending;
    return text;
}

bool has_colours(int descriptor)
{
    auto const* const no_colour = std::getenv("NO_COLOR");
    auto const* const kind = std::getenv("TERM");
    return isatty(descriptor) != 0 && !(no_colour && *no_colour) && kind &&
        std::string_view{kind} != "dumb";
}

void write_out(std::string_view text)
{
    while (!text.empty()) {
        auto const written = write(STDOUT_FILENO, text.data(), text.size());
        if (written >= 0) {
            text.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno == EAGAIN) {
            pollfd out{STDOUT_FILENO, POLLOUT, 0};
            poll(&out, 1, -1);
        } else if (errno == EPIPE) {
            throw nobody_reads{};
        } else if (errno != EINTR) {
            auto const why = std::string{std::strerror(errno)};
            throw failure{status_no, "write to standard output: " + why + "; nobody can read it"};
        }
    }
}

no_pipe_signal::no_pipe_signal()
{
    sigset_t pending;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) != 0;
}

no_pipe_signal::~no_pipe_signal()
{
    if (!was_pending_)
        forget_pending({SIGPIPE});
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void complain(std::string const& line)
{
    auto const text = safe_to_print(line) + "\n";
    no_pipe_signal const guard;
    std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace cli
