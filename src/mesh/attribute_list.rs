use std::sync::Arc;

use super::semantic::{AttributeInfo, Semantic};

/// What a mesh stores for each vertex, in the order of the file, each found by its meaning. Cloning is cheap.
#[derive(Clone, Debug)]
pub(crate) struct AttributeList {
    infos: Arc<[AttributeInfo]>,
    /// The places of all, by meaning; of equal ones, as they stand.
    sorted: Arc<[usize]>,
}

impl AttributeList {
    pub(crate) fn new(infos: Vec<AttributeInfo>) -> Self {
        let infos: Arc<[AttributeInfo]> = infos.into();
        let mut sorted: Vec<usize> = (0..infos.len()).collect();
        sorted.sort_by(|a, b| meaning(&infos, *a).cmp(&meaning(&infos, *b)));
        Self { infos, sorted: sorted.into() }
    }

    pub(crate) fn as_slice(&self) -> &[AttributeInfo] {
        &self.infos
    }

    /// The first attribute with this meaning, and its place.
    pub(crate) fn find(&self, semantic: &Semantic) -> Option<(usize, &AttributeInfo)> {
        let first = self.sorted.partition_point(|place| meaning(&self.infos, *place) < Some(semantic));
        let place = *self.sorted.get(first)?;
        self.infos.get(place).filter(|info| info.semantic == *semantic).map(|info| (place, info))
    }
}

fn meaning(infos: &[AttributeInfo], place: usize) -> Option<&Semantic> {
    infos.get(place).map(|info| &info.semantic)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::VertexFormat;

    #[test]
    fn first_of_equal_meanings_is_found() {
        let names = ["b", "a", "b", "", "a"].map(|name| Semantic::Custom(name.to_owned()));
        let info =
            |semantic: &Semantic| AttributeInfo { semantic: semantic.clone(), format: VertexFormat::FLOAT32 };
        let list = AttributeList::new(names.iter().chain([&Semantic::Position]).map(info).collect());
        let place = |semantic: &Semantic| list.find(semantic).map(|(place, _)| place);
        assert_eq!(names.each_ref().map(place), [Some(0), Some(1), Some(0), Some(3), Some(1)]);
        assert_eq!((place(&Semantic::Position), place(&Semantic::Normal)), (Some(5), None));
    }
}
