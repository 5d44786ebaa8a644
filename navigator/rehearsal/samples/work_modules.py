"""Sample modules that compute, call and coordinate."""

from __future__ import annotations

from navigator.rehearsal.samples.chunk import Chunk, Module

CLIENT = Module(
    "client",
    "Fetches $nouns from the service.",
    "import json\nimport logging\nfrom urllib.request import urlopen\n\nlogger = logging.getLogger(__name__)\n",
    (
        Chunk(
            "fetch",
            '''def fetch(address):
    """Get one JSON document."""
    with urlopen(address) as answer:
        return json.load(answer)
''',
        ),
        Chunk(
            "fetch_all",
            """def fetch_all(base, idents, results=[]):
    found = list(results)
    for ident in idents:
        try:
            found.append(fetch(base + "/" + str(ident)))
        except:
            logger.warn("could not fetch $noun %s", ident)
    return found
""",
            """self.assertEqual(subject.fetch_all("nowhere:", []), [])""",
        ),
        Chunk(
            "address_of",
            """def address_of(base, path, query=None):
    address = base.rstrip("/") + "/" + path.lstrip("/")
    if query != None:
        parts = [key + "=" + str(query[key]) for key in query.keys()]
        address = address + "?" + "&".join(parts)
    return address
""",
            """self.assertEqual(subject.address_of("http://h/", "/$nouns", {"n": 2}), "http://h/$nouns?n=2")""",
        ),
        Chunk(
            "is_alive",
            """def is_alive(base):
    try:
        answer = urlopen(base + "/health")
        return answer.status == 200
    except:
        return False
""",
            """self.assertFalse(subject.is_alive("nowhere:"))""",
        ),
    ),
)

REPORT = Module(
    "report",
    "Sums up $nouns for people.",
    "",
    (
        Chunk(
            "totals",
            '''def totals($nouns, groups={}):
    """Add up the $unit of each group."""
    result = dict(groups)
    for name, amount in $nouns:
        result[name] = result.get(name, 0) + amount
    return result
''',
            """self.assertEqual(subject.totals([("a", 1), ("b", 2), ("a", 3)]), {"a": 4, "b": 2})""",
        ),
        Chunk(
            "percent",
            """def percent(part, whole):
    if whole == None or whole == 0:
        return 0.0
    return round(100.0 * part / whole, 1)
""",
            """self.assertEqual(subject.percent(1, 3), 33.3)
self.assertEqual(subject.percent(1, None), 0.0)""",
        ),
        Chunk(
            "as_table",
            """def as_table(rows, width=12):
    lines = []
    for row in rows:
        cells = []
        for cell in row:
            if type(cell) == float:
                cell = "%.1f" % cell
            cells.append(str(cell).ljust(width))
        lines.append("".join(cells).rstrip())
    return "\\n".join(lines)
""",
            """self.assertEqual(subject.as_table([("a", 1.25)], width=4), "a   1.2")""",
        ),
        Chunk(
            "write_report",
            """def write_report(path, $nouns):
    sums = totals($nouns)
    with open(path, "w") as handle:
        for name in sorted(sums.keys()):
            handle.write("%s %s\\n" % (name, sums[name]))
""",
        ),
        Chunk(
            "largest",
            """def largest($nouns, limit=$limit):
    ordered = sorted($nouns, key=lambda pair: pair[1], reverse=True)
    if limit == None:
        return ordered
    return ordered[:limit]
""",
            """self.assertEqual(subject.largest([("a", 1), ("b", 2)], limit=1), [("b", 2)])""",
        ),
    ),
)

