"""Speculative decoding: predicted, measured, analysed, decided."""
