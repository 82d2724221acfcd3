//! The joints that move each vertex, and their weights.

use std::sync::Arc;

use bytes::Bytes;
use zerocopy::{FromZeros, Immutable, IntoBytes};

use super::layout::ARRAY;
use super::place::BlockPlace;
use crate::bytes::{Array, Element};
use crate::codec::dequant::unit;
use crate::limits::{Meter, resize_vec, zeroed_vec};
use crate::num::{Span, as_u64, decimal};
use crate::report::{Error, Result};

/// A byte in place of a joint: the end of the influences of a vertex that has fewer than four.
const END: u8 = 0xff;

/// The maximum number of influences of a vertex.
const MAX_INFLUENCES: usize = 4;

/// The joints and weights of a [`Face`](super::Face), as stored: up to four per vertex.
#[derive(Clone)]
pub struct Weights {
    /// The influences of `vertices` vertices; [`check`] has succeeded.
    bytes: Bytes,
    vertices: usize,
    block: Arc<BlockPlace>,
    face: usize,
}

/// The joints that move a vertex, and their weights: at most four.
///
/// None is legal, and differs from a weight of 0.
#[derive(Clone, Copy, Default)]
struct Influences {
    joints: [u8; MAX_INFLUENCES],
    weights: [u16; MAX_INFLUENCES],
    count: usize,
}

/// Joints and weights as arrays, an element for each vertex.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WeightArrays {
    /// Joints; 255 for unused influences.
    pub joints: Array<[u8; 4]>,
    /// The weights of the joints; 0 for unused influences.
    pub weights: Array<[f32; 4]>,
}

/// The conversion of stored weights to numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WeightScale {
    /// As stored: the integer divided by 65,535.
    ///
    /// Writers round weights down, so that sums are a little less than 1. (The viewer clamps each weight to 0.001 to
    /// 0.999.)
    #[default]
    Stored,
    /// Divided by their sum; 0 if all of them are 0, or if there are none.
    Normalized,
}

impl Weights {
    pub(crate) fn new(bytes: Bytes, vertices: usize, block: Arc<BlockPlace>, face: usize) -> Self {
        Self {
            bytes,
            vertices,
            block,
            face,
        }
    }

    /// The number of vertices.
    #[must_use]
    pub fn len(&self) -> usize {
        self.vertices
    }

    /// Returns `true` if there are no vertices.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.vertices == 0
    }

    /// The influences of each vertex: joints, 0 to 254, and their weights as stored, where 65,535 is 1. At most four; no
    /// influence is legal, and differs from a weight of 0.
    pub fn iter(
        &self,
    ) -> impl ExactSizeIterator<Item = impl ExactSizeIterator<Item = (u8, u16)> + use<>> + '_ {
        self.influences().map(|influences| {
            let Influences {
                joints,
                weights,
                count,
            } = influences;
            joints.into_iter().zip(weights).take(count)
        })
    }

    fn influences(&self) -> impl ExactSizeIterator<Item = Influences> + '_ {
        let mut rest = &self.bytes[..];
        // The bytes have been checked: none of them are missing.
        (0..self.vertices).map(move |_| next(&mut rest).unwrap_or_default())
    }

    /// Four joints and four weights per vertex.
    ///
    /// For unused influences, the joint is 255 and the weight 0.
    ///
    /// # Errors
    ///
    /// Returns [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if they are larger than the limits allow.
    pub fn arrays(&self, scale: WeightScale) -> Result<WeightArrays> {
        let mut joints = Vec::new();
        let mut weights = Vec::new();
        let meter = self.block.meter();
        let unpacked = unpack(
            &self.bytes,
            self.vertices,
            scale,
            &meter,
            &mut joints,
            &mut weights,
        );
        match unpacked {
            Ok(()) => Ok(WeightArrays {
                joints: Array::from_vec(joints),
                weights: Array::from_vec(weights),
            }),
            Err(error) => Err(self.block.locate_face(error, self.face)),
        }
    }

    /// Four joints per vertex; missing ones are 0.
    pub(crate) fn raw_joints(&self, meter: &Meter) -> Result<Array<[u8; 4]>> {
        self.collect(meter, |influences| influences.joints)
    }

    /// Four weights per vertex, as stored; missing ones are 0.
    pub(crate) fn raw_weights(&self, meter: &Meter) -> Result<Array<[u16; 4]>> {
        self.collect(meter, |influences| influences.weights)
    }

    /// An array of one element per vertex.
    fn collect<T>(&self, meter: &Meter, element: impl Fn(Influences) -> T) -> Result<Array<T>>
    where
        T: Element + FromZeros + IntoBytes + Immutable,
    {
        // The block has been read, whichever call did so.
        meter.count_read(&self.block.range);
        let stored = self.block.range.length();
        let mut out = zeroed_vec(meter, stored, as_u64(self.vertices), ARRAY)
            .map_err(|error| self.block.locate_face(error, self.face))?;
        for (out, influences) in out.iter_mut().zip(self.influences()) {
            *out = element(influences);
        }
        Ok(Array::from_vec(out))
    }
}

impl std::fmt::Debug for Weights {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.iter().map(Iterator::collect::<Vec<_>>))
            .finish()
    }
}

/// Returns the influences of the next vertex; `None` if the bytes end inside them.
#[inline]
fn next(rest: &mut &[u8]) -> Option<Influences> {
    if let Some((joints, weights)) = four(rest) {
        return Some(Influences {
            joints,
            weights,
            count: MAX_INFLUENCES,
        });
    }
    let mut influences = Influences::default();
    for (joint, weight) in influences.joints.iter_mut().zip(&mut influences.weights) {
        match *rest {
            [END, after @ ..] => {
                *rest = after;
                break;
            }
            [index, low, high, after @ ..] => {
                *joint = *index;
                *weight = u16::from_le_bytes([*low, *high]);
                influences.count = influences.count.wrapping_add(1);
                *rest = after;
            }
            _ => return None,
        }
    }
    Some(influences)
}

