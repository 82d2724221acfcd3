//! The columns of tables with geometry: facts of a catalogue, and arrays as lists.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, FixedSizeListArray, Float32Array, Float64Array, Int32Array, Int64Array, ListArray,
};
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_buffer::{NullBuffer, OffsetBuffer};
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

/// The values of a part of one mesh.
#[derive(Debug)]
pub(super) enum Values {
    Floats(Vec<f32>),
    Ints(Vec<i32>),
    Longs(Vec<i64>),
    /// Values, and how many each vertex has.
    Own(Vec<f64>, usize),
}

/// A row of a table with geometry: the facts, and the values of each part. A part that the mesh has not is `None`.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) row: Row,
    pub(super) parts: Vec<Option<Values>>,
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
            let fact = COLUMNS.iter().find(|column| column.name == name && FACTS.contains(&column.name));
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
        Ok(Self { columns, schema: batch::schema(fields) })
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
    pub(super) fn batch(&self, table: Table) -> Result<RecordBatch, ArrowError> {
        let Table { rows, lists } = table;
        let mut lists = lists.into_iter();
        let column = |kind: &Kind| match kind {
            Kind::Fact(column) => Ok(batch::values(column, &rows)),
            Kind::Array(part) => lists.next().unwrap_or_else(|| List::new((part, 0))).array(),
        };
        let columns = self.columns.iter().map(column).collect::<Result<Vec<ArrayRef>, _>>()?;
        // Without columns, only the count of rows remains.
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        RecordBatch::try_new_with_options(self.schema(), columns, &options)
    }
}

/// Rows that become a table. The values of each mesh are appended when it is decoded, so that they are in memory once.
pub(super) struct Table {
    pub(super) rows: Vec<Row>,
    lists: Vec<List>,
}

/// A part of several meshes.
struct List {
    items: FieldRef,
    /// The number of items of each mesh that has the part.
    lengths: Vec<Option<usize>>,
    /// Numbers of vertices, and of numbers that each vertex has.
    vertices: Vec<(usize, usize)>,
    expected: usize,
    values: Values,
}

impl Table {
    /// A table without rows. `expected` has the lengths of the table before it: memory of about the same size is used again, where
    /// growing memory would leave gaps.
    pub(super) fn new(geometry: &Geometry, expected: &[usize]) -> Self {
        let expected = expected.iter().copied().chain(std::iter::repeat(0));
        Self { rows: Vec::new(), lists: geometry.parts().zip(expected).map(List::new).collect() }
    }

    /// The number of numbers of each part.
    pub(super) fn lengths(&self) -> Vec<usize> {
        self.lists.iter().map(|list| list.values.len()).collect()
    }

    pub(super) fn push(&mut self, shape: Shape) {
        self.rows.push(shape.row);
        self.lists.iter_mut().zip(shape.parts).for_each(|(list, values)| list.push(values));
    }
}

impl List {
    fn new((part, expected): (&Part, usize)) -> Self {
        let values = match part {
            Part::Floats(..) => Values::Floats(Vec::with_capacity(expected)),
            Part::Index | Part::Joints(_) => Values::Ints(Vec::with_capacity(expected)),
            Part::MaterialId => Values::Longs(Vec::with_capacity(expected)),
            Part::Own(_) => Values::Own(Vec::with_capacity(expected), 1),
        };
        Self { items: part.items(), lengths: Vec::new(), vertices: Vec::new(), expected, values }
    }

    fn push(&mut self, values: Option<Values>) {
        let lanes = match (self.items.data_type(), &values) {
            (DataType::FixedSizeList(_, lanes), _) => usize::try_from(*lanes).unwrap_or(1),
            (_, Some(Values::Own(_, lanes))) => (*lanes).max(1),
            _ => 1,
        };
        let count = values.as_ref().map(|values| values.len() / lanes);
        self.lengths.push(count);
        if let (Some(count), Values::Own(..)) = (count, &self.values) {
            self.vertices.push((count, lanes));
        }
        match values {
            Some(values) if self.values.len() == 0 && values.len() >= self.expected => self.values = values,
            Some(values) => self.values.append(values),
            None => {}
        }
    }

