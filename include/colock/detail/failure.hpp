// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/error.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

// The way of an error from where it arises to its text for the caller.
namespace colock {
inline namespace v0_3 {
namespace detail {

/// An error, and what the server or the connection said. Beside an `error_code` in `?:` it becomes
/// one, without the words.
struct failure : error_code {
    failure() noexcept = default;
    failure(error_code ec) noexcept : error_code{ec} {}
    template <class Error>
        requires(boost::system::is_error_code_enum<Error>::value)
    failure(Error e) noexcept : error_code{e}
    {}
    /// With these words, of which nothing can steer a terminal; none if there is no memory.
    failure(error_code ec, std::string_view words) noexcept;

    /// Another error with these words.
    failure as(error_code ec) const noexcept
    {
        failure other{ec};
        other.said = said;
        return other;
    }

    /// The words; without any, the message of the error.
    std::string text() const;

    std::shared_ptr<std::string const> said{};  ///< none, or the words
};

/// `error::server_refused` with these words of that server; `passing` if the refusal may pass.
failure refusal(
    std::string_view words, bool passing, std::string_view server = "the server"
) noexcept;

/// `error::unavailable` for this reason.
failure unavailable(std::string_view reason) noexcept;

inline bool is_inside_character(char byte) noexcept
{
    return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

/// The place of a cut, or that of the character of UTF-8 before it which it would divide. \pre `at`
/// is less than the size.
inline std::size_t before_character(std::string_view text, std::size_t at) noexcept
{
    auto begin = at;
    for (int i = 0; i != 3 && begin != 0 && is_inside_character(text[begin]); ++i)
        --begin;
    return is_inside_character(text[begin]) ? at : begin;
}

/// How much of a character that a cut has divided is at the front.
inline std::size_t after_character(std::string_view text) noexcept
{
    std::size_t count = 0;
    while (count != 3 && count != text.size() && is_inside_character(text[count]))
        ++count;
    return count;
}

/// A name for the text of an error. It costs no allocation, so of a long one the middle is left
/// out.
class short_name {
public:
    short_name() noexcept = default;
    explicit short_name(std::string_view whole) noexcept
    {
        if (whole.size() <= most) {
            append(whole);
        } else {
            append(whole.substr(0, before_character(whole, kept)));
            append("...");
            auto const last = whole.substr(whole.size() - kept);
            append(last.substr(after_character(last)));
        }
    }

    std::string_view view() const noexcept { return {text_.data(), size_}; }

private:
    static constexpr std::size_t kept = 30, most = 2 * kept + 3;

    void append(std::string_view part) noexcept
    {
        std::ranges::copy(part, text_.begin() + size_);
        size_ = static_cast<unsigned char>(size_ + part.size());
    }

    std::array<char, most> text_{};
    unsigned char size_ = 0;
};

/// The first of so many names.
inline short_name name_of_many(std::string_view first, std::size_t count)
{
    std::string text{short_name{first}.view()};
    if (count > 1)
        text.append(" and ").append(std::to_string(count - 1)).append(" more");
    return short_name{text};
}

/// The parts that the text of an error names.
struct call_about {
    char const* operation = "";
    short_name name{};
    std::shared_ptr<std::string const> server{};
};

/// The text of an error of this call.
std::string text_of(failure const&, call_about const&);

/// The exception with that text; none without an error.
std::exception_ptr exception_of(failure const&, call_about const&) noexcept;

/// The signature of the handlers inside of the library.
template <class Signature>
struct with_failure;
template <class... Values>
struct with_failure<void(error_code, Values...)> {
    using type = void(failure, Values...);
};

}  // namespace detail
}  // namespace v0_3
}  // namespace colock
