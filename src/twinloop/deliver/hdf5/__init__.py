"""HDF5 as trainers lay it out: robomimic's file of demonstrations, ALOHA's file an episode."""
