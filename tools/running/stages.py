"""Sets up, builds and tests: what to run before and after a change. The rest is in tools/proof.

    tools/test               all stages; exits 1 if one of them failed
    tools/test --list        the stages, and how long each took last time
    tools/test --stage NAME  one stage, with what it needs; may be repeated
    tools/test -R NAME ...   the tests of these names, as ctest -R has them, on both servers; builds
                             their programs alone, and hands what follows to ctest

With CI=true clang-tidy looks at what the last commits have changed, otherwise at what differs from main;
and what is skipped, checks nothing or is missing has failed. The tests are the same.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from running import builds, checks, parts  # noqa: E402

UNIT = {"unit"}
SIMULATION = {"simulation", "conformance", "world"}
SERVER = {"integration", "family", "metrics", "testing"}

def build_tests() -> None:
    builds.configure("dev")
    builds.build("dev", *builds.programs_of("dev", UNIT | SIMULATION | SERVER))


def docs() -> None:
    builds.configure("dev")
    builds.ctest("dev", "-L", "^docs$")


STAGES = [
    parts.Part("setup", "packages, and what .deps/ holds", builds.set_up_tests, needed=True),
    parts.Part("lint", "format, layers, rules of the source", checks.lint),
    parts.Part("docs", "what the documents show", docs),
    parts.Part("build", "the library and the tests", build_tests, needed=True),
    parts.Part("unit", "unit tests, in virtual time", lambda: builds.test("dev", UNIT)),
    parts.Part("simulation", "simulated worlds", lambda: builds.test("dev", SIMULATION)),
    parts.Part(
        "integration",
        "tests with a Redis server",
        # They wait even more than the others.
        lambda: builds.test("dev", SERVER, f"-j{6 * builds.JOBS}", COLOCK_ONLY_SERVER="redis"),
    ),
    parts.Part("tidy", "clang-tidy", checks.tidy),
]


def main() -> int:
    parser = parts.parser(__doc__)
    parser.prog = "tools/test"
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--stage", action="append", metavar="NAME")
    parser.add_argument("-R", metavar="NAME", dest="tests")
    given, more = parser.parse_known_args()
    if more and not given.tests:
        parser.error(f"unknown: {' '.join(more)}")
    if given.list:
        parts.print_list(STAGES)
        return 0
    stages = STAGES
    if given.stage:
        stages = parts.chosen(STAGES, ["setup", *given.stage])
    if given.tests:
        named = parts.Part(
            f"-R {given.tests}", "these tests", lambda: builds.test_named("dev", given.tests, *more)
        )
        stages = [parts.Part("setup", "all of it", builds.set_up, needed=True), named]
    return parts.run_all("tools/test", stages)


if __name__ == "__main__":
    sys.exit(main())
