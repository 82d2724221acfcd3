//! The arrays of a file that is compared, read one group at a time, within the memory of a command.

use std::collections::VecDeque;
use std::sync::Arc;

use meshmap::{Address, ArrayData, ArrayEntry, Charge, MeshFile, Meter};

use crate::inputs::meter_of;

/// An array with its address, or why it cannot be read.
pub(super) type Loaded = (String, meshmap::Result<ArrayData>);

/// Charges the entry of an array in the lists, and its values, as long as the meter exists.
pub(super) fn charge(meter: &Meter<'_>, address: &str, values: u64) -> Result<(), String> {
    let taken = meter.take(entry_size(address, values), WHAT);
    taken.map(Charge::keep).map_err(|error| error.to_string())
}

/// The name that errors give the memory.
const WHAT: &str = "arrays that are compared at a time";

/// The memory of the entry of an array in the lists, and of its values.
fn entry_size(address: &str, values: u64) -> u64 {
    /// An entry in the list, one in the map by addresses, one in the list of pairs, and the capacity that these keep free.
    const OF_ENTRY: u64 = 1 << 10;
    values.saturating_add(OF_ENTRY + 2 * address.len() as u64)
}

/// The arrays of a snapshot, body, mesh or block.
pub(super) struct Group {
    /// `None` for arrays that belong to the file as a whole.
    pub(super) address: Option<Address>,
    pub(super) arrays: Vec<Loaded>,
}

/// A group that stays for later, and what it is charged with.
struct Held {
    group: Group,
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "gives the memory back when it is dropped")
    )]
    charge: Charge<'static>,
}

/// The arrays of a file, one group at a time.
///
/// One list has all groups. A list for each of them would decode a snapshot again for each entry of the table that names it, and a
/// small table can have thousands.
pub(super) struct Groups {
    file: MeshFile,
    arrays: std::iter::Peekable<Box<dyn Iterator<Item = meshmap::Result<ArrayEntry>>>>,
    /// Groups that were read while another one was looked for.
    ahead: VecDeque<Held>,
    meter: Arc<Meter<'static>>,
}

impl Groups {
    pub(super) fn new(file: &MeshFile) -> Self {
        let arrays: Box<dyn Iterator<Item = _>> = Box::new(file.arrays_together());
        Self {
            file: file.clone(),
            arrays: arrays.peekable(),
            ahead: VecDeque::new(),
            meter: Arc::new(meter_of(file)),
        }
    }

    /// The address of the group of the next array; `None` if there are no more arrays.
    fn next_address(&mut self) -> Option<Option<Address>> {
        let address = match self.arrays.peek()? {
            Ok(array) => Some(&array.address),
            Err(error) => error.address(),
        };
        Some(address.and_then(|address| self.file.part_of(address)))
    }

    fn read_next(&mut self) -> Result<Option<Held>, String> {
        let Some(address) = self.next_address() else {
            return Ok(None);
        };
        let mut charge = Charge::shared(&self.meter);
        let mut grow = |bytes| charge.grow(bytes, WHAT).map_err(|error| error.to_string());
        let mut arrays = Vec::new();
        while self.next_address().as_ref() == Some(&address)
            && let Some(array) = self.arrays.next()
        {
            let (name, values) = match array {
                Ok(array) => {
                    let name = array.address.to_string();
                    grow(entry_size(&name, array.byte_len().unwrap_or(0)))?;
                    let values = array.read();
                    if let (None, Ok(values)) = (array.byte_len(), &values) {
                        grow(values.as_bytes().len() as u64)?;
                    }
                    (name, values)
                }
                Err(error) => {
                    let name = error.address().map(Address::to_string).unwrap_or_default();
                    grow(entry_size(&name, 0))?;
                    (name, Err(error))
                }
            };
            arrays.push((name, values));
        }
        Ok(Some(Held {
            group: Group { address, arrays },
            charge,
        }))
    }

    /// The next group, which is now compared. Only groups that stay for later remain charged.
    pub(super) fn next(&mut self) -> Result<Option<Group>, String> {
        let next = match self.ahead.pop_front() {
            Some(held) => Some(held),
            None => self.read_next()?,
        };
        Ok(next.map(|held| held.group))
    }

    /// The arrays of a group; none if the file does not have it. Groups before it stay for later.
    pub(super) fn take(&mut self, address: &Option<Address>) -> Result<Vec<Loaded>, String> {
        let known = self
            .ahead
            .iter()
            .position(|held| held.group.address == *address);
        if let Some(index) = known
            && let Some(held) = self.ahead.remove(index)
        {
            return Ok(held.group.arrays);
        }
        while let Some(held) = self.read_next()? {
            if held.group.address == *address {
                return Ok(held.group.arrays);
            }
            self.ahead.push_back(held);
        }
        Ok(Vec::new())
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
                meter: Arc::new(Meter::new(&limits, 0)),
                ..Groups::new(&file)
            }
        };
        let mut all = groups(1 << 30);
        let sizes: Vec<u64> = std::iter::from_fn(|| all.read_next().unwrap())
            .map(|held| held.charge.bytes())
            .collect();
        let largest = sizes.iter().max().copied().unwrap();
        let sum = sizes.iter().sum::<u64>();
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
