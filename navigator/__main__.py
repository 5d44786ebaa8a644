"""`python -m navigator` is the `navigator` command."""

from navigator.cli.main import main

main()
