//! The memory and the output of one call, which no number in a file can exceed.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use meshmap::cgeo::Proxy;
use meshmap::{Charge, MeshFile, Meter, Scratch};
use meshmap_outputs::{Output, Place};
use meshmap_scene::{Scene, SceneOptions};

use crate::error::{Error, Limit, Result};

/// Output that a small file may always become.
const FREE_OUTPUT: u64 = 64 << 20;

/// Bytes of output for each byte of the mesh file, if these are more.
const OUTPUT_RATIO: u64 = 256;

/// Pictures that a small file may always become, and stored bytes for each further one.
const FREE_PICTURES: u64 = 4096;
const BYTES_OF_PICTURE: u64 = 16;

/// Elements that all pictures of a small file may always have together, and elements for each stored byte of a large file.
const FREE_ELEMENTS: u64 = 32 << 20;
const ELEMENTS_OF_BYTE: u64 = 64;

/// The memory and output that one call may still use. Clones charge the same call.
///
/// Memory is charged before it is allocated: either kept until the call ends, such as parts of a document, or given back by a
/// [`Scope`], such as the arrays of one mesh. Output is charged twice: when the geometry for it
/// is about to be read, so that a mesh that thousands of others repeat is refused before it costs time, and when bytes are
/// written.
#[derive(Clone, Debug)]
pub struct Budget(Arc<Counts>);

#[derive(Debug)]
struct Counts {
    /// The memory that is held, also by the library.
    meter: Arc<Meter<'static>>,
    /// Memory that a scope gives back.
    working: Mutex<Charge<'static>>,
    /// Memory that is held until the call ends.
    kept: Mutex<Charge<'static>>,
    max_output: u64,
    max_written: u64,
    max_pictures: u64,
    /// Elements of all pictures.
    max_elements: u64,
    /// Bytes of geometry read for the output.
    geometry: AtomicU64,
    written: AtomicU64,
}

impl Budget {
    /// The budget of a call that reads a whole file. `max_output` replaces the usual limit.
    pub fn of(file: &MeshFile, max_output: Option<u64>) -> Self {
        Self::of_file(file, |usual| [max_output.unwrap_or(usual); 2])
    }

    /// The budget of a call that draws a file: the size of each picture is the caller's choice.
    pub fn of_pictures(file: &MeshFile) -> Self {
        Self::of_file(file, |usual| [usual, u64::MAX])
    }

    fn of_file(file: &MeshFile, max_output_and_written: impl Fn(u64) -> [u64; 2]) -> Self {
        let stored = file.source().len().ok().flatten().unwrap_or_default();
        let usual = FREE_OUTPUT.max(stored.saturating_mul(OUTPUT_RATIO));
        let max_pictures = FREE_PICTURES.max(stored / BYTES_OF_PICTURE);
        let max_elements = FREE_ELEMENTS.max(stored.saturating_mul(ELEMENTS_OF_BYTE));
        let meter = Meter::new(file.limits(), stored);
        Self::new(
            meter,
            max_output_and_written(usual),
            max_pictures,
            max_elements,
        )
    }

    /// A budget without limits, for tests.
    #[must_use]
    pub fn unlimited() -> Self {
        let limits = meshmap::Limits::default().with_max_total_bytes(u64::MAX);
        Self::new(Meter::new(&limits, 0), [u64::MAX; 2], u64::MAX, u64::MAX)
    }

    fn new(
        meter: Meter<'static>,
        [max_output, max_written]: [u64; 2],
        max_pictures: u64,
        max_elements: u64,
    ) -> Self {
        let meter = Arc::new(meter);
        Self(Arc::new(Counts {
            working: Mutex::new(Charge::shared(&meter)),
            kept: Mutex::new(Charge::shared(&meter)),
            meter,
            max_output,
            max_written,
            max_pictures,
            max_elements,
            geometry: AtomicU64::new(0),
            written: AtomicU64::new(0),
        }))
    }

    /// Charges memory that is about to be allocated, and that is given back when the scope around it ends.
    ///
    /// # Errors
    ///
    /// [`Read`](Error::Read) with the limit of memory that is exceeded.
    pub fn charge(&self, bytes: u64, what: &'static str) -> Result<()> {
        self.working().grow(bytes, what)?;
        self.count();
        Ok(())
    }

