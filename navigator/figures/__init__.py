"""What happened, counted honestly: rates with intervals, what was left out beside what was counted.

`page.py` says what a page of statistics is, `pages.py` which there are. They read counts from the store and lay them out as
tables of plain data; what a client draws is its own business. The other modules count, and read nothing.
"""
