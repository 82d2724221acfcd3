//! The lists of JSON objects, which are cut when they become long.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

/// The bytes of a list, by its name in the object of a file, for files of up to 10 MB. Together they are less than 1 MB.
const LONGEST: [(&str, u64); 3] = [
    ("parts", 320 << 10),
    ("meshes", 256 << 10),
    ("findings", 96 << 10),
];
const LONGEST_OTHER: u64 = 24 << 10;

/// Files of this size have lists of that length; larger files have longer lists.
const FILE: u64 = 10 << 20;

/// Cuts the lists of one object, and counts what is left out.
#[derive(Clone, Debug, Default)]
pub(super) struct Lists {
    scale: u64,
    /// The number of elements that each cut list lacks, by its name, such as `iqm.joints`.
    pub(super) omitted: BTreeMap<String, u64>,
}

impl Lists {
    /// For the object of a file of this size.
    pub(super) fn new(file: u64) -> Self {
        Self {
            scale: file.div_ceil(FILE),
            ..Self::default()
        }
    }

    /// The first elements of a list: as many as fit, and at least one.
    pub(super) fn cut<T: Serialize>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
    ) -> Vec<T> {
        let known = LONGEST.iter().find(|(known, _)| *known == name);
        let longest = known.map_or(LONGEST_OTHER, |(_, longest)| *longest) * self.scale.max(1);
        let mut written = 1;
        let mut list = Vec::new();
        let mut items = items.into_iter();
        while let Some(item) = items.next() {
            if written > longest {
                *self.omitted.entry(name.to_owned()).or_default() += 1 + items.count() as u64;
                break;
            }
            let text = serde_json::to_string(&item).unwrap_or_default();
            written += text.len() as u64 + u64::from(!list.is_empty());
            list.push(item);
        }
        list
    }
}

/// An object whose lists are cut. Its last property, `omitted`, has the number of elements that each cut list lacks.
#[must_use]
pub fn cut(mut object: Value) -> Value {
    let mut lists = Lists::default();
    for (name, value) in object.as_object_mut().into_iter().flatten() {
        if let Value::Array(list) = value {
            *list = lists.cut(name, std::mem::take(list));
        }
    }
    object["omitted"] = json!(lists.omitted);
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_cut_and_the_rest_is_counted() {
        let joints: Vec<Value> = (0..10_000)
            .map(|index| json!({"name": "joint", "of": [index]}))
            .collect();
        let mut lists = Lists::new(0);
        let left = lists.cut("iqm.joints", joints.clone());
        assert_eq!(left[..], joints[..left.len()]);
        assert_eq!(
            lists.omitted,
            BTreeMap::from([("iqm.joints".to_owned(), 10_000 - left.len() as u64)])
        );
        assert!(left.len() > 500 && json!(left).to_string().len() < 32 << 10);
        // A file of 200 MB has lists that are twenty times as long.
        assert_eq!(
            Lists::new(200 << 20)
                .cut("iqm.joints", joints.clone())
                .len(),
            10_000
        );
        let object = cut(json!({"short": [1], "lines": joints}));
        assert_eq!(object["omitted"], json!({"lines": 10_000 - left.len()}));
        assert_eq!(
            (object["lines"].as_array().unwrap().len(), &object["short"]),
            (left.len(), &json!([1]))
        );
    }
}
