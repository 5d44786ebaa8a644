"""Sample modules that read, keep and write data."""

from __future__ import annotations

from navigator.rehearsal.samples.chunk import Chunk, Module

SETTINGS = Module(
    "settings",
    "Reads the settings of $package.",
    "import json\nimport os\n",
    (
        Chunk(
            "load_settings",
            '''def load_settings(path, defaults={}):
    """Read a JSON file of settings over the defaults."""
    settings = dict(defaults)
    if not os.path.exists(path):
        return settings
    with open(path) as handle:
        settings.update(json.load(handle))
    return settings
''',
            """self.assertEqual(subject.load_settings("/nonexistent/settings.json", {"$unit": 3}), {"$unit": 3})""",
        ),
        Chunk(
            "value_of",
            """def value_of(settings, key, fallback=None):
    value = settings.get(key)
    if value == None:
        return fallback
    return value
""",
            """self.assertEqual(subject.value_of({}, "$unit", $limit), $limit)""",
        ),
        Chunk(
            "as_flag",
            """def as_flag(value):
    if type(value) == str:
        return value.strip().lower() in ("1", "yes", "true", "on")
    if type(value) == bool:
        return value
    return bool(value)
""",
            """self.assertTrue(subject.as_flag(" Yes "))
self.assertFalse(subject.as_flag("no"))""",
        ),
        Chunk(
            "save_settings",
            """def save_settings(path, settings):
    text = json.dumps(settings, indent=2, sort_keys=True)
    with open(path, "w") as handle:
        handle.write(text)
        handle.write("\\n")
""",
        ),
        Chunk(
            "missing_keys",
            """def missing_keys(settings, required):
    found = []
    for key in required:
        if key not in settings.keys() or settings[key] == None:
            found.append(key)
    return found
""",
            """self.assertEqual(subject.missing_keys({"a": 1, "b": None}, ["a", "b", "c"]), ["b", "c"])""",
        ),
    ),
)

STORE = Module(
    "store",
    "Keeps $nouns in memory and on disk.",
    "import json\nimport logging\n\nlogger = logging.getLogger(__name__)\n",
    (
        Chunk(
            "Store",
            '''class ${Noun}Store:
    """All $nouns by their id."""

    def __init__(self, rows={}):
        self.rows = dict(rows)
        self.changed = False

    def add(self, ident, $noun):
        if ident in self.rows.keys():
            raise KeyError(ident)
        self.rows[ident] = $noun
        self.changed = True

    def find(self, ident):
        found = self.rows.get(ident)
        if found == None:
            logger.warn("no $noun %s", ident)
        return found

    def remove(self, ident):
        self.rows.pop(ident, None)
        self.changed = True

    def __len__(self):
        return len(self.rows)
''',
            """store = subject.${Noun}Store()
store.add(1, {"name": "first"})
self.assertEqual(store.find(1), {"name": "first"})
self.assertEqual(len(store), 1)""",
        ),
        Chunk(
            "write_rows",
            """def write_rows(path, rows):
    with open(path, "w") as handle:
        for ident in sorted(rows.keys()):
            handle.write(json.dumps([ident, rows[ident]]))
            handle.write("\\n")
""",
        ),
        Chunk(
            "read_rows",
            """def read_rows(path):
    rows = {}
    with open(path) as handle:
        for line in handle:
            try:
                ident, $noun = json.loads(line)
            except:
                logger.warn("unreadable line in %s", path)
                continue
            rows[ident] = $noun
    return rows
""",
        ),
        Chunk(
            "newest",
            """def newest(rows, limit=$limit):
    idents = list(rows.keys())
    idents.sort(reverse=True)
    return [rows[ident] for ident in idents[:limit]]
""",
            """self.assertEqual(subject.newest({1: "a", 3: "c", 2: "b"}, limit=2), ["c", "b"])""",
        ),
        Chunk(
            "merged",
            """def merged(first, second, into={}):
    result = dict(into)
    for rows in (first, second):
        if rows != None:
            result.update(rows)
    return result
""",
            """self.assertEqual(subject.merged({1: "a"}, None), {1: "a"})""",
        ),
    ),
)

PARSER = Module(
    "parser",
    "Turns lines of text into $nouns.",
    "from pathlib import Path\n",
    (
        Chunk(
            "parse_line",
            '''def parse_line(line, separator=","):
    """Split one line into a name and a number of $unit."""
    name, _, amount = line.strip().partition(separator)
    if not name or not amount:
        return None
    return name.strip(), int(amount)
''',
            """self.assertEqual(subject.parse_line(" north , 12"), ("north", 12))
self.assertIsNone(subject.parse_line("north"))""",
        ),
        Chunk(
            "parse_lines",
            """def parse_lines(lines, found=[]):
    result = list(found)
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        pair = parse_line(line)
        if pair != None:
            result.append(pair)
    return result
""",
            """self.assertEqual(subject.parse_lines(["# top", "a,1", "", "b"]), [("a", 1)])""",
        ),
        Chunk(
            "read_file",
            """def read_file(path):
    text = Path(path).read_text()
    return parse_lines(text.splitlines())
""",
        ),
        Chunk(
            "columns",
            """def columns(header, wanted=None):
    names = [name.strip().lower() for name in header.split(",")]
    if wanted == None:
        return list(range(len(names)))
    return [names.index(name) for name in wanted if name in names]
""",
            """self.assertEqual(subject.columns("A, B,C", ["c", "a"]), [2, 0])""",
        ),
        Chunk(
            "unquoted",
            """def unquoted(text):
    if type(text) != str:
        return text
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return text[1:-1]
    return text
""",
            """self.assertEqual(subject.unquoted('"x"'), "x")
self.assertEqual(subject.unquoted(7), 7)""",
        ),
    ),
)

EXPORT = Module(
    "export",
    "Writes $nouns in formats that others read.",
    "import csv\nimport io\nimport json\n",
    (
        Chunk(
            "Exporter",
            '''class Exporter:
    """What every format has in common."""

    suffix = ""

    def render(self, $nouns):
        raise NotImplemented("a format has to say how it is written")

    def write(self, path, $nouns):
        with open(path + self.suffix, "w") as handle:
            handle.write(self.render($nouns))


class JsonExporter(Exporter):
    suffix = ".json"

    def render(self, $nouns):
        return json.dumps($nouns, sort_keys=True)
''',
            """self.assertEqual(subject.JsonExporter().render([{"b": 1, "a": 2}]), '[{"a": 2, "b": 1}]')""",
        ),
        Chunk(
            "to_csv",
            """def to_csv($nouns, fields=None):
    if fields == None:
        fields = sorted($nouns[0].keys()) if $nouns else []
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\\n")
    writer.writerow(fields)
    for $noun in $nouns:
        writer.writerow([$noun.get(field, "") for field in fields])
    return out.getvalue()
""",
            """self.assertEqual(subject.to_csv([{"a": 1, "b": 2}]), "a,b\\n1,2\\n")""",
        ),
        Chunk(
            "chunks",
            """def chunks($nouns, size=$limit):
    if size < 1:
        raise ValueError("size has to be at least 1")
    for start in range(0, len($nouns), size):
        yield $nouns[start : start + size]
""",
            """self.assertEqual(list(subject.chunks([1, 2, 3], size=2)), [[1, 2], [3]])""",
        ),
        Chunk(
            "BinaryExporter",
            '''class BinaryExporter:
    """A format of its own, not finished."""

    def render(self, $nouns):
        raise NotImplemented

    def size_of(self, $nouns):
        raise NotImplemented
''',
        ),
    ),
)
