//! The columns of tables with geometry: facts of a catalogue, and arrays as lists.

use std::sync::Arc;

use arrow_array::{
    Array as _, ArrayRef, FixedSizeListArray, Float32Array, Float64Array, Int32Array, Int64Array,
    ListArray, RecordBatch, RecordBatchOptions, make_array, new_empty_array,
};
use arrow_buffer::OffsetBuffer;
use arrow_data::ArrayData;
use arrow_data::transform::MutableArrayData;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, SchemaRef};
use meshmap::{Attribute, MeshView, Scalar, Semantic};

use super::batch;
use super::columns::{COLUMNS, Column};
use super::row::Row;
use crate::input::Problem;

/// The facts of a mesh that rows with geometry have. Others of a catalogue are about the whole file, or need all of its values.
const FACTS: [&str; 16] = [
    "path",
    "format",
    "address",
    "name",
    "role",
    "level",
    "seconds",
    "file_bytes",
    "vertices",
    "triangles",
    "material",
    "identity",
    "hash",
    "error_kind",
    "error",
    "path_bytes",
];

/// The columns of a table with a row for each mesh.
pub struct Geometry {
    columns: Vec<Kind>,
    schema: SchemaRef,
}

enum Kind {
    Fact(&'static Column),
    Array(Part),
}

/// A part of a mesh, as a list for each mesh.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    /// `int32 [triangles, 3]`.
    Index,
    /// `int64 [triangles]`.
    MaterialId,
    /// `float32 [vertices, lanes]`.
    Floats(Semantic, i32),
    /// `int32 [vertices, 4]`.
    Joints(Semantic),
    /// An attribute of the file's own: `float64 [vertices, components]`, where each file may have other components.
    Own(Semantic),
}

/// A row of a table with geometry: the facts, and the items of the list of each part. A part that the mesh has not is `None`.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) row: Row,
    pub(super) parts: Vec<Option<ArrayRef>>,
}

impl Geometry {
    /// The columns with these names, in this order: facts of a catalogue; `index` and `material_id`; and attributes, such as
    /// `position`, `normal`, `texcoord[1]`, or other attributes of a file.
    ///
    /// # Errors
    ///
    /// Returns a message if a name is empty or occurs twice.
    pub fn new(names: &[String]) -> Result<Self, String> {
        batch::check_unique(names)?;
        let mut columns = Vec::with_capacity(names.len());
        for name in names {
            let fact = COLUMNS
                .iter()
                .find(|column| column.name == name && FACTS.contains(&column.name));
            columns.push(match fact {
                Some(column) => Kind::Fact(column),
                None => Kind::Array(Part::named(name)?),
            });
        }
        let fields: Vec<Field> = columns
            .iter()
            .zip(names)
            .map(|(kind, name)| match kind {
                Kind::Fact(column) => batch::field(column),
                Kind::Array(part) => Field::new(name, DataType::List(part.items()), true),
            })
            .collect();
        Ok(Self {
            columns,
            schema: batch::schema(fields),
        })
    }

    /// The schema of the tables.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = &Part> {
        self.columns.iter().filter_map(|kind| match kind {
            Kind::Fact(_) => None,
            Kind::Array(part) => Some(part),
        })
    }

    /// The size of the arrays of a mesh, if it has all of them.
    pub(super) fn byte_len(&self, counts: &meshmap::MeshCounts) -> u64 {
        let each = |part: &Part| match part {
            Part::Index | Part::MaterialId => counts.triangles.saturating_mul(12),
            _ => counts.vertices.saturating_mul(16),
        };
        self.parts().map(each).fold(0, u64::saturating_add)
    }

    /// The rows as a table.
    pub(super) fn batch(&self, shapes: Vec<Shape>) -> Result<RecordBatch, ArrowError> {
        let (rows, mut parts): (Vec<Row>, Vec<_>) = shapes
            .into_iter()
            .map(|shape| (shape.row, shape.parts.into_iter()))
            .unzip();
        let mut column = |kind: &Kind| match kind {
            Kind::Fact(column) => Ok(batch::values(column, &rows)),
            // The items of a part are dropped before the next part is joined.
            Kind::Array(part) => joined(
                part,
                parts
                    .iter_mut()
                    .map(|parts| parts.next().flatten())
                    .collect(),
            ),
        };
        let columns = self
            .columns
            .iter()
            .map(&mut column)
            .collect::<Result<Vec<ArrayRef>, _>>()?;
        // Without columns, only the count of rows remains.
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        RecordBatch::try_new_with_options(self.schema(), columns, &options)
    }
}

