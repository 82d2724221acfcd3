//! A scene as a picture: what is seen, how it looks, what light reaches it, and the bytes of it, in bands of rows.

use std::ops::Range;

use meshmap_images::Alpha;
use meshmap_job::{Budget, Error, Result};
use meshmap_scene::vector::unit;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::background::Background;
use crate::camera::{Camera, FINE, Frame, Place};
use crate::color::{self, Light, Palette};
use crate::drawing::Drawing;
use crate::ground::Shadow;
use crate::occlusion::{Surfaces, coarse, spirals};
use crate::picture::Picture;
use crate::raster::{self, BAND, Band, Behind, Fragment, NONE, Pass, Triangles};
use crate::settings::Mode;
use crate::shading::Seen;
use crate::wires;

/// The style of a drawing.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    pub(crate) mode: Mode,
    pub(crate) samples: usize,
    pub(crate) background: Background,
    pub(crate) has_occlusion: bool,
    pub(crate) has_shadow: bool,
    pub(crate) is_parallel: bool,
}

/// Number of times that triangles may cover a picture before more of it is [work](Budget::work): most scenes cover less, and what
/// the picture costs besides is more.
const FREE_TIMES: u64 = 4;

/// The number of surfaces that can be seen through, one behind another, in front of what is solid. Those behind them are not drawn.
const LAYERS: usize = 8;

/// The share of a pixel that a line of a wireframe covers of what is behind it.
const WIRE: f32 = 0.85;

/// Light, and how much of the pixel it covers.
type Covered = [f32; 4];

/// The memory for each pixel while a picture is drawn: what its [`Canvas`] has without surfaces that can be seen through, the light that reaches
/// it, and its bytes.
pub(crate) const PIXEL_BYTES: u64 =
    (size_of::<Covered>() + size_of::<[f32; 3]>() + 2 * size_of::<f32>() + 4) as u64;

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

/// The surfaces that are seen at each pixel of a picture, or of some rows of it.
struct Canvas<Numbers, Vectors, Colors> {
    /// The light of what is solid, not yet darkened.
    colors: Colors,
    /// The nearness and the normal of what is solid.
    nearness: Numbers,
    facing: Vectors,
    /// The light of what can be seen through, in front of it. Empty if nothing can.
    over: Colors,
    /// The coverage by lines. Empty without lines.
    wires: Numbers,
}

type Whole = Canvas<Vec<f32>, Vec<[f32; 3]>, Vec<Covered>>;
type Rows<'a> = Canvas<&'a mut [f32], &'a mut [[f32; 3]], &'a mut [Covered]>;

impl Whole {
    fn new(pixels: usize, is_see_through: bool, has_wires: bool) -> Self {
        let over = if is_see_through { pixels } else { 0 };
        let wires = if has_wires { pixels } else { 0 };
        Self {
            colors: vec![[0.0; 4]; pixels],
            nearness: vec![0.0; pixels],
            facing: vec![[0.0; 3]; pixels],
            over: vec![[0.0; 4]; over],
            wires: vec![0.0; wires],
        }
    }

    /// The parts of this many pixels, from above.
    fn bands(&mut self, pixels: usize) -> Vec<Rows<'_>> {
        let mut over = self.over.chunks_mut(pixels);
        let mut wires = self.wires.chunks_mut(pixels);
        let mut bands = Vec::new();
        for ((colors, nearness), facing) in self
            .colors
            .chunks_mut(pixels)
            .zip(self.nearness.chunks_mut(pixels))
            .zip(self.facing.chunks_mut(pixels))
        {
            bands.push(Canvas {
                colors,
                nearness,
                facing,
                over: over.next().unwrap_or_default(),
                wires: wires.next().unwrap_or_default(),
            });
        }
        bands
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
    let alphas = Alphas::of(scene);
    charge_area(&triangles, &alphas, frame, samples.len(), budget)?;
    let is_lit =
        matches!(style.mode, Mode::Shaded | Mode::Clay | Mode::Wireframe) && scene.heat.is_none();
    let mut shadow = None;
    if is_lit && style.has_shadow && !scene.has_dots {
        let pass = Casting {
            scene,
            alphas: &alphas,
        };
        shadow = Shadow::of(scene, camera, &pass, budget)?;
    }
    let palette = Palette::new();
    let seen = Seen {
        scene,
        places: &places,
        points: &points,
        normals: &normals,
        view: camera.view,
        mode: style.mode,
        palette: &palette,
    };

    let pixels = frame.pixels();
    let mut canvas = Whole::new(pixels, alphas.has_blended, style.mode == Mode::Wireframe);
    let band = (frame.width as usize * BAND as usize).max(1);
    let painter = Painter {
        seen: &seen,
        triangles: &triangles,
        alphas: &alphas,
        samples: &samples,
        frame,
    };
    each(
        is_parallel,
        rows(frame).zip(canvas.bands(band)).collect(),
        |(rows, canvas)| painter.paint(rows, canvas),
    );

