//! Names in written files, each once.

use std::collections::HashMap;

/// The name, or if it is already used, the name with the first number that makes it unique.
pub(crate) fn free(name: &str, taken: &mut HashMap<String, usize>) -> String {
    let mut free = name.to_owned();
    while taken.contains_key(&free) {
        let count = taken.entry(name.to_owned()).or_default();
        *count += 1;
        free = format!("{name}_{count}");
    }
    taken.insert(free.clone(), 0);
    free
}

/// Names that are identifiers, of which each is given once.
#[derive(Clone, Default)]
pub(crate) struct Names {
    taken: HashMap<String, usize>,
}

impl Names {
    /// Names of which some are taken.
    pub(crate) fn with(taken: &[&str]) -> Self {
        Self {
            taken: taken.iter().map(|name| ((*name).to_owned(), 0)).collect(),
        }
    }

    /// A name that is like this one, and no other's; `otherwise` for one that is empty.
    pub(crate) fn add(&mut self, name: &str, otherwise: &str) -> String {
        free(
            &identifier(if name.is_empty() { otherwise } else { name }),
            &mut self.taken,
        )
    }
}

/// Letters, digits and underscores in place of others, and no digit first.
pub(crate) fn identifier(name: &str) -> String {
    let starts_with_digit = name.starts_with(|first: char| first.is_ascii_digit());
    let allowed = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    starts_with_digit
        .then_some('_')
        .into_iter()
        .chain(allowed)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_identifiers_and_differ() {
        let mut names = Names::default();
        let given = ["Ball", "Ball", "2nd ball", "", "Kugel ö/.", "Ball_1", "\0"];
        let made = given.map(|name| names.add(name, "mesh"));
        assert_eq!(
            made,
            [
                "Ball",
                "Ball_1",
                "_2nd_ball",
                "mesh",
                "Kugel____",
                "Ball_1_1",
                "_"
            ]
        );
    }
}
