"""The pages of statistics: one entry each, rendered by `navigator stats NAME` and by the Statistics screen.

A page reads its counts from the store and lays them out as tables of plain data.
What a client draws (columns of text, intervals, bars) is its own business.
"""
