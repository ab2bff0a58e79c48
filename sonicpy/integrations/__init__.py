"""Classes for frameworks of other projects, a file for each; none is imported before a program asks for it."""
