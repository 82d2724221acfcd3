//! A reader of the USD crate files that `meshmap-export` writes.
//!
//! It shares no code with the writer. What the writer does not write, such as compressed arrays, is refused.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::rc::Rc;

/// The content of a file. Arrays are views of the file.
pub struct Stage<'a> {
    /// Numbers that are of all prims, such as `timeCodesPerSecond`.
    pub numbers: BTreeMap<String, f64>,
    /// Words that are of all prims, such as `upAxis`.
    pub words: BTreeMap<String, String>,
    /// In the order of the tree.
    pub prims: Vec<Prim<'a>>,
}

/// A prim, such as a mesh.
#[derive(Default)]
pub struct Prim<'a> {
    /// Its names from the root, such as `/root/ball`.
    pub path: String,
    /// Its type, such as `Mesh`.
    pub kind: String,
    /// The displayed name, if it differs.
    pub shown: Option<String>,
    /// The variant that is chosen, such as `{lod=high}`.
    pub variant: Option<String>,
    /// Arrays by the names of their attributes, such as `points` and `primvars:st`.
    pub arrays: BTreeMap<String, Samples<'a>>,
    /// Words by the names of their attributes.
    pub words: BTreeMap<String, String>,
    /// Lists of words by the names of their attributes, such as `xformOpOrder`.
    pub lists: BTreeMap<String, Rc<Vec<String>>>,
    /// Numbers by the names of their attributes.
    pub numbers: BTreeMap<String, f32>,
    /// The paths that relationships and connections lead to.
    pub targets: BTreeMap<String, Vec<String>>,
}

/// An array through time.
#[derive(Clone, Default)]
pub struct Samples<'a> {
    /// The array where no time is asked for.
    pub default: Option<Array<'a>>,
    /// Times, which ascend, each with its array.
    pub times: Vec<(f64, Array<'a>)>,
}

/// An array of numbers, most of them of 32 bits.
#[derive(Clone, Copy, PartialEq)]
pub struct Array<'a> {
    bytes: &'a [u8],
}

impl<'a> Samples<'a> {
    /// The array at a time: the last one before it, if there are several.
    pub fn at(&self, time: f64) -> Option<Array<'a>> {
        let after = self.times.partition_point(|(at, _)| *at <= time);
        let held = self
            .times
            .get(after.saturating_sub(1))
            .map(|(_, array)| *array);
        held.or(self.default)
    }
}

impl Prim<'_> {
    /// The most bytes that its arrays have at one time.
    pub(crate) fn largest_bytes(&self) -> u64 {
        let most = |samples: &Samples<'_>| {
            let arrays = samples
                .times
                .iter()
                .map(|(_, array)| array)
                .chain(&samples.default);
            arrays
                .map(|array| array.bytes.len() as u64)
                .max()
                .unwrap_or_default()
        };
        self.arrays.values().map(most).sum()
    }
}

impl<'a> Array<'a> {
    fn words(self) -> impl ExactSizeIterator<Item = [u8; 4]> + 'a {
        self.bytes.as_chunks::<4>().0.iter().copied()
    }

    /// Its numbers as floats, one component after another.
    pub fn floats(self) -> impl ExactSizeIterator<Item = f32> + 'a {
        self.words().map(f32::from_le_bytes)
    }

    /// Its numbers of 64 bits, one component after another.
    pub fn doubles(self) -> impl ExactSizeIterator<Item = f64> + 'a {
        self.bytes
            .as_chunks::<8>()
            .0
            .iter()
            .map(|bytes| f64::from_le_bytes(*bytes))
    }

    /// Its numbers of 16 bits, one component after another.
    pub fn halves(self) -> impl ExactSizeIterator<Item = f32> + 'a {
        self.bytes.as_chunks::<2>().0.iter().map(|bytes| {
            let bits = u16::from_le_bytes(*bytes);
            let exponent = i32::from(bits >> 10 & 31);
            let part = f32::from(bits & 1023) / 1024.0;
            let size = if exponent == 0 {
                part * 2.0
            } else {
                1.0 + part
            } * 2_f32.powi(exponent - 15);
            if bits >> 15 == 0 { size } else { -size }
        })
    }

    /// Its numbers as integers, one component after another.
    pub fn ints(self) -> impl ExactSizeIterator<Item = i32> + 'a {
        self.words().map(i32::from_le_bytes)
    }
}

