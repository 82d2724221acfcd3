//! The skin: joints by name, and the matrices that bind the mesh to them.

use bytes::Bytes;

use super::fields::Value;
use super::keys::SKIN;
use super::layout::{check_count, text};
use super::llsd::Event;
use super::place::{BlockPlace, Content};
use super::rules;
use crate::bytes::{Array, Text};
use crate::report::{Finding, Findings, Result};

/// The skin of an asset. Cloning shares everything.
///
/// A matrix is sixteen numbers in the order of the file: `m[row * 4 + column]` for vectors that are rows and multiplied
/// from the left, so that elements 12, 13 and 14 are the translation. Read as columns, it is the matrix for vectors
/// that are columns. [`bind_shape`](Self::bind_shape) and [`bind_pose`](Self::bind_pose) give what programs draw.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Skin {
    /// "joint_names": the names of the joints of [`Weights`](super::Weights), in the viewer's skeleton.
    ///
    /// `None` if the names are not stored. [`joint_parents`](super::joint_parents) finds their parents.
    pub joint_names: Option<Vec<Text>>,
    /// "bind_shape_matrix": from the mesh to the space in which it was bound.
    pub bind_shape_matrix: Option<[f32; 16]>,
    /// "inverse_bind_matrix": from that space to each joint.
    ///
    /// One for each joint, or else the viewer drops all joints; [`Asset::validate`](super::Asset::validate) reports that. `None` if
    /// the matrices are not stored.
    pub inverse_bind_matrices: Option<Array<[f32; 16]>>,
    /// "alt_inverse_bind_matrix": the positions that joints are moved to, in elements 12, 13 and 14.
    ///
    /// `None` if the joints stay.
    pub alt_inverse_bind_matrices: Option<Array<[f32; 16]>>,
    /// "lock_scale_if_joint_position": whether joints that are moved are not scaled.
    pub lock_scale_if_joint_position: bool,
    /// "pelvis_offset": the height that the pelvis is raised by, in metres.
    ///
    /// `None` if it is not stored, or not a number.
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
    /// The number of joints that have names.
    #[must_use]
    pub fn joint_count(&self) -> usize {
        self.joint_names.as_ref().map_or(0, Vec::len)
    }

    /// Reads the content of the block; `Ok(None)` if the content is undefined.
    pub(crate) fn new(content: Content) -> Result<Option<Self>> {
        let Some(block) = content? else {
            return Ok(None);
        };
        Self::read(&block.content, &block.place).map_err(|error| block.place.locate(error))
    }

    fn read(content: &Bytes, place: &BlockPlace) -> Result<Option<Self>> {
        let Some(value) = place.value(content, SKIN)? else {
            return Ok(None);
        };
        let [names, bind_shape, inverse, alt_inverse, lock, pelvis_offset] =
            value.fields(&KEYS)?.values;
        let mut findings = Findings::default();
        let pelvis_offset = match pelvis_offset.map(|value| value.number()) {
            Some(Ok(offset)) => Some(offset),
            Some(Err(_)) => {
                findings.add(rules::PELVIS_OFFSET, || {
                    (place.place(), "expected a number, found something else")
                });
                None
            }
            None => None,
        };
        let lock_scale_if_joint_position = match lock {
            Some(lock) => match lock.event()? {
                Event::Boolean(lock) => lock,
                Event::Integer(lock) => lock != 0,
                // As in the viewer.
                _ => false,
            },
            None => false,
        };
        Ok(Some(Self {
            joint_names: match names {
                Some(value) => Some(texts(content, value)?),
                None => None,
            },
            bind_shape_matrix: match bind_shape {
                Some(value) => Some(value.numbers()?),
                None => None,
            },
            inverse_bind_matrices: match inverse {
                Some(value) => Some(matrices(value)?),
                None => None,
            },
            alt_inverse_bind_matrices: match alt_inverse {
                Some(value) => Some(matrices(value)?),
                None => None,
            },
            lock_scale_if_joint_position,
            pelvis_offset,
            findings: findings.into_vec(),
        }))
    }
}

fn texts(content: &Bytes, value: Value<'_>) -> Result<Vec<Text>> {
    let mut elements = value.elements("an array of names")?;
    check_count(elements.left(), SKIN, "joints", value.count_range())?;
    let mut texts = Vec::new();
    while let Some(element) = elements.next()? {
        match element.event()? {
            Event::String(string) => texts.push(text(content, &string)),
            other => return Err(element.wrong("a name", other)),
        }
    }
    Ok(texts)
}

fn matrices(value: Value<'_>) -> Result<Array<[f32; 16]>> {
    let mut elements = value.elements("an array of matrices")?;
    check_count(elements.left(), SKIN, "joints", value.count_range())?;
    let mut matrices = Vec::new();
    while let Some(element) = elements.next()? {
        matrices.push(element.numbers()?);
    }
    Ok(Array::from_vec(matrices))
}
