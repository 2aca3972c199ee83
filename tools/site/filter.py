#!/usr/bin/python3
"""What Doxygen reads of a header: the part that is for users. Line numbers stay as they are."""

import re
import sys

HIDDEN = [
    re.compile(r"^inline namespace v\w+ \{$|^\}  // namespace v\d+_\d+$", re.MULTILINE),
    re.compile(r"^namespace detail \{\n.*?^\}  // namespace detail$", re.DOTALL | re.MULTILINE),
    re.compile(r"^template <[^\n]*>\nstruct boost::(?:system|asio)::.*?\};$", re.DOTALL | re.MULTILINE),
    re.compile(r"^inline detail::[^\n]*\}$", re.MULTILINE),
    re.compile(r"^ *friend [^;]*;$", re.MULTILINE),
    re.compile(r"^ *using (?:operations|milliseconds|microseconds) = .*;$", re.MULTILINE),
]
TOKEN = re.compile(r"detail::token_for<[\w:]+>\s+Token")
DURATION = re.compile(r"(?<![\w:])(mill|micr)(iseconds|oseconds)\b(?! *=)")


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as header:
        text = header.read()
    for part in HIDDEN:
        text = part.sub(lambda found: "\n" * found[0].count("\n"), text)
    text = TOKEN.sub("completion_token Token", text)
    code = re.compile(r"^(?! *//).*$", re.MULTILINE)
    text = code.sub(lambda line: DURATION.sub(r"std::chrono::\1\2", line[0]), text)
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
