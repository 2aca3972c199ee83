# Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
"""colock acquire and release: a lock from one command to the next."""

import os
import signal
import stat
import subprocess
import tempfile

import support
from support import Case, wait_for


class Pair(Case):
    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "claim")

    def test_by_a_file(self) -> None:
        taken = self.colock("acquire", "--lease", "1m", "--claim-file", self.file, "k")
        self.check(taken, 0)
        self.assertEqual(taken.out, "")
        self.assertEqual(stat.S_IMODE(os.stat(self.file).st_mode), 0o600)
        self.check(self.colock("run", "--wait", "0", "k", "--", "true"), 75)
        self.check(self.colock("release", "--claim-file", self.file), 0)
        self.assertFalse(os.path.exists(self.file))
        self.check_nothing_is_left()

    def test_by_standard_streams(self) -> None:
        claim = self.colock("acquire", "--lease", "1m", "k").out
        self.assertEqual(claim.count("\n"), 1)
        self.check(self.release(claim), 0)
        self.check_nothing_is_left()
        self.check(self.release(claim), 70, "not this claim's any more")

    def release(self, text: str) -> support.Result:
        running = self.start("release", stdin=subprocess.PIPE)
        out, err = running.communicate(text)
        return support.Result(running.returncode, out, err)

    def test_a_claim_of_somebody_else_s_time_takes_nothing_away(self) -> None:
        claim = self.colock("acquire", "--lease", "200ms", "k").out
        wait_for(lambda: not self.server.keys(), "the end of the lease")
        self.hold()
        self.check(self.release(claim), 70)
        self.check(self.colock("run", "--wait", "0", "k", "--", "true"), 75)

    def test_somebody_else_has_it(self) -> None:
        self.hold()
        busy = self.colock(
            "acquire", "--lease", "1m", "--wait", "0", "--claim-file", self.file, "k"
        )
        self.check(busy, 75, "k: somebody else has the lock")
        # The other command runs all the same.
        self.check(self.colock("release", "--claim-file", self.file), 1, "no lock was taken")

    def test_a_busy_lock_leaves_an_older_claim_alone(self) -> None:
        self.check(self.colock("acquire", "--lease", "1m", "--claim-file", self.file, "k"), 0)
        again = self.colock(
            "acquire", "--lease", "1m", "--wait", "0", "--claim-file", self.file, "k"
        )
        self.check(again, 75)
        self.check(self.colock("release", "--claim-file", self.file), 0)
        self.check_nothing_is_left()

    def test_a_claim_that_cannot_be_written_keeps_no_lock(self) -> None:
        full = self.colock("acquire", "--lease", "1m", "--claim-file", "/dev/full", "k")
        self.check(full, 74, "write the claim in /dev/full")
        self.check_nothing_is_left()
        nowhere = self.colock("acquire", "--lease", "1m", "--claim-file", "/nowhere/claim", "k")
        self.check(nowhere, 74, "No such file")
        self.check_nothing_is_left()

    def test_a_signal_ends_the_wait_and_leaves_nothing(self) -> None:
        self.hold()
        waiting = self.start("acquire", "--lease", "1m", "k")
        wait_for(lambda: len(self.server.keys()) > 1, "its place in the wait list")
        waiting.send_signal(signal.SIGTERM)
        self.assertEqual(waiting.end().status, 128 + signal.SIGTERM)

    def test_bad_input(self) -> None:
        self.check(self.colock("acquire", "k"), 64, "--lease")
        self.check(self.colock("acquire", "--lease", "1ms", "k"), 64, "too short")
        self.check(self.colock("acquire", "--lease", "1m", "--kind", "fair", "k"), 64, "fair")
        self.check(self.release("no claim at all\n"), 65, "has no claim")
        self.check(self.colock("release", "--claim-file", self.file), 74, "No such file")


if __name__ == "__main__":
    support.main()
