"""Classes for frameworks of other projects, one file for each; a program imports only those that it uses."""
