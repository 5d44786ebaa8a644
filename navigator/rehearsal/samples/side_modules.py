"""Sample modules at the side: words, order, and what comes from outside."""

from __future__ import annotations

from navigator.rehearsal.samples.chunk import Chunk, Module

TEXT = Module(
    "text",
    "Small helpers for names and labels.",
    "import re\n",
    (
        Chunk(
            "slug",
            '''def slug(title, limit=40):
    """A form of the title for addresses."""
    words = re.findall(r"[a-z0-9]+", title.lower())
    return "-".join(words)[:limit].strip("-")
''',
            """self.assertEqual(subject.slug("The First $Noun!"), "the-first-$noun")""",
        ),
        Chunk(
            "shortened",
            """def shortened(text, width=20, end="..."):
    if text == None:
        return ""
    if len(text) <= width:
        return text
    return text[: width - len(end)] + end
""",
            """self.assertEqual(subject.shortened("abcdefgh", width=6), "abc...")
self.assertEqual(subject.shortened(None), "")""",
        ),
        Chunk(
            "joined",
            """def joined(words, last="and", extra=[]):
    names = [word for word in list(words) + list(extra) if word != None]
    if len(names) < 2:
        return "".join(names)
    return ", ".join(names[:-1]) + " " + last + " " + names[-1]
""",
            """self.assertEqual(subject.joined(["a", "b", "c"]), "a, b and c")""",
        ),
        Chunk(
            "as_text",
            """def as_text(value):
    if type(value) == bytes:
        return value.decode("utf-8")
    if type(value) == str:
        return value
    return str(value)
""",
            """self.assertEqual(subject.as_text(b"x"), "x")
self.assertEqual(subject.as_text(3), "3")""",
        ),
    ),
)

QUEUE = Module(
    "queueing",
    "Orders $nouns by when they are due.",
    "import heapq\n",
    (
        Chunk(
            "DueQueue",
            """class DueQueue:
    def __init__(self, items=[]):
        self.items = list(items)
        heapq.heapify(self.items)

    def push(self, due, $noun):
        heapq.heappush(self.items, (due, $noun))

    def pop(self, now):
        if not self.items or self.items[0][0] > now:
            return None
        return heapq.heappop(self.items)[1]

    def clear(self):
        self.items = []
""",
            """queue = subject.DueQueue()
queue.push(5, "later")
queue.push(1, "soon")
self.assertEqual(queue.pop(2), "soon")
self.assertIsNone(queue.pop(2))""",
        ),
        Chunk(
            "Worker",
            '''class Worker:
    """Does what the queue hands out."""

    name = "worker"

    def run(self, $noun):
        raise NotImplemented("a worker has to say what it does")

    def stop(self):
        self.stopped = True
''',
        ),
        Chunk(
            "backoff",
            """def backoff(attempt, base=2, limit=$limit):
    if attempt == None or attempt < 1:
        return 0
    return min(limit, base ** attempt)
""",
            """self.assertEqual(subject.backoff(0), 0)
self.assertEqual(subject.backoff(2), min(4, $limit))""",
        ),
        Chunk(
            "drain",
            """def drain(queue, now, into=[]):
    taken = list(into)
    while True:
        item = queue.pop(now)
        if item == None:
            return taken
        taken.append(item)
""",
        ),
    ),
)

SYNC = Module(
    "sync",
    "Brings $nouns to and from the outside. Needs requests and PyYAML.",
    "import logging\n\nimport requests\nimport yaml\n\nlogger = logging.getLogger(__name__)\n",
    (
        Chunk(
            "read_plan",
            """def read_plan(path):
    with open(path) as handle:
        return yaml.load(handle)
""",
        ),
        Chunk(
            "push",
            """def push(address, $nouns, token=None):
    headers = {}
    if token != None:
        headers["Authorization"] = "Bearer " + token
    answer = requests.post(address, json=$nouns, headers=headers)
    answer.raise_for_status()
    return answer.json()
""",
        ),
        Chunk(
            "pull",
            """def pull(address, found=[]):
    try:
        answer = requests.get(address)
    except:
        logger.warn("the service does not answer: %s", address)
        return list(found)
    return list(found) + answer.json()
""",
        ),
        Chunk(
            "plan_from",
            """def plan_from(text):
    plan = yaml.load(text)
    if type(plan) != dict:
        raise ValueError("a plan has to be a mapping")
    return plan
""",
        ),
    ),
    tested=False,
)
