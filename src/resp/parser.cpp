#include "decide/number.hpp"
#include "resp/parser.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

namespace colock::resp {

namespace {

constexpr std::size_t smallest_buffer = 2'048;

/// One read brings at most this much; more waits in the kernel.
constexpr std::size_t largest_read = 64U << 10U;

/// No header, integer or one-line reply of a server is longer.
constexpr std::size_t longest_line = 64U << 10U;

/// More nodes than this are not kept from one message to the next.
constexpr std::size_t most_kept_nodes = 4'096;

/// An integer as servers write it, without a plus sign and leading zeros.
std::optional<std::int64_t> integer_of(std::string_view digits) noexcept
{
    auto const magnitude = digits.substr(digits.starts_with('-') ? 1 : 0);
    if (magnitude.starts_with('0') && digits != "0")
        return std::nullopt;
    return decide::number_of<std::int64_t>(digits);
}

}  // namespace

// ---- The buffer --------------------------------------------------------------------------------

std::span<char> parser::prepare()
{
    if (is_whole_)
        begin_message();
    if (begin_ == end_) {
        begin_ = at_ = scanned_ = end_ = 0;
        // The memory of a large message is not kept.
        if (capacity_ > largest_read) {
            buffer_.reset();
            capacity_ = 0;
        }
    }
    make_room(std::clamp(wanted_, smallest_buffer / 2, largest_read));
    return {buffer_.get() + end_, std::min(capacity_ - end_, largest_read)};
}

void parser::make_room(std::size_t least)
{
    auto const used = end_ - begin_;
    auto const shift = begin_;
    bool const is_oversized = capacity_ > 4 * largest_read && capacity_ / 4 > used + least;
    if (!is_oversized && capacity_ - end_ >= least)
        return;
    if (!is_oversized && capacity_ - used >= least && begin_ >= used) {
        std::memmove(buffer_.get(), buffer_.get() + begin_, used);
    } else {
        // Doubling keeps the copying linear. More than the longest message is never needed.
        auto const doubled = std::min(2 * used, limits_.message_bytes + largest_read);
        auto const size = std::max({smallest_buffer, used + least, doubled});
        auto larger = std::make_unique_for_overwrite<char[]>(size);
        if (used != 0)
            std::memcpy(larger.get(), buffer_.get() + begin_, used);
        buffer_ = std::move(larger);
        capacity_ = size;
    }
    begin_ = 0;
    at_ -= shift;
    scanned_ -= shift;
    end_ -= shift;
}

// ---- Messages ----------------------------------------------------------------------------------

void parser::shrink(std::size_t most) noexcept
{
    if (is_whole_)
        begin_message();
    if (nodes_.empty())
        keep_nodes(most / sizeof(node));
}

void parser::keep_nodes(std::size_t most) noexcept
{
    if (nodes_.capacity() <= most)
        return;
    std::vector<node>{}.swap(nodes_);
    std::vector<span_of_text>{}.swap(texts_);
}

void parser::begin_message() noexcept
{
    begin_ = at_;
    scanned_ = std::max(scanned_, begin_);  // places before the message are invalid once it moves
    nodes_.clear();
    texts_.clear();
    keep_nodes(most_kept_nodes);
    depth_ = 0;
    is_push_ = is_whole_ = false;
}

parser::outcome parser::next()
{
    if (complaint_)
        return outcome::broken;
    if (is_whole_)
        begin_message();
    try {
        return parse_message();
    } catch (...) {
        fail("there is no memory for a message");
        throw;
    }
}

message parser::without_first() noexcept
{
    auto const rest = std::span{nodes_}.subspan(1);
    rest.front() = {node::kind::list, nodes_.front().number - 1, {}};
    return {rest, is_push_};
}

parser::outcome parser::parse_message()
{
    while (!is_whole_) {
        auto const found = parse_value();
        if (found == outcome::broken)
            return found;
        if ((found == outcome::more ? end_ : at_) - begin_ > limits_.message_bytes)
            return fail("a message is too long");
        if (found == outcome::more)
            return found;
    }
    for (std::size_t i = 0; i != nodes_.size(); ++i)
        nodes_[i].text = {buffer_.get() + begin_ + texts_[i].begin, texts_[i].size};
    return outcome::message;
}

/// Parses one value, or the header of an aggregate. `outcome::message` says that it is complete.
parser::outcome parser::parse_value()
{
    wanted_ = 0;
    auto const from = std::max(at_, scanned_);
    auto const* const feed = from == end_
        ? nullptr
        : static_cast<char const*>(std::memchr(buffer_.get() + from, '\n', end_ - from));
    if (!feed) {
        scanned_ = end_;
        auto const longest = 1 + longest_line + 1;  // with the type and the CR
        return end_ - at_ > longest ? fail("a line is too long") : outcome::more;
    }
    auto const line_end = static_cast<std::size_t>(feed - buffer_.get());
    if (line_end < at_ + 2 || buffer_[line_end - 1] != '\r')
        return fail("a line does not end with CR LF");
    char const type = buffer_[at_];
    std::string_view const line{buffer_.get() + at_ + 1, line_end - at_ - 2};
    if (line.size() > longest_line)
        return fail("a line is too long");
    if (std::strchr("$=!", type) && type != 0)
        return parse_string(type, line);
    if (std::strchr("*~>%|", type) && type != 0) {
        at_ = line_end + 1;
        return parse_aggregate(type, line);
    }
    auto const parsed = parse_line(type, line);
    at_ = line_end + 1;
    return parsed;
}

parser::outcome parser::parse_line(char type, std::string_view line)
{
    span_of_text const where{at_ + 1 - begin_, line.size()};
    switch (type) {
    case '+':
    case ',':
    case '(': return add_whole({node::kind::text}, where);
    case '-': return add_whole({node::kind::error}, where);
    case '_': return line.empty() ? add_whole({node::kind::nil}) : fail("a null has a value");
    case '#':
        if (line != "t" && line != "f")
            return fail("a boolean is neither true nor false");
        return add_whole({node::kind::integer, line == "t"});
    case ':':
        if (auto const n = integer_of(line))
            return add_whole({node::kind::integer, *n});
        return add_whole({node::kind::text}, where);  // so that nobody takes it for a number
    default: return fail("a value has an unknown type");
    }
}

parser::outcome parser::parse_string(char type, std::string_view line)
{
    auto const length = integer_of(line);
    auto const body = at_ + 1 + line.size() + 2;
    if (length == -1 && type == '$') {
        at_ = body;
        return add_whole({node::kind::nil});
    }
    if (!length || *length < 0)
        return fail("the length of a string is none");
    auto const size = static_cast<std::size_t>(*length);
    if (size > limits_.string_bytes || body - begin_ + size + 2 > limits_.message_bytes)
        return fail("a string is too long");
    if (end_ - body < size + 2) {
        wanted_ = size + 2 - (end_ - body);
        return outcome::more;
    }
    if (buffer_[body + size] != '\r' || buffer_[body + size + 1] != '\n')
        return fail("a string does not end with CR LF");
    span_of_text where{body - begin_, size};
    // A verbatim string says its format first, as in "txt:".
    if (type == '=' && size >= 4 && buffer_[body + 3] == ':')
        where = {where.begin + 4, size - 4};
    at_ = scanned_ = body + size + 2;
    return add_whole({type == '!' ? node::kind::error : node::kind::text}, where);
}

parser::outcome parser::parse_aggregate(char type, std::string_view line)
{
    auto const count = integer_of(line);
    if (count == -1 && type == '*')
        return add_whole({node::kind::nil});
    if (!count || *count < 0 || static_cast<std::uint64_t>(*count) > limits_.elements)
        return fail("the length of a list is none, or too great");
    bool const is_attribute = type == '|';
    bool const has_pairs = type == '%' || is_attribute;
    auto const elements = static_cast<std::uint64_t>(*count) * (has_pairs ? 2 : 1);
    if (elements > limits_.elements)
        return fail("the length of a list is too great");
    if (depth_ >= std::min(limits_.depth, limits::deepest))
        return fail("lists are nested too deep");
    if (type == '>') {
        if (depth_ != 0)
            return fail("a push within a reply");
        is_push_ = true;
    }
    auto const before = nodes_.size();
    if (!is_attribute && !add({node::kind::list, static_cast<std::int64_t>(elements)}))
        return outcome::broken;
    if (elements != 0)
        open_[depth_++] = {elements, before, is_attribute};
    else if (!is_attribute)
        finish_value();
    return outcome::message;
}

bool parser::add(node value, span_of_text where)
{
    if (nodes_.size() > limits_.elements) {
        fail("a message has too many elements");
        return false;
    }
    nodes_.push_back(value);
    texts_.push_back(where);
    return true;
}

parser::outcome parser::add_whole(node value, span_of_text where)
{
    if (!add(value, where))
        return outcome::broken;
    finish_value();
    return outcome::message;
}

/// A value is complete, and so are the aggregates that end with it. The contents of an attribute
/// are dropped; the value that it belongs to follows.
void parser::finish_value() noexcept
{
    while (depth_ != 0) {
        auto& inner = open_[depth_ - 1];
        if (--inner.left != 0)
            return;
        --depth_;
        if (inner.is_attribute) {
            nodes_.resize(inner.first_node);
            texts_.resize(inner.first_node);
            return;
        }
    }
    is_whole_ = true;
}

parser::outcome parser::fail(char const* complaint) noexcept
{
    complaint_ = complaint;
    return outcome::broken;
}

}  // namespace colock::resp
