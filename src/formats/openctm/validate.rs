//! Checks that look at every value.

use super::layout::{Part, Section};
use super::mesh::Mesh;
use super::rules::{self, FILE};
use crate::bytes::Scalar;
use crate::decode::Scratch;
use crate::mesh::scan;
use crate::num::{as_u64, decimal};
use crate::report::{ErrorKind, Finding, Findings, Result};

impl Mesh {
    /// Decodes and checks everything: [`findings`](Self::findings), and those that only a look at all data can tell.
    ///
    /// What the reference library refuses a file for is a finding that is not `tolerated`. What is decoded for this is
    /// not kept.
    ///
    /// # Errors
    ///
    /// Those of reading and decoding.
    pub fn validate(&self) -> Result<Vec<Finding>> {
        let mesh = self.load()?.apart();
        let mut check = Check { mesh: &mesh, findings: Findings::default() };
        check.arrays()?;
        check.grid()?;
        check.streams();
        let mut all = self.findings().to_vec();
        all.extend(check.findings.into_vec());
        Ok(all)
    }
}

struct Check<'a> {
    mesh: &'a Mesh,
    findings: Findings,
}

impl Check<'_> {
    fn arrays(&mut self) -> Result<()> {
        let layout = &self.mesh.layout;
        let arrays = match self.mesh.arrays() {
            Ok(arrays) => arrays,
            // The normals cannot be told; which index is wrong is found here, too.
            Err(error)
                if error.what() == rules::INDEX_OUT_OF_RANGE.name && error.kind() == ErrorKind::Malformed =>
            {
                return self.indices();
            }
            Err(error) => return Err(error),
        };
        self.indices()?;
        self.numbers(&layout.positions, arrays.positions.as_bytes());
        if let (Some(section), Some(normals)) = (&layout.normals, &arrays.normals) {
            self.numbers(section, normals.as_bytes());
        }
        for (map, coords) in layout.uv_maps.iter().zip(&arrays.uv_maps) {
            self.numbers(&map.section, coords.as_bytes());
        }
        for (map, values) in layout.attribute_maps.iter().zip(&arrays.attribute_maps) {
            self.numbers(&map.section, values.as_bytes());
        }
        Ok(())
    }

    fn indices(&mut self) -> Result<()> {
        let (section, body) = (&self.mesh.layout.indices, self.mesh.layout.body);
        let triangles = self.mesh.indices()?;
        let corners = triangles.clone().flatten();
        let count = self.mesh.vertex_count();
        if let Some(found) = scan::out_of_range(corners.iter(), count) {
            let index = corners.slice_u64(found.first..u64::MAX).get(0).unwrap_or_default();
            self.findings.add_many(rules::INDEX_OUT_OF_RANGE, found.count, || {
                let detail = format!("expected less than {count}, found {index}");
                let address = section.part.address(body).index(found.first);
                (FILE.of(address).at(section.stored_range()), detail)
            });
        }
        if let (1, Some([a, b, c])) = (triangles.len(), triangles.get(0))
            && a == b
            && b == c
        {
            self.findings.add(rules::POINT_CLOUD, || {
                let detail = format!("{} vertices, and no other triangle", decimal(as_u64(count)));
                (FILE.of(section.part.address(body)).at(section.stored_range()), detail)
            });
        }
        Ok(())
    }

    fn numbers(&mut self, section: &Section, bytes: &[u8]) {
        let Some(found) = scan::not_finite(Scalar::F32, bytes) else { return };
        self.findings.add_many(rules::NOT_FINITE, found.count, || {
            let lanes = match section.part {
                Part::UvMap(_) => 2,
                Part::AttributeMap(_) => 4,
                _ => 3,
            };
            let vertex = found.first.checked_div(lanes).unwrap_or(0);
            let address = section.part.address(self.mesh.layout.body).index(vertex);
            (FILE.of(address).at(section.stored_range()), "a number of a vertex")
        });
    }

    fn grid(&mut self) -> Result<()> {
        let Some(grid) = &self.mesh.layout.grid else { return Ok(()) };
        let outside = self.mesh.decode().outside_grid(grid, &mut Scratch::default())?;
        let Some((count, vertex, cell)) = outside else { return Ok(()) };
        self.findings.add_many(rules::OUTSIDE_GRID, count, || {
            let [x, y, z] = grid.header.div;
            let detail = format!("expected less than {x} x {y} x {z}, found {cell}");
            let address = grid.indices.part.address(self.mesh.layout.body).index(as_u64(vertex));
            (FILE.of(address).at(grid.indices.stored_range()), detail)
        });
        Ok(())
    }

    /// Streams that were seen to go on when they were decoded.
    fn streams(&mut self) {
        for section in self.mesh.layout.sections() {
            if section.has_tail() {
                self.findings.add(rules::STREAM_TAIL, || {
                    let detail = "does not end where its array does";
                    let address = section.part.address(self.mesh.layout.body);
                    (FILE.of(address).at(section.stored_range()), detail)
                });
            }
        }
    }
}
