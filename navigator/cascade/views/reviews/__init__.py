"""Reviews for other programs: documents, SARIF, Markdown, text."""
