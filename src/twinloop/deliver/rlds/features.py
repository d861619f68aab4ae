"""features.json: what each key of a record holds, as tensorflow_datasets writes it."""

from __future__ import annotations

_CORE = "tensorflow_datasets.core.features"

Node = dict[str, object]


def features_dict(features: dict[str, Node]) -> Node:
    """Features by name."""
    return {"pythonClassName": f"{_CORE}.features_dict.FeaturesDict", "featuresDict": {"features": features}}


def dataset(inner: Node) -> Node:
    """A sequence of steps."""
    return {
        "pythonClassName": f"{_CORE}.dataset_feature.Dataset",
        "sequence": {"feature": inner, "length": "-1"},
    }


def tensor(shape: tuple[int, ...], dtype: str, description: str = "", encoding: str = "none") -> Node:
    """Numbers of one shape. `encoding` ``bytes``: each value is the array's own bytes."""
    where = "tensor_feature.Tensor" if shape else "scalar.Scalar"
    said = {"shape": _shape(shape), "dtype": dtype, "encoding": encoding}
    return {"pythonClassName": f"{_CORE}.{where}", "tensor": said, "description": description}


def image(shape: tuple[int, ...], form: str, dtype: str, description: str = "") -> Node:
    """Images as files of one form."""
    said = {"shape": _shape(shape), "dtype": dtype, "encodingFormat": form}
    return {"pythonClassName": f"{_CORE}.image_feature.Image", "image": said, "description": description}


def text(description: str = "") -> Node:
    """A text."""
    return {"pythonClassName": f"{_CORE}.text_feature.Text", "text": {}, "description": description}


def _shape(shape: tuple[int, ...]) -> Node:
    return {"dimensions": [str(size) for size in shape]} if shape else {}