/// A part of a file, or a description of the problem with it.
type Result<T, E = String> = std::result::Result<T, E>;

/// The kinds of specs at paths.
const ATTRIBUTE: i32 = 1;
const PRIM: i32 = 6;
const STAGE: i32 = 7;
const RELATIONSHIP: i32 = 8;
const VARIANT: i32 = 10;
const VARIANT_SET: i32 = 11;

/// More than any writer has of fields at a path, and of prims above each other.
const MOST_FIELDS: usize = 32;
const MOST_DEPTH: usize = 8;

/// Reads a file.
///
/// # Errors
///
/// Returns a description of the problem if the file is damaged, or has something that the writer does not write.
pub fn read(bytes: &[u8]) -> Result<Stage<'_>> {
    stage(&Tables::read(bytes)?)
}

/// The range of the stage in a package: a zip archive, whose first file is the stage. The bytes of all files are where readers map them, and have
/// the checksums that the archive lists.
///
/// # Errors
///
/// Returns a description of the problem.
pub fn range_in_package(bytes: &[u8]) -> Result<Range<usize>> {
    let mut first = None;
    let mut place = 0_u64;
    loop {
        let mut record = Cursor::at(bytes, place)?;
        if record.take(4)? != b"PK\x03\x04" {
            break;
        }
        let head = record.take(22)?;
        // Its version, flags, method and time come before.
        let number =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        if head[4..6] != [0, 0] {
            return Err("a file of the package is compressed".to_owned());
        }
        let lengths = record.take(4)?;
        let name = record.take(u16::from_le_bytes([lengths[0], lengths[1]]).into())?;
        record.take(u16::from_le_bytes([lengths[2], lengths[3]]).into())?;
        let name = String::from_utf8_lossy(name);
        let content = record.take(number(18).into())?;
        let start = bytes.len() - record.0.len() - content.len();
        if !start.is_multiple_of(64) {
            return Err(format!("{name} begins at {start}"));
        }
        if crc32fast::hash(content) != number(10) {
            return Err(format!("{name} has another checksum"));
        }
        first.get_or_insert(start..start + content.len());
        place = (start + content.len()) as u64;
    }
    if Cursor::at(bytes, place)?.take(4)? != b"PK\x01\x02" {
        return Err("a package without a list of its files".to_owned());
    }
    first.ok_or_else(|| "a package without a file".to_owned())
}

