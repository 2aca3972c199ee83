"""Processes of ours that never outlive us."""

import ctypes
import signal
import sys

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def dies_with_us() -> None:
    """For Popen's preexec_fn: the kernel ends the child when this process goes, however it goes."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def end_in_order() -> None:
    """Makes a SIGTERM what Ctrl-C is: an exception, so that all that is open gets closed."""

    def end(*_: object) -> None:
        # Another one, as `timeout` sends it, isn't to disturb the closing.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        sys.exit(143)

    signal.signal(signal.SIGTERM, end)
