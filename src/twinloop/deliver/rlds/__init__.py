"""RLDS: episodes of steps in TFRecord files beside features.json, a folder that tensorflow_datasets opens.

The layout is that of tensorflow_datasets 4 (``tfds.builder_from_directory``); nothing here needs TensorFlow.
"""