    let mut distance = std::mem::take(&mut canvas.nearness);
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
        normals: &canvas.facing,
    };
    let mut reached = Vec::new();
    if is_lit && style.has_occlusion {
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

    let mut picture = Picture::plain(frame, style.background);
    let channels = picture.channels();
    let mixer = Mixer {
        canvas: &canvas,
        surfaces: &surfaces,
        reached: &reached,
        shadow: shadow.as_ref(),
        background: match style.background {
            Background::Color(color) => Some(color::light(color)),
            Background::Transparent => None,
        },
        ink: color::light(style.background.ink()),
    };
    let out = picture.bytes_mut().chunks_mut(band * channels);
    each(
        is_parallel,
        rows(frame).zip(out).collect(),
        |(rows, out)| {
            for (place, out) in places_of(rows, frame).zip(out.chunks_exact_mut(channels)) {
                if let Some(pixel) = mixer.pixel(place) {
                    let color = pixel.get(..channels).unwrap_or_default();
                    out.copy_from_slice(color);
                }
            }
        },
    );
    let is_empty = |colors: &[Covered]| colors.iter().all(|[.., cover]| *cover == 0.0);
    let is_nothing = is_empty(&canvas.colors) && is_empty(&canvas.over);
    Ok(Drawn {
        picture,
        nothing: is_nothing.then(Drawing::nothing_drawn),
    })
}

/// Counts pixels that are covered many times as work.
fn charge_area(
    triangles: &Triangles<'_>,
    alphas: &Alphas,
    frame: Frame,
    samples: usize,
    budget: &Budget,
) -> Result<()> {
    // Each layer draws all triangles that can be seen through, and a mask looks at the image.
    let times = if alphas.has_blended || alphas.has_masked {
        LAYERS as u64
    } else {
        1
    };
    let free = FREE_TIMES.saturating_mul(frame.pixels() as u64);
    let covered = triangles.work.saturating_sub(free);
    budget.work(
        covered.saturating_mul(samples as u64).saturating_mul(times),
        "drawing of triangles that cover the picture many times",
    )
}

/// The rows of the bands of a picture.
fn rows(frame: Frame) -> impl Iterator<Item = Range<u32>> {
    (0..frame.height)
        .step_by(BAND as usize)
        .map(move |first| first..(first + BAND).min(frame.height))
}

/// The columns and rows of the pixels of some rows.
fn places_of(rows: Range<u32>, frame: Frame) -> impl Iterator<Item = [u32; 2]> {
    rows.flat_map(move |row| (0..frame.width).map(move |column| [column, row]))
}

/// Does the work on each part, whose outcomes do not depend on each other.
fn each<T: Send>(is_parallel: bool, parts: Vec<T>, work: impl Fn(T) + Send + Sync) {
    if is_parallel {
        parts.into_par_iter().for_each(work);
    } else {
        parts.into_iter().for_each(work);
    }
}

/// The use of the opacity of the images of a scene.
struct Alphas {
    /// For each image.
    textures: Vec<Alpha>,
    has_masked: bool,
    has_blended: bool,
}

impl Alphas {
    fn of(scene: &Drawing) -> Self {
        let textures: Vec<Alpha> = scene.textures.iter().map(|texture| texture.alpha).collect();
        Self {
            has_masked: textures.contains(&Alpha::Mask),
            has_blended: textures.contains(&Alpha::Blend),
            textures,
        }
    }

    fn of_triangle(&self, id: u32, scene: &Drawing) -> Alpha {
        let surface = scene.surfaces.get(id as usize);
        let texture = surface.and_then(|surface| self.textures.get(usize::from(surface.texture)));
        texture.copied().unwrap_or(Alpha::Opaque)
    }
}

/// The triangles that have a shadow: all opaque ones, as if a mask had no holes.
struct Casting<'a> {
    scene: &'a Drawing,
    alphas: &'a Alphas,
}

impl Pass for Casting<'_> {
    fn takes(&self, id: u32) -> bool {
        !self.alphas.has_blended || self.alphas.of_triangle(id, self.scene) != Alpha::Blend
    }

    fn covers(&self, _: &Fragment) -> bool {
        true
    }
}

/// The opaque triangles, without the parts that a mask cuts out.
struct Opaque<'a> {
    seen: &'a Seen<'a>,
    alphas: &'a Alphas,
}

