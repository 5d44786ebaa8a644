"""The statistics as lines of text: gathered from the store, plotted in cells, laid out as pages. No widget here."""