/// The joints and weights of four influences, which have no end mark. Most vertices of bodies and clothes have four.
#[inline]
fn four(rest: &mut &[u8]) -> Option<([u8; MAX_INFLUENCES], [u16; MAX_INFLUENCES])> {
    let ([a, al, ah, b, bl, bh, c, cl, ch, d, dl, dh], after) = rest.split_first_chunk()?;
    let joints = [*a, *b, *c, *d];
    if joints.contains(&END) {
        return None;
    }
    *rest = after;
    Some((
        joints,
        [[*al, *ah], [*bl, *bh], [*cl, *ch], [*dl, *dh]].map(u16::from_le_bytes),
    ))
}

/// Checks that the bytes are the influences of exactly `vertices` vertices; otherwise returns the reason.
pub(crate) fn check(bytes: &[u8], vertices: usize) -> Result<(), Miscount> {
    let mut rest = bytes;
    for vertex in 0..vertices {
        if rest.is_empty() {
            return Err(Miscount::Fewer(vertex));
        }
        if next(&mut rest).is_none() {
            return Err(Miscount::Cut(vertex));
        }
    }
    if rest.is_empty() {
        Ok(())
    } else {
        Err(Miscount::Longer(rest.len()))
    }
}

/// The reason why weights do not match the vertices.
pub(crate) enum Miscount {
    /// They end after this many vertices.
    Fewer(usize),
    /// The bytes end inside the weights of this vertex.
    Cut(usize),
    /// This many bytes are left.
    Longer(usize),
}

impl Miscount {
    pub(crate) fn describe(&self, error: Error, vertices: usize) -> Error {
        let error = error.expected(format!("influences of {} vertices", decimal(vertices)));
        match self {
            Self::Fewer(found) => error.found(format_args!("those of {}", decimal(found))),
            Self::Cut(vertex) => error.found(format_args!(
                "an end inside those of vertex {}",
                decimal(vertex)
            )),
            Self::Longer(bytes) => error.found(format_args!(
                "data that goes on for {} bytes",
                decimal(bytes)
            )),
        }
    }
}

/// Joints and weights of vertices that have been checked.
pub(crate) fn unpack(
    bytes: &[u8],
    vertices: usize,
    scale: WeightScale,
    meter: &Meter,
    joints: &mut Vec<[u8; 4]>,
    weights: &mut Vec<[f32; 4]>,
) -> Result<()> {
    resize_vec(meter, joints, meter.read(), as_u64(vertices), ARRAY)?;
    resize_vec(meter, weights, meter.read(), as_u64(vertices), ARRAY)?;
    let mut rest = bytes;
    for (joints, weights) in joints.iter_mut().zip(weights) {
        let stored = match four(&mut rest) {
            Some((four, stored)) => {
                *joints = four;
                stored
            }
            None => {
                let influences = next(&mut rest).unwrap_or_default();
                *joints = influences.joints;
                for unused in joints.iter_mut().skip(influences.count) {
                    *unused = END;
                }
                influences.weights
            }
        };
        *weights = match scale {
            WeightScale::Stored => stored.map(unit),
            WeightScale::Normalized => {
                let sum: u32 = stored.iter().map(|weight| u32::from(*weight)).sum();
                #[expect(clippy::cast_precision_loss, reason = "a sum of four u16 is exact")]
                // If the sum is 0, each weight is 0.
                let sum = sum.max(1) as f32;
                stored.map(|weight| f32::from(weight) / sum)
            }
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use crate::report::Address;

    fn weights(bytes: &'static [u8], vertices: usize) -> Weights {
        let address = Address::field("high_lod");
        let place = BlockPlace {
            range: 0..0,
            codec: crate::codec::Codec::Stored,
            address,
            limits: Limits::default(),
            path: None,
        };
        Weights::new(Bytes::from_static(bytes), vertices, Arc::new(place), 0)
    }

    #[test]
    fn four_influences_have_no_end_and_fewer_have() {
        let bytes = b"\x02\xff\xff\xff\xff\x01\x01\0\x02\x02\0\x03\x03\0\x04\x04\0\x05\0\0\xff";
        let weights = weights(bytes, 4);
        let counts: Vec<_> = weights.iter().map(|influences| influences.len()).collect();
        assert_eq!(counts, [1, 0, 4, 1]);
        let WeightArrays {
            joints,
            weights: shares,
        } = weights.arrays(WeightScale::Stored).unwrap();
        assert_eq!(
            joints.to_vec(),
            [
                [2, 255, 255, 255],
                [255; 4],
                [1, 2, 3, 4],
                [5, 255, 255, 255]
            ]
        );
        assert_eq!(shares.get(0), Some([1.0, 0.0, 0.0, 0.0]));
        let shares = weights.arrays(WeightScale::Normalized).unwrap().weights;
        assert_eq!(shares.get(2), Some([0.1, 0.2, 0.3, 0.4]));
        assert_eq!(
            (shares.get(1), shares.get(3)),
            (Some([0.0; 4]), Some([0.0; 4]))
        );
        assert!(check(bytes, 4).is_ok());
        assert!(matches!(check(bytes, 5), Err(Miscount::Fewer(4))));
        assert!(matches!(check(bytes, 3), Err(Miscount::Longer(4))));
        assert!(matches!(check(&bytes[..19], 4), Err(Miscount::Cut(3))));
    }
}
