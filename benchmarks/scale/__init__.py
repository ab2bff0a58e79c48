"""How many nodes, cores and disks a cluster of billions of objects needs: a model, computed from what was measured."""
