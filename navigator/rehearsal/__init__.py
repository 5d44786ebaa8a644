"""The embedded stand-in for the two model servers: a process that speaks SGLang's wire format and works by rule.

It proves the loop around the models, never the quality of a model. Everything it says is labelled: model names begin
with "rehearsal/", and `/server_info` states the assumptions about time.
"""
