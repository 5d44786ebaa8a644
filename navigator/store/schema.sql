-- The tables and their indexes. A name after a dollar sign stands for the words of that enum of `model/states.py`.
--
-- Nested values (edits, checks, findings, …) are JSON in TEXT columns; ids are integers here and T…/P… outside.

CREATE TABLE meta (
    key TEXT PRIMARY KEY, value TEXT NOT NULL
) STRICT;

CREATE TABLE projects (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL CHECK (name <> ''),
    path TEXT NOT NULL CHECK (path <> ''),
    base TEXT NOT NULL DEFAULT '',
    landing TEXT NOT NULL DEFAULT 'branch' CHECK (landing IN ('branch', 'current')),
    "check" TEXT NOT NULL DEFAULT '',
    check_mounts TEXT NOT NULL DEFAULT '[]',
    include TEXT NOT NULL DEFAULT '[]',
    exclude TEXT NOT NULL DEFAULT '[]',
    conventions TEXT NOT NULL DEFAULT 'AGENTS.md',
    root_commit TEXT NOT NULL DEFAULT '',
    source TEXT NOT NULL DEFAULT 'store' CHECK (source IN ('store', 'config')),
    removed INTEGER NOT NULL DEFAULT 0 CHECK (removed IN (0, 1)),
    escalate INTEGER NOT NULL DEFAULT 0 CHECK (escalate IN (0, 1)),
    careful TEXT NOT NULL DEFAULT '[]',
    -- Branches whose new commits are reviewed without being asked for.
    review_branches TEXT NOT NULL DEFAULT '[]'
) STRICT;
CREATE UNIQUE INDEX projects_name ON projects (name) WHERE removed = 0;
CREATE UNIQUE INDEX projects_path ON projects (path) WHERE removed = 0;

CREATE TABLE tasks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    text TEXT NOT NULL CHECK (text <> ''),
    kind TEXT NOT NULL CHECK (kind IN ($TaskKind)),
    complexity TEXT NOT NULL CHECK (complexity IN ($Complexity)),
    priority INTEGER NOT NULL DEFAULT 0,
    files TEXT NOT NULL DEFAULT '[]',
    state TEXT NOT NULL CHECK (state IN ($TaskState)),
    attempt INTEGER NOT NULL DEFAULT 0 CHECK (attempt >= 0),
    round INTEGER NOT NULL DEFAULT 0 CHECK (round >= 0),
    note TEXT NOT NULL DEFAULT '',
    reason TEXT NOT NULL DEFAULT '',
    report TEXT NOT NULL DEFAULT '',
    base_commit TEXT NOT NULL DEFAULT '',
    created TEXT NOT NULL,
    updated TEXT NOT NULL,
    since TEXT NOT NULL,
    -- The task this one came from: the scan that proposed it, or the one whose proposal was split.
    origin INTEGER REFERENCES tasks (id),
    -- Escalation: a reading asked for by name, whose project lets proposals leave the machine, and what the answers cost.
    escalated TEXT NOT NULL DEFAULT '' CHECK (escalated IN ('', 'next', 'again')),
    -- A review of existing work: what it is called, and the commit that holds it. One task for each change of a project.
    ref TEXT NOT NULL DEFAULT '',
    head TEXT NOT NULL DEFAULT '',
    -- The branch or commit that a task is written on in place of the project's base.
    base TEXT NOT NULL DEFAULT '',
    -- The tasks that have to land, to be approved or to be done before this one is written.
    after TEXT NOT NULL DEFAULT '[]',
    -- Several proposals for one task: the first of its variants, the place among them, and how it is written.
    variant_of INTEGER REFERENCES tasks (id),
    variant INTEGER NOT NULL DEFAULT 0 CHECK (variant >= 0),
    variation TEXT NOT NULL DEFAULT '{}'
) STRICT;
CREATE INDEX tasks_state ON tasks (state, updated);
CREATE INDEX tasks_project ON tasks (project_id);

