#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

namespace colock::resp {

/// Commands as bytes, appended to a buffer that is used again.
class writer {
public:
    /// Begins a command of this many words, which follow. At least one, because a server does not
    /// answer an empty command.
    void begin(std::size_t words)
    {
        add_header('*', words);
        ++commands_;
    }

    void add(std::string_view word)
    {
        add_header('$', word.size());
        bytes_.append(word).append("\r\n");
    }

    void add(std::integral auto number)
    {
        char digits[24];
        auto const end = std::to_chars(digits, digits + sizeof digits, number).ptr;
        add(std::string_view{digits, static_cast<std::size_t>(end - digits)});
    }

    /// A whole command.
    template <class... Words>
    void push(Words const&... words)
    {
        begin(sizeof...(words));
        (add(words), ...);
    }

    template <class Range>
    void push_range(Range const& words)
    {
        begin(words.size());
        for (auto const& word : words)
            add(std::string_view{word});
    }

    /// Counts a command whose bytes go another way.
    void count() noexcept { ++commands_; }

    /// Moves so many of the first bytes out.
    void take_front(std::size_t bytes, std::string& into)
    {
        into.assign(bytes_, 0, bytes);
        bytes_.erase(0, bytes);
    }

    /// All commands of another one.
    void append(writer const& other)
    {
        bytes_ += other.bytes_;
        commands_ += other.commands_;
    }

    /// Reserves memory, so that appended bytes are not copied as the buffer grows.
    void reserve(std::size_t bytes) { bytes_.reserve(bytes); }

    /// Gives the memory back, if it is empty and has room for more than `most`.
    void shrink(std::size_t most) noexcept
    {
        if (bytes_.empty() && bytes_.capacity() > most)
            std::string{}.swap(bytes_);
    }

    /// The number since it was made or cleared.
    std::size_t commands() const noexcept { return commands_; }
    std::string const& bytes() const noexcept { return bytes_; }
    bool empty() const noexcept { return bytes_.empty(); }

    void clear() noexcept
    {
        bytes_.clear();
        commands_ = 0;
    }

    /// Exchanges the bytes, so that they can be written while more commands come.
    void swap_bytes(std::string& other) noexcept { bytes_.swap(other); }

private:
    void add_header(char type, std::size_t number)
    {
        char digits[24];
        digits[0] = type;
        auto end = std::to_chars(digits + 1, digits + sizeof digits - 2, number).ptr;
        *end++ = '\r';
        *end++ = '\n';
        bytes_.append(digits, static_cast<std::size_t>(end - digits));
    }

    std::string bytes_;
    std::size_t commands_ = 0;
};

}  // namespace colock::resp
