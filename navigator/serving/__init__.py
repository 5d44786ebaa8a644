"""Model servers: the streaming client, health, load, tokens; `swap/` holds one file a strategy.

Importing this package imports no HTTP library; `navigator.serving.client.client.ModelClient` does when it is made.
"""
