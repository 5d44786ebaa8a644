"""Texts of sample repositories: READMEs, guides, conventions. They have the small faults such texts have.

`$gap` and `$tab` stand for white space at the end of a line.
"""

from __future__ import annotations

README = (
    """#$Name

$Name keeps track of $nouns for people who would rather do something else.
See https://example.org/$name/start for a first tour.

## Install
```
pip install $name
```

## Use
```
from $package import $module
```

Every $noun has a name and a number of $unit. At most $limit are kept at once.

##Questions
Write to the list at https://example.org/$name/list$gap
or open a ticket.
""",
    """# $Name

A small service around $nouns.$gap
It runs on one machine and needs nothing else.

Getting started
---------------

1. Install it.
2. Point it at a folder of $nouns.
3. Look at the report it writes, $limit lines at most.

```
$$ pip install $name
$$ python -m $package report
```

# Links #
* Documentation: https://docs.example.org/$name
* Releases: https://example.org/$name/releases
""",
    """# $Name
[![status](https://example.org/$name/badge.svg)](https://example.org/$name)

$Name reads $nouns, checks them and passes on those that are sound.

## Settings
The settings are a JSON file:

```
{"$unit": $limit, "strict": true}
```

##Limits
A batch holds up to $limit $nouns. More are refused with a message.$tab
The reasons are explained at https://example.org/$name/limits.
""",
)

GUIDE = (
    """# Working with $nouns

## The short way
Give $Name a file and read what it says:

```
python -m $package check $nouns.csv
```

It prints one line for each $noun that is not sound.

##The long way
Write a settings file first. The keys are listed at https://docs.example.org/$name/keys.
Values that are missing take their defaults.$gap

## What can go wrong
* A line without a comma is passed over.
* An amount below zero is refused.
* More than $limit $nouns at once are split.
""",
    """Guide
=====

## Reading
$Name reads text with one $noun a line. Empty lines do not count.$gap

~~~
north,12
south,7
~~~

## Writing
Reports go where the settings say. An older report of the same name is replaced.
More about formats: https://example.org/$name/formats
##Keeping
Keep reports for at least $limit days.
""",
)

OPERATIONS = """# Running $Name

##Start
```
python -m $package serve --port 8080
```

## Watch
The health page answers with the number of $nouns; https://status.example.org shows it.$gap
When the number stands still for an hour, look at the log.

## Stop
Send SIGTERM. Work that is under way is finished first.
"""

CHANGES = """# Changes

## 0.3
* $Nouns without a name are refused.
* Reports are sorted.

## 0.2
* A limit of $limit $nouns a batch.
* See https://example.org/$name/0.2 for the reasons.

##0.1
First version.
"""

AGENTS = """# Conventions

- Python 3.11, standard library only, except in `sync.py`.
- Functions are small and say in one sentence what they do.
- Tests use unittest and need no network: `python -m unittest discover -s tests`.
- Names are English words; no abbreviations.
"""

PYPROJECT = """[project]
name = "$name"
version = "0.3.0"
description = "Keeps track of $nouns."
requires-python = ">=3.11"

[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
"""

SCRIPT = """#!/usr/bin/env python3
\"\"\"Bring a file of $nouns in: scripts/import_$nouns.py FILE\"\"\"
import sys


def main(arguments, out=sys.stdout):
    if len(arguments) != 1:
        out.write("usage: import_$nouns.py FILE\\n")
        return 2
    count = 0
    for line in open(arguments[0]):
        if line.strip():
            count += 1
    out.write("%d $nouns\\n" % count)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
"""

LEGACY = '''"""Names as the first version wrote them. Kept for old files."""

PREFIX = "$noun"


def old_name(number, suffix=None):
    if suffix == None:
        return "%s_%04d" % (PREFIX, number)
    return "%s_%04d_%s" % (PREFIX, number, suffix)


def old_number(name):
    if type(name) != str or not name.startswith(PREFIX):
        return None
    return int(name[len(PREFIX) + 1 :][:4])


def forget(names, keep=[]):
    for name in list(names):
        if name not in keep:
            names.remove(name)
'''

LABELS = '''# -*- coding: latin-1 -*-
"""Labels for $nouns in the languages of the first users."""

GERMAN = {"name": "Name", "amount": "Größe", "back": "Zurück"}
FRENCH = {"name": "Nom", "amount": "Quantité", "back": "Précédent"}


def label(key, language=None):
    if language == None:
        language = "de"
    table = FRENCH if language == "fr" else GERMAN
    return table.get(key, key)


def known(key):
    return key in GERMAN.keys()
'''

NOTES = """# Notes

* The import of $nouns runs at night.
* Sums are in $unit.
* Ask before raising the limit of $limit: https://example.org/$name/limit"""

MAIN = '''"""`python -m $package`: the command line."""

import sys


def main(arguments=[]):
    if not arguments:
        print("usage: $package COMMAND")
        return 2
    print("$package: " + arguments[0])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
'''
