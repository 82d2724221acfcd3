//! Conversions between conventions: up axis, winding, texture origin.

use super::attribute::Attribute;
use super::attribute_list::{AttributeList, Attributes, LoadAttribute};
use super::semantic::{AttributeInfo, Semantic};
use super::vertex_format::VertexFormat;
use super::view::MeshView;
use crate::bytes::{Array, Element};
use crate::conventions::{Axis, Conventions};
use crate::limits::{Limits, Meter, take_block};
use crate::num::{as_u64, size_u64};
use crate::report::{Error, ErrorKind, Result};

impl MeshView {
    /// This mesh in other conventions: axes rotated, triangles reversed and texture coordinates flipped where `to` differs
    /// from `from`.
    ///
    /// `from` are the conventions of the file: [`Format::conventions`](crate::Format::conventions) for IQM and Second Life
    /// meshes. CGeo, OpenCTM and TMF files do not store conventions, so pass the conventions of the program that wrote the
    /// file. A convention that is `None` in `to` stays as it is.
    ///
    /// * **Up axis**: positions, normals and tangents are rotated by 90 degrees, see [`Conventions`]. They become `f32`:
    ///   quantized positions are dequantized.
    /// * **Front face**: corners a, b, c become a, c, b.
    /// * **Texture origin**: V becomes 1 - V in every set of texture coordinates, in `f32`.
    ///
    /// Lengths are not scaled: [`unit`](Conventions::unit) does not matter. Skeletons and animations do not follow: draw a
    /// skinned mesh with its axes as they are (`up: None` in `to`), below a node that is rotated. The fourth component of
    /// tangents keeps its sign.
    ///
    /// These are the conversions of the exporters of `meshmap convert`. Attributes are converted by each call of
    /// [`attribute`](Self::attribute): [`load`](Self::load) the result to convert them once.
    ///
    /// # Examples
    ///
    /// ```
    /// use meshmap::{Conventions, MeshFile, Semantic, VOrigin};
    ///
    /// let file = MeshFile::open("tests/data/iqm/valid/skin_multi_anim.iqm")?;
    /// let mesh = file.mesh(&"meshes[0]".parse()?)?;
    /// let gltf = Conventions::Y_UP_CCW.with_v_origin(VOrigin::Top);
    /// let turned = mesh.turned(file.format().conventions(), gltf)?;
    ///
    /// let first = |mesh: &meshmap::MeshView| {
    ///     let positions = mesh.attribute(&Semantic::Position)?.expect("this mesh has positions");
    ///     Ok::<_, meshmap::Error>(positions.to_f32::<3>()[0])
    /// };
    /// let [x, y, z] = first(&mesh)?;
    /// assert_eq!(first(&turned)?, [x, z, -y]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Mismatch`](ErrorKind::Mismatch) if `to` has a convention that is `None` in `from`, and
    /// [`LimitExceeded`](ErrorKind::LimitExceeded) if the limits leave no memory for reversed triangles.
    pub fn turned(&self, from: Conventions, to: Conventions) -> Result<Self> {
        self.try_turned(from, to)
            .map_err(|error| self.locate_in_file(self.place().locate(error)))
    }

    fn try_turned(&self, from: Conventions, to: Conventions) -> Result<Self> {
        let axes = changed("up axis", "up", from.up, to.up)?;
        let front_faces = changed("front face", "front_face", from.front_face, to.front_face)?;
        let v_origins = changed("texture origin", "v_origin", from.v_origin, to.v_origin)?;

        let mut view = self.clone();
        if front_faces.is_some() {
            view = view.with_indices(self.indices().reversed(&self.meter())?);
        }
        if axes.is_some() || v_origins.is_some() {
            let converted = ConvertedAttributes {
                stored: self.stored().clone(),
                axes,
                flips_v: v_origins.is_some(),
            };
            let mut infos = Vec::with_capacity(self.attributes().len());
            for info in self.attributes() {
                infos.push(converted.info(info));
            }
            let attributes = Attributes::new(AttributeList::new(infos), converted);
            view = view.with_vertices(self.vertex_count(), attributes);
        }
        Ok(view)
    }
}

