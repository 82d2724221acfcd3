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


def test_pictures_show_the_images_that_are_found(tmp_path: Path) -> None:
    path, image = DATA / "textures/crate.iqm", DATA / "textures/crate.png"
    beside = meshmap.render(path, size=(32, 32))
    copy = tmp_path / "in" / "crate.iqm"
    copy.parent.mkdir()
    copy.write_bytes(path.read_bytes())
    without = meshmap.render(copy, size=(32, 32))
    assert (beside != without).any()
    below = tmp_path / "game/deep/crate.png"
    below.parent.mkdir(parents=True)
    below.write_bytes(image.read_bytes())
    textures = [tmp_path / "game"]
    assert (meshmap.render(copy, size=(32, 32), textures=textures) == beside).all()
    assert (meshmap.render(path.read_bytes(), size=(32, 32), textures=textures) == beside).all()
    done = meshmap.render(copy, tmp_path / "a.png", size=(32, 32), textures=textures)
    assert done["textures"] == {"crate.png": below.resolve()}
    assert meshmap.render(copy, tmp_path / "b.png", size=(32, 32))["textures"] == {}


def test_a_transparent_background_has_alpha(iqm: Path) -> None:
    picture = meshmap.render(iqm, size=(48, 32), background="transparent")
    assert picture.shape == (32, 48, 4)
    assert picture[..., 3].min() == 0
    assert picture[..., 3].max() == 255
    white = meshmap.render(iqm, size=(48, 32), background="white", no_shadow=True)
    assert white.shape == (32, 48, 3)
    assert (white[0, 0] == 255).all()


def test_looks_of_a_picture_differ(iqm: Path) -> None:
    looks: list[dict[str, Any]] = [
        {},
        {"no_occlusion": True},
        {"no_shadow": True},
        {"view": "front"},
        {"view": "side"},
        {"view": "top"},
        {"mode": "wireframe"},
    ]
    pictures = [meshmap.render(iqm, size=(64, 64), **look).tobytes() for look in looks]
    assert len(set(pictures)) == len(looks)


def test_points_and_joints_are_counted(iqm: Path, tmp_path: Path) -> None:
    points = DATA / "cgeo/valid/points_a.cgeo"
    done = meshmap.render(points, tmp_path / "points.png", size=(32, 32), points=9)
    assert done["points"] > 0
    assert (done["triangles"], done["joints"]) == (0, 0)
    joints = meshmap.render(DATA / "iqm/valid/anim_only_joints.iqm", tmp_path / "joints.png", size=(32, 32))
    assert joints["joints"] > 0
    assert (joints["triangles"], joints["points"]) == (0, 0)
    with pytest.raises(ValueError, match="points= has no effect: the file is not a cloud of points"):
        meshmap.render(iqm, points=9)
    with pytest.raises(meshmap.Error, match="nothing to draw") as caught:
        meshmap.render(DATA / "cgeo/valid/empty_anim_a.cgeo")
    assert caught.value.kind == "nothing_to_draw"


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
        ({"view": "back"}, "view is 'back': expected three-quarter, front, side or top"),
        ({"background": "mud"}, "background is 'mud': expected white, black, transparent or a colour such as #f2f3f5"),
    ]
    for options, words in of_picture:
        with pytest.raises(ValueError, match=f"^{re.escape(words)}"):
            meshmap.render(iqm, **options)
