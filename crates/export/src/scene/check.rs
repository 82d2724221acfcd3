//! Numbers that targets cannot hold, and triangles that look inside out.

use meshmap::MeshView;

use crate::error::{Error, Result};
use crate::outcome::{Outcome, Report};
use crate::settings::Job;

/// Fails for the first NaN or infinite number, or replaces them all, and says so.
pub(crate) fn finite<const N: usize>(
    elements: &mut [[f32; N]],
    address: impl Fn() -> String,
    job: &Job<'_>,
    outcome: &mut Outcome,
) -> Result<()> {
    let address_of = |index| format!("{}[{index}]", address());
    let replaced = replace_non_finite(elements, address_of, job.zero_non_finite)?;
    outcome.change("NaN and infinite numbers, replaced by 0", replaced);
    Ok(())
}

/// Like [`finite`], for data without which a mesh is still complete: `false` if it has to be left out, which is reported.
pub(crate) fn usable<const N: usize>(
    elements: &mut [[f32; N]],
    address: impl Fn() -> String,
    job: &Job<'_>,
    outcome: &mut Outcome,
) -> Result<bool> {
    match finite(elements, &address, job, outcome) {
        Err(Error::NonFinite {
            address: element,
            value,
        }) => {
            outcome.lacks(format!("{}, because {element} is {value}", address()));
            Ok(false)
        }
        checked => checked.map(|()| true),
    }
}

/// Fails for the first NaN or infinite number, or replaces them all; returns how many.
pub(crate) fn replace_non_finite<const N: usize>(
    elements: &mut [[f32; N]],
    address_of: impl Fn(usize) -> String,
    is_zeroed: bool,
) -> Result<u64> {
    // The usual case, without a branch for each number.
    let greatest = elements
        .as_flattened()
        .iter()
        .fold(0, |most: u32, number| most.max(number.abs().to_bits()));
    if greatest < f32::INFINITY.to_bits() {
        return Ok(0);
    }
    let mut replaced = 0;
    for (index, element) in elements.iter_mut().enumerate() {
        for number in element.iter_mut().filter(|number| !number.is_finite()) {
            if !is_zeroed {
                return Err(Error::NonFinite {
                    address: address_of(index),
                    value: *number,
                });
            }
            *number = 0.0;
            replaced += 1;
        }
    }
    Ok(replaced)
}

/// The triangles of a mesh, as they are written.
pub(crate) fn triangles<'a>(
    view: &'a MeshView,
    job: &'a Job<'_>,
    turns: bool,
) -> impl ExactSizeIterator<Item = [u32; 3]> + 'a {
    kept(view, job).map(move |(_, triangle)| turned(triangle, turns))
}

/// The triangles of a mesh that are written, as they are stored, with their numbers.
pub(crate) fn kept<'a>(
    view: &'a MeshView,
    job: &'a Job<'_>,
) -> impl ExactSizeIterator<Item = (usize, [u32; 3])> + 'a {
    let left = kept_count(view, job);
    let kept = view
        .indices()
        .triangles()
        .enumerate()
        .filter(|(_, triangle)| job.keeps(*triangle));
    Counted { kept, left }
}

/// The number of triangles of a mesh that are written.
pub(crate) fn kept_count(view: &MeshView, job: &Job<'_>) -> usize {
    if job.drops_degenerate() {
        view.indices()
            .triangles()
            .filter(|triangle| job.keeps(*triangle))
            .count()
    } else {
        view.triangle_count()
    }
}

/// Elements that were counted before.
struct Counted<I> {
    kept: I,
    left: usize,
}

impl<I: Iterator> Iterator for Counted<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        let next = self.kept.next()?;
        self.left = self.left.saturating_sub(1);
        Some(next)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<I: Iterator> ExactSizeIterator for Counted<I> {}

pub(crate) fn turned([a, b, c]: [u32; 3], turns: bool) -> [u32; 3] {
    if turns { [a, c, b] } else { [a, b, c] }
}
