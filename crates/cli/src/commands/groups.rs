//! The arrays of a file that is compared, read one group at a time, within the memory of a command.

use std::collections::VecDeque;

use meshmap::{Address, ArrayData, ArrayEntry, Charge, MeshFile, Meter, Segment};

use crate::inputs::meter_of;

/// An array with its address, or why it cannot be read.
pub(super) type Loaded = (String, meshmap::Result<ArrayData>);

/// Charges the entry of an array in the lists, and its values.
pub(super) fn charge(meter: &Meter<'_>, address: &str, values: u64) -> Result<(), String> {
    /// An entry in the list, one in the map by addresses, one in the list of pairs, and the room that these keep free.
    const OF_ENTRY: u64 = 1 << 10;
    spend(
        meter,
        values.saturating_add(OF_ENTRY + 2 * address.len() as u64),
    )
}

fn spend(meter: &Meter<'_>, bytes: u64) -> Result<(), String> {
    let taken = meter.take(bytes, "arrays that are compared at a time");
    taken.map(Charge::keep).map_err(|error| error.to_string())
}

/// The arrays of a snapshot, body, mesh or block.
pub(super) struct Group {
    /// `None` for arrays that belong to the file as a whole.
    pub(super) address: Option<Address>,
    pub(super) arrays: Vec<Loaded>,
    /// The memory that was charged for them.
    memory: u64,
}

/// The arrays of a file, one group at a time.
pub(super) struct Groups {
    arrays: std::iter::Peekable<Box<dyn Iterator<Item = meshmap::Result<ArrayEntry>>>>,
    /// Groups that were read while another one was looked for.
    ahead: VecDeque<Group>,
    meter: Meter<'static>,
}

impl Groups {
    pub(super) fn new(file: &MeshFile) -> Self {
        let arrays: Box<dyn Iterator<Item = _>> = Box::new(file.arrays_together());
        Self {
            arrays: arrays.peekable(),
            ahead: VecDeque::new(),
            meter: meter_of(file),
        }
    }

    fn read_next(&mut self) -> Result<Option<Group>, String> {
        let Some(first) = self.arrays.peek() else {
            return Ok(None);
        };
        let (address, before) = (group_of(first), self.meter.held());
        let mut arrays = Vec::new();
        while let Some(array) = self.arrays.next_if(|array| group_of(array) == address) {
            let (name, values) = match array {
                Ok(array) => {
                    let name = array.address.to_string();
                    charge(&self.meter, &name, array.byte_len().unwrap_or(0))?;
                    let values = array.read();
                    if let (None, Ok(values)) = (array.byte_len(), &values) {
                        spend(&self.meter, values.as_bytes().len() as u64)?;
                    }
                    (name, values)
                }
                Err(error) => {
                    let name = error.address().map(Address::to_string).unwrap_or_default();
                    charge(&self.meter, &name, 0)?;
                    (name, Err(error))
                }
            };
            arrays.push((name, values));
        }
        Ok(Some(Group {
            address,
            arrays,
            memory: self.meter.held() - before,
        }))
    }

    /// The arrays of a group that is now compared. The memory for the groups that stay is still charged.
    fn give(&self, group: Group) -> Group {
        self.meter.give_back(group.memory);
        group
    }

    pub(super) fn next(&mut self) -> Result<Option<Group>, String> {
        let next = if let Some(group) = self.ahead.pop_front() {
            Some(group)
        } else {
            self.read_next()?
        };
        Ok(next.map(|group| self.give(group)))
    }

    /// The arrays of a group; none if the file does not have it. Groups before it stay for later.
    pub(super) fn take(&mut self, address: &Option<Address>) -> Result<Vec<Loaded>, String> {
        let known = self
            .ahead
            .iter()
            .position(|group| group.address == *address);
        let mut found = known.and_then(|place| self.ahead.remove(place));
        while found.is_none() {
            match self.read_next()? {
                Some(group) if group.address == *address => found = Some(group),
                Some(group) => self.ahead.push_back(group),
                None => break,
            }
        }
        Ok(found
            .map(|group| self.give(group).arrays)
            .unwrap_or_default())
    }
}

/// The snapshot, body, mesh or block that an array belongs to; `None` if it belongs to the file as a whole.
fn group_of(array: &meshmap::Result<meshmap::ArrayEntry>) -> Option<Address> {
    let address = match array {
        Ok(array) => &array.address,
        Err(error) => error.address()?,
    };
    match address.segments() {
        [
            Segment::Field(field),
            Segment::Index(index),
            Segment::Field(_),
            ..,
        ] => format!("{field}[{index}]").parse().ok(),
        [Segment::Field(field), Segment::Field(_), ..] => field.parse().ok(),
        _ if array.is_err() => Some(address.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use meshmap::Limits;
    use meshmap_testing::data;

    use super::*;

    #[test]
    fn groups_that_are_held_are_charged() {
        let file = MeshFile::open(data::root().join("cgeo/valid/anim_a.cgeo")).unwrap();
        let groups = |bytes| {
            let limits = Limits::default().with_max_total_bytes(bytes);
            Groups {
                meter: Meter::new(&limits, 0),
                ..Groups::new(&file)
            }
        };
        let mut all = groups(1 << 30);
        let sizes: Vec<u64> = std::iter::from_fn(|| all.next().unwrap())
            .map(|group| group.memory)
            .collect();
        let (largest, sum) = (
            sizes.iter().max().copied().unwrap(),
            sizes.iter().sum::<u64>(),
        );
        assert!(largest > 1 << 10 && sum > 2 * largest, "{sizes:?}");
        // One after the other they fit, and together they do not.
        let mut one_by_one = groups(largest);
        assert_eq!(
            std::iter::from_fn(|| one_by_one.next().unwrap()).count(),
            sizes.len()
        );
        let absent = Some("snapshots[9999]".parse().unwrap());
        assert!(groups(sum).take(&absent).unwrap().is_empty());
        let error = groups(sum - 1).take(&absent).unwrap_err();
        assert!(
            error.contains("arrays that are compared at a time"),
            "{error}"
        );
    }
}
