"""What has arrived in a folder, and whether it is complete."""