CREATE TABLE proposals (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id INTEGER NOT NULL REFERENCES tasks (id),
    attempt INTEGER NOT NULL CHECK (attempt >= 0),
    round INTEGER NOT NULL CHECK (round >= 0),
    state TEXT NOT NULL CHECK (state IN ($ProposalState)),
    base_commit TEXT NOT NULL,
    tree TEXT NOT NULL,
    batch TEXT NOT NULL DEFAULT '',
    written_by TEXT NOT NULL CHECK (written_by IN ($Role)),
    title TEXT NOT NULL DEFAULT '',
    summary TEXT NOT NULL DEFAULT '',
    edits TEXT NOT NULL DEFAULT '[]',
    policy TEXT NOT NULL DEFAULT '[]',
    checks TEXT NOT NULL DEFAULT '[]',
    overlaps TEXT NOT NULL DEFAULT '[]',
    added INTEGER NOT NULL DEFAULT 0,
    removed INTEGER NOT NULL DEFAULT 0,
    seen INTEGER NOT NULL DEFAULT 0 CHECK (seen IN (0, 1)),
    prompt_version TEXT NOT NULL DEFAULT '',
    model TEXT NOT NULL DEFAULT '',
    usage TEXT NOT NULL DEFAULT '{}',
    created TEXT NOT NULL,
    -- A derived proposal: some hunks of its parent, by their labels there.
    parent INTEGER REFERENCES proposals (id),
    hunks TEXT NOT NULL DEFAULT '[]',
    -- What statistics of revisions read in place of JSON: what the tests said, and findings asked for and met.
    tests TEXT NOT NULL DEFAULT '',
    -- How the writer worked: figures of different ways are never pooled.
    way TEXT NOT NULL DEFAULT 'blocks',
    entropy_mean REAL,
    -- The precedents that its review is shown, from the first time it is asked for on.
    precedents TEXT,
    UNIQUE (task_id, attempt, round)
) STRICT;
CREATE INDEX proposals_state ON proposals (state);

CREATE TABLE reviews (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    proposal_id INTEGER NOT NULL REFERENCES proposals (id),
    role TEXT NOT NULL CHECK (role IN ($Role)),
    counted INTEGER NOT NULL DEFAULT 0 CHECK (counted IN (0, 1)),
    verdict TEXT NOT NULL CHECK (verdict IN ($Verdict)),
    stated_verdict TEXT CHECK (stated_verdict IN ($Verdict)),
    self_review INTEGER NOT NULL DEFAULT 0 CHECK (self_review IN (0, 1)),
    summary TEXT NOT NULL DEFAULT '',
    findings TEXT NOT NULL DEFAULT '[]',
    addressed TEXT NOT NULL DEFAULT '[]',
    prompt_version TEXT NOT NULL DEFAULT '',
    model TEXT NOT NULL DEFAULT '',
    usage TEXT NOT NULL DEFAULT '{}',
    at TEXT NOT NULL,
    parts INTEGER NOT NULL DEFAULT 1 CHECK (parts >= 1),
    asked INTEGER NOT NULL DEFAULT 0,
    met INTEGER NOT NULL DEFAULT 0,
    unmet INTEGER NOT NULL DEFAULT 0,
    withdrawn INTEGER NOT NULL DEFAULT 0,
    advice TEXT NOT NULL DEFAULT '',
    -- The rule that made a verdict of the findings; a rate under another rule is another rate.
    block_on TEXT NOT NULL DEFAULT 'grounded',
    hunks INTEGER NOT NULL DEFAULT 0 CHECK (hunks >= 0),
    unread TEXT NOT NULL DEFAULT '[]'
) STRICT;
CREATE UNIQUE INDEX reviews_counted ON reviews (proposal_id, role) WHERE counted = 1;

CREATE TABLE decisions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    proposal_id INTEGER NOT NULL REFERENCES proposals (id),
    kind TEXT NOT NULL CHECK (kind IN ($DecisionKind)),
    note TEXT NOT NULL DEFAULT '',
    tree TEXT NOT NULL,
    confirmed TEXT NOT NULL DEFAULT '[]',
    at TEXT NOT NULL,
    withdrawn INTEGER NOT NULL DEFAULT 0 CHECK (withdrawn IN (0, 1))
) STRICT;
CREATE UNIQUE INDEX decisions_standing ON decisions (proposal_id) WHERE withdrawn = 0;

