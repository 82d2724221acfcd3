//! The arrays of all bodies, for [`MeshFile::arrays`](crate::MeshFile::arrays).

use std::sync::{Arc, OnceLock};

use super::arrays::MeshArrays;
use super::container::Container;
use super::layout::{Method, Section, SectionKind, body_address};
use super::mesh::Mesh;
use super::rules::FILE;
use crate::arrays::{ArrayEntry, ArrayList, Encoding, TextList, no_array};
use crate::bytes::{Array, Element};
use crate::codec::Codec;
use crate::num::as_usize;
use crate::report::{Address, Result, Segment};

impl Container {
    /// All arrays, body by body. With `together`, all arrays of a body are decoded in parallel when the first one is read, and
    /// its entries hold them.
    pub(crate) fn array_list(&self, together: bool) -> ArrayList {
        let bodies = self.clone();
        let meshes =
            (0..self.mesh_count()).filter_map(move |index| bodies.mesh(index).ok().cloned());
        Box::new(
            meshes
                .flat_map(move |mesh| Values::new(mesh, together).entries())
                .map(Ok),
        )
    }

    /// The array at an address; without `bodies[i]`, one of the first body.
    pub(crate) fn array_at(&self, address: &Address) -> Result<ArrayEntry> {
        let absent = || no_array(FILE, address);
        let (body, address) = match address.segments() {
            [Segment::Field(field), Segment::Index(body), ..] if field == "bodies" => {
                (*body, address.clone())
            }
            _ => (0, address.inside(&body_address(0))),
        };
        let mesh = self.mesh(as_usize(body)).map_err(|_| absent())?.clone();
        Values::new(mesh, false)
            .entries()
            .find(|entry| entry.address == address)
            .ok_or_else(absent)
    }

    /// The comment of each body, and the names of its maps.
    pub(crate) fn text_list(&self) -> TextList<'_> {
        Box::new(self.meshes().flat_map(|mesh| {
            let address = mesh.address();
            let comment = mesh
                .comment()
                .map(|comment| (address.clone().then("comment"), comment));
            let uv_maps = (0..).zip(mesh.uv_maps()).flat_map({
                let address = address.clone();
                move |(index, map)| {
                    let address = address.clone().then("uv_maps").index(index);
                    [
                        (address.clone().then("name"), map.name()),
                        (address.then("file"), map.file()),
                    ]
                }
            });
            let attribute_maps = (0..).zip(mesh.attribute_maps()).map(move |(index, map)| {
                (
                    address
                        .clone()
                        .then("attribute_maps")
                        .index(index)
                        .then("name"),
                    map.name(),
                )
            });
            std::iter::once(comment).chain(uv_maps.chain(attribute_maps).map(Ok))
        }))
    }
}

/// The arrays of a body, decoded one by one or together.
#[derive(Clone)]
struct Values {
    mesh: Mesh,
    /// All arrays, once the first of them is read; `None` if they cannot be decoded together.
    all: Option<Arc<OnceLock<Option<MeshArrays>>>>,
}

impl Values {
    fn new(mesh: Mesh, together: bool) -> Self {
        Self {
            mesh,
            all: together.then(Arc::default),
        }
    }

    /// The entries of all arrays. There may be many maps, so each entry is made when it is asked for.
    fn entries(self) -> impl Iterator<Item = ArrayEntry> {
        (0..).map_while(move |index| {
            let section = self.mesh.layout.section(index)?;
            Some(self.mesh.array_entry(section, &self))
        })
    }

    /// One of the arrays: `pick` chooses it from all, `read` decodes it on its own.
    fn read<T>(
        &self,
        pick: impl Fn(&MeshArrays) -> Option<&Array<T>> + Send + Sync + 'static,
        read: impl Fn(&Mesh) -> Result<Option<Array<T>>> + Send + Sync + 'static,
    ) -> impl Fn() -> Result<Option<Array<T>>> + Send + Sync + 'static
    where
        Array<T>: Clone,
    {
        let Self { mesh, all } = self.clone();
        move || {
            if let Some(all) = &all {
                // Arrays next to a damaged one are read on their own.
                let all = match all.get() {
                    Some(all) => all,
                    None => {
                        let arrays = mesh.arrays().ok();
                        all.get_or_init(|| arrays)
                    }
                };
                if let Some(array) = all.as_ref().and_then(&pick) {
                    return Ok(Some(array.clone()));
                }
            }
            read(&mesh)
        }
    }
}

impl Mesh {
    fn array_entry(&self, section: &Section, values: &Values) -> ArrayEntry {
        let name = match section.part {
            SectionKind::UvMap(index) => self.uv_map(as_usize(index)).map(|map| map.name()),
            SectionKind::AttributeMap(index) => {
                self.attribute_map(as_usize(index)).map(|map| map.name())
            }
            _ => None,
        };
        let entry = match section.part {
            SectionKind::Indices => {
                let read = values.read(
                    |all| Some(&all.triangles),
                    |mesh| mesh.triangles().map(Some),
                );
                self.entry_of(section, read)
            }
            SectionKind::Positions | SectionKind::GridIndices => {
                let read = values.read(
                    |all| Some(&all.positions),
                    |mesh| mesh.positions().map(Some),
                );
                self.entry_of(section, read)
            }
            SectionKind::Normals => self.entry_of(
                section,
                values.read(|all| all.normals.as_ref(), Mesh::normals),
            ),
            SectionKind::UvMap(index) => {
                let index = as_usize(index);
                let read = move |mesh: &Mesh| mesh.texcoords(index);
                self.entry_of(
                    section,
                    values.read(move |all| all.texcoords.get(index), read),
                )
            }
            SectionKind::AttributeMap(index) => {
                let index = as_usize(index);
                let read =
                    move |mesh: &Mesh| mesh.attribute_map(index).map(|map| map.read()).transpose();
                self.entry_of(
                    section,
                    values.read(move |all| all.attribute_maps.get(index), read),
                )
            }
        };
        entry.with_name(&name.unwrap_or_default())
    }

    fn entry_of<T: Element>(
        &self,
        section: &Section,
        read: impl Fn() -> Result<Option<Array<T>>> + Send + Sync + 'static,
    ) -> ArrayEntry {
        let address = section.part.address(self.layout.body);
        let absent = no_array(FILE, &address);
        let read = move || read()?.ok_or_else(|| absent.clone());
        let encoding = match (self.method(), section.part) {
            (Method::Raw, _) => Encoding::Plain,
            (Method::Mg1, _) | (Method::Mg2, SectionKind::Indices) => Encoding::Planes,
            (Method::Mg2, _) => Encoding::Quantized,
        };
        let codec = section
            .props
            .map_or(Codec::Stored, |properties| Codec::Lzma { properties });
        let entry = ArrayEntry::new(address, section.stored_range(), read);
        entry.stored_as(codec, encoding).with_count(section.count)
    }
}
