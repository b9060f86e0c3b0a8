"""One module per library, with `tune(job, train, dev, seed, strategy, encoder) -> Outcome`."""
