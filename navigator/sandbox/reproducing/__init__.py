"""Whether a test proves a finding: read before it is run, judged from what its runs did."""
