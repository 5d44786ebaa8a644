"""Setting up model servers: profiles of model pairs, SGLang's flags, service units, and what fits into which memory."""
