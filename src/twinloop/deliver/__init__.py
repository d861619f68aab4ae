"""From the store to what trains: exports to other formats, each with a written account of what it changed."""
