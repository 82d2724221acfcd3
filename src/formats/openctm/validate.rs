//! Checks of every value.

use std::sync::Arc;

use super::arrays::DecodedGeometry;
use super::decode::{Decoded, Ending, OutsideGrid};
use super::layout::{Grid, Section};
use super::mesh::Mesh;
use super::rules;
use crate::bytes::{Array, Element, Scalar};
use crate::decode::{Context, Scratch};
use crate::limits::Meter;
use crate::mesh::scan;
use crate::num::{as_u64, as_usize, component, decimal};
use crate::report::{Finding, Findings, Result};

impl Mesh {
    /// Decodes and checks everything.
    ///
    /// Returns [`findings`](Self::findings), and the findings that need a scan of all data. Values for which the reference library
    /// refuses a file are findings of severity [`Unusable`](crate::Severity::Unusable). Data that is decoded for this is not
    /// cached.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read or decoded.
    pub fn validate(&self) -> Result<Vec<Finding>> {
        self.check_total()?;
        // Only this mesh caches what is decoded of it.
        let mesh = Self {
            decoded: Arc::new((*self.decoded).clone()),
            ..self.load()?
        };
        let meter = &self.meter();
        #[cfg(feature = "rayon")]
        mesh.decode_in_parallel();
        let mut check = Check {
            mesh: &mesh,
            meter,
            findings: Findings::default(),
            tails: Vec::new(),
        };
        check.arrays(&mut Scratch::default())?;
        check.streams();
        let mut all = self.findings().to_vec();
        all.extend(check.findings.into_vec());
        Ok(all)
    }
}

struct Check<'a> {
    mesh: &'a Mesh,
    meter: &'a Meter<'a>,
    findings: Findings,
    /// Arrays whose stream goes on.
    tails: Vec<&'a Section>,
}

impl<'a> Check<'a> {
    fn arrays(&mut self, scratch: &mut Scratch) -> Result<()> {
        let mesh = self.mesh;
        let meter = self.meter;
        let layout = &mesh.layout;
        // Both are decoded before any is checked, so that the first error is the same as in `Mesh::arrays`.
        let indices = mesh.decoded_indices(Context::new(meter, scratch))?;
        let positions = mesh.decoded_positions(Context::new(meter, scratch))?;
        let are_in_range = self.indices(&indices);
        self.numbers(&layout.positions, &positions);
        match (&layout.normals, &layout.grid) {
            // The normals cannot be computed: only their stream is checked.
            (Some(section), Some(_)) if !are_in_range => {
                let ending = mesh.decode(meter).ending(section, scratch)?;
                self.note_ending(section, ending);
            }
            (Some(section), _) => {
                let geometry = DecodedGeometry {
                    positions: positions.array.clone(),
                    triangles: indices.array.clone(),
                };
                let context = Context::new(meter, scratch);
                if let Some(normals) = mesh.decoded_normals(Some(geometry), context)? {
                    self.numbers(section, &normals);
                    if layout.grid.is_none() {
                        self.zero_normals(section, &normals.array);
                    }
                }
            }
            (None, _) => {}
        }
        for (index, map) in layout.uv_maps.iter().enumerate() {
            let coords = mesh.decoded_uv_map(index, Context::new(meter, scratch))?;
            self.numbers(&map.section, &coords);
        }
        for (index, map) in layout.attribute_maps.iter().enumerate() {
            let values = mesh.decoded_attribute_map(index, Context::new(meter, scratch))?;
            self.numbers(&map.section, &values);
        }
        if let Some(grid) = &layout.grid {
            self.grid(grid, scratch)?;
        }
        Ok(())
    }

    /// Returns `true` if all indices are less than the vertex count.
    fn indices(&mut self, decoded: &Decoded<[u32; 3]>) -> bool {
        let layout = &self.mesh.layout;
        let section = &layout.indices;
        let count = self.mesh.vertex_count();
        self.note_ending(section, decoded.ending);
        let triangles = &decoded.array;
        let corners = triangles.clone().flatten();
        let found = scan::out_of_range(corners.iter(), count);
        if let Some(found) = found {
            let from_first = corners.slice_u64(found.first..u64::MAX);
            let index = from_first.get(0).unwrap_or_default();
            self.findings
                .add_many(rules::INDEX_OUT_OF_RANGE, found.count, || {
                    let expected = decimal(as_u64(count));
                    let detail = format!("expected less than {expected}, found {}", decimal(index));
                    let place = layout.place_of_word(section, found.first, found.first);
                    (place, detail)
                });
        }
        if triangles.len() == 1
            && let Some([a, b, c]) = triangles.get(0)
            && a == b
            && b == c
        {
            self.findings.add(rules::POINT_CLOUD, || {
                let detail = format!("{} vertices, and no other triangle", decimal(as_u64(count)));
                (layout.place_of(section), detail)
            });
        }
        found.is_none()
    }

    fn numbers<T: Element>(&mut self, section: &'a Section, decoded: &Decoded<T>) {
        self.note_ending(section, decoded.ending);
        let array: &Array<T> = &decoded.array;
        let Some(found) = scan::not_finite(Scalar::F32, array.as_bytes()) else {
            return;
        };
        self.findings.add_many(rules::NOT_FINITE, found.count, || {
            let vertex = found.first.checked_div(section.components).unwrap_or(0);
            let axis = found.first.checked_rem(section.components).unwrap_or(0);
            let (words, _) = array.as_bytes().as_chunks();
            let word = words.get(as_usize(found.first)).copied();
            let number = f32::from_le_bytes(word.unwrap_or_default());
            let place = self.mesh.layout.place_of_word(section, vertex, found.first);
            (place, format!("{} is {number}", component(as_usize(axis))))
        });
    }

    fn zero_normals(&mut self, section: &'a Section, normals: &Array<[f32; 3]>) {
        let Some(found) = scan::zero_vectors(normals.iter()) else {
            return;
        };
        self.findings.add_many(rules::ZERO_NORMAL, found.count, || {
            let word = found.first.saturating_mul(3);
            let place = self.mesh.layout.place_of_word(section, found.first, word);
            (place, "expected a direction")
        });
    }

    fn grid(&mut self, grid: &'a Grid, scratch: &mut Scratch) -> Result<()> {
        let check = self.mesh.decode(self.meter).check_grid(grid, scratch)?;
        self.note_ending(&grid.indices, check.ending);
        let Some(outside) = check.outside else {
            return Ok(());
        };
        let OutsideGrid {
            count,
            vertex,
            cell,
        } = outside;
        self.findings.add_many(rules::OUTSIDE_GRID, count, || {
            let [x, y, z] = grid.header.div;
            let detail = format!("expected less than {x} x {y} x {z}, found {cell}");
            (self.mesh.layout.place_in(&grid.indices, vertex), detail)
        });
        Ok(())
    }

    fn note_ending(&mut self, section: &'a Section, ending: Ending) {
        if ending == Ending::Tail {
            self.tails.push(section);
        }
    }

    /// Reports streams that go on, in the order of the file.
    fn streams(&mut self) {
        self.tails.sort_by_key(|section| section.range.start);
        for section in &self.tails {
            self.findings.add(rules::STREAM_TAIL, || {
                (
                    self.mesh.layout.place_of(section),
                    "does not end where its array does",
                )
            });
        }
    }
}
