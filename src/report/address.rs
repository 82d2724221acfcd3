use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::quoted::write_quoted;

/// Where something is in a file: `snapshots[12].positions`, `meshes["Body"]`, `high_lod.faces[0].indices`.
///
/// Errors, findings, the command line and its JSON share this grammar: fields joined by `.`, each followed by
/// any number of `[index]` (decimal, counted from 0) or `["name"]` (with `\"`, `\\`, `\n`, `\r`, `\t` and
/// `\u{hex}` as in Rust).
///
/// # Examples
///
/// ```
/// use meshmap::Address;
///
/// let address: Address = r#"meshes["Body"]"#.parse()?;
/// assert_eq!(address, Address::field("meshes").name("Body"));
/// assert_eq!(Address::field("joints").index(7).to_string(), "joints[7]");
/// # Ok::<(), meshmap::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// Shared: addresses are copied far more often than they are made.
    pub(super) segments: Arc<[Segment]>,
}

/// One step of an [`Address`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Segment {
    /// A field: letters, digits and `_`.
    Field(Cow<'static, str>),
    /// The element at an index, counted from 0.
    Index(u64),
    /// The first element of a name.
    Name(String),
}

impl Address {
    /// The field of this name at the top of the file.
    #[must_use]
    pub fn field(name: &'static str) -> Self {
        Self { segments: Arc::new([Segment::Field(Cow::Borrowed(name))]) }
    }

    /// The field of this name inside.
    #[must_use]
    pub fn then(self, name: &'static str) -> Self {
        self.push(Segment::Field(Cow::Borrowed(name)))
    }

    /// The element at this index.
    #[must_use]
    pub fn index(self, index: u64) -> Self {
        self.push(Segment::Index(index))
    }

    /// The first element of this name.
    #[must_use]
    pub fn name(self, name: impl Into<String>) -> Self {
        self.push(Segment::Name(name.into()))
    }

    fn push(&self, segment: Segment) -> Self {
        Self { segments: self.segments.iter().cloned().chain([segment]).collect() }
    }

    /// The index in an address `field[index]` or `field["name"]`, where `find` knows the index of a name.
    pub(crate) fn index_in(&self, field: &str, find: impl FnOnce(&str) -> Option<usize>) -> Option<usize> {
        match self.segments() {
            [Segment::Field(own), Segment::Index(index)] if own == field => usize::try_from(*index).ok(),
            [Segment::Field(own), Segment::Name(name)] if own == field => find(name),
            _ => None,
        }
    }

    /// The steps, outermost first.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, segment) in self.segments.iter().enumerate() {
            match segment {
                Segment::Field(name) if position == 0 => f.write_str(name)?,
                Segment::Field(name) => write!(f, ".{name}")?,
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Name(name) => {
                    f.write_str("[")?;
                    write_quoted(f, name)?;
                    f.write_str("]")?;
                }
            }
        }
        Ok(())
    }
}