    /// Charges memory that is about to be allocated, and held until the call ends.
    ///
    /// # Errors
    ///
    /// [`Read`](Error::Read) with the limit of memory that is exceeded.
    pub fn keep(&self, bytes: u64, what: &'static str) -> Result<()> {
        let mut kept = self.0.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.grow(bytes, what)?;
        self.count();
        Ok(())
    }

    /// Counts work that is about to be done, and for which no memory is taken.
    ///
    /// # Errors
    ///
    /// [`Read`](Error::Read) with the limit of work that is exceeded.
    pub fn work(&self, units: u64, what: &'static str) -> Result<()> {
        Ok(self.0.meter.work(units, what)?)
    }

    /// Runs the job, whose calls of the library are charged as well.
    pub fn run<T>(&self, job: impl FnOnce() -> T) -> T {
        self.0.meter.run(job)
    }

    /// Memory that a scope gives back.
    fn working(&self) -> MutexGuard<'_, Charge<'static>> {
        self.0
            .working
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers what is charged, for tests.
    fn count(&self) {
        #[cfg(feature = "count-charges")]
        most_charged::count(self.0.meter.held());
    }

    /// Charges memory for this many elements.
    ///
    /// # Errors
    ///
    /// [`Read`](Error::Read) with the limit of memory that is exceeded.
    pub fn charge_for<T>(&self, count: usize, what: &'static str) -> Result<()> {
        self.charge((count as u64).saturating_mul(size_of::<T>() as u64), what)
    }

    /// An empty vector with room for this many elements.
    ///
    /// # Errors
    ///
    /// [`Read`](Error::Read) with the limit of memory that is exceeded.
    /// [`Write`](Error::Write) if the memory does not suffice.
    pub fn vec<T>(&self, count: usize, what: &'static str) -> Result<Vec<T>> {
        self.charge_for::<T>(count, what)?;
        let mut vec = Vec::new();
        match vec.try_reserve_exact(count) {
            Ok(()) => Ok(vec),
            Err(_) => Err(Error::Write(io::ErrorKind::OutOfMemory.into())),
        }
    }

    /// The elements of an iterator.
    ///
    /// # Errors
    ///
    /// The errors of [`vec`](Self::vec).
    pub fn collect<T>(
        &self,
        elements: impl ExactSizeIterator<Item = T>,
        what: &'static str,
    ) -> Result<Vec<T>> {
        let mut vec = self.vec(elements.len(), what)?;
        vec.extend(elements);
        Ok(vec)
    }

    /// Begins a scope: memory charged from here on is given back when the scope ends.
    pub fn scope(&self) -> Scope {
        Scope {
            budget: self.clone(),
            working: self.working().bytes(),
        }
    }

    /// The scene of a file, whose vertices and triangles are charged: before indices are read, if their number is known.
    ///
    /// # Errors
    ///
    /// [`Read`](Error::Read) and [`NotHeld`](Error::NotHeld) for a file without such a scene, and [`LimitExceeded`](Error::LimitExceeded).
    pub fn scene(
        &self,
        file: &MeshFile,
        options: &SceneOptions,
        target: &'static str,
    ) -> Result<Scene> {
        // Each picture has a scene, and each scene a copy of the name of the object, which may be as long as the file.
        if let Some(name) = file.as_cgeo().and_then(Proxy::object_name) {
            self.work(
                name.as_bytes().len() as u64,
                "the name of the object in scenes",
            )?;
        }
        let of_scene = |error| Error::of_scene(error, target);
        let listed = Scene::listed_triangles(file, options).map_err(of_scene)?;
        self.read_geometry(0, listed)?;
        let scene = Scene::new(file, options).map_err(of_scene)?;
        let mut scratch = Scratch::default();
        let mut found: u64 = 0;
        for shape in scene.shapes().iter().filter(|shape| !shape.has_keys()) {
            let counts = shape.counts(0, &mut scratch)?;
            self.read_geometry(counts.positions as u64, 0)?;
            found = found.saturating_add(counts.triangles as u64);
        }
        self.read_geometry(0, found.saturating_sub(listed))?;
        Ok(scene)
    }

    /// Charges vertices and triangles that are about to be read and written.
    ///
    /// # Errors
    ///
    /// [`LimitExceeded`](Error::LimitExceeded).
    pub fn read_geometry(&self, vertices: u64, triangles: u64) -> Result<()> {
        let bytes = vertices
            .saturating_add(triangles)
            .saturating_mul(size_of::<[f32; 3]>() as u64);
        self.read(bytes, "vertices and triangles of all meshes")
    }

    /// Charges numbers that are about to be read and written.
    ///
    /// # Errors
    ///
    /// [`LimitExceeded`](Error::LimitExceeded).
    pub fn read(&self, bytes: u64, what: &'static str) -> Result<()> {
        add(
            &self.0.geometry,
            bytes,
            self.0.max_output,
            Limit::Output,
            what,
        )
    }

    /// Charges bytes that are about to be written.
    fn write(&self, bytes: u64) -> Result<()> {
        add(
            &self.0.written,
            bytes,
            self.0.max_written,
            Limit::Output,
            "output",
        )
    }

    /// Begins a file whose bytes are charged before they are written.
    ///
    /// # Errors
    ///
    /// [`Write`](Error::Write).
    pub fn output(&self, place: &Place) -> Result<Output> {
        let budget = self.clone();
        let charge = move |bytes| budget.write(bytes).map_err(io::Error::other);
        Ok(Output::create_charged(place, Box::new(charge))?)
    }

    /// Begins the next scene of several, each of which may have as much geometry.
    pub fn begin_scene(&self) {
        self.0.geometry.store(0, Ordering::Relaxed);
    }

    /// Checks the number of pictures. Each draws `elements` elements, for which the file need not have stored bytes.
    ///
    /// # Errors
    ///
    /// [`LimitExceeded`](Error::LimitExceeded).
    pub fn check_pictures(&self, count: u64, elements: u64) -> Result<()> {
        let most = self
            .0
            .max_elements
            .checked_div(elements)
            .unwrap_or(u64::MAX)
            .max(1);
        let most = self.0.max_pictures.min(most);
        add(
            &AtomicU64::new(0),
            count,
            most,
            Limit::Pictures,
            "snapshots or frames",
        )
    }
}

/// The most that calls of a thread have charged.
#[cfg(feature = "count-charges")]
pub mod most_charged {
    use std::cell::Cell;

