//! Views whose attributes are in memory.

use super::attribute::Attribute;
use super::attribute_list::{AttributeList, Attributes, LoadAttribute};
use super::semantic::AttributeInfo;
use super::view::MeshView;
use crate::limits::{Limits, Meter};
use crate::report::{Error, ErrorKind, Result};

impl MeshView {
    /// Reads and decodes all attributes now: every later call of [`attribute`](Self::attribute),
    /// [`write_interleaved`](Self::write_interleaved) and [`bounds`](Self::bounds) reads and decodes nothing.
    ///
    /// The returned view no longer needs the file, except that attributes which are views of a mapped file still are. What
    /// is in memory already, such as a map or decoded arrays, is shared and not copied. All attributes together are
    /// charged to the [`Limits`] of the file as one call.
    ///
    /// A damaged attribute does not make the call fail: [`attribute`](Self::attribute) then returns its error.
    ///
    /// # Examples
    ///
    /// ```
    /// use meshmap::{MeshFile, Semantic};
    ///
    /// let file = MeshFile::open("tests/data/tmf/valid/v011_multi_names.tmf")?;
    /// let mesh = file.mesh(&"meshes[0]".parse()?)?.load()?;
    /// let read = file.source().read_stats();
    /// for info in mesh.attributes() {
    ///     mesh.attribute(&info.semantic)?;
    /// }
    /// assert_eq!(file.source().read_stats().bytes, read.bytes);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`LimitExceeded`](ErrorKind::LimitExceeded) if the attributes together need more memory than the limits
    /// allow, and the errors of the reader: [`Io`](ErrorKind::Io), [`Truncated`](ErrorKind::Truncated),
    /// [`NeedBytes`](ErrorKind::NeedBytes) for the bytes of all attributes.
    pub fn load(&self) -> Result<Self> {
        let meter = self.meter();
        let stored = self.stored();
        let list = stored.list();
        let mut attributes = Vec::with_capacity(list.as_slice().len());
        let mut missing = None;
        for index in 0..list.as_slice().len() {
            match stored.load(index, &meter) {
                Ok(attribute) => attributes.push(Ok(attribute)),
                // Clients of fragments get the requests for all attributes at once.
                Err(error) if matches!(error.kind(), ErrorKind::NeedBytes(_)) => {
                    missing.get_or_insert(error);
                }
                Err(error) if is_of_the_file(&error) => attributes.push(Err(error)),
                Err(error) => return Err(self.locate_in_file(error)),
            }
        }
        if let Some(error) = missing {
            return Err(self.locate_in_file(error));
        }
        let loaded = Loaded {
            attributes,
            limits: stored.limits(),
        };
        let attributes = Attributes::new(list.clone(), loaded);
        Ok(self.clone().with_vertices(self.vertex_count(), attributes))
    }

    /// The same triangles with other attributes in place of the stored ones, such as positions that joints have moved.
    ///
    /// # Examples
    ///
    /// ```
    /// use meshmap::{Array, Attribute, MeshFile, Semantic};
    ///
    /// let file = MeshFile::open("tests/data/iqm/valid/skin_multi_anim.iqm")?;
    /// let mesh = file.mesh(&"meshes[0]".parse()?)?;
    /// let stored = mesh.attribute(&Semantic::Position)?.expect("this mesh has positions");
    /// let mut positions = stored.to_f32::<3>();
    /// for position in &mut positions {
    ///     position[2] += 1.0;
    /// }
    /// let raised = Attribute::from_array(Semantic::Position, Array::from_vec(positions)).expect("a vector of floats");
    /// let mesh = mesh.with_attributes(vec![raised])?;
    /// assert_eq!(mesh.attributes().len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Mismatch`](ErrorKind::Mismatch) if an attribute does not have an element for each vertex.
    pub fn with_attributes(&self, attributes: Vec<Attribute>) -> Result<Self> {
        let mut infos = Vec::with_capacity(attributes.len());
        for attribute in &attributes {
            if attribute.len() != self.vertex_count() {
                let error = Error::new(ErrorKind::Mismatch, "attribute");
                let expected = format!("{} elements", self.vertex_count());
                let found = format!("{} of {}", attribute.len(), attribute.semantic());
                return Err(self.locate_in_file(error.expected(expected).found(found)));
            }
            infos.push(attribute.info());
        }
        let loaded = Loaded {
            attributes: attributes.into_iter().map(Ok).collect(),
            limits: self.stored().limits(),
        };
        let attributes = Attributes::new(AttributeList::new(infos), loaded);
        Ok(self.clone().with_vertices(self.vertex_count(), attributes))
    }
}

/// Returns `true` if a second call would fail with the same error.
fn is_of_the_file(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Malformed | ErrorKind::Unsupported | ErrorKind::Mismatch
    )
}

/// Attributes in memory, and the errors of damaged ones.
pub(crate) struct Loaded {
    pub(crate) attributes: Vec<Result<Attribute>>,
    pub(crate) limits: Limits,
}

impl LoadAttribute for Loaded {
    fn limits(&self) -> Limits {
        self.limits
    }

    fn load(&self, index: usize, info: &AttributeInfo, _: &Meter) -> Result<Attribute> {
        let absent = || Error::new(ErrorKind::OutOfRange, "attribute").found(&info.semantic);
        self.attributes.get(index).ok_or_else(absent)?.clone()
    }
}