CREATE TABLE landings (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    proposal_id INTEGER NOT NULL REFERENCES proposals (id),
    state TEXT NOT NULL CHECK (state IN ($LandingState)),
    ref TEXT NOT NULL DEFAULT '',
    "commit" TEXT NOT NULL DEFAULT '',
    transplanted INTEGER NOT NULL DEFAULT 0 CHECK (transplanted IN (0, 1)),
    reason TEXT NOT NULL DEFAULT '',
    at TEXT NOT NULL
) STRICT;
CREATE INDEX landings_proposal ON landings (proposal_id, id, state, at);

CREATE TABLE calls (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    role TEXT NOT NULL CHECK (role IN ($Role)),
    task_id INTEGER REFERENCES tasks (id),
    attempt INTEGER NOT NULL DEFAULT 0,
    round INTEGER NOT NULL DEFAULT 0,
    purpose TEXT NOT NULL,
    seq INTEGER NOT NULL DEFAULT 0,
    prompt_version TEXT NOT NULL DEFAULT '',
    prompt_hash TEXT NOT NULL DEFAULT '',
    model TEXT NOT NULL DEFAULT '',
    outcome TEXT NOT NULL CHECK (outcome <> ''),
    error_code TEXT NOT NULL DEFAULT '',
    prompt_tokens INTEGER NOT NULL DEFAULT 0,
    completion_tokens INTEGER NOT NULL DEFAULT 0,
    cached_tokens INTEGER NOT NULL DEFAULT 0,
    seconds REAL NOT NULL DEFAULT 0,
    -- Those of them in which no call of the same role and model ran that ended before.
    busy REAL NOT NULL DEFAULT 0,
    retries INTEGER NOT NULL DEFAULT 0,
    repeat INTEGER NOT NULL DEFAULT 0 CHECK (repeat IN (0, 1)),
    started TEXT NOT NULL,
    ended TEXT,
    answer BLOB,
    exam_item INTEGER REFERENCES exam_items (id),
    -- How unsure the model was of a token on average, in bits; NULL where the server does not tell.
    entropy_mean REAL
) STRICT;
CREATE INDEX calls_step ON calls (task_id, attempt, round, purpose, seq);
CREATE INDEX calls_open ON calls (id) WHERE outcome = 'started';

CREATE TABLE swaps (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    from_role TEXT CHECK (from_role IN ($Role)),
    to_role TEXT NOT NULL CHECK (to_role IN ($Role)),
    strategy TEXT NOT NULL,
    started TEXT NOT NULL,
    phases TEXT NOT NULL DEFAULT '[]',
    seconds REAL NOT NULL DEFAULT 0,
    outcome TEXT NOT NULL,
    reason TEXT NOT NULL DEFAULT '',
    failure TEXT NOT NULL DEFAULT '',
    weight_bytes INTEGER NOT NULL DEFAULT 0 CHECK (weight_bytes >= 0),
    warm_bytes INTEGER NOT NULL DEFAULT 0 CHECK (warm_bytes >= 0),
    made_by TEXT NOT NULL DEFAULT 'navigator' CHECK (made_by IN ('navigator', 'outside')),
    -- What ran while models were swapped.
    filled_with TEXT NOT NULL DEFAULT '{}'
) STRICT;

CREATE TABLE edit_failures (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id INTEGER NOT NULL REFERENCES tasks (id),
    attempt INTEGER NOT NULL,
    round INTEGER NOT NULL,
    code TEXT NOT NULL CHECK (code IN ($EditCode)),
    path TEXT NOT NULL DEFAULT '',
    model TEXT NOT NULL DEFAULT '',
    at TEXT NOT NULL
) STRICT;

CREATE TABLE journal (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    proposal_id INTEGER NOT NULL REFERENCES proposals (id),
    plan TEXT NOT NULL,
    opened TEXT NOT NULL,
    closed TEXT,
    outcome TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX journal_pending ON journal (id) WHERE closed IS NULL;

CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    kind TEXT NOT NULL,
    task_id TEXT NOT NULL DEFAULT '',
    proposal_id TEXT NOT NULL DEFAULT '',
    data TEXT NOT NULL DEFAULT '{}'
) STRICT;