/// The lists of a part, of which each mesh has the items.
fn joined(part: &Part, meshes: Vec<Option<ArrayRef>>) -> Result<ArrayRef, ArrowError> {
    let valid: Vec<bool> = meshes.iter().map(Option::is_some).collect();
    let lengths = meshes
        .iter()
        .map(|items| items.as_ref().map_or(0, |items| items.len()));
    let offsets = OffsetBuffer::from_lengths(lengths);
    let mut items: Vec<ArrayRef> = meshes.into_iter().flatten().collect();
    let all = match items.len() {
        0 => new_empty_array(part.items().data_type()),
        1 => items.swap_remove(0),
        _ => {
            let items: Vec<ArrayData> = items.iter().map(|items| items.to_data()).collect();
            let count = items.iter().map(ArrayData::len).sum();
            let mut all = MutableArrayData::new(items.iter().collect(), false, count);
            for (index, items) in items.iter().enumerate() {
                all.try_extend(index, 0, items.len())?;
            }
            make_array(all.freeze())
        }
    };
    Ok(Arc::new(ListArray::try_new(
        part.items(),
        offsets,
        all,
        Some(valid.into()),
    )?))
}

impl Part {
    fn named(name: &str) -> Result<Self, String> {
        let semantic = || {
            let meaning = name.parse::<Semantic>();
            meaning.map_err(|_| {
                format!(
                    "{name:?} is no column: expected one of {}, or the name of an attribute",
                    FACTS.join(", ")
                )
            })
        };
        Ok(match name {
            "index" => Self::Index,
            "material_id" => Self::MaterialId,
            _ => match semantic()? {
                meaning @ (Semantic::Position | Semantic::Normal | Semantic::TexCoord(_)) => {
                    Self::Floats(meaning, 3)
                }
                meaning @ (Semantic::Tangent | Semantic::Color(_) | Semantic::Weights(_)) => {
                    Self::Floats(meaning, 4)
                }
                meaning @ Semantic::Joints(_) => Self::Joints(meaning),
                meaning => Self::Own(meaning),
            },
        })
    }

    /// The field of the items of a list.
    fn items(&self) -> FieldRef {
        let of = |kind: DataType| Arc::new(Field::new("item", kind, false));
        of(match self {
            Self::Index => DataType::FixedSizeList(of(DataType::Int32), 3),
            Self::MaterialId => DataType::Int64,
            Self::Floats(_, lanes) => DataType::FixedSizeList(of(DataType::Float32), *lanes),
            Self::Joints(_) => DataType::FixedSizeList(of(DataType::Int32), 4),
            Self::Own(_) => DataType::List(of(DataType::Float64)),
        })
    }

