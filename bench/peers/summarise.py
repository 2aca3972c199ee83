#!/usr/bin/python3
"""Tables of the JSON lines that run.py appends to a file.

summarise.py FILE...
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from measure import tables  # noqa: E402

if len(sys.argv) < 2:
    sys.exit(__doc__)
print(tables.tables([json.loads(line) for file in sys.argv[1:] for line in open(file)]))
