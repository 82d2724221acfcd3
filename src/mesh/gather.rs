//! Vertices in a layout, gathered from arrays: mesh after mesh, in memory that is used again.

use std::ops::Range;

use zerocopy::IntoBytes;

use super::convert::{BLOCK, Converter, Fourth, NotHeld, Work};
use super::layout::{DIRECT_BLOCK, LayoutAttribute, VertexLayout, followers};
use super::place::{Places, place};
use super::semantic::Semantic;
use super::vertex_format::VertexFormat;
use super::write::sized;
use super::write_only::WriteOnly;
use crate::limits::job;
use crate::num::decimal;
use crate::report::{Error, ErrorKind, Result};

/// A layout that vertices are written in. It is checked.
#[derive(Clone)]
pub(crate) struct Gather {
    columns: Vec<Column>,
    stride: usize,
    has_gaps: bool,
    /// The number of vertices in a block.
    block: usize,
    elements: Vec<[f32; 3]>,
    work: Work,
}

/// An attribute of the layout.
#[derive(Clone)]
struct Column {
    to: LayoutAttribute,
    converter: Converter,
    /// The elements of a block of a mesh without the attribute.
    default: Option<Vec<u8>>,
    /// `true` if the next column overwrites the 4 bytes after each element.
    is_followed: bool,
}

/// A number in the byte order of files. It needs no call of a function of zerocopy, which programs rarely optimize in debug builds.
#[inline(always)]
pub(crate) fn stored(number: f32) -> f32 {
    f32::from_bits(number.to_bits().to_le())
}

impl Gather {
    pub(crate) fn new(layout: &VertexLayout) -> Result<Self> {
        layout.check()?;
        let mut attributes: Vec<&LayoutAttribute> = layout.attributes().iter().collect();
        attributes.sort_by_key(|attribute| attribute.offset);
        let converter = |to: &LayoutAttribute| {
            Converter::new(
                VertexFormat::FLOAT32X3,
                to.format,
                None,
                Fourth::of(&to.semantic),
            )
        };
        let is_copy = |to: &&LayoutAttribute| converter(to).is_copy();
        let bytes = if attributes.iter().all(is_copy) {
            DIRECT_BLOCK
        } else {
            BLOCK
        };
        let block = bytes.checked_div(layout.stride()).unwrap_or(0).max(1);
        let followers = followers(attributes.iter().copied());
        let column = |(to, is_followed): (&LayoutAttribute, bool)| {
            let default = to.default.map(|default| to.element(default)).transpose()?;
            let default = default.map(|element| element.repeat(block));
            Ok(Column {
                to: to.clone(),
                converter: converter(to),
                default,
                is_followed,
            })
        };
        let columns = attributes
            .into_iter()
            .zip(followers)
            .map(column)
            .collect::<Result<_>>()?;
        let (stride, has_gaps) = (layout.stride(), layout.has_gaps());
        Ok(Self {
            columns,
            stride,
            has_gaps,
            block,
            elements: Vec::new(),
            work: Work::default(),
        })
    }

    /// The attributes of the layout.
    pub(crate) fn semantics(&self) -> impl Iterator<Item = &Semantic> {
        self.columns.iter().map(|column| &column.to.semantic)
    }

    /// Writes `count` vertices. `add` adds the elements of some vertices, numbers as [`stored`]; it returns `false` if the mesh does not have the attribute.
    ///
    /// Nothing of `out` is read.
    pub(crate) fn write(
        &mut self,
        count: usize,
        out: &mut [u8],
        add: impl Fn(&Semantic, Range<usize>, &mut Vec<[f32; 3]>) -> Result<bool>,
    ) -> Result<()> {
        let Self {
            columns,
            stride,
            has_gaps,
            block,
            elements,
            work,
        } = self;
        let out = WriteOnly::of(sized(out, count.saturating_mul(*stride))?);
        let blocks = out.chunks_mut(block.saturating_mul(*stride).max(1));
        for (first, vertices) in (0_usize..).step_by(*block).zip(blocks) {
            job::check("vertices")?;
            if *has_gaps {
                WriteOnly::clear(vertices);
            }
            let count = vertices.len().checked_div(*stride).unwrap_or(0);
            for Column {
                to,
                converter,
                default,
                is_followed,
            } in columns.iter()
            {
                let out = vertices.get_mut(to.offset..).unwrap_or_default();
                let places = Places {
                    out,
                    stride: *stride,
                    is_followed: *is_followed,
                };
                elements.clear();
                if add(&to.semantic, first..first.saturating_add(count), elements)? {
                    let converted = converter.convert(elements.as_bytes(), places, work);
                    converted.map_err(|NotHeld { component, value }| {
                        let vertex = component.checked_div(converter.components()).unwrap_or(0);
                        let vertex = decimal(vertex.saturating_add(first));
                        let error =
                            Error::new(ErrorKind::OutOfRange, "number of a vertex attribute");
                        let expected = format!("one that {} can hold", to.format);
                        error
                            .expected(expected)
                            .found(format_args!("{value} at vertex {vertex}"))
                    })?;
                    continue;
                }
                let size = to.format.size();
                let same = default
                    .as_ref()
                    .and_then(|same| same.get(..count.saturating_mul(size)));
                let same = same.ok_or_else(|| {
                    let error = Error::new(ErrorKind::Mismatch, "mesh and vertex layout");
                    let expected = format!("the attribute {}, which has no default", to.semantic);
                    error.expected(expected).found("none")
                })?;
                place(same, size, size, &[], places);
            }
        }
        Ok(())
    }
}
