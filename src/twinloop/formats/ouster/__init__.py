"""Ouster lidars in network captures: packets of points and motion, decoded by the sensor's metadata.

A capture (pcap, pcapng) holds the sensor's UDP packets; a JSON file beside it says how they are laid out and
where the beams point. Facts: Ouster's firmware user manual (data formats, coordinate frames) and the parser
of ouster-lidar/ouster-sdk.
"""
