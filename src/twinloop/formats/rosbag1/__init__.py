"""ROS 1 bags, version 2.0 (http://wiki.ros.org/Bags/Format/2.0): indexed, unindexed, truncated, damaged."""