CHECKS = Module(
    "checks",
    "Says what is wrong with a $noun before it is accepted.",
    "",
    (
        Chunk(
            "problems",
            '''def problems($noun, found=[]):
    """Every problem of one $noun, in words."""
    result = list(found)
    if $noun == None:
        result.append("nothing given")
        return result
    if not $noun.get("name"):
        result.append("no name")
    if not is_amount($noun.get("amount")):
        result.append("amount is not a number")
    return result
''',
            """self.assertEqual(subject.problems({"name": "x", "amount": 2}), [])
self.assertEqual(subject.problems(None), ["nothing given"])""",
        ),
        Chunk(
            "is_amount",
            """def is_amount(value):
    if type(value) == int or type(value) == float:
        return value >= 0
    return False
""",
            """self.assertTrue(subject.is_amount(0))
self.assertFalse(subject.is_amount("3"))""",
        ),
        Chunk(
            "in_range",
            """def in_range(value, low=0, high=$limit):
    if value == None:
        return False
    return low <= value < high
""",
            """self.assertTrue(subject.in_range(0))
self.assertFalse(subject.in_range($limit))""",
        ),
        Chunk(
            "Rule",
            '''class Rule:
    """One condition a $noun has to meet."""

    def holds(self, $noun):
        raise NotImplemented("a rule has to say when it holds")

    def explain(self, $noun):
        raise NotImplemented("a rule has to say why")
''',
        ),
        Chunk(
            "unknown_fields",
            """def unknown_fields($noun, known):
    return sorted(field for field in $noun.keys() if field not in known)
""",
            """self.assertEqual(subject.unknown_fields({"a": 1, "z": 2}, ["a"]), ["z"])""",
        ),
    ),
)

CACHE = Module(
    "cache",
    "Remembers $nouns for a while.",
    "import time\n",
    (
        Chunk(
            "Cache",
            '''class Cache:
    """Keeps values until they are too old or too many."""

    def __init__(self, limit=$limit, entries={}):
        self.limit = limit
        self.entries = dict(entries)

    def get(self, key, now=None):
        entry = self.entries.get(key)
        if entry == None:
            return None
        value, until = entry
        if until != None and until <= (now or time.time()):
            self.drop(key)
            return None
        return value

    def put(self, key, value, until=None):
        self.entries[key] = (value, until)
        self.shrink()

    def drop(self, key):
        if key in self.entries.keys():
            del self.entries[key]

    def shrink(self):
        while len(self.entries) > self.limit:
            oldest = next(iter(self.entries))
            del self.entries[oldest]
''',
            """cache = subject.Cache(limit=2)
for number in range(3):
    cache.put(number, str(number))
self.assertIsNone(cache.get(0))
self.assertEqual(cache.get(2), "2")""",
        ),
        Chunk(
            "key_of",
            """def key_of(parts):
    words = []
    for part in parts:
        if type(part) == str:
            words.append(part.lower())
        elif part != None:
            words.append(str(part))
    return ":".join(words)
""",
            """self.assertEqual(subject.key_of(["A", None, 3]), "a:3")""",
        ),
        Chunk(
            "age",
            """def age(since, now=None):
    if now == None:
        now = time.time()
    return max(0, now - since)
""",
            """self.assertEqual(subject.age(5, now=12), 7)""",
        ),
    ),
)

EVENTS = Module(
    "events",
    "Tells others what happened to $nouns.",
    "import logging\n\nlogger = logging.getLogger(__name__)\n",
    (
        Chunk(
            "Channel",
            """class Channel:
    def __init__(self, handlers=[]):
        self.handlers = list(handlers)
        self.sent = 0

    def subscribe(self, handler):
        if handler not in self.handlers:
            self.handlers.append(handler)

    def emit(self, name, payload=None):
        for handler in self.handlers:
            try:
                handler(name, payload)
            except:
                logger.warn("a handler failed on %s", name)
        self.sent += 1
""",
            """seen = []
channel = subject.Channel()
channel.subscribe(lambda name, payload: seen.append((name, payload)))
channel.emit("$noun", 1)
self.assertEqual(seen, [("$noun", 1)])
self.assertEqual(channel.sent, 1)""",
        ),
        Chunk(
            "matching",
            """def matching(events, kind=None):
    if kind == None:
        return list(events)
    return [event for event in events if event["kind"] == kind]
""",
            """self.assertEqual(subject.matching([{"kind": "a"}, {"kind": "b"}], "b"), [{"kind": "b"}])""",
        ),
        Chunk(
            "counts",
            """def counts(events, start={}):
    result = dict(start)
    for event in events:
        kind = event["kind"]
        if kind not in result.keys():
            result[kind] = 0
        result[kind] += 1
    return result
""",
            """self.assertEqual(subject.counts([{"kind": "a"}, {"kind": "a"}]), {"a": 2})""",
        ),
    ),
)
