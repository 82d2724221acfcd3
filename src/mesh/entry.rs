use super::role::Role;
use crate::report::Address;

/// A mesh in the list of a file, before it is read.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MeshEntry {
    /// Where it is in the file.
    pub address: Address,
    /// Its name, with U+FFFD in place of what is not UTF-8; empty where it has none.
    pub name: String,
    /// What it is for.
    pub role: Role,
}

impl MeshEntry {
    pub(crate) fn new(address: Address, name: impl Into<String>, role: Role) -> Self {
        Self { address, name: name.into(), role }
    }
}

/// The meshes of a file, each described when it is asked for.
pub(crate) type Entries<'a> = Box<dyn ExactSizeIterator<Item = MeshEntry> + Send + 'a>;
