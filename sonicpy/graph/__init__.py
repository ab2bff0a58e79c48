"""Words to completions and corrections: one immutable file per bucket, built at once and mapped read-only."""