/// The two values of a convention, if they differ.
fn changed<T: PartialEq>(
    what: &str,
    field: &str,
    from: Option<T>,
    to: Option<T>,
) -> Result<Option<(T, T)>> {
    match (from, to) {
        (_, None) => Ok(None),
        (Some(from), Some(to)) if from == to => Ok(None),
        (Some(from), Some(to)) => Ok(Some((from, to))),
        (None, Some(_)) => {
            let error = Error::new(ErrorKind::Mismatch, "conventions");
            let expected = format!(
                "a known {what} to turn from: state that of the program that wrote the file in `from.{field}`"
            );
            Err(error.expected(expected).found("none"))
        }
    }
}

/// The attributes of a mesh, in other conventions: each is converted when it is loaded.
struct ConvertedAttributes {
    stored: Attributes,
    /// The axis that points up in the stored attributes, and the one that points up afterwards.
    axes: Option<(Axis, Axis)>,
    flips_v: bool,
}

/// The conversion of one attribute.
#[derive(Clone, Copy)]
enum Conversion {
    /// Rotates vectors, so that the axis `from` becomes the axis `to`.
    Rotate { from: Axis, to: Axis },
    /// Replaces V by 1 - V.
    FlipV,
}

impl ConvertedAttributes {
    /// The conversion of an attribute; `None` if it stays as it is.
    fn conversion(&self, semantic: &Semantic) -> Option<Conversion> {
        match semantic {
            Semantic::Position | Semantic::Normal | Semantic::Tangent => {
                let (from, to) = self.axes?;
                Some(Conversion::Rotate { from, to })
            }
            Semantic::TexCoord(_) if self.flips_v => Some(Conversion::FlipV),
            _ => None,
        }
    }

    /// The meaning and the format of an attribute after its conversion.
    fn info(&self, info: &AttributeInfo) -> AttributeInfo {
        let mut info = info.clone();
        if let Some(conversion) = self.conversion(&info.semantic) {
            info.format = conversion.format(info.format);
        }
        info
    }
}

impl LoadAttribute for ConvertedAttributes {
    fn limits(&self) -> Limits {
        self.stored.limits()
    }

    fn load(&self, index: usize, info: &AttributeInfo, meter: &Meter) -> Result<Attribute> {
        match self.conversion(&info.semantic) {
            None => self.stored.load(index, meter),
            Some(conversion) => self
                .stored
                .load_converted(index, meter, |stored| conversion.apply(stored, meter)),
        }
    }
}

impl Conversion {
    /// The format of the converted elements: floats, with all components that the conversion needs.
    fn format(self, stored: VertexFormat) -> VertexFormat {
        match (self, stored.components) {
            (Self::FlipV, 0..=2) => VertexFormat::FLOAT32X2,
            (_, 0..=3) => VertexFormat::FLOAT32X3,
            _ => VertexFormat::FLOAT32X4,
        }
    }

    fn apply(self, stored: &Attribute, meter: &Meter) -> Result<Attribute> {
        let format = self.format(stored.format());
        let bytes = match (self, format.components) {
            (Self::Rotate { from, to }, 3) => {
                converted(stored, meter, |vector| from.rotate_to(to, vector))?
            }
            // The fourth component of a tangent is its handedness.
            (Self::Rotate { from, to }, _) => converted(stored, meter, |[x, y, z, w]| {
                let [x, y, z] = from.rotate_to(to, [x, y, z]);
                [x, y, z, w]
            })?,
            (Self::FlipV, 2) => converted(stored, meter, |[u, v]| [u, 1.0 - v])?,
            (Self::FlipV, 3) => converted(stored, meter, |[u, v, w]| [u, 1.0 - v, w])?,
            (Self::FlipV, _) => converted(stored, meter, |[u, v, w, q]| [u, 1.0 - v, w, q])?,
        };
        Ok(Attribute::new(stored.semantic().clone(), format, bytes))
    }
}

/// The elements of an attribute as floats, each converted.
fn converted<const N: usize>(
    stored: &Attribute,
    meter: &Meter,
    convert: impl Fn([f32; N]) -> [f32; N],
) -> Result<bytes::Bytes>
where
    [f32; N]: Element,
{
    let memory = as_u64(stored.len()).saturating_mul(size_u64::<[f32; N]>());
    take_block(
        meter,
        as_u64(stored.as_bytes().len()),
        memory,
        "attribute of a turned mesh",
    )?
    .keep();
    let mut values = stored.to_f32::<N>();
    for value in &mut values {
        *value = convert(*value);
    }
    Ok(Array::from_vec(values).into_bytes())
}
