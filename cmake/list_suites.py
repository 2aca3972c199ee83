#!/usr/bin/python3
"""Lists the top-level Boost.Test suites of some sources as tests of ctest.

    list_suites.py OUTPUT --program P --label L --timeout S --processors N SOURCE...
    list_suites.py --self-test

Each suite runs in a process of its own. A test case outside every suite would never run, so it is
an error.
"""

import argparse
import pathlib
import re
import sys

MACRO = re.compile(
    r"^[ \t]*BOOST_(?:"
    r"(?P<open>AUTO_TEST_SUITE|FIXTURE_TEST_SUITE)[ \t]*\(\s*(?P<name>\w+)"
    r"|(?P<end>AUTO_TEST_SUITE_END)\b"
    r"|(?P<case>AUTO_TEST_CASE|FIXTURE_TEST_CASE|AUTO_TEST_CASE_TEMPLATE"
    r"|FIXTURE_TEST_CASE_TEMPLATE|DATA_TEST_CASE|DATA_TEST_CASE_F)\b"
    r")",
    re.MULTILINE,
)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def suites_of(text: str, where: str) -> list[str]:
    # Blanks instead of a comment keep the line numbers.
    text = COMMENT.sub(lambda comment: re.sub(r"[^\n]", " ", comment.group()), text)
    found, depth = [], 0
    for match in MACRO.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match["open"]:
            if depth == 0:
                found.append(match["name"])
            depth += 1
        elif match["end"]:
            depth -= 1
            if depth < 0:
                raise ValueError(f"{where}:{line}: ends a suite that isn't open")
        elif depth == 0:
            raise ValueError(f"{where}:{line}: a test case outside every suite")
    if depth:
        raise ValueError(f"{where}: a suite without its end")
    return found


def quoted(text: object) -> str:
    return f"[==[{text}]==]"


def write(options: argparse.Namespace) -> None:
    names: dict[str, None] = {}  # in order, each once: a suite may go on in another file
    for source in options.sources:
        for name in suites_of(pathlib.Path(source).read_text(encoding="utf-8"), source):
            names[name] = None
    lines = []
    for name in names:
        test = quoted(f"{options.label}.{name}")
        lines.append(
            f"add_test({test} {quoted(options.program)} --run_test={name} --log_level=test_suite)\n"
        )
        lines.append(
            f"set_tests_properties({test} PROPERTIES LABELS {options.label}"
            f" TIMEOUT {options.timeout} COST {options.timeout}"  # the long ones first
            f" PROCESSORS {options.processors})\n"
        )
    pathlib.Path(options.output).write_text("".join(lines), encoding="utf-8")


def self_test() -> None:
    text = """
// BOOST_AUTO_TEST_CASE(in_a_comment)
BOOST_AUTO_TEST_SUITE(one)
BOOST_AUTO_TEST_CASE(a) {}
  BOOST_FIXTURE_TEST_SUITE(inner, fixture)
  BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()
/* BOOST_AUTO_TEST_SUITE(off)
*/
BOOST_AUTO_TEST_SUITE(two, *boost::unit_test::timeout(3))
BOOST_AUTO_TEST_SUITE_END()
"""
    assert suites_of(text, "x") == ["one", "two"]
    for bad, message in (
        ("\nBOOST_AUTO_TEST_CASE(a) {}", "x:2: a test case outside every suite"),
        ("BOOST_AUTO_TEST_SUITE(a)\n", "x: a suite without its end"),
        ("BOOST_AUTO_TEST_SUITE_END()\n", "x:1: ends a suite that isn't open"),
    ):
        try:
            suites_of(bad, "x")
        except ValueError as error:
            assert str(error) == message, error
        else:
            raise AssertionError(bad)


def main() -> None:
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("output")
    parser.add_argument("sources", nargs="+")
    for option in ("program", "label", "timeout", "processors"):
        parser.add_argument(f"--{option}", required=True)
    try:
        write(parser.parse_args())
    except ValueError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