/// The content of a file with these tables.
pub(crate) fn stage<'a>(tables: &Tables<'a>) -> Result<Stage<'a>> {
    let mut stage = Stage {
        numbers: BTreeMap::new(),
        words: BTreeMap::new(),
        prims: Vec::new(),
    };
    // As many samples as there is room for in the file.
    let mut room = tables.bytes.len() / 8;
    // Animations share the list of their joints.
    let mut lists: HashMap<u64, Rc<Vec<String>>> = HashMap::new();
    for (spec, path) in tables.specs.iter().zip(&tables.paths) {
        let fields = tables.fields_of(spec.set)?;
        let field = |name: &str| {
            fields
                .iter()
                .find(|(of, _)| of == &name)
                .map(|(_, value)| *value)
        };
        match spec.kind {
            STAGE => {
                for (name, value) in &fields {
                    match value.kind() {
                        DOUBLE => drop(
                            stage
                                .numbers
                                .insert((*name).to_owned(), tables.double(*value)?),
                        ),
                        TOKEN => drop(
                            stage
                                .words
                                .insert((*name).to_owned(), tables.token_of(*value)?),
                        ),
                        _ => {}
                    }
                }
            }
            // The prims of all variants are listed, as if they were there together.
            VARIANT | VARIANT_SET => {}
            PRIM => stage.prims.push(Prim {
                path: path.clone(),
                kind: field("typeName")
                    .map_or(Ok(String::new()), |value| tables.token_of(value))?,
                shown: field("displayName")
                    .map(|value| tables.string(value))
                    .transpose()?,
                variant: field("variantSelection")
                    .map(|value| tables.selection(value))
                    .transpose()?,
                ..Prim::default()
            }),
            ATTRIBUTE | RELATIONSHIP => {
                let name = path
                    .rsplit_once('.')
                    .map_or("", |(_, name)| name)
                    .to_owned();
                let prim = stage.prims.last_mut().ok_or("a property before its prim")?;
                if let Some(value) = field("targetPaths").or(field("connectionPaths")) {
                    prim.targets.insert(name, tables.targets(value)?);
                } else if let Some(value) = field("default").filter(|value| value.kind() == TOKEN) {
                    if value.is_array() {
                        let list = match lists.entry(value.payload()) {
                            Entry::Occupied(list) => list.into_mut(),
                            Entry::Vacant(place) => place.insert(Rc::new(tables.tokens_of(value)?)),
                        };
                        prim.lists.insert(name, Rc::clone(list));
                    } else {
                        prim.words.insert(name, tables.token_of(value)?);
                    }
                } else if let Some(value) = field("default").filter(|value| value.kind() == FLOAT)
                    && let Ok(bits) = value.expect(FLOAT, true)
                {
                    prim.numbers.insert(
                        name,
                        f32::from_bits(u32::try_from(bits).unwrap_or_default()),
                    );
                } else {
                    let default = field("default").filter(|value| value.is_array());
                    let default = default.map(|value| tables.array(value)).transpose()?;
                    let times = match field("timeSamples") {
                        Some(value) => tables.times(value, &mut room)?,
                        None => Vec::new(),
                    };
                    if default.is_some() || !times.is_empty() {
                        prim.arrays.insert(name, Samples { default, times });
                    }
                }
            }
            other => return Err(format!("a path leads to a thing of kind {other}")),
        }
    }
    Ok(stage)
}

/// The numbers of types.
const FLOAT: u8 = 8;
const DOUBLE: u8 = 9;
const STRING: u8 = 10;
const TOKEN: u8 = 11;
const PATH_LIST: u8 = 34;
const SELECTION: u8 = 45;
const TIME_SAMPLES: u8 = 46;
const DOUBLES: u8 = 48;

/// The 64 bits of a value.
#[derive(Clone, Copy)]
struct Value(u64);

impl Value {
    fn kind(self) -> u8 {
        self.0.to_le_bytes()[6]
    }

    fn is_array(self) -> bool {
        self.0 >> 63 == 1
    }

    fn is_inlined(self) -> bool {
        self.0 >> 62 & 1 == 1
    }

    fn is_compressed(self) -> bool {
        self.0 >> 61 & 1 == 1
    }

    fn payload(self) -> u64 {
        self.0 & ((1 << 48) - 1)
    }

    fn expect(self, kind: u8, is_inlined: bool) -> Result<u64> {
        if self.kind() == kind && !self.is_array() && self.is_inlined() == is_inlined {
            Ok(self.payload())
        } else {
            Err(format!(
                "the value {:#x}, where one of type {kind} is expected",
                self.0
            ))
        }
    }
}

/// A path, as tables have it.
struct Spec {
    set: usize,
    kind: i32,
}

/// The tables of a file, which name its prims, their attributes and the places of values.
pub(crate) struct Tables<'a> {
    bytes: &'a [u8],
    tokens: Vec<String>,
    strings: Vec<u32>,
    fields: Vec<(usize, Value)>,
    sets: Vec<i32>,
    paths: Vec<String>,
    specs: Vec<Spec>,
}