impl Pass for Opaque<'_> {
    fn takes(&self, id: u32) -> bool {
        !self.alphas.has_blended || self.alphas.of_triangle(id, self.seen.scene) != Alpha::Blend
    }

    fn covers(&self, fragment: &Fragment) -> bool {
        /// The default of glTF.
        const CUTOFF: f32 = 0.5;
        if !self.alphas.has_masked
            || self.alphas.of_triangle(fragment.id, self.seen.scene) != Alpha::Mask
        {
            return true;
        }
        let opacity = self.seen.opacity(fragment.id, fragment.x, fragment.y);
        opacity.is_none_or(|opacity| opacity >= CUTOFF)
    }
}

/// The triangles that can be seen through, of one layer.
struct Layer<'a> {
    seen: &'a Seen<'a>,
    alphas: &'a Alphas,
    behind: Behind<'a>,
}

impl Pass for Layer<'_> {
    fn takes(&self, id: u32) -> bool {
        self.alphas.of_triangle(id, self.seen.scene) == Alpha::Blend
    }

    fn covers(&self, fragment: &Fragment) -> bool {
        self.behind.covers(fragment)
    }
}

/// Paints bands of rows.
struct Painter<'a> {
    seen: &'a Seen<'a>,
    triangles: &'a Triangles<'a>,
    alphas: &'a Alphas,
    samples: &'a [[i32; 2]],
    frame: Frame,
}

impl Painter<'_> {
    fn paint(&self, rows: Range<u32>, canvas: Rows<'_>) {
        let pass = Opaque {
            seen: self.seen,
            alphas: self.alphas,
        };
        let mut drawn = rows.clone();
        if !canvas.wires.is_empty() {
            // Lines of neighbouring pixels reach into the first and the last row.
            drawn = rows.start.saturating_sub(1)..(rows.end + 1).min(self.frame.height);
        }
        let solid = self.band(drawn.clone(), &pass);
        for (index, [column, row]) in places_of(rows.clone(), self.frame).enumerate() {
            let pixel = self.pixel(column, row);
            let Some(found) = pixel.shade(solid.pixel(column, row)) else {
                continue;
            };
            if let (Some(color), Some(nearness), Some(facing)) = (
                canvas.colors.get_mut(index),
                canvas.nearness.get_mut(index),
                canvas.facing.get_mut(index),
            ) {
                (*color, *nearness, *facing) = (found.color, found.nearness, found.normal);
            }
        }
        if !canvas.over.is_empty() {
            self.paint_over(rows.clone(), &solid, canvas.over);
        }
        if !canvas.wires.is_empty() {
            self.paint_wires(rows, &solid, drawn, canvas.wires);
        }
    }

    fn band(&self, rows: Range<u32>, pass: &impl Pass) -> Band<'_> {
        Band::draw(self.triangles, self.frame.width, rows, self.samples, pass)
    }

    fn pixel(&self, column: u32, row: u32) -> Pixel<'_> {
        Pixel {
            seen: self.seen,
            samples: self.samples,
            column,
            row,
        }
    }

    /// Paints what can be seen through, from front to back, one layer after another: depth peeling.
    fn paint_over(&self, rows: Range<u32>, solid: &Band<'_>, over: &mut [Covered]) {
        // The light that passes through the layers so far, for each sample.
        let mut passing = vec![1.0_f32; over.len() * self.samples.len()];
        let mut before: Option<Band<'_>> = None;
        for _ in 0..LAYERS {
            let layer = self.band(
                rows.clone(),
                &Layer {
                    seen: self.seen,
                    alphas: self.alphas,
                    behind: Behind {
                        solid,
                        layer: before.as_ref(),
                    },
                },
            );
            if layer.is_empty() {
                break;
            }
            let passing = passing.chunks_exact_mut(self.samples.len());
            let places = places_of(rows.clone(), self.frame);
            for (([column, row], over), passing) in places.zip(over.iter_mut()).zip(passing) {
                let pixel = self.pixel(column, row);
                pixel.shade_layer(layer.pixel(column, row), over, passing);
            }
            before = Some(layer);
        }
    }

    /// Paints the lines of a wireframe: of the triangles of a pixel and of its neighbours, in the rows that are drawn.
    fn paint_wires(
        &self,
        rows: Range<u32>,
        solid: &Band<'_>,
        drawn: Range<u32>,
        wires: &mut [f32],
    ) {
        for ([column, row], wire) in places_of(rows, self.frame).zip(wires) {
            let columns = column.saturating_sub(1)..(column + 2).min(self.frame.width);
            for row_near in row.saturating_sub(1).max(drawn.start)..(row + 2).min(drawn.end) {
                for column_near in columns.clone() {
                    let ids = solid.pixel(column_near, row_near);
                    let share = wires::coverage(self.seen, ids, column, row);
                    if share > *wire {
                        *wire = share;
                    }
                }
            }
        }
    }
}

