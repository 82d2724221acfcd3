//! Axes, winding, texture origin and unit of the formats.

use std::fmt;
use std::ops::Neg;

use crate::format::Format;

/// Up axis, front face, texture origin and unit of a format, a file or a program; `None` for what is not known.
///
/// The library returns values as stored in the file. [`MeshView::turned`](crate::MeshView::turned) converts them.
///
/// All axes are right-handed. A conversion from one up axis to another is a rotation by 90 degrees:
///
/// | from | to | x, y, z becomes |
/// |---|---|---|
/// | Z | Y | x, z, -y |
/// | Y | Z | x, -z, y |
/// | X | Y | -y, x, z |
/// | Y | X | y, -x, z |
/// | X | Z | -y, -z, x |
/// | Z | X | z, -x, -y |
///
/// # Examples
///
/// ```
/// use meshmap::{Axis, Conventions, VOrigin, Winding};
///
/// // glTF and wgpu: Y up, counter-clockwise, V from the top.
/// let gltf = Conventions::Y_UP_CCW.with_v_origin(VOrigin::Top);
/// assert_eq!((gltf.up, gltf.front_face), (Some(Axis::Y), Some(Winding::CounterClockwise)));
///
/// // Files of 3ds Max: Z up, V from the bottom.
/// let max = Conventions::Y_UP_CCW.with_up(Axis::Z).with_v_origin(VOrigin::Bottom);
/// assert_eq!(max.unit, None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Conventions {
    /// The axis that points up.
    pub up: Option<Axis>,
    /// The order of the corners of a triangle, seen from its front.
    pub front_face: Option<Winding>,
    /// The edge of the texture at which the coordinate V is 0.
    pub v_origin: Option<VOrigin>,
    /// The length that the value 1 stands for.
    pub unit: Option<LengthUnit>,
}

impl Conventions {
    /// Y up and counter-clockwise front faces, as in glTF, OBJ and most engines. The texture origin is unknown, so that
    /// texture coordinates stay as they are: see [`with_v_origin`](Self::with_v_origin).
    pub const Y_UP_CCW: Self = Self {
        up: Some(Axis::Y),
        front_face: Some(Winding::CounterClockwise),
        v_origin: None,
        unit: None,
    };

    /// Sets [`up`](Self::up).
    #[must_use]
    pub const fn with_up(self, up: Axis) -> Self {
        Self {
            up: Some(up),
            ..self
        }
    }

    /// Sets [`front_face`](Self::front_face).
    #[must_use]
    pub const fn with_front_face(self, front_face: Winding) -> Self {
        Self {
            front_face: Some(front_face),
            ..self
        }
    }

    /// Sets [`v_origin`](Self::v_origin).
    #[must_use]
    pub const fn with_v_origin(self, v_origin: VOrigin) -> Self {
        Self {
            v_origin: Some(v_origin),
            ..self
        }
    }
}

/// A coordinate axis, in one of its directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Axis {
    /// The first coordinate.
    X,
    /// The second coordinate.
    Y,
    /// The third coordinate.
    Z,
    /// Against the first coordinate.
    NegX,
    /// Against the second coordinate.
    NegY,
    /// Against the third coordinate.
    NegZ,
}

impl Axis {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::X,
        Self::Y,
        Self::Z,
        Self::NegX,
        Self::NegY,
        Self::NegZ,
    ];

    /// Returns the axis's name: `x`, `y`, `z`, `-x`, `-y` or `-z`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::X => "x",
            Self::Y => "y",
            Self::Z => "z",
            Self::NegX => "-x",
            Self::NegY => "-y",
            Self::NegZ => "-z",
        }
    }

    /// Rotates a vector as [`Conventions`] does: what points along this axis then points along `to`.
    ///
    /// # Examples
    ///
    /// ```
    /// use meshmap::Axis;
    ///
    /// assert_eq!(Axis::Z.rotate_to(Axis::Y, [1.0, 2.0, 3.0]), [1.0, 3.0, -2.0]);
    /// ```
    #[must_use]
    #[expect(clippy::arithmetic_side_effects, reason = "floats have no overflow")]
    pub fn rotate_to<T: Neg<Output = T> + From<f32>>(self, to: Self, vector: [T; 3]) -> [T; 3] {
        let [x, y, z] = vector;
        let [x, y, z] = match self {
            Self::X => [-y, x, z],
            Self::Y => [x, y, z],
            Self::Z => [x, z, -y],
            Self::NegX => [y, -x, z],
            Self::NegY => [x, -y, -z],
            Self::NegZ => [x, -z, y],
        };
        match to {
            Self::X => [y, -x, z],
            Self::Y => [x, y, z],
            Self::Z => [x, -z, y],
            Self::NegX => [-y, x, z],
            Self::NegY => [x, -y, -z],
            Self::NegZ => [x, z, -y],
        }
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A direction around a triangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
#[non_exhaustive]
pub enum Winding {
    /// As the hands of a clock.
    Clockwise,
    /// Against the hands of a clock.
    CounterClockwise,
}

/// The edge of a texture where V is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "lowercase")
)]
#[non_exhaustive]
pub enum VOrigin {
    /// The upper edge: V points down.
    Top,
    /// The lower edge: V points up.
    Bottom,
}

/// The length that the value 1 stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
#[non_exhaustive]
pub enum LengthUnit {
    /// The size of the object along each axis, which whoever places the mesh knows.
    ObjectSize,
    /// Each file says it: [`cgeo::Proxy::unit_length`](crate::cgeo::Proxy::unit_length).
    InFile,
}

