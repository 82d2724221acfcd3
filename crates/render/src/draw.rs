//! A scene as a picture: what is seen, how it looks, what light reaches it, and the bytes of it, in bands of rows.

use std::ops::Range;

use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::camera::{Camera, FINE, Frame, Place};
use crate::color::{self, GROUND, Palette};
use crate::drawing::Drawing;
use crate::occlusion::{Surfaces, coarse, spirals};
use crate::picture::Picture;
use crate::raster::{self, BAND, Band, NONE, Triangles};
use crate::settings::Mode;
use crate::shading::Seen;
use meshmap_job::{Budget, Error, Result};
use meshmap_scene::vector::unit;

/// The style of a drawing.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    pub(crate) mode: Mode,
    pub(crate) samples: usize,
    pub(crate) is_parallel: bool,
}

/// Number of times that triangles may cover a picture before more of it is [work](Budget::work): most scenes cover less, and what
/// the picture costs besides is more.
const FREE_TIMES: u64 = 4;

/// Light, and how much of the pixel it covers.
type Covered = [f32; 4];

/// A drawn picture.
pub(crate) struct Drawn {
    pub(crate) picture: Picture,
    /// The error of a picture without a drawn pixel.
    pub(crate) nothing: Option<Error>,
}

impl Drawn {
    /// The picture, unless nothing is drawn on it.
    pub(crate) fn into_picture(self) -> Result<Picture> {
        self.nothing.map_or(Ok(self.picture), Err)
    }
}

pub(crate) fn draw(
    scene: &Drawing,
    camera: &Camera,
    frame: Frame,
    style: Style,
    budget: &Budget,
) -> Result<Drawn> {
    let is_parallel = style.is_parallel;
    let (points, places): (Vec<[f32; 3]>, Vec<Place>) = scene
        .positions
        .iter()
        .map(|point| camera.see(*point))
        .unzip();
    let turned =
        |normal: &[f32; 3]| unit(camera.view.direction(*normal)).unwrap_or([0.0, 0.0, 1.0]);
    let normals: Vec<[f32; 3]> = scene.normals.iter().map(turned).collect();
    let triangles = Triangles::new(&scene.triangles, &places);
    let samples = raster::samples(style.samples);
    let free = FREE_TIMES.saturating_mul(frame.pixels() as u64);
    let covered = triangles
        .pixels
        .saturating_sub(free)
        .saturating_mul(samples.len() as u64);
    budget.work(
        covered,
        "drawing of triangles that cover the picture many times",
    )?;
    let palette = Palette::new();
    let seen = Seen {
        scene,
        places: &places,
        points: &points,
        normals: &normals,
        mode: style.mode,
        palette: &palette,
    };

    let pixels = frame.pixels();
    let mut colors: Vec<Covered> = vec![[0.0; 4]; pixels];
    let (mut nearness, mut facing) = (vec![0.0_f32; pixels], vec![[0.0_f32; 3]; pixels]);
    let band = (frame.width as usize * BAND as usize).max(1);
    let parts = colors
        .chunks_mut(band)
        .zip(nearness.chunks_mut(band))
        .zip(facing.chunks_mut(band));
    each(
        is_parallel,
        rows(frame).zip(parts).collect(),
        |(rows, ((colors, nearness), facing))| {
            let drawn = Band::draw(&triangles, frame.width, rows.clone(), &samples);
            let places = rows.flat_map(|row| (0..frame.width).map(move |column| (column, row)));
            for ((((column, row), color), nearness), facing) in
                places.zip(colors).zip(nearness).zip(facing)
            {
                let pixel = Pixel {
                    seen: &seen,
                    samples: &samples,
                    column,
                    row,
                };
                if let Some(found) = pixel.shade(drawn.pixel(column, row)) {
                    (*color, *nearness, *facing) = found;
                }
            }
        },
    );

    let mut distance = nearness;
    for distance in &mut distance {
        *distance = if *distance > 0.0 {
            1.0 / *distance
        } else {
            f32::INFINITY
        };
    }
    let coarse = coarse(frame, &distance);
    let surfaces = Surfaces {
        frame,
        lens: camera.lens(),
        distance: &distance,
        coarse: &coarse,
        normals: &facing,
    };
    let mut reached = Vec::new();
    if matches!(style.mode, Mode::Shaded | Mode::Clay) && scene.heat.is_none() {
        reached = vec![1.0_f32; pixels];
        let spirals = spirals();
        each(
            is_parallel,
            rows(frame).zip(reached.chunks_mut(band)).collect(),
            |(rows, out)| {
                surfaces.reached(&spirals, rows, out);
            },
        );
    }

    let mut bytes = vec![0_u8; pixels * 3];
    let parts = bytes.chunks_mut(band * 3).zip(colors.chunks(band));
    each(
        is_parallel,
        rows(frame).zip(parts).collect(),
        |(rows, (bytes, colors))| {
            let places = rows.flat_map(|row| (0..frame.width).map(move |column| (column, row)));
            for (((column, row), color), out) in
                places.zip(colors).zip(bytes.as_chunks_mut::<3>().0)
            {
                let [red, green, blue, cover] = *color;
                if cover == 0.0 {
                    *out = GROUND;
                    continue;
                }
                let light = if reached.is_empty() {
                    1.0
                } else {
                    surfaces.smooth(&reached, column, row)
                };
                let mixed = [red, green, blue].map(|channel| channel * light);
                *out = color::bytes(std::array::from_fn(|channel| {
                    mixed[channel] + palette.ground[channel] * (1.0 - cover)
                }));
            }
        },
    );
    let is_empty = colors.iter().all(|[.., cover]| *cover == 0.0);
    Ok(Drawn {
        picture: Picture::new(frame, bytes),
        nothing: is_empty.then(|| scene.nothing_drawn()),
    })
}

