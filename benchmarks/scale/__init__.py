"""A model of the nodes, cores and disks of a cluster of billions of objects, computed from measurements."""