impl Format {
    /// Up axis, front face, texture origin and unit, as far as the format has them.
    ///
    /// | format | up | front face | V is 0 at | unit |
    /// |---|---|---|---|---|
    /// | CGeo | - | - | - | [in the file](LengthUnit::InFile) (specification) |
    /// | IQM | Z (SDK) | clockwise (SDK, and real files) | the top (SDK) | - |
    /// | OpenCTM | - | - | - | - |
    /// | Second Life mesh | Z (viewer) | counter-clockwise (two real files) | the bottom (a real file) | [size of the object](LengthUnit::ObjectSize) (specification) |
    /// | TMF | - | - | - | - |
    ///
    /// The source is given in parentheses. If a format does not define a convention, files have the convention of the program that
    /// wrote them: often the conventions of OBJ for OpenCTM and TMF, whose tools convert it without a change, and Z up for CGeo
    /// files of 3ds Max.
    ///
    /// * **IQM**: the specification has no word about it. The SDK's exporters have Z up, write triangles clockwise and turn
    ///   V over; engines that need triangles counter-clockwise turn them back. The triangles of all 21 models of games that
    ///   were looked at run clockwise around their normals.
    /// * **Second Life mesh**: neither the specification nor the header says which side is the front. The two files from
    ///   the grid's own tools run counter-clockwise around their normals; one was compared with the COLLADA document that
    ///   it was uploaded from, and has its order of corners and its texture coordinates, whose V points up. Files that
    ///   other programs made for tests run clockwise: do not take the winding from those.
    ///
    /// # Examples
    ///
    /// ```
    /// use meshmap::{Axis, MeshFile, Winding};
    ///
    /// let file = MeshFile::open("tests/data/iqm/valid/skin_multi_anim.iqm")?;
    /// let conventions = file.format().conventions();
    /// assert_eq!(conventions.up, Some(Axis::Z));
    /// assert_eq!(conventions.front_face, Some(Winding::Clockwise));
    /// assert_eq!(conventions.unit, None);
    /// # Ok::<(), meshmap::Error>(())
    /// ```
    #[must_use]
    pub const fn conventions(self) -> Conventions {
        let none = Conventions {
            up: None,
            front_face: None,
            v_origin: None,
            unit: None,
        };
        match self {
            Self::CGeo => Conventions {
                unit: Some(LengthUnit::InFile),
                ..none
            },
            Self::Iqm => Conventions {
                up: Some(Axis::Z),
                front_face: Some(Winding::Clockwise),
                v_origin: Some(VOrigin::Top),
                ..none
            },
            Self::SlMesh => Conventions {
                up: Some(Axis::Z),
                front_face: Some(Winding::CounterClockwise),
                v_origin: Some(VOrigin::Bottom),
                unit: Some(LengthUnit::ObjectSize),
            },
            Self::OpenCtm | Self::Tmf => none,
        }
    }

    /// The frames or snapshots per second at which programs play a file that does not store a rate: as Corona plays proxies.
    pub const USUAL_RATE: f32 = 24.0;

    /// The up axis of most files: the one of [`conventions`](Self::conventions), or of the programs that write them. Programs that draw files
    /// without asking take this one.
    ///
    /// Z for CGeo, whose files come from 3ds Max, and Y for OpenCTM and TMF, which are converted from OBJ.
    #[must_use]
    pub const fn usual_up(self) -> Axis {
        match self {
            Self::CGeo | Self::Iqm | Self::SlMesh => Axis::Z,
            Self::OpenCtm | Self::Tmf => Axis::Y,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A right-handed system.
    const AXES: [Axis; 3] = [Axis::X, Axis::Y, Axis::Z];

    fn up(axis: Axis) -> [f32; 3] {
        match axis {
            Axis::X => [1.0, 0.0, 0.0],
            Axis::Y => [0.0, 1.0, 0.0],
            Axis::Z => [0.0, 0.0, 1.0],
            Axis::NegX => [-1.0, 0.0, 0.0],
            Axis::NegY => [0.0, -1.0, 0.0],
            Axis::NegZ => [0.0, 0.0, -1.0],
        }
    }

    #[test]
    fn rotations_move_the_up_axis_keep_the_hand_and_can_be_undone() {
        for from in Axis::ALL {
            for to in Axis::ALL {
                let [a, b, c] = AXES.map(|axis| from.rotate_to(to, up(axis)));
                assert_eq!(from.rotate_to(to, up(from)), up(to));
                let cross = [
                    a[1] * b[2] - a[2] * b[1],
                    a[2] * b[0] - a[0] * b[2],
                    a[0] * b[1] - a[1] * b[0],
                ];
                assert_eq!(cross, c, "{from:?} to {to:?}");
                assert_eq!(
                    to.rotate_to(from, from.rotate_to(to, [1.0, 2.0, 3.0])),
                    [1.0, 2.0, 3.0]
                );
                for by in Axis::ALL {
                    let direct = from.rotate_to(to, [1.0, 2.0, 3.0]);
                    assert_eq!(
                        by.rotate_to(to, from.rotate_to(by, [1.0, 2.0, 3.0])),
                        direct
                    );
                }
            }
        }
        assert_eq!(
            Axis::Z.rotate_to(Axis::Y, [1.0, 2.0, 3.0]),
            [1.0, 3.0, -2.0]
        );
    }
}
