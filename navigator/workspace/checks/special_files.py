"""Files that run, or steer tools, merely because they are there: names, folders and patterns with the reason.

A change to ordinary source runs only when somebody runs it; these run on entering a folder, opening an
editor, building, installing, testing, committing or pushing. Lists of foreign code stand here too: a model
may name a package that does not exist, and somebody may have registered it since.
"""

from __future__ import annotations

import re

SPECIAL_NAMES: dict[str, tuple[str, str]] = {
    name: (rule, why)
    for rule, why, names in (
        (
            "git_attributes",
            "git attributes choose filters, merge drivers and line endings",
            (".gitattributes",),
        ),
        ("git_modules", "submodule addresses are fetched and checked out by git", (".gitmodules",)),
        (
            "git_settings",
            "hook or mail settings that git tools obey",
            (".gitconfig", ".mailmap", ".lfsconfig"),
        ),
        (
            "ci",
            "continuous integration runs this with the project's credentials",
            (
                ".gitlab-ci.yml",
                ".travis.yml",
                "azure-pipelines.yml",
                "bitbucket-pipelines.yml",
                "jenkinsfile",
                ".drone.yml",
                "appveyor.yml",
                ".appveyor.yml",
                "cloudbuild.yaml",
                ".woodpecker.yml",
                "codeowners",
                "dependabot.yml",
            ),
        ),
        (
            "lockfile",
            "a lock file says which foreign code is installed",
            (
                "package-lock.json",
                "npm-shrinkwrap.json",
                "yarn.lock",
                "pnpm-lock.yaml",
                "bun.lock",
                "bun.lockb",
                "poetry.lock",
                "pdm.lock",
                "uv.lock",
                "pylock.toml",
                "pipfile.lock",
                "requirements.lock",
                "cargo.lock",
                "go.sum",
                "gemfile.lock",
                "composer.lock",
                "mix.lock",
                "flake.lock",
                "packages.lock.json",
                "gradle.lockfile",
                "pubspec.lock",
                "podfile.lock",
            ),
        ),
        (
            "environment",
            "runs or sets variables as soon as a shell enters the folder",
            (".envrc", ".autoenv", ".env"),
        ),
        (
            "package_source",
            "says where packages are fetched from, or with which credentials",
            (
                ".npmrc",
                ".yarnrc",
                ".yarnrc.yml",
                ".pypirc",
                "pip.conf",
                ".condarc",
                "nuget.config",
                ".bazelrc",
            ),
        ),
        (
            "build",
            "runs on the developer's machine when the project is built or installed",
            (
                "makefile",
                "gnumakefile",
                "justfile",
                ".justfile",
                "taskfile.yml",
                "rakefile",
                "setup.py",
                "build.rs",
                "build.gradle",
                "build.gradle.kts",
                "settings.gradle",
                "gradlew",
                "mvnw",
                "configure",
                "cmakelists.txt",
                "meson.build",
                "noxfile.py",
                "tox.ini",
                "dockerfile",
                "containerfile",
                "docker-compose.yml",
                "compose.yml",
                "compose.yaml",
                "vagrantfile",
                "binding.gyp",
            ),
        ),
        (
            # A model may name a package that does not exist, and somebody may have registered it.
            "dependencies",
            "says which foreign code is installed",
            (
                "package.json",
                "pyproject.toml",
                "setup.cfg",
                "pipfile",
                "cargo.toml",
                "go.mod",
                "gemfile",
                "composer.json",
                "pom.xml",
            ),
        ),
        (
            "test_hook",
            "runs whenever the tests are collected, before any test",
            ("conftest.py", "sitecustomize.py", "usercustomize.py", "jest.config.js", "vitest.config.ts"),
        ),
        (
            "commit_hook",
            "runs on the developer's commits",
            (".pre-commit-config.yaml", ".pre-commit-hooks.yaml", "lefthook.yml", ".lintstagedrc"),
        ),
        (
            "agent_instructions",
            "coding tools obey this file",
            (
                "agents.md",
                "agents.override.md",
                "claude.md",
                "gemini.md",
                "copilot-instructions.md",
                ".cursorrules",
                ".windsurfrules",
                ".clinerules",
                ".roorules",
                ".aider.conf.yml",
                ".mcp.json",
            ),
        ),
        (
            "shell_start",
            "a shell runs this when it starts",
            (".bashrc", ".bash_profile", ".zshrc", ".zprofile", ".profile", ".ripgreprc"),
        ),
        (
            "editor",
            "an editor obeys this when the folder is opened",
            (".exrc", ".vimrc", ".nvimrc", ".dir-locals.el"),
        ),
    )
    for name in names
}

"""Base names in lower case: (rule, why)."""

SPECIAL_FOLDERS: dict[str, tuple[str, str]] = {
    folder: (rule, why)
    for rule, why, folders in (
        (
            "ci",
            "continuous integration runs this with the project's credentials",
            (
                ".github",
                ".gitlab",
                ".circleci",
                ".buildkite",
                ".woodpecker",
                ".forgejo",
                ".gitea",
                ".teamcity",
            ),
        ),
        (
            "editor",
            "an editor obeys this when the folder is opened",
            (".vscode", ".idea", ".vs", ".fleet", ".zed", ".devcontainer", ".sublime"),
        ),
        (
            "agent_instructions",
            "coding tools obey this file",
            (
                ".claude",
                ".codex",
                ".cursor",
                ".agents",
                ".gemini",
                ".windsurf",
                ".continue",
                ".roo",
                ".cline",
            ),
        ),
        (
            "commit_hook",
            "runs on the developer's commits",
            (".husky", ".githooks", "git-hooks", ".git-hooks"),
        ),
        ("package_source", "cargo obeys this: it can name programs to run", (".cargo",)),
        ("package_source", "yarn runs what stands here", (".yarn",)),
        ("build", "the build wrapper runs what stands here", (".mvn",)),
    )
    for folder in folders
}

"""Folder names in lower case, at any depth: (rule, why)."""

SPECIAL_PATTERNS = tuple(
    (re.compile(pattern), rule, why)
    for pattern, rule, why in (
        (r"\.env\..+", "environment", "sets variables for whatever runs in the folder"),
        (
            r"(?:dockerfile|containerfile)\..+|.+\.mk",
            "build",
            "runs on the developer's machine when the project is built",
        ),
        (
            r"(?:.+[-_])?requirements(?:[-_].+)?\.(?:txt|in)",
            "dependencies",
            "says which foreign code is installed",
        ),
        (r".+\.pth", "test_hook", "Python runs this when it starts"),
        (
            r".+\.(?:code-workspace|sublime-project|iml)",
            "editor",
            "an editor obeys this when the folder is opened",
        ),
    )
)
"""Names in lower case that follow a pattern."""
