"""What the readers of ROS bags share: from messages to streams, and split bags as one recording."""
