use std::path::Path;

use meshmap::{Address, Axis, Format, MeshFile};

use crate::error::Result;
use crate::outcome::Outcome;
use crate::{glb, obj, pc2, ply, stl, usd};

/// A format that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Target {
    /// Binary glTF 2.0: geometry, materials, skins, animations, and snapshots as morph targets.
    Glb,
    /// Wavefront OBJ, with an MTL beside it.
    Obj,
    /// PLY, binary and little-endian.
    Ply,
    /// STL, binary.
    Stl,
    /// A point cache of Blender and 3ds Max, with an OBJ beside it: the snapshots of a CGeo file.
    Pc2,
    /// USD, as a crate file: geometry, materials, and snapshots as time samples.
    Usdc,
}

impl Target {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Glb, Self::Obj, Self::Ply, Self::Stl, Self::Pc2, Self::Usdc];

    /// Its name, which is the extension of its files, too.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Glb => "glb",
            Self::Obj => "obj",
            Self::Ply => "ply",
            Self::Stl => "stl",
            Self::Pc2 => "pc2",
            Self::Usdc => "usdc",
        }
    }

    /// The target of files with this name, by its extension in any case.
    #[must_use]
    pub fn of_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        Self::ALL.into_iter().find(|target| target.name().eq_ignore_ascii_case(extension))
    }
}

/// What happens to numbers that are infinite, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NonFinite {
    /// They are an error that names the first one.
    #[default]
    Refuse,
    /// They become 0, and are counted.
    Zero,
}

/// A conversion, and its settings.
#[derive(Clone, Debug)]
pub struct Convert {
    pub(crate) target: Target,
    pub(crate) meshes: Vec<Address>,
    pub(crate) up: Option<Axis>,
    pub(crate) flip: bool,
    pub(crate) non_finite: NonFinite,
    pub(crate) dense: bool,
    pub(crate) every: usize,
    pub(crate) rate: Option<f64>,
}

impl Convert {
    /// A conversion to this format, of what is drawn by default: all geometry, the finest level of detail, all
    /// snapshots where the target has time, else the first.
    #[must_use]
    pub fn new(target: Target) -> Self {
        Self {
            target,
            meshes: Vec::new(),
            up: None,
            flip: false,
            non_finite: NonFinite::Refuse,
            dense: false,
            every: 1,
            rate: None,
        }
    }

    /// Writes this mesh; several calls write several. Of a CGeo file as GLB, PC2 or USD, snapshots go together: see
    /// [`with_every`](Self::with_every).
    #[must_use]
    pub fn with_mesh(mut self, address: Address) -> Self {
        self.meshes.push(address);
        self
    }

    /// Takes this axis for the one that points up, whatever the format says. It is turned to Y in GLB, and
    /// told in USD.
    #[must_use]
    pub fn with_up(self, up: Axis) -> Self {
        Self { up: Some(up), ..self }
    }

    /// Turns all triangles around.
    #[must_use]
    pub fn with_flip(self, flip: bool) -> Self {
        Self { flip, ..self }
    }

    /// What happens to numbers that are infinite, or none.
    #[must_use]
    pub fn with_non_finite(self, non_finite: NonFinite) -> Self {
        Self { non_finite, ..self }
    }

    /// Writes all values of morph targets, for programs that cannot read sparse ones.
    #[must_use]
    pub fn with_dense(self, dense: bool) -> Self {
        Self { dense, ..self }
    }

    /// Writes each `every`-th snapshot of a CGeo file.
    #[must_use]
    pub fn with_every(self, every: usize) -> Self {
        Self { every: every.max(1), ..self }
    }

    /// Snapshots, or frames, a second, whatever the file says.
    #[must_use]
    pub fn with_rate(self, rate: f64) -> Self {
        Self { rate: Some(rate), ..self }
    }

    /// Whether corners are written in another order than the file's.
    ///
    /// Targets have counter-clockwise triangles.
    pub(crate) fn turns(&self, format: Format) -> bool {
        (format.conventions().front_face == Some(meshmap::Winding::Clockwise)) != self.flip
    }

    /// Writes a file at this path, and those that belong beside it. Each appears when it is complete.
    ///
    /// # Errors
    ///
    /// [`Read`](crate::Error::Read) and [`Write`](crate::Error::Write) where that fails,
    /// [`NotHeld`](crate::Error::NotHeld) where the target cannot hold the mesh, and
    /// [`NonFinite`](crate::Error::NonFinite) for such a number.
    pub fn write_file(&self, file: &MeshFile, path: impl AsRef<Path>) -> Result<Outcome> {
        let (path, mut outcome) = (path.as_ref(), Outcome::default());
        match self.target {
            Target::Glb => glb::write(file, self, path, &mut outcome)?,
            Target::Obj => obj::write(file, self, path, &mut outcome)?,
            Target::Ply => ply::write(file, self, path, &mut outcome)?,
            Target::Stl => stl::write(file, self, path, &mut outcome)?,
            Target::Pc2 => pc2::write(file, self, path, &mut outcome)?,
            Target::Usdc => usd::write(file, self, path, &mut outcome)?,
        }
        Ok(outcome)
    }
}
