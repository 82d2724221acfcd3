//! Vertices in a layout, gathered from arrays: mesh after mesh, in reused memory.

use std::ops::Range;

use zerocopy::IntoBytes;

use super::convert_elements::{BLOCK, Buffers, Converter, Fourth};
use super::interleave::{Strided, WriteOnly, interleave};
use super::layout::{LayoutAttribute, VertexLayout};
use super::semantic::Semantic;
use super::vertex_format::VertexFormat;
use super::vertex_writer::{
    DIRECT_BLOCK, default_element, may_overrun, vertices_per_block, without_default,
};
use super::write_callback::sized;
use crate::limits::job;
use crate::report::{Error, ErrorKind, Result};

/// A checked layout, in which the vertices of many meshes are written.
#[derive(Clone)]
pub(crate) struct Gather {
    /// In the order of their offsets.
    columns: Vec<Column>,
    stride: usize,
    /// `true` if there are bytes between attributes.
    has_gaps: bool,
    /// The number of vertices in a block.
    per_block: usize,
    /// The stored elements of a block.
    elements: Vec<[f32; 3]>,
    buffers: Buffers,
}

/// An attribute of the layout.
#[derive(Clone)]
struct Column {
    to: LayoutAttribute,
    converter: Converter,
    /// The elements of a block of a mesh without the attribute.
    default: Option<Vec<u8>>,
    may_overrun: bool,
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
        let are_copies = attributes.iter().all(|to| converter(to).is_copy());
        let bytes = if are_copies { DIRECT_BLOCK } else { BLOCK };
        let per_block = vertices_per_block(bytes, layout.stride());

        let mut columns = Vec::with_capacity(attributes.len());
        for (index, to) in attributes.iter().enumerate() {
            let default = match to.default {
                Some(value) => Some(default_element(to, value)?.repeat(per_block)),
                None => None,
            };
            let next = attributes.get(index.saturating_add(1)).copied();
            columns.push(Column {
                to: (*to).clone(),
                converter: converter(to),
                default,
                may_overrun: may_overrun(to, next),
            });
        }
        Ok(Self {
            columns,
            stride: layout.stride(),
            has_gaps: layout.has_gaps(),
            per_block,
            elements: Vec::new(),
            buffers: Buffers::default(),
        })
    }

    /// The attributes of the layout.
    pub(crate) fn semantics(&self) -> impl Iterator<Item = &Semantic> {
        self.columns.iter().map(|column| &column.to.semantic)
    }

    /// Writes `count` vertices. `add` adds the elements of a range of vertices, numbers as [`stored`]; it returns `false`
    /// if the mesh does not have the attribute.
    ///
    /// Nothing of `out` is read.
    pub(crate) fn write(
        &mut self,
        count: usize,
        out: &mut [u8],
        add: impl Fn(&Semantic, Range<usize>, &mut Vec<[f32; 3]>) -> Result<bool>,
    ) -> Result<()> {
        let out = WriteOnly::of(sized(out, count.saturating_mul(self.stride))?);
        let blocks = out.chunks_mut(self.per_block.saturating_mul(self.stride).max(1));
        for (first, vertices) in (0_usize..).step_by(self.per_block).zip(blocks) {
            job::check("vertices")?;
            if self.has_gaps {
                WriteOnly::clear(vertices);
            }
            let count = vertices.len().checked_div(self.stride).unwrap_or(0);
            let range = first..first.saturating_add(count);
            for column in &self.columns {
                let out = Strided {
                    out: vertices.get_mut(column.to.offset..).unwrap_or_default(),
                    stride: self.stride,
                    may_overrun: column.may_overrun,
                };
                self.elements.clear();
                if add(&column.to.semantic, range.clone(), &mut self.elements)? {
                    let elements = self.elements.as_bytes();
                    let converted = column.converter.convert(elements, out, &mut self.buffers);
                    converted.map_err(|not_held| {
                        let what = "number of a vertex attribute";
                        let error = Error::new(ErrorKind::OutOfRange, what);
                        not_held.add_to(error, &column.converter, first)
                    })?;
                } else {
                    column.write_default(count, out)?;
                }
            }
        }
        Ok(())
    }
}

impl Column {
    /// Writes the default to `count` vertices.
    fn write_default(&self, count: usize, out: Strided<'_>) -> Result<()> {
        let size = self.to.format.size();
        let elements = match &self.default {
            Some(block) => block.get(..count.saturating_mul(size)),
            None => None,
        };
        let Some(elements) = elements else {
            let error = Error::new(ErrorKind::Mismatch, "mesh and vertex layout");
            return Err(without_default(error, &self.to));
        };
        interleave(elements, size, size, &[], out);
        Ok(())
    }
}

/// The conversion of gathered elements to an attribute of the layout.
fn converter(to: &LayoutAttribute) -> Converter {
    Converter::new(
        VertexFormat::FLOAT32X3,
        to.format,
        None,
        Fourth::of(&to.semantic),
    )
}
