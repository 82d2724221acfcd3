//! The skin: joints by name, and the matrices that bind the mesh to them.

use bytes::Bytes;

use super::fields::{Value, name};
use super::layout::{MOST, text};
use super::llsd::Event;
use super::place::{BlockPlace, whole};
use super::rules::{self, FILE};
use crate::bytes::{Array, Text};
use crate::num::{as_u64, decimal};
use crate::report::{ErrorKind, Finding, Findings, Result};

/// The skin of an asset. Cloning shares everything.
///
/// A matrix is sixteen numbers in the order of the file: `m[row * 4 + column]` for vectors that are rows and multiplied
/// from the left, so that elements 12, 13 and 14 are the translation. Read as columns, it is the matrix for vectors
/// that are columns.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Skin {
    /// "joint_names": what the joints of [`Weights`](super::Weights) are called. The viewer's skeleton has them.
    pub joint_names: Vec<Text>,
    /// "bind_shape_matrix": from the mesh to the space in which it was bound.
    pub bind_shape_matrix: Option<[f32; 16]>,
    /// "inverse_bind_matrix": from that space to each joint. As many as there are joints, or else the viewer drops all
    /// joints; [`Asset::validate`](super::Asset::validate) tells.
    pub inverse_bind_matrices: Array<[f32; 16]>,
    /// "alt_inverse_bind_matrix": where joints are moved to, in elements 12, 13 and 14; `None` where they stay.
    pub alt_inverse_bind_matrices: Option<Array<[f32; 16]>>,
    /// "lock_scale_if_joint_position": whether joints that are moved are not scaled.
    pub lock_scale_if_joint_position: bool,
    /// "pelvis_offset": how far the pelvis is raised, in metres; `None` where it is not stored, or no number.
    pub pelvis_offset: Option<f32>,
    pub(crate) findings: Vec<Finding>,
}

const KEYS: [&str; 6] = [
    "joint_names",
    "bind_shape_matrix",
    "inverse_bind_matrix",
    "alt_inverse_bind_matrix",
    "lock_scale_if_joint_position",
    "pelvis_offset",
];

impl Skin {
    /// Reads the content of the block; `Ok(None)` where that is undefined.
    pub(crate) fn new(content: &Bytes, place: &BlockPlace) -> Result<Option<Self>> {
        Self::read(content, place).map_err(|error| place.decoded(error).of(place.address.clone()))
    }

    fn read(content: &Bytes, place: &BlockPlace) -> Result<Option<Self>> {
        let Some(value) = whole(content, place, "skin")? else { return Ok(None) };
        let fields = value.fields(&KEYS)?;
        let mut findings = Findings::default();
        let pelvis_offset = fields.get(5).and_then(|value| match value.event() {
            Ok(Event::Real(real)) => Some(super::fields::single(real)),
            Ok(Event::Integer(integer)) => Some(super::fields::single(integer.into())),
            _ => {
                findings
                    .add(rules::PELVIS_OFFSET, || (place.place(), "expected a number, found something else"));
                None
            }
        });
        let lock = fields.get(4).map(|value| value.event()).transpose()?;
        Ok(Some(Self {
            joint_names: fields.get(0).map(|value| names(content, value)).transpose()?.unwrap_or_default(),
            bind_shape_matrix: fields.get(1).map(|value| value.numbers()).transpose()?,
            inverse_bind_matrices: matrices(fields.get(2))?.unwrap_or_else(|| Array::from_vec(Vec::new())),
            alt_inverse_bind_matrices: matrices(fields.get(3))?,
            lock_scale_if_joint_position: match lock {
                Some(Event::Boolean(lock)) => lock,
                Some(Event::Integer(lock)) => lock != 0,
                _ => false,
            },
            pelvis_offset,
            findings: findings.into_vec(),
        }))
    }
}

fn names(content: &Bytes, value: Value<'_>) -> Result<Vec<Text>> {
    let mut elements = value.elements("an array of names")?;
    at_most(elements.left(), value)?;
    let mut names = Vec::new();
    while let Some(element) = elements.next()? {
        match element.event()? {
            Event::String(string) => names.push(text(content, &string)),
            other => return Err(element.error().expected("a name").found(name(&other))),
        }
    }
    Ok(names)
}

fn matrices(value: Option<Value<'_>>) -> Result<Option<Array<[f32; 16]>>> {
    let Some(value) = value else { return Ok(None) };
    let mut elements = value.elements("an array of matrices")?;
    at_most(elements.left(), value)?;
    let mut matrices = Vec::new();
    while let Some(element) = elements.next()? {
        matrices.push(element.numbers()?);
    }
    Ok(Some(Array::from_vec(matrices)))
}

fn at_most(count: u32, value: Value<'_>) -> Result<()> {
    if count <= MOST {
        return Ok(());
    }
    let span = value.span();
    let range = as_u64(span.start)..as_u64(span.end);
    let error = FILE.error(ErrorKind::LimitExceeded, "skin").at(range);
    Err(error.expected(format!("at most {} joints", decimal(MOST.into()))).found(decimal(count.into())))
}
