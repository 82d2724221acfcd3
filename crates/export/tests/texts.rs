//! Values of options as texts.

use std::fmt::{self, Debug};
use std::str::FromStr;

use meshmap_export::{Lods, ParseError, Snapshots, Target, Turn};
use meshmap_render::{Mode, Samples};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Asserts that values are read as they are displayed, by serde as well, and returns the error for another text.
fn error_of<T>(values: impl IntoIterator<Item = T>) -> String
where
    T: fmt::Display + FromStr<Err = ParseError> + Debug + PartialEq + Serialize + DeserializeOwned,
{
    for value in values {
        let json = serde_json::to_string(&value).unwrap();
        assert_eq!(json, format!("\"{value}\""));
        assert_eq!(serde_json::from_str::<T>(&json).unwrap(), value);
        assert_eq!(value.to_string().parse(), Ok(value));
    }
    "x".parse::<T>().unwrap_err().to_string()
}

#[test]
fn values_are_read_as_they_are_displayed_and_errors_name_them() {
    assert_eq!(
        error_of(Target::ALL),
        "expected glb, gltf, obj, ply, stl, pc2, usdc or usdz"
    );
    assert_eq!(
        error_of([Samples::One, Samples::Four, Samples::Nine]),
        "expected 1, 4 or 9"
    );
    let modes = [Mode::Shaded, Mode::Clay, Mode::Wireframe, Mode::Normals];
    assert_eq!(
        error_of(modes),
        "expected shaded, clay, wireframe or normals"
    );
    let turns = [Turn::None, Turn::Quarter, Turn::Half, Turn::ThreeQuarters];
    assert_eq!(error_of(turns), "expected 0, 90, 180 or 270");
    let lods = (0..4).map(Lods::Only).chain([Lods::Finest, Lods::All]);
    assert_eq!(
        error_of(lods),
        "expected finest, high, medium, low, lowest or all"
    );
    assert_eq!("lowest_lod".parse(), Ok(Lods::Only(3)));
    let snapshots = ["7", "0..18446744073709551615", "3..9", "3..9:2"]
        .map(|text| text.parse::<Snapshots>().unwrap());
    let expected = "expected a number such as 7, or a range such as 0..39 or 0..39:2";
    assert_eq!(error_of::<Snapshots>(snapshots), expected);
}

#[test]
fn ranges_of_snapshots_have_several_texts() {
    for (text, first, last) in [
        ("7", 7, 7),
        ("..9", 0, 9),
        ("4..", 4, usize::MAX),
        ("..", 0, usize::MAX),
    ] {
        assert_eq!(text.parse(), Ok(Snapshots::from(first..=last)), "{text}");
    }
    for text in ["", "9..2", "0..9:0", "0..9:", "-1", "1..2..3"] {
        assert!(text.parse::<Snapshots>().is_err(), "{text}");
    }
    assert_eq!(
        serde_json::from_str::<Snapshots>("[2, 5]").unwrap(),
        (2..=4).into()
    );
    for ends in ["[3, 3]", "[0, 0]", "[1]", "[1, 2, 3]", "[-1, 2]", "3.5"] {
        assert!(serde_json::from_str::<Snapshots>(ends).is_err(), "{ends}");
    }
}