CREATE TABLE drafts (
    key TEXT PRIMARY KEY, text TEXT NOT NULL, updated TEXT NOT NULL
) STRICT;

CREATE TABLE comments (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id INTEGER NOT NULL REFERENCES tasks (id),
    proposal_id INTEGER NOT NULL REFERENCES proposals (id),
    path TEXT NOT NULL,
    side TEXT NOT NULL CHECK (side IN ('old', 'new')),
    line INTEGER NOT NULL CHECK (line >= 0),
    quote TEXT NOT NULL DEFAULT '',
    text TEXT NOT NULL CHECK (text <> ''),
    created TEXT NOT NULL,
    sent INTEGER NOT NULL DEFAULT 0 CHECK (sent IN (0, 1))
) STRICT;
CREATE INDEX comments_proposal ON comments (proposal_id);

CREATE TABLE baselines (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    tree TEXT NOT NULL,
    command TEXT NOT NULL,
    environment TEXT NOT NULL DEFAULT '',
    outcome TEXT NOT NULL CHECK (outcome <> ''),
    failures TEXT NOT NULL DEFAULT '[]',
    detail TEXT NOT NULL DEFAULT '',
    seconds REAL NOT NULL DEFAULT 0,
    at TEXT NOT NULL,
    UNIQUE (project_id, tree, command, environment)
) STRICT;

CREATE TABLE suggestions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id INTEGER NOT NULL REFERENCES tasks (id),
    attempt INTEGER NOT NULL DEFAULT 0,
    rank INTEGER NOT NULL CHECK (rank >= 1),
    text TEXT NOT NULL CHECK (text <> ''),
    kind TEXT NOT NULL CHECK (kind IN ($TaskKind)),
    complexity TEXT NOT NULL CHECK (complexity IN ($Complexity)),
    files TEXT NOT NULL DEFAULT '[]',
    why TEXT NOT NULL DEFAULT '',
    state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'accepted', 'dismissed')),
    made_task INTEGER REFERENCES tasks (id),
    at TEXT NOT NULL,
    -- The line that a suggestion quotes, and where it was found ("" where it was not); files that it would make.
    quote TEXT NOT NULL DEFAULT '',
    quote_path TEXT NOT NULL DEFAULT '',
    quote_line INTEGER NOT NULL DEFAULT 0 CHECK (quote_line >= 0),
    new_files TEXT NOT NULL DEFAULT '[]',
    UNIQUE (task_id, attempt, rank)
) STRICT;
-- A new round supersedes the task's open proposals. Statistics read this index alone: the rows hold whole changes.
CREATE INDEX proposals_task ON proposals (
    task_id, attempt, round, state, parent, way, created, tests, model, prompt_version
);
CREATE INDEX proposals_parent ON proposals (parent) WHERE parent IS NOT NULL;
CREATE INDEX tasks_since ON tasks (since);
CREATE INDEX edit_failures_round ON edit_failures (task_id, attempt, round);
-- Likewise of reviews.
CREATE INDEX reviews_proposal ON reviews (
    proposal_id, role, id, counted, self_review, verdict, stated_verdict, at, model, prompt_version, block_on, asked, met,
    unmet, withdrawn
);
-- Statistics of calls are read from the index alone: the rows hold whole answers.
CREATE INDEX calls_ended ON calls (role, model, ended);
CREATE INDEX calls_figures ON calls (
    role, model, purpose, outcome, ended, prompt_tokens, completion_tokens, cached_tokens, seconds, busy
);

