#!/usr/bin/env python3
"""Watts from a smart plug, for machines whose GPU does not say what it draws. Not an event: a command for `[energy]`:

[energy]
command = ["~/navigator/examples/events/smart_plug.py", "http://192.0.2.10/cm?cmnd=Status%208", "StatusSNS.ENERGY.Power"]

The first argument is an address of the plug that answers with JSON (here: Tasmota), the second the path of the watts in it
(Shelly: `http://…/rpc/Switch.GetStatus?id=0` and `apower`). The plug measures the whole machine, not the card alone.
"""

from __future__ import annotations

import json
import sys
import urllib.request
from functools import reduce

if len(sys.argv) != 3:
    sys.exit(__doc__)
with urllib.request.urlopen(sys.argv[1], timeout=4) as answer:
    watts = reduce(lambda found, key: found[key], sys.argv[2].split("."), json.load(answer))
print(f"{float(watts):.1f}")