    /// The values of this part in a mesh; `None` if it has none. Numbers of the file keep their values; components that it does not
    /// have are 0, and the fourth of colours is 1.
    pub(super) fn of(&self, mesh: &MeshView) -> Result<Option<ArrayRef>, Problem> {
        let attribute = |meaning: &Semantic| mesh.attribute(meaning).map_err(Problem::from);
        let values: Option<ArrayRef> = match self {
            Self::Index if mesh.triangle_count() == 0 => None,
            Self::Index => Some(signed(mesh.indices().iter())?),
            Self::MaterialId => mesh.material_ids().map(|ids| {
                let ids: Int64Array = ids.iter().map(i64::from).collect();
                Arc::new(ids) as ArrayRef
            }),
            Self::Floats(meaning, lanes) => attribute(meaning)?.map(|values| {
                Arc::new(Float32Array::from(match lanes {
                    3 => values.to_f32::<3>().into_flattened(),
                    _ => values.to_f32::<4>().into_flattened(),
                })) as ArrayRef
            }),
            Self::Joints(meaning) => attribute(meaning)?
                .map(|values| signed(values.to_uint::<4>()?.into_iter().flatten()))
                .transpose()?,
            Self::Own(meaning) => attribute(meaning)?.map(|values| own(&values)).transpose()?,
        };
        let items = |values: ArrayRef| match self.items().data_type() {
            DataType::FixedSizeList(item, lanes) => Arc::new(FixedSizeListArray::new(
                Arc::clone(item),
                *lanes,
                values,
                None,
            )),
            _ => values,
        };
        Ok(values.map(items))
    }
}

/// The error of values that the column cannot hold.
fn refused(message: String) -> Problem {
    Problem::other("unsupported", message)
}

/// Numbers without a sign as numbers with one, which engines have.
fn signed(values: impl Iterator<Item = u32>) -> Result<ArrayRef, Problem> {
    let signed = |value: u32| {
        i32::try_from(value)
            .map_err(|_| refused(format!("expected at most {}, found {value}", i32::MAX)))
    };
    Ok(Arc::new(Int32Array::from(
        values.map(signed).collect::<Result<Vec<_>, _>>()?,
    )))
}

/// All components of an attribute, as numbers: a list for each vertex.
fn own(attribute: &Attribute) -> Result<ArrayRef, Problem> {
    let lanes = attribute.format().components as usize;
    let values = Float64Array::from(numbers_of(attribute)?);
    let lists = OffsetBuffer::from_lengths(std::iter::repeat_n(lanes, values.len() / lanes.max(1)));
    let item = Arc::new(Field::new("item", DataType::Float64, false));
    Ok(Arc::new(ListArray::new(
        item,
        lists,
        Arc::new(values),
        None,
    )))
}

fn numbers_of(attribute: &Attribute) -> Result<Vec<f64>, Problem> {
    fn numbers<const N: usize, T: Into<f64>>(bytes: &[u8], of: impl Fn([u8; N]) -> T) -> Vec<f64> {
        bytes
            .as_chunks::<N>()
            .0
            .iter()
            .map(|number| of(*number).into())
            .collect()
    }
    let format = attribute.format();
    let bytes = attribute.as_bytes();
    let lanes = format.components as usize;
    if format.normalized || attribute.dequant().is_some() {
        let values = match lanes {
            1 => attribute.to_f32::<1>().into_flattened(),
            2 => attribute.to_f32::<2>().into_flattened(),
            3 => attribute.to_f32::<3>().into_flattened(),
            4 => attribute.to_f32::<4>().into_flattened(),
            _ => {
                return Err(refused(format!(
                    "{}: expected at most 4 components, found {lanes}",
                    attribute.semantic()
                )));
            }
        };
        return Ok(values.into_iter().map(f64::from).collect());
    }
    Ok(match format.scalar {
        Scalar::U8 => numbers(bytes, u8::from_le_bytes),
        Scalar::I8 => numbers(bytes, i8::from_le_bytes),
        Scalar::U16 => numbers(bytes, u16::from_le_bytes),
        Scalar::I16 => numbers(bytes, i16::from_le_bytes),
        Scalar::U32 => numbers(bytes, u32::from_le_bytes),
        Scalar::I32 => numbers(bytes, i32::from_le_bytes),
        Scalar::F16 => numbers(bytes, |number| {
            meshmap::F16(u16::from_le_bytes(number)).to_f32()
        }),
        Scalar::F32 => numbers(bytes, f32::from_le_bytes),
        Scalar::F64 => numbers(bytes, f64::from_le_bytes),
        other => {
            return Err(refused(format!(
                "{}: numbers of the type {other} have no column",
                attribute.semantic()
            )));
        }
    })
}