-- The reviewer's exam: blinded items with a known answer, and what the reviewer said of each.
CREATE TABLE exam_items (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    source TEXT NOT NULL CHECK (source IN ($ExamSource)),
    faulty INTEGER NOT NULL DEFAULT 0 CHECK (faulty IN (0, 1)),
    origin TEXT NOT NULL UNIQUE CHECK (origin <> ''),
    text TEXT NOT NULL CHECK (text <> ''),
    kind TEXT NOT NULL CHECK (kind IN ($TaskKind)),
    base_commit TEXT NOT NULL,
    tree TEXT NOT NULL,
    title TEXT NOT NULL DEFAULT '',
    path TEXT NOT NULL DEFAULT '',
    line INTEGER NOT NULL DEFAULT 0 CHECK (line >= 0),
    end_line INTEGER NOT NULL DEFAULT 0 CHECK (end_line >= line),
    changed_lines INTEGER NOT NULL DEFAULT 0 CHECK (changed_lines >= 0),
    evidence TEXT NOT NULL DEFAULT '{}',
    created TEXT NOT NULL,
    retired TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE TABLE exam_answers (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    item_id INTEGER NOT NULL REFERENCES exam_items (id),
    verdict TEXT NOT NULL CHECK (verdict IN ($Verdict)),
    findings TEXT NOT NULL DEFAULT '[]',
    named INTEGER NOT NULL DEFAULT 0 CHECK (named IN (0, 1)),
    precedents TEXT NOT NULL DEFAULT '[]',
    role TEXT NOT NULL DEFAULT 'reviewer' CHECK (role IN ($Role)),
    prompt_version TEXT NOT NULL DEFAULT '',
    model TEXT NOT NULL DEFAULT '',
    usage TEXT NOT NULL DEFAULT '{}',
    at TEXT NOT NULL
) STRICT;

-- What became of a landed commit in the project's repository, as it was last looked at.
CREATE TABLE fates (
    proposal_id INTEGER PRIMARY KEY REFERENCES proposals (id),
    "commit" TEXT NOT NULL,
    fate TEXT NOT NULL CHECK (fate IN ('kept', 'reverted', 'unknown')),
    found_as TEXT NOT NULL DEFAULT '',
    at TEXT NOT NULL
) STRICT;
-- One answer an item, model, version of the prompt and precedents: whatever a crash repeats, nothing counts twice.
CREATE UNIQUE INDEX exam_answers_item ON exam_answers (item_id, role, model, prompt_version, precedents);
CREATE INDEX calls_exam ON calls (exam_item) WHERE exam_item IS NOT NULL;

-- What was tried to make items of, so that it is not tried again while nothing that decides the result has changed.
CREATE TABLE exam_trials (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    source TEXT NOT NULL CHECK (source IN ($ExamSource)),
    change TEXT NOT NULL CHECK (change <> ''),
    against TEXT NOT NULL,
    kept INTEGER NOT NULL DEFAULT 0 CHECK (kept IN (0, 1)),
    reason TEXT NOT NULL DEFAULT '',
    UNIQUE (project_id, source, change)
) STRICT;

-- Tests that were to prove findings; `finding` is the index in the review's own list.
CREATE TABLE reproductions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    proposal_id INTEGER NOT NULL REFERENCES proposals (id),
    review_id INTEGER NOT NULL REFERENCES reviews (id),
    finding INTEGER NOT NULL CHECK (finding >= 0),
    severity TEXT NOT NULL CHECK (severity IN ($Severity)),
    criterion TEXT NOT NULL CHECK (criterion IN ($Criterion)),
    outcome TEXT NOT NULL CHECK (outcome IN ($ReproductionOutcome)),
    reason TEXT NOT NULL DEFAULT '',
    path TEXT NOT NULL DEFAULT '',
    text TEXT NOT NULL DEFAULT '',
    failure TEXT NOT NULL DEFAULT '',
    seconds REAL NOT NULL DEFAULT 0,
    revised TEXT NOT NULL DEFAULT '' CHECK (revised IN ($RevisedOutcome)),
    revised_by INTEGER REFERENCES proposals (id),
    prompt_version TEXT NOT NULL DEFAULT '',
    model TEXT NOT NULL DEFAULT '',
    at TEXT NOT NULL,
    UNIQUE (review_id, finding)
) STRICT;
CREATE INDEX reproductions_proposal ON reproductions (proposal_id, outcome);
CREATE INDEX reproductions_figures ON reproductions (at, severity, criterion, outcome, revised);

