"""ROS 2 bags: SQLite files with or without metadata.yaml, and folders of MCAP files."""
