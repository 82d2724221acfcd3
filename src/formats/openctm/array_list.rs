//! The arrays of all bodies, for [`MeshFile::arrays`](crate::MeshFile::arrays).

use std::sync::{Arc, OnceLock};

use super::arrays::MeshArrays;
use super::container::Container;
use super::layout::{Method, Section, SectionKind, body_address};
use super::mesh::Mesh;
use super::rules::FILE;
use crate::arrays::{ArrayEntry, ArrayList, Encoding, TextList, no_array};
use crate::bytes::{Array, Element, Text};
use crate::num::as_usize;
use crate::report::{Address, Result, Segment};

impl Container {
    /// All arrays, body by body. With `together`, all arrays of a body are decoded in parallel when the first one is read, and
    /// its entries hold them.
    pub(crate) fn array_list(&self, together: bool) -> ArrayList {
        let bodies = self.clone();
        let entries = (0..self.mesh_count()).flat_map(move |index| {
            let mesh = bodies.mesh(index).ok();
            let values = mesh.map(|mesh| Values::new(mesh.clone(), together));
            values.into_iter().flat_map(Values::entries)
        });
        Box::new(entries.map(Ok))
    }

    /// The array at an address; without `bodies[i]`, one of the first body.
    pub(crate) fn array_at(&self, address: &Address) -> Result<ArrayEntry> {
        let mut body = 0;
        let mut full_address = address.inside(&body_address(0));
        if let [Segment::Field(field), Segment::Index(index), ..] = address.segments()
            && field == "bodies"
        {
            body = *index;
            full_address = address.clone();
        }
        let Ok(mesh) = self.mesh(as_usize(body)) else {
            return Err(no_array(FILE, address));
        };
        let mut entries = Values::new(mesh.clone(), false).entries();
        match entries.find(|entry| entry.address == full_address) {
            Some(entry) => Ok(entry),
            None => Err(no_array(FILE, address)),
        }
    }

    /// The comment of each body, and the names of its maps.
    pub(crate) fn text_list(&self) -> TextList<'_> {
        Box::new(self.meshes().flat_map(Mesh::texts))
    }
}

impl Mesh {
    /// The comment, which may be read only now, and the names of the maps. Each is made when it is asked for, as there may
    /// be many maps.
    fn texts(&self) -> impl Iterator<Item = Result<(Address, Text)>> + '_ {
        let comment = match self.comment() {
            Ok(comment) => Ok((self.address().then("comment"), comment)),
            Err(error) => Err(error),
        };
        let uv_maps = (0..).zip(self.uv_maps()).flat_map(|(index, map)| {
            let address = self.address().then("uv_maps").index(index);
            let name = (address.clone().then("name"), map.name());
            let file = (address.then("file"), map.file());
            [name, file]
        });
        let attribute_maps = (0..).zip(self.attribute_maps()).map(|(index, map)| {
            let address = self.address().then("attribute_maps").index(index);
            (address.then("name"), map.name())
        });
        std::iter::once(comment).chain(uv_maps.chain(attribute_maps).map(Ok))
    }
}

/// The arrays of a body, decoded one by one or together.
#[derive(Clone)]
struct Values {
    mesh: Mesh,
    /// All arrays, if they are decoded together.
    all: Option<Arc<OnceLock<Option<MeshArrays>>>>,
}

impl Values {
    fn new(mesh: Mesh, together: bool) -> Self {
        let all = if together { Some(Arc::default()) } else { None };
        Self { mesh, all }
    }

    /// The entries of all arrays. There may be many maps, so each entry is made when it is asked for.
    fn entries(self) -> impl Iterator<Item = ArrayEntry> {
        (0..).map_while(move |index| {
            let section = self.mesh.layout.section(index)?;
            Some(self.entry(section))
        })
    }

    /// All arrays, which the first call decodes; `None` if each is decoded on its own, as is done if one is damaged.
    fn together(&self) -> Option<&MeshArrays> {
        let all = self.all.as_ref()?;
        if all.get().is_none() {
            // Not in `get_or_init`: no code that other threads wait for reads or uses the pool.
            let arrays = self.mesh.arrays().ok();
            all.get_or_init(|| arrays);
        }
        all.get()?.as_ref()
    }

    fn entry(&self, section: &Section) -> ArrayEntry {
        let values = self.clone();
        match section.part {
            SectionKind::Indices => self.entry_of(section, move || match values.together() {
                Some(all) => Ok(Some(all.triangles.clone())),
                None => values.mesh.triangles().map(Some),
            }),
            SectionKind::Positions | SectionKind::GridIndices => {
                self.entry_of(section, move || match values.together() {
                    Some(all) => Ok(Some(all.positions.clone())),
                    None => values.mesh.positions().map(Some),
                })
            }
            SectionKind::Normals => self.entry_of(section, move || {
                match values.together().and_then(|all| all.normals.clone()) {
                    Some(normals) => Ok(Some(normals)),
                    None => values.mesh.normals(),
                }
            }),
            SectionKind::UvMap(index) => {
                let index = as_usize(index);
                let map = self.mesh.uv_map(index);
                let name = map.map(|map| map.name()).unwrap_or_default();
                let entry = self.entry_of(section, move || {
                    let all = values.together();
                    match all.and_then(|all| all.texcoords.get(index)) {
                        Some(coords) => Ok(Some(coords.clone())),
                        None => values.mesh.texcoords(index),
                    }
                });
                entry.with_name(&name)
            }
            SectionKind::AttributeMap(index) => {
                let index = as_usize(index);
                let map = self.mesh.attribute_map(index);
                let name = map.map(|map| map.name()).unwrap_or_default();
                let entry = self.entry_of(section, move || {
                    let all = values.together();
                    match all.and_then(|all| all.attribute_maps.get(index)) {
                        Some(values) => Ok(Some(values.clone())),
                        None => read_attribute_map(&values.mesh, index),
                    }
                });
                entry.with_name(&name)
            }
        }
    }

    fn entry_of<T: Element>(
        &self,
        section: &Section,
        read: impl Fn() -> Result<Option<Array<T>>> + Send + Sync + 'static,
    ) -> ArrayEntry {
        let address = section.part.address(self.mesh.layout.body);
        let absent = no_array(FILE, &address);
        let read = move || read()?.ok_or_else(|| absent.clone());
        let encoding = match (self.mesh.method(), section.part) {
            (Method::Raw, _) => Encoding::Plain,
            (Method::Mg1, _) | (Method::Mg2, SectionKind::Indices) => Encoding::Planes,
            (Method::Mg2, _) => Encoding::Quantized,
        };
        let entry = ArrayEntry::new(address, section.stored_range(), read);
        entry
            .stored_as(section.codec(), encoding)
            .with_count(section.count)
    }
}

fn read_attribute_map(mesh: &Mesh, index: usize) -> Result<Option<Array<[f32; 4]>>> {
    match mesh.attribute_map(index) {
        Some(map) => Ok(Some(map.read()?)),
        None => Ok(None),
    }
}
