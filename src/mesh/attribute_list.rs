//! The attributes of a view: a list, found by meaning, and their origin.

use std::sync::Arc;

use super::attribute::Attribute;
use super::bounds::Bounds;
use super::semantic::{AttributeInfo, Semantic};
use crate::limits::{Limits, Meter};
use crate::report::{Error, ErrorKind, Result};

/// The origin of the attributes of a [`MeshView`](super::MeshView): the arrays of a file, or another view.
pub(crate) trait LoadAttribute: Send + Sync {
    /// The limits of calls that load attributes.
    fn limits(&self) -> Limits;

    /// The attribute at an index of the list that the view was made with.
    fn load(&self, index: usize, info: &AttributeInfo, meter: &Meter) -> Result<Attribute>;

    /// The bounding box of the attribute at an index.
    fn bounds(&self, index: usize, info: &AttributeInfo, meter: &Meter) -> Result<Option<Bounds>> {
        Ok(self.load(index, info, meter)?.bounds())
    }
}

/// The attributes of a view. Cloning is cheap.
#[derive(Clone)]
pub(super) struct Attributes {
    list: AttributeList,
    loader: Arc<dyn LoadAttribute>,
}

impl Attributes {
    pub(super) fn new(list: AttributeList, loader: impl LoadAttribute + 'static) -> Self {
        Self {
            list,
            loader: Arc::new(loader),
        }
    }

    pub(super) fn list(&self) -> &AttributeList {
        &self.list
    }

    pub(super) fn limits(&self) -> Limits {
        self.loader.limits()
    }

    /// The attribute at an index of the list.
    pub(super) fn load(&self, index: usize, meter: &Meter) -> Result<Attribute> {
        self.loader.load(index, self.info(index)?, meter)
    }

    /// Returns the result of `convert` for the attribute at an index. The attribute itself is charged only while it is converted.
    pub(super) fn load_converted(
        &self,
        index: usize,
        meter: &Meter,
        convert: impl FnOnce(&Attribute) -> Result<Attribute>,
    ) -> Result<Attribute> {
        let part = meter.part();
        convert(&self.load(index, &part)?)
    }

    /// The bounding box of the attribute at an index of the list.
    pub(super) fn bounds(&self, index: usize, meter: &Meter) -> Result<Option<Bounds>> {
        self.loader.bounds(index, self.info(index)?, meter)
    }

    fn info(&self, index: usize) -> Result<&AttributeInfo> {
        match self.list.as_slice().get(index) {
            Some(info) => Ok(info),
            None => Err(Error::new(ErrorKind::OutOfRange, "attribute").found(index)),
        }
    }
}

/// The attributes of a mesh, in the order of the file, each found by its meaning. Cloning is cheap.
#[derive(Clone, Debug)]
pub(crate) struct AttributeList {
    infos: Arc<[AttributeInfo]>,
    /// The indices of all attributes, sorted by meaning; equal ones are in the order of the file.
    sorted: Arc<[usize]>,
}

impl AttributeList {
    pub(crate) fn new(infos: Vec<AttributeInfo>) -> Self {
        let mut sorted: Vec<usize> = (0..infos.len()).collect();
        // A stable sort: attributes of one meaning stay in the order of the file.
        sorted.sort_by_key(|index| meaning(&infos, *index));
        Self {
            sorted: sorted.into(),
            infos: infos.into(),
        }
    }

    pub(crate) fn as_slice(&self) -> &[AttributeInfo] {
        &self.infos
    }

    /// The index of the first attribute with this meaning.
    pub(super) fn find(&self, semantic: &Semantic) -> Option<usize> {
        // Binary search: meanings before the position are less than the one that is searched.
        let meaning_at = |index: &usize| meaning(&self.infos, *index);
        let position = self
            .sorted
            .partition_point(|index| meaning_at(index) < Some(semantic));
        let first = self.sorted.get(position)?;
        if meaning_at(first) == Some(semantic) {
            Some(*first)
        } else {
            None
        }
    }
}

/// The meaning of the attribute at an index; `None` for an index outside of the list.
fn meaning(infos: &[AttributeInfo], index: usize) -> Option<&Semantic> {
    infos.get(index).map(|info| &info.semantic)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::VertexFormat;

    #[test]
    fn first_of_equal_meanings_is_found() {
        let names = ["b", "a", "b", "", "a"].map(|name| Semantic::Custom(name.to_owned()));
        let info = |semantic: &Semantic| AttributeInfo {
            semantic: semantic.clone(),
            format: VertexFormat::FLOAT32,
        };
        let list = AttributeList::new(
            names
                .iter()
                .chain([&Semantic::Position])
                .map(info)
                .collect(),
        );
        assert_eq!(
            names.each_ref().map(|name| list.find(name)),
            [Some(0), Some(1), Some(0), Some(3), Some(1)]
        );
        assert_eq!(
            (list.find(&Semantic::Position), list.find(&Semantic::Normal)),
            (Some(5), None)
        );
    }
}