    thread_local! {
        static MOST: Cell<u64> = const { Cell::new(0) };
    }

    pub(super) fn count(charged: u64) {
        MOST.set(MOST.get().max(charged));
    }

    /// Returns the most that was charged at once since this was called before.
    #[must_use]
    pub fn take() -> u64 {
        MOST.take()
    }
}

fn add(count: &AtomicU64, bytes: u64, most: u64, limit: Limit, what: &'static str) -> Result<()> {
    let sum = |count: u64| count.checked_add(bytes).filter(|sum| *sum <= most);
    match count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum) {
        Ok(_) => Ok(()),
        Err(count) => Err(Error::LimitExceeded {
            what,
            limit,
            most,
            needed: count.saturating_add(bytes),
        }),
    }
}

/// Gives memory back when it ends.
pub struct Scope {
    budget: Budget,
    working: u64,
}

impl Drop for Scope {
    fn drop(&mut self) {
        self.budget.working().shrink_to(self.working);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_give_memory_back_and_no_output() {
        let budget = Budget::new(
            Meter::new(&meshmap::Limits::default().with_max_total_bytes(100), 0),
            [50; 2],
            9,
            40,
        );
        budget.charge(10, "a").unwrap();
        let scope = budget.scope();
        assert!(budget.collect([1_u8; 91].into_iter(), "b").is_err());
        assert_eq!(
            budget.collect([1_u8; 60].into_iter(), "b").unwrap().len(),
            60
        );
        budget.keep(30, "c").unwrap();
        assert!(budget.charge(1, "d").is_err() && budget.keep(1, "d").is_err());
        budget.write(50).unwrap();
        drop(scope);
        budget.charge(60, "d").unwrap();
        assert!(budget.charge(1, "d").is_err());
        let error = budget.write(1).unwrap_err();
        assert!(matches!(
            error,
            Error::LimitExceeded {
                limit: Limit::Output,
                most: 50,
                needed: 51,
                ..
            }
        ));
        assert!(budget.check_pictures(9, 0).is_ok() && budget.check_pictures(10, 0).is_err());
        assert!(budget.check_pictures(8, 5).is_ok() && budget.check_pictures(9, 5).is_err());
        assert!(budget.check_pictures(1, 99).is_ok());
    }
}