    fn array(self) -> Result<ArrayRef, ArrowError> {
        let valid: NullBuffer = self.lengths.iter().map(Option::is_some).collect::<Vec<bool>>().into();
        let lengths = self.lengths.into_iter().map(Option::unwrap_or_default);
        let values: ArrayRef = match self.values {
            Values::Floats(values) => Arc::new(Float32Array::from(values)),
            Values::Ints(values) => Arc::new(Int32Array::from(values)),
            Values::Longs(values) => Arc::new(Int64Array::from(values)),
            Values::Own(values, _) => {
                let lanes =
                    self.vertices.into_iter().flat_map(|(count, lanes)| std::iter::repeat_n(lanes, count));
                let item = Arc::new(Field::new("item", DataType::Float64, false));
                let offsets = OffsetBuffer::from_lengths(lanes);
                Arc::new(ListArray::try_new(item, offsets, Arc::new(Float64Array::from(values)), None)?)
            }
        };
        let values = match self.items.data_type() {
            DataType::FixedSizeList(item, lanes) => {
                Arc::new(FixedSizeListArray::try_new(Arc::clone(item), *lanes, values, None)?)
            }
            _ => values,
        };
        Ok(Arc::new(ListArray::try_new(
            self.items,
            OffsetBuffer::from_lengths(lengths),
            values,
            Some(valid),
        )?))
    }
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
    pub(super) fn of(&self, mesh: &MeshView) -> Result<Option<Values>, Problem> {
        let attribute = |meaning: &Semantic| mesh.attribute(meaning).map_err(Problem::from);
        Ok(match self {
            Self::Index if mesh.triangle_count() == 0 => None,
            Self::Index => Some(Values::Ints(signed(mesh.indices().iter())?)),
            Self::MaterialId => {
                mesh.material_ids().map(|ids| Values::Longs(ids.iter().map(i64::from).collect()))
            }
            Self::Floats(meaning, lanes) => attribute(meaning)?.map(|values| {
                Values::Floats(match lanes {
                    3 => values.to_f32::<3>().into_flattened(),
                    _ => values.to_f32::<4>().into_flattened(),
                })
            }),
            Self::Joints(meaning) => attribute(meaning)?
                .map(|values| signed(values.to_uint::<4>()?.into_iter().flatten()).map(Values::Ints))
                .transpose()?,
            Self::Own(meaning) => attribute(meaning)?.map(|values| own(&values)).transpose()?,
        })
    }
}

impl Values {
    /// The number of numbers.
    fn len(&self) -> usize {
        match self {
            Self::Floats(values) => values.len(),
            Self::Ints(values) => values.len(),
            Self::Longs(values) => values.len(),
            Self::Own(values, _) => values.len(),
        }
    }

    pub(super) fn byte_len(&self) -> usize {
        let each = if let Self::Floats(_) | Self::Ints(_) = self { 4 } else { 8 };
        self.len() * each
    }

    /// Adds values of the same kind.
    fn append(&mut self, more: Self) {
        match (self, more) {
            (Self::Floats(all), Self::Floats(mut more)) => all.append(&mut more),
            (Self::Ints(all), Self::Ints(mut more)) => all.append(&mut more),
            (Self::Longs(all), Self::Longs(mut more)) => all.append(&mut more),
            (Self::Own(all, _), Self::Own(mut more, _)) => all.append(&mut more),
            _ => {}
        }
    }
}

/// The error of values that the column cannot hold.
fn refused(message: String) -> Problem {
    Problem::other("unsupported", message)
}

/// Numbers without a sign as numbers with one, which engines have.
fn signed(values: impl Iterator<Item = u32>) -> Result<Vec<i32>, Problem> {
    let signed = |value: u32| {
        i32::try_from(value).map_err(|_| refused(format!("expected at most {}, found {value}", i32::MAX)))
    };
    values.map(signed).collect()
}

/// All components of an attribute, as numbers.
fn own(attribute: &Attribute) -> Result<Values, Problem> {
    fn numbers<const N: usize, T: Into<f64>>(bytes: &[u8], of: impl Fn([u8; N]) -> T) -> Vec<f64> {
        bytes.as_chunks::<N>().0.iter().map(|number| of(*number).into()).collect()
    }
    let (format, bytes) = (attribute.format(), attribute.as_bytes());
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
        return Ok(Values::Own(values.into_iter().map(f64::from).collect(), lanes));
    }
    let values = match format.scalar {
        Scalar::U8 => numbers(bytes, u8::from_le_bytes),
        Scalar::I8 => numbers(bytes, i8::from_le_bytes),
        Scalar::U16 => numbers(bytes, u16::from_le_bytes),
        Scalar::I16 => numbers(bytes, i16::from_le_bytes),
        Scalar::U32 => numbers(bytes, u32::from_le_bytes),
        Scalar::I32 => numbers(bytes, i32::from_le_bytes),
        Scalar::F16 => numbers(bytes, |number| meshmap::F16(u16::from_le_bytes(number)).to_f32()),
        Scalar::F32 => numbers(bytes, f32::from_le_bytes),
        Scalar::F64 => numbers(bytes, f64::from_le_bytes),
        other => {
            return Err(refused(format!(
                "{}: numbers of the type {other} have no column",
                attribute.semantic()
            )));
        }
    };
    Ok(Values::Own(values, lanes))
}
