"""The parts that sample repositories are put together from. All of it was written for Navigator."""
