"""A long run of a server under everything at once, with a checker that knows each answer that is possible."""
