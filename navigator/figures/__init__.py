"""What happened, counted honestly: rates with intervals, what was left out beside what was counted."""
