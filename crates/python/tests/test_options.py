"""The options of `convert` and `render`: the names that the module accepts are in signatures and documentation."""

from __future__ import annotations

import ast
import inspect
import io
import re
from functools import partial
from pathlib import Path
from typing import Any

import meshmap
import pytest
from conftest import DATA

from meshmap import _meshmap

def options_of(call: Any, **arguments: Any) -> list[str]:
    """The names that the error about an unknown one lists."""
    with pytest.raises(TypeError, match="unexpected keyword argument 'no_option'") as caught:
        call(**arguments)
    return re.findall(r"`(\w+)`", str(caught.value))


def documented(function: Any) -> set[str]:
    heads = re.findall(r"^    ([a-z_, ]+): ", (inspect.getdoc(function) or "").split("Returns:")[0], re.MULTILINE)
    return {name for head in heads for name in head.split(", ")}


def defaults_of(function: Any) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters.values()
    return {each.name: each.default for each in parameters if each.kind is each.KEYWORD_ONLY}


def test_every_option_of_convert_is_in_its_signature_and_documentation(iqm: Path, tmp_path: Path) -> None:
    convert = partial(_meshmap.convert, iqm, tmp_path / "out.glb", None)
    options = options_of(convert, options={"no_option": 1})
    assert sorted(options) == sorted(defaults_of(meshmap.convert))
    assert set(options) <= documented(meshmap.convert)


def test_every_option_of_render_is_in_its_signature_documentation_and_stub(iqm: Path, tmp_path: Path) -> None:
    options = options_of(partial(meshmap.render, iqm, tmp_path / "out.png"), no_option=1)
    defaults = defaults_of(meshmap.render)
    assert sorted(options) == sorted(defaults)
    assert set(options) <= documented(meshmap.render)
    stub = ast.parse((Path(meshmap.__file__).parent / "_meshmap.pyi").read_text())
    for node in stub.body:
        if isinstance(node, ast.FunctionDef) and node.name == "render":
            arguments = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            assert {each.arg: ast.literal_eval(default) for each, default in arguments if default} == defaults


def test_textures_are_found_copied_and_embedded(tmp_path: Path) -> None:
    path, image = DATA / "textures/crate.iqm", DATA / "textures/crate.png"
    with meshmap.open(path) as file:
        name = next(iter(file.values())).texture
        assert name == "crate.png"
        assert meshmap.find_texture(name, [path.parent]) == image.resolve()
        assert meshmap.find_texture("../textures/crate.png", [DATA / "iqm"]) is None
        done = meshmap.convert(file, tmp_path / "a.gltf")
        assert done["textures"] == {"crate.png": image.resolve()}
    assert "textures/crate.png" in (tmp_path / "a.gltf").read_text()
    copied = meshmap.convert(path.read_bytes(), tmp_path / "b.glb", textures=[image.parent], copy_textures=True)
    copy = tmp_path / "b.glb.textures" / "crate.png"
    assert copy in copied["files"]
    assert copy.read_bytes() == image.read_bytes()
    # A file object has no place from which a path could lead to the image.
    written = io.BytesIO()
    assert meshmap.convert(path, written, to="glb")["textures"] == {}
    options: list[dict[str, Any]] = [{"textures": [image.parent]}, {"copy_textures": True}]
    for option in options:
        with pytest.raises(ValueError, match="an output without a folder cannot refer to images"):
            meshmap.convert(path, written, to="glb", **option)
    assert len(meshmap.convert(path, written, to="glb", embed_textures=True)["textures"]) == 1
    assert image.read_bytes() in written.getvalue()


@pytest.mark.parametrize("function", [meshmap.convert, meshmap.render])
def test_wrong_values_are_errors_that_name_the_option(function: Any, iqm: Path, tmp_path: Path) -> None:
    for option in set(defaults_of(function)) - {"to"}:
        for wrong in [object(), float("nan")]:
            with pytest.raises((TypeError, ValueError), match=f"^{option} is "):
                function(iqm, tmp_path / "out.glb", **{option: wrong})
    assert not list(tmp_path.iterdir())


def test_values_that_are_not_allowed_are_errors_that_list_the_others(iqm: Path, tmp_path: Path) -> None:
    of_conversion: list[tuple[dict[str, Any], str]] = [
        ({"up": "w"}, "up is 'w': not an axis: expected one of x, y, z, -x, -y, -z, found \"w\""),
        ({"lod": "best"}, "lod is 'best': expected finest, high, medium, low, lowest or all"),
        ({"every": 0}, "every is 0: "),
        ({"snapshots": (3, 3)}, "snapshots is (3, 3): expected"),
        ({"snapshots": (0, 4, 2)}, "snapshots is (0, 4, 2): expected the first index and the one after the last"),
        ({"meshes": ["7!"]}, "meshes is ['7!']: not an address"),
        ({"fps": float("inf")}, "fps is inf: expected a finite number"),
    ]
    for options, words in of_conversion:
        with pytest.raises(ValueError, match=f"^{re.escape(words)}"):
            meshmap.convert(iqm, tmp_path / "out.glb", **options)
    of_picture: list[tuple[dict[str, Any], str]] = [
        ({"mode": "oil"}, "mode is 'oil': expected shaded, clay, wireframe or normals"),
        ({"samples": 2}, "samples is 2: expected 1, 4 or 9"),
    ]
    for options, words in of_picture:
        with pytest.raises(ValueError, match=f"^{re.escape(words)}"):
            meshmap.render(iqm, **options)