/// The surface at a pixel.
struct Found {
    color: Covered,
    nearness: f32,
    normal: [f32; 3],
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
    fn shade(&self, ids: &[u32]) -> Option<Found> {
        let mut color = [0.0; 4];
        // The triangle with most samples, the first if there are several.
        let mut most = 0;
        let mut nearness = 0.0;
        let mut normal = [0.0; 3];
        for (first, id) in ids.iter().enumerate() {
            if *id == NONE || ids.iter().take(first).any(|before| before == id) {
                continue;
            }
            let (count, x, y) = self.middle(ids, *id);
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
        (most > 0).then_some(Found {
            color,
            nearness,
            normal,
        })
    }

    /// Adds a layer behind the layers that are painted over a pixel so far.
    fn shade_layer(&self, ids: &[u32], over: &mut Covered, passing: &mut [f32]) {
        for (first, id) in ids.iter().enumerate() {
            if *id == NONE || ids.iter().take(first).any(|before| before == id) {
                continue;
            }
            let (_, x, y) = self.middle(ids, *id);
            let Some(look) = self.seen.look(*id, x, y) else {
                continue;
            };
            let mut share = 0.0;
            for (_, passing) in ids
                .iter()
                .zip(&mut *passing)
                .filter(|(other, _)| *other == id)
            {
                share += *passing * look.opacity / ids.len() as f32;
                *passing *= 1.0 - look.opacity;
            }
            let [red, green, blue] = look.light;
            for (sum, channel) in over.iter_mut().zip([red, green, blue, 1.0]) {
                *sum += channel * share;
            }
        }
    }

    /// The number of samples of a triangle, and the place in their middle.
    fn middle(&self, ids: &[u32], id: u32) -> (i64, i64, i64) {
        let mut count = 0_i64;
        let mut x = 0_i64;
        let mut y = 0_i64;
        for (_, [sx, sy]) in ids
            .iter()
            .zip(self.samples)
            .filter(|(other, _)| **other == id)
        {
            count += 1;
            x += i64::from(*sx);
            y += i64::from(*sy);
        }
        let count = count.max(1);
        let x = (i64::from(self.column) << FINE) + x / count;
        let y = (i64::from(self.row) << FINE) + y / count;
        (count, x, y)
    }
}

/// Mixes what is seen at a pixel.
struct Mixer<'a> {
    canvas: &'a Whole,
    surfaces: &'a Surfaces<'a>,
    /// The ambient light that reaches each pixel; empty if all does.
    reached: &'a [f32],
    shadow: Option<&'a Shadow>,
    /// `None` if it is transparent.
    background: Option<Light>,
    ink: Light,
}

impl Mixer<'_> {
    /// The bytes of a pixel, with opacity; `None` if it shows nothing but the background.
    fn pixel(&self, [column, row]: [u32; 2]) -> Option<[u8; 4]> {
        let index = row as usize * self.surfaces.frame.width as usize + column as usize;
        let [red, green, blue, cover] = self.canvas.colors.get(index).copied().unwrap_or_default();
        let over = self.canvas.over.get(index).copied().unwrap_or_default();
        let wire = self.canvas.wires.get(index).copied().unwrap_or_default() * WIRE;
        let mut dark = 0.0;
        if let Some(shadow) = self.shadow.filter(|_| cover < 1.0) {
            dark = shadow.at(column, row);
        }
        if cover == 0.0 && over[3] == 0.0 && wire == 0.0 && dark == 0.0 {
            return None;
        }
        let mut reached = 1.0;
        if cover > 0.0 && !self.reached.is_empty() {
            reached = self.surfaces.smooth(self.reached, column, row);
        }
        // Behind the mesh is the ground. A transparent one has its shadow as black.
        let ground = self.background.unwrap_or_default();
        let behind = match self.background {
            Some(_) => 1.0 - cover,
            None => (1.0 - cover) * dark,
        };
        let light = match self.background {
            Some(_) => 1.0 - dark,
            None => 0.0,
        };
        let through = 1.0 - over[3];
        let mut opacity = over[3] + through * (cover + behind);
        let mut mixed: Light = std::array::from_fn(|channel| {
            let solid = [red, green, blue][channel] * reached;
            over[channel] + through * (solid + behind * light * ground[channel])
        });
        if wire > 0.0 {
            for (channel, ink) in mixed.iter_mut().zip(self.ink) {
                *channel += (ink * opacity.max(wire) - *channel) * wire;
            }
            opacity = opacity.max(wire);
        }
        if self.background.is_some() || opacity >= 1.0 {
            let [red, green, blue] = color::bytes(mixed);
            return Some([red, green, blue, u8::MAX]);
        }
        if opacity <= 0.0 {
            return None;
        }
        let [red, green, blue] = color::bytes(mixed.map(|channel| channel / opacity));
        Some([red, green, blue, color::byte(opacity)])
    }
}
