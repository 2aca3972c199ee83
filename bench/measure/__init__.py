"""What bench/compare, bench/growth and bench/peers/run.py are made of."""

import pathlib
import sys

# Where result_files.py is, which pages and their tools share.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