-- What the developer said of findings; `finding` is the index in the review's own list.
CREATE TABLE afterlives (
    review_id INTEGER NOT NULL REFERENCES reviews (id),
    finding INTEGER NOT NULL CHECK (finding >= 0),
    fate TEXT NOT NULL CHECK (fate IN ('fixed', 'changed', 'kept', 'unknown')),
    at TEXT NOT NULL,
    PRIMARY KEY (review_id, finding)
) STRICT;

CREATE TABLE judgements (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    review_id INTEGER NOT NULL REFERENCES reviews (id),
    finding INTEGER NOT NULL CHECK (finding >= 0),
    severity TEXT NOT NULL CHECK (severity IN ($Severity)),
    criterion TEXT NOT NULL CHECK (criterion IN ($Criterion)),
    judgement TEXT NOT NULL CHECK (judgement IN ($Judgement)),
    note TEXT NOT NULL DEFAULT '',
    at TEXT NOT NULL,
    UNIQUE (review_id, finding)
) STRICT;

-- What of a project's findings the developer found wrong, and why. A changed one is ended and made again: what a prompt
-- showed stays as it was.
CREATE TABLE precedents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    review_id INTEGER REFERENCES reviews (id),
    finding INTEGER NOT NULL DEFAULT 0 CHECK (finding >= 0),
    criterion TEXT NOT NULL CHECK (criterion IN ($Criterion)),
    path TEXT NOT NULL DEFAULT '',
    quote TEXT NOT NULL DEFAULT '',
    message TEXT NOT NULL,
    note TEXT NOT NULL CHECK (note <> ''),
    ended TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX tasks_head ON tasks (project_id, head) WHERE head <> '';

-- What a model asked to be shown before it answered. Words are free text: a new kind of look changes nothing here.
CREATE TABLE looks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    call_id INTEGER NOT NULL REFERENCES calls (id),
    task_id INTEGER NOT NULL REFERENCES tasks (id),
    attempt INTEGER NOT NULL,
    round INTEGER NOT NULL,
    role TEXT NOT NULL,
    turn INTEGER NOT NULL CHECK (turn >= 1),
    kind TEXT NOT NULL DEFAULT '',
    target TEXT NOT NULL DEFAULT '',
    outcome TEXT NOT NULL CHECK (outcome <> ''),
    paths TEXT NOT NULL DEFAULT '[]',
    tokens INTEGER NOT NULL DEFAULT 0 CHECK (tokens >= 0),
    at TEXT NOT NULL
) STRICT;
CREATE INDEX looks_task ON looks (task_id, attempt, round);
CREATE INDEX looks_figures ON looks (role, kind, outcome, at, tokens);

-- One prompt to a coding agent, and what became of it. `tree` is what its copy of the project held then.
CREATE TABLE agent_turns (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id INTEGER NOT NULL REFERENCES tasks (id),
    attempt INTEGER NOT NULL,
    round INTEGER NOT NULL,
    seq INTEGER NOT NULL CHECK (seq >= 0),
    purpose TEXT NOT NULL,
    agent TEXT NOT NULL DEFAULT '',
    prompt_version TEXT NOT NULL DEFAULT '',
    outcome TEXT NOT NULL,
    stopped TEXT NOT NULL DEFAULT '',
    reason TEXT NOT NULL DEFAULT '',
    tree TEXT NOT NULL DEFAULT '',
    summary TEXT NOT NULL DEFAULT '',
    requests INTEGER NOT NULL DEFAULT 0 CHECK (requests >= 0),
    replayed INTEGER NOT NULL DEFAULT 0 CHECK (replayed >= 0),
    refused INTEGER NOT NULL DEFAULT 0 CHECK (refused >= 0),
    seconds REAL NOT NULL DEFAULT 0 CHECK (seconds >= 0),
    started TEXT NOT NULL,
    ended TEXT
) STRICT;
CREATE INDEX agent_turns_round ON agent_turns (task_id, attempt, round);
CREATE INDEX tasks_variants ON tasks (variant_of, variant) WHERE variant_of IS NOT NULL;