impl<'a> Tables<'a> {
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self> {
        let sections = sections(bytes)?;
        let section = |name: &str| {
            let mut key = [0; 16];
            key.iter_mut()
                .zip(name.bytes())
                .for_each(|(place, byte)| *place = byte);
            sections
                .get(key.as_slice())
                .copied()
                .ok_or_else(|| format!("no section {name}"))
        };
        let mut tables = Self {
            bytes,
            tokens: tokens(section("TOKENS")?)?,
            strings: strings(section("STRINGS")?)?,
            fields: fields(section("FIELDS")?)?,
            sets: sets(section("FIELDSETS")?)?,
            paths: Vec::new(),
            specs: Vec::new(),
        };
        tables.paths = tables.paths(section("PATHS")?)?;
        tables.specs = specs(section("SPECS")?, tables.paths.len())?;
        Ok(tables)
    }

    /// The memory for the samples of all arrays.
    pub(crate) fn sample_bytes(&self) -> Result<u64> {
        let mut count = 0_u64;
        for spec in &self.specs {
            for (name, value) in self.fields_of(spec.set)? {
                if name == "timeSamples" {
                    count = count.saturating_add(self.samples(value)?.2 as u64);
                }
            }
        }
        Ok(count.saturating_mul(size_of::<(f64, Array<'_>)>() as u64))
    }

    fn token(&self, number: impl TryInto<usize>) -> Result<&str> {
        let token = number
            .try_into()
            .ok()
            .and_then(|number| self.tokens.get(number));
        token
            .map(String::as_str)
            .ok_or_else(|| "a number of no token".to_owned())
    }

    /// All paths, by their numbers.
    fn paths(&self, mut section: Cursor<'_>) -> Result<Vec<String>> {
        let count = section.count()?;
        if section.count()? != count {
            return Err("two numbers of paths".to_owned());
        }
        let numbers = section.integers(count)?;
        let elements = section.integers(count)?;
        let jumps = section.integers(count)?;
        let mut paths = vec![None; count];
        // The next position, and its parent path.
        let mut work = vec![(0_usize, String::new())];
        // Longer paths than writers have: each as long as all names together.
        let mut room = self.bytes.len().saturating_mul(16);
        while let Some((mut at, mut parent)) = work.pop() {
            loop {
                let entry = numbers.get(at).zip(elements.get(at)).zip(jumps.get(at));
                let ((number, element), jump) = entry.ok_or("a path beyond the last one")?;
                let name = self.token(element.unsigned_abs())?;
                let path = match (at, *element < 0) {
                    (0, _) => String::new(),
                    (_, true) => format!("{parent}.{name}"),
                    (_, false) => format!("{parent}/{name}"),
                };
                room = room
                    .checked_sub(path.len() + 1)
                    .ok_or("paths longer than the file")?;
                let depth = path.bytes().filter(|byte| *byte == b'/').count();
                let place = usize::try_from(*number)
                    .ok()
                    .and_then(|number| paths.get_mut(number));
                let place = place.ok_or("a number of no path")?;
                if place.is_some() || depth > MOST_DEPTH {
                    return Err("a path that is there twice, or too deep".to_owned());
                }
                *place = Some(path.clone());
                let has_child = *jump > 0 || *jump == -1;
                let has_sibling = *jump >= 0;
                if has_child {
                    if has_sibling {
                        let sibling = usize::try_from(*jump)
                            .ok()
                            .and_then(|jump| at.checked_add(jump));
                        work.push((sibling.ok_or("a jump beyond all paths")?, parent));
                    }
                    parent = path;
                } else if !has_sibling {
                    break;
                }
                at += 1;
            }
        }
        paths
            .into_iter()
            .collect::<Option<_>>()
            .ok_or_else(|| "a path that nothing leads to".to_owned())
    }

    /// The fields of a set, by their names.
    fn fields_of(&self, set: usize) -> Result<Vec<(&str, Value)>> {
        let entries = self.sets.get(set..).unwrap_or_default();
        let length = entries
            .iter()
            .take(MOST_FIELDS + 1)
            .position(|field| *field == -1);
        let entries = entries
            .get(..length.ok_or("a set of fields without end")?)
            .unwrap_or_default();
        let field = |number: &i32| {
            let field = usize::try_from(*number)
                .ok()
                .and_then(|number| self.fields.get(number));
            let (name, value) = field.ok_or("a number of no field")?;
            Ok((self.token(*name)?, *value))
        };
        entries.iter().map(field).collect()
    }

    fn token_of(&self, value: Value) -> Result<String> {
        Ok(self.token(value.expect(TOKEN, true)?)?.to_owned())
    }

    fn tokens_of(&self, value: Value) -> Result<Vec<String>> {
        let mut list = Cursor::at(self.bytes, value.payload())?;
        let count = list.number()?.min(list.0.len() as u64 / 4);
        (0..count)
            .map(|_| Ok(self.token(list.word()?)?.to_owned()))
            .collect()
    }

    fn string(&self, value: Value) -> Result<String> {
        Ok(self.string_of(value.expect(STRING, true)?)?.to_owned())
    }

    fn string_of(&self, number: u64) -> Result<&str> {
        let string = usize::try_from(number).ok();
        let string = string.and_then(|number| self.strings.get(number));
        self.token(*string.ok_or("a number of no string")?)
    }

    /// The variant that is chosen of the only set.
    fn selection(&self, value: Value) -> Result<String> {
        let mut list = Cursor::at(self.bytes, value.expect(SELECTION, false)?)?;
        if list.number()? != 1 {
            return Err("variants of several sets".to_owned());
        }
        let set = self.string_of(list.word()?.into())?;
        let chosen = self.string_of(list.word()?.into())?;
        Ok(format!("{{{set}={chosen}}}"))
    }

    fn double(&self, value: Value) -> Result<f64> {
        if value.is_inlined() {
            let bits = value.expect(DOUBLE, true)?;
            return Ok(f32::from_bits(u32::try_from(bits).unwrap_or_default()).into());
        }
        let place = value.expect(DOUBLE, false)?;
        Ok(f64::from_bits(Cursor::at(self.bytes, place)?.number()?))
    }

    fn targets(&self, value: Value) -> Result<Vec<String>> {
        let mut list = Cursor::at(self.bytes, value.expect(PATH_LIST, false)?)?;
        if list.take(1)? != [3] {
            return Err("a list of edits of paths".to_owned());
        }
        let count = list.number()?.min(MOST_FIELDS as u64);
        let path = |_| {
            let number = usize::try_from(list.word()?).ok();
            let path = number.and_then(|number| self.paths.get(number));
            path.cloned()
                .ok_or_else(|| "a number of no path".to_owned())
        };
        (0..count).map(path).collect()
    }

    fn array(&self, value: Value) -> Result<Array<'a>> {
        // Integers of 32 bits, floats, and vectors of them; vectors of halves, rotations and matrices.
        let size = match value.kind() {
            3 | 4 | 8 => 4,
            25 => 6,
            20 | 22 => 8,
            24 | 26 => 12,
            17 | 28 | 30 => 16,
            15 => 128,
            other => return Err(format!("an array of type {other}")),
        };
        if !value.is_array() || value.is_compressed() {
            return Err("an array that is none, or compressed".to_owned());
        }
        if value.payload() == 0 {
            return Ok(Array { bytes: &[] });
        }
        let mut place = Cursor::at(self.bytes, value.payload())?;
        let length = place
            .number()?
            .checked_mul(size)
            .ok_or("an array beyond the end")?;
        Ok(Array {
            bytes: place.take(length)?,
        })
    }

    fn times(&self, value: Value, room: &mut usize) -> Result<Vec<(f64, Array<'a>)>> {
        let (mut times, mut values, count) = self.samples(value)?;
        *room = room
            .checked_sub(count)
            .ok_or("more samples than there is room for")?;
        let mut samples: Vec<(f64, Array<'a>)> = Vec::with_capacity(count);
        let mut kind = None;
        for _ in 0..count {
            let time = f64::from_bits(times.number()?);
            if samples.last().is_some_and(|(before, _)| *before >= time) || time.is_nan() {
                return Err("times that do not ascend".to_owned());
            }
            let value = Value(values.number()?);
            if *kind.get_or_insert(value.kind()) != value.kind() {
                return Err("samples of several types".to_owned());
            }
            samples.push((time, self.array(value)?));
        }
        Ok(samples)
    }

    /// The times of samples, their values, and how many there are.
    fn samples(&self, value: Value) -> Result<(Cursor<'a>, Cursor<'a>, usize)> {
        let at = value.expect(TIME_SAMPLES, false)?;
        let mut place = Cursor::at(self.bytes, at)?;
        let to_times = at
            .checked_add(place.number()?)
            .ok_or("times beyond the end")?;
        let mut place = Cursor::at(self.bytes, to_times)?;
        let times = Value(place.number()?).expect(DOUBLES, false)?;
        let to_values = to_times
            .checked_add(8)
            .and_then(|at| at.checked_add(place.number().ok()?));
        let mut values = Cursor::at(self.bytes, to_values.ok_or("samples beyond the end")?)?;
        let mut times = Cursor::at(self.bytes, times)?;
        let count = values.count()?;
        if times.count()? != count {
            return Err("another number of times than of samples".to_owned());
        }
        Ok((times, values, count))
    }
}

/// The bytes of all tables.
pub(crate) fn table_bytes(bytes: &[u8]) -> Result<u64> {
    Ok(sections(bytes)?
        .values()
        .map(|section| section.0.len() as u64)
        .sum())
}

/// All tables, by their names.
fn sections(bytes: &[u8]) -> Result<BTreeMap<&[u8], Cursor<'_>>> {
    let mut header = Cursor(bytes);
    if header.take(8)? != b"PXR-USDC" || header.take(8)? != [0, 8, 0, 0, 0, 0, 0, 0] {
        return Err("no crate file of version 0.8.0".to_owned());
    }
    let mut contents = Cursor::at(bytes, header.number()?)?;
    let mut sections = BTreeMap::new();
    for _ in 0..contents.number()?.min(64) {
        let name = contents.take(16)?;
        let start = contents.number()?;
        let size = contents.number()?;
        sections.insert(name, Cursor(Cursor::at(bytes, start)?.take(size)?));
    }
    Ok(sections)
}

fn tokens(mut section: Cursor<'_>) -> Result<Vec<String>> {
    let count = section.count()?;
    let size = section.number()?;
    let text = section.unpack()?;
    if text.len() as u64 != size || text.last().is_some_and(|byte| *byte != 0) {
        return Err("tokens that end too early".to_owned());
    }
    let text = String::from_utf8(text).map_err(|_| "a token that is no text")?;
    let tokens: Vec<String> = text.split_terminator('\0').map(str::to_owned).collect();
    if tokens.len() == count {
        Ok(tokens)
    } else {
        Err("another number of tokens".to_owned())
    }
}

fn strings(mut section: Cursor<'_>) -> Result<Vec<u32>> {
    let count = section.count()?;
    (0..count).map(|_| section.word()).collect()
}

fn fields(mut section: Cursor<'_>) -> Result<Vec<(usize, Value)>> {
    let count = section.count()?;
    let names = section.integers(count)?;
    let values = section.unpack()?;
    let (values, rest) = values.as_chunks::<8>();
    if values.len() != count || !rest.is_empty() {
        return Err("another number of values than of fields".to_owned());
    }
    let field = |(name, value): (i32, &[u8; 8])| {
        let name = usize::try_from(name).map_err(|_| "a field without a name")?;
        Ok((name, Value(u64::from_le_bytes(*value))))
    };
    names.into_iter().zip(values).map(field).collect()
}

fn sets(mut section: Cursor<'_>) -> Result<Vec<i32>> {
    let count = section.count()?;
    section.integers(count)
}

/// The spec at each path. They are in the order of their numbers.
fn specs(mut section: Cursor<'_>, paths: usize) -> Result<Vec<Spec>> {
    let count = section.count()?;
    let numbers = section.integers(count)?;
    let sets = section.integers(count)?;
    let kinds = section.integers(count)?;
    if count != paths
        || !(0..)
            .zip(&numbers)
            .all(|(expected, number)| expected == *number)
    {
        return Err("a path that is nothing, or out of order".to_owned());
    }
    let spec = |(set, kind): (i32, i32)| {
        let set = usize::try_from(set).map_err(|_| "a number of no set of fields")?;
        Ok(Spec { set, kind })
    };
    sets.into_iter().zip(kinds).map(spec).collect()
}

/// Bytes from a place on.
#[derive(Clone, Copy)]
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn at(bytes: &'a [u8], place: u64) -> Result<Self> {
        let rest = usize::try_from(place)
            .ok()
            .and_then(|place| bytes.get(place..));
        rest.map(Self)
            .ok_or_else(|| format!("the place {place} is beyond the end"))
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8]> {
        let parts = usize::try_from(length)
            .ok()
            .and_then(|length| self.0.split_at_checked(length));
        let (taken, rest) =
            parts.ok_or_else(|| format!("{length} bytes, where {} are left", self.0.len()))?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u64> {
        Ok(self
            .take(8)?
            .first_chunk()
            .map_or(0, |bytes| u64::from_le_bytes(*bytes)))
    }

    fn word(&mut self) -> Result<u32> {
        Ok(self
            .take(4)?
            .first_chunk()
            .map_or(0, |bytes| u32::from_le_bytes(*bytes)))
    }

    /// A number of things that take at least two bits each.
    fn count(&mut self) -> Result<usize> {
        let count = usize::try_from(self.number()?).ok();
        let most = self.0.len().saturating_mul(4);
        count
            .filter(|count| *count <= most)
            .ok_or_else(|| "more things than there is room for".to_owned())
    }

    /// An LZ4 block of literals, behind its length.
    fn unpack(&mut self) -> Result<Vec<u8>> {
        let length = self.number()?;
        let mut block = Self(self.take(length)?);
        let [0, token] = *block.take(2)? else {
            return Err("several LZ4 blocks".to_owned());
        };
        let mut length = u64::from(token >> 4);
        if length == 15 {
            loop {
                let more = block.take(1)?.first().copied().unwrap_or_default();
                length += u64::from(more);
                if more != 255 {
                    break;
                }
            }
        }
        let literals = block.take(length)?;
        if token & 15 == 0 && block.0.is_empty() {
            Ok(literals.to_vec())
        } else {
            Err("an LZ4 block with matches".to_owned())
        }
    }

    /// Integers as differences, in an LZ4 block.
    fn integers(&mut self, count: usize) -> Result<Vec<i32>> {
        let code = self.unpack()?;
        let mut stored = Cursor(&code);
        let common = stored.word()?.cast_signed();
        let kinds = stored.take(count.div_ceil(4) as u64)?;
        let mut integers = Vec::with_capacity(count);
        let mut last = 0_i32;
        for at in 0..count {
            let kinds = kinds.get(at / 4).copied().unwrap_or_default();
            let difference = match kinds >> (2 * (at % 4)) & 3 {
                0 => common,
                1 => stored
                    .take(1)?
                    .first()
                    .map_or(0, |byte| byte.cast_signed().into()),
                2 => stored
                    .take(2)?
                    .first_chunk()
                    .map_or(0, |two| i16::from_le_bytes(*two).into()),
                _ => stored.word()?.cast_signed(),
            };
            last = last.wrapping_add(difference);
            integers.push(last);
        }
        Ok(integers)
    }
}