/// The rows of the bands of a picture.
fn rows(frame: Frame) -> impl Iterator<Item = Range<u32>> {
    (0..frame.height)
        .step_by(BAND as usize)
        .map(move |first| first..(first + BAND).min(frame.height))
}

/// Does the work on each part, whose outcomes do not depend on each other.
fn each<T: Send>(is_parallel: bool, parts: Vec<T>, work: impl Fn(T) + Send + Sync) {
    if is_parallel {
        parts.into_par_iter().for_each(work);
    } else {
        parts.into_iter().for_each(work);
    }
}

struct Pixel<'a> {
    seen: &'a Seen<'a>,
    samples: &'a [[i32; 2]],
    column: u32,
    row: u32,
}

impl Pixel<'_> {
    /// The surface at a pixel whose samples show these triangles; `None` if there is none.
    ///
    /// A triangle looks the same at all of its samples, as in their middle.
    fn shade(&self, ids: &[u32]) -> Option<(Covered, f32, [f32; 3])> {
        let mut color = [0.0; 4];
        // The triangle with most samples, the first if there are several.
        let (mut most, mut nearness, mut normal) = (0, 0.0, [0.0; 3]);
        for (first, id) in ids.iter().enumerate() {
            if *id == NONE || ids.iter().take(first).any(|before| before == id) {
                continue;
            }
            let (mut count, mut x, mut y) = (0_i64, 0_i64, 0_i64);
            for (_, [sx, sy]) in ids
                .iter()
                .zip(self.samples)
                .filter(|(other, _)| *other == id)
            {
                count += 1;
                x += i64::from(*sx);
                y += i64::from(*sy);
            }
            let x = (i64::from(self.column) << FINE) + x / count;
            let y = (i64::from(self.row) << FINE) + y / count;
            let Some(look) = self.seen.look(*id, x, y) else {
                continue;
            };
            let share = count as f32 / ids.len() as f32;
            let [red, green, blue] = look.light;
            for (sum, channel) in color.iter_mut().zip([red, green, blue, 1.0]) {
                *sum += channel * share;
            }
            if count > most {
                (most, nearness, normal) = (count, look.nearness, look.normal);
            }
        }
        (most > 0).then_some((color, nearness, normal))
    }
}
