"""The lab's runs: progress, decisions, plots; start, stop, go on."""
