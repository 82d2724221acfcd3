//! The tables at the end of a crate file: tokens, strings, fields, sets of fields, paths, and what is at each path.

use meshmap_job::Result;

use std::collections::HashMap;
use std::io::{Seek, Write};
use std::rc::Rc;

use super::compress::{coded, packed};
use super::crate_file::CrateFile;
use super::materials::OUTPUTS;
use super::prim::{Prim, Property, Spec, Token, Value};
use super::values::{Kind, Rep};

/// The kinds of specs at a path.
const ATTRIBUTE: i32 = 1;
const PRIM: i32 = 6;
const ROOT: i32 = 7;
const RELATIONSHIP: i32 = 8;
const VARIANT: i32 = 10;
const VARIANT_SET: i32 = 11;

/// Ends a set of fields.
const END: i32 = -1;

/// The continuation of a path: it has neither child nor sibling, only a child, or only a sibling; otherwise the number of entries
/// to its sibling.
const NEITHER: i32 = -2;
const CHILD: i32 = -1;
const SIBLING: i32 = 0;

#[derive(Default)]
pub(super) struct Tables {
    tokens: Interned<String>,
    /// The token of each string.
    strings: Interned<u32>,
    fields: Interned<(u32, Rep)>,
    sets: HashMap<Vec<u32>, i32>,
    /// All sets, one after another.
    set_entries: Vec<i32>,
    /// For each path, in the order of the tree: its last token, below 0 for a property, and the position of the next path.
    elements: Vec<i32>,
    jumps: Vec<i32>,
    /// The kind of spec at each path, and its fields.
    kinds: Vec<i32>,
    set_of: Vec<i32>,
    /// Lists of tokens that were written, by their places in memory.
    lists: HashMap<*const Token, Rep>,
    /// The numbers of the paths of prims, and of outputs of shaders.
    paths: HashMap<String, u32>,
}

/// Values that are stored once, and known by their numbers.
struct Interned<T> {
    numbers: HashMap<T, u32>,
    values: Vec<T>,
}

impl<T> Default for Interned<T> {
    fn default() -> Self {
        Self {
            numbers: HashMap::new(),
            values: Vec::new(),
        }
    }
}

impl<T: Clone + Eq + std::hash::Hash> Interned<T> {
    fn number(&mut self, value: &T) -> u32 {
        if let Some(number) = self.numbers.get(value) {
            return *number;
        }
        let number = u32::try_from(self.values.len()).unwrap_or(u32::MAX);
        self.numbers.insert(value.clone(), number);
        self.values.push(value.clone());
        number
    }
}

impl Tables {
    /// The tables of a tree, whose larger values are written meanwhile.
    pub(super) fn of<W: Write + Seek>(root: &Prim, file: &mut CrateFile<'_, W>) -> Result<Self> {
        let mut tables = Self::default();
        // Names of properties are written as negative numbers, of which 0 has none.
        tables.token("");
        let mut count = 0;
        tables.number_paths(root, String::new(), &mut count);
        tables.add(root, ROOT, false, file)?;
        Ok(tables)
    }

    fn token(&mut self, token: &str) -> u32 {
        // A token ends at the first NUL.
        self.tokens.number(&token.replace('\0', "\u{fffd}"))
    }

    /// The number of a string, which is a token as well.
    fn string(&mut self, text: &str) -> u32 {
        let token = self.token(text);
        self.strings.number(&token)
    }

    fn number_paths(&mut self, prim: &Prim, path: String, count: &mut u32) {
        let number = *count;
        for (property, number) in prim.properties.iter().zip(number + 1..) {
            // Only these are connected.
            if property.name.starts_with(OUTPUTS) {
                self.paths
                    .insert(format!("{path}.{}", property.name), number);
            }
        }
        *count += 1 + u32::try_from(prim.properties.len()).unwrap_or(u32::MAX);
        for child in &prim.children {
            self.number_paths(child, format!("{path}/{}", child.element()), count);
        }
        self.paths.insert(path, number);
    }

    /// Adds a prim and all below it. Its properties come first, then its children, as they were numbered.
    fn add<W: Write + Seek>(
        &mut self,
        prim: &Prim,
        kind: i32,
        has_sibling: bool,
        file: &mut CrateFile<'_, W>,
    ) -> Result<()> {
        let mut fields = Vec::new();
        for (name, value) in &prim.fields {
            fields.push(self.field(name, value, file)?);
        }
        if !prim.properties.is_empty() {
            let names = prim
                .properties
                .iter()
                .map(|property| property.name.clone())
                .collect();
            fields.push(self.names("properties", names, file)?);
        }
        for (field, spec) in [
            ("primChildren", Spec::Prim),
            ("variantSetChildren", Spec::VariantSet),
        ] {
            let children = prim.children.iter().filter(|child| child.spec == spec);
            let names: Vec<Token> = children.map(|child| child.name.clone().into()).collect();
            if !names.is_empty() {
                fields.push(self.names(field, names, file)?);
            }
        }
        let element = self.token(&prim.element()).cast_signed();
        let place = self.path(element, kind, &fields);
        let mut below = prim.properties.len() + prim.children.len();
        let has_child = below > 0;
        for property in &prim.properties {
            below -= 1;
            self.add_property(property, below > 0, file)?;
        }
        for child in &prim.children {
            below -= 1;
            let kind = match child.spec {
                Spec::Prim => PRIM,
                Spec::VariantSet => VARIANT_SET,
                Spec::Variant(_) => VARIANT,
            };
            self.add(child, kind, below > 0, file)?;
        }
        let length = i32::try_from(self.jumps.len() - place).unwrap_or(i32::MAX);
        if let Some(jump) = self.jumps.get_mut(place) {
            *jump = match (has_child, has_sibling) {
                (true, true) => length,
                (true, false) => CHILD,
                (false, true) => SIBLING,
                (false, false) => NEITHER,
            };
        }
        Ok(())
    }

    fn add_property<W: Write + Seek>(
        &mut self,
        property: &Property,
        has_sibling: bool,
        file: &mut CrateFile<'_, W>,
    ) -> Result<()> {
        let mut fields = Vec::new();
        for (name, value) in &property.fields {
            fields.push(self.field(name, value, file)?);
        }
        let element = self.token(&property.name).cast_signed();
        let kind = if property.is_relationship {
            RELATIONSHIP
        } else {
            ATTRIBUTE
        };
        let place = self.path(-element, kind, &fields);
        if let Some(jump) = self.jumps.get_mut(place) {
            *jump = if has_sibling { SIBLING } else { NEITHER };
        }
        Ok(())
    }

    /// Adds a path; returns its number.
    fn path(&mut self, element: i32, kind: i32, fields: &[u32]) -> usize {
        let set = match self.sets.get(fields) {
            Some(set) => *set,
            None => {
                let set = i32::try_from(self.set_entries.len()).unwrap_or(i32::MAX);
                self.set_entries
                    .extend(fields.iter().map(|field| field.cast_signed()));
                self.set_entries.push(END);
                self.sets.insert(fields.to_vec(), set);
                set
            }
        };
        self.elements.push(element);
        self.kinds.push(kind);
        self.set_of.push(set);
        self.jumps.push(NEITHER);
        self.jumps.len() - 1
    }

    fn names<W: Write + Seek>(
        &mut self,
        name: &str,
        names: Vec<Token>,
        file: &mut CrateFile<'_, W>,
    ) -> Result<u32> {
        let offset = self.list(&names, &[], file)?;
        Ok(self.interned(name, Rep::stored(Kind::TokenVector, offset)))
    }

    fn field<W: Write + Seek>(
        &mut self,
        name: &str,
        value: &Value,
        file: &mut CrateFile<'_, W>,
    ) -> Result<u32> {
        /// The parts of a list of edits: that it replaces others, and its items; or items before others.
        const EXPLICIT: u8 = 0b11;
        const PREPENDED: u8 = 1 << 5;
        let rep = match value {
            Value::Stored(rep) => *rep,
            Value::Bool(is_so) => Rep::inlined(Kind::Bool, u32::from(*is_so)),
            Value::Int(number) => Rep::inlined(Kind::Int, *number),
            Value::Float(number) => Rep::inlined(Kind::Float, number.to_bits()),
            Value::Double(number) => double(*number, file)?,
            Value::Token(token) => Rep::inlined(Kind::Token, self.token(token)),
            Value::Asset(path) => Rep::inlined(Kind::AssetPath, self.token(path)),
            Value::Text(text) => Rep::inlined(Kind::String, self.string(text)),
            Value::Tokens(tokens) => {
                let key = Rc::as_ptr(tokens).cast::<Token>();
                if let Some(rep) = self.lists.get(&key) {
                    *rep
                } else {
                    let offset = self.list(tokens, &[], file)?;
                    *self
                        .lists
                        .entry(key)
                        .or_insert(Rep::array(Kind::Token, offset))
                }
            }
            Value::Prepended(tokens) => {
                let offset = self.list(tokens, &[PREPENDED], file)?;
                Rep::stored(Kind::TokenListOp, offset)
            }
            Value::PrependedNames(names) => {
                let strings: Vec<u32> = names.iter().map(|name| self.string(name)).collect();
                let offset = numbers(&strings, &[PREPENDED], file)?;
                Rep::stored(Kind::StringListOp, offset)
            }
            Value::Names(names) => {
                let offset = self.list(names, &[], file)?;
                Rep::stored(Kind::TokenVector, offset)
            }
            Value::Selection(set, chosen) => {
                let strings = [set, &Token::from(chosen.clone())].map(|name| self.string(name));
                let offset = file.align()?;
                file.write(&1_u64.to_le_bytes())?;
                file.write(strings.map(u32::to_le_bytes).as_flattened())?;
                Rep::stored(Kind::VariantSelectionMap, offset)
            }
            Value::Targets(paths) => {
                let offset = file.align()?;
                file.write(&[EXPLICIT])?;
                file.write(&(paths.len() as u64).to_le_bytes())?;
                for path in paths {
                    let number = self.paths.get(path).copied().unwrap_or_default();
                    file.write(&number.to_le_bytes())?;
                }
                Rep::stored(Kind::PathListOp, offset)
            }
            Value::Defined => Rep::inlined(Kind::Specifier, 0),
            Value::Over => Rep::inlined(Kind::Specifier, 1),
            Value::Uniform(is_uniform) => Rep::inlined(Kind::Variability, u32::from(*is_uniform)),
        };
        Ok(self.interned(name, rep))
    }

    fn interned(&mut self, name: &str, rep: Rep) -> u32 {
        let token = self.token(name);
        self.fields.number(&(token, rep))
    }

    /// Writes a number of tokens, behind `head`; returns the place.
    fn list<W: Write + Seek>(
        &mut self,
        tokens: &[Token],
        head: &[u8],
        file: &mut CrateFile<'_, W>,
    ) -> Result<u64> {
        let tokens: Vec<u32> = tokens.iter().map(|token| self.token(token)).collect();
        numbers(&tokens, head, file)
    }

    /// The sections in the order in which they are written.
    pub(super) fn sections(&self) -> [(&'static str, Vec<u8>); 6] {
        let counted = |count: usize| (count as u64).to_le_bytes().to_vec();
        let mut characters = Vec::new();
        for token in &self.tokens.values {
            characters.extend(token.as_bytes());
            characters.push(0);
        }
        let mut tokens = counted(self.tokens.values.len());
        tokens.extend((characters.len() as u64).to_le_bytes());
        tokens.extend(packed(&characters));

        let mut strings = counted(self.strings.values.len());
        strings.extend(
            self.strings
                .values
                .iter()
                .flat_map(|token| token.to_le_bytes()),
        );

        let names: Vec<i32> = self
            .fields
            .values
            .iter()
            .map(|(name, _)| name.cast_signed())
            .collect();
        let reps: Vec<u8> = self
            .fields
            .values
            .iter()
            .flat_map(|(_, rep)| rep.0.to_le_bytes())
            .collect();
        let mut fields = counted(names.len());
        fields.extend(coded(&names));
        fields.extend(packed(&reps));

        let mut sets = counted(self.set_entries.len());
        sets.extend(coded(&self.set_entries));

        let numbers: Vec<i32> = (0..).take(self.jumps.len()).collect();
        let mut paths = counted(numbers.len());
        paths.extend(counted(numbers.len()));
        for list in [&numbers, &self.elements, &self.jumps] {
            paths.extend(coded(list));
        }

        let mut specs = counted(numbers.len());
        for list in [&numbers, &self.set_of, &self.kinds] {
            specs.extend(coded(list));
        }
        [
            ("TOKENS", tokens),
            ("STRINGS", strings),
            ("FIELDS", fields),
            ("FIELDSETS", sets),
            ("PATHS", paths),
            ("SPECS", specs),
        ]
    }
}

/// Writes a list of numbers, behind `head`; returns the place.
fn numbers<W: Write + Seek>(
    numbers: &[u32],
    head: &[u8],
    file: &mut CrateFile<'_, W>,
) -> Result<u64> {
    let mut bytes = head.to_vec();
    bytes.extend((numbers.len() as u64).to_le_bytes());
    for number in numbers {
        bytes.extend(number.to_le_bytes());
    }
    let offset = file.align()?;
    file.write(&bytes)?;
    Ok(offset)
}

/// Writes a number, in 32 bits if the value is the same.
fn double<W: Write + Seek>(number: f64, file: &mut CrateFile<'_, W>) -> Result<Rep> {
    #[expect(clippy::cast_possible_truncation, reason = "compared")]
    let single = number as f32;
    if f64::from(single) == number {
        return Ok(Rep::inlined(Kind::Double, single.to_bits()));
    }
    let offset = file.align()?;
    file.write(&number.to_le_bytes())?;
    Ok(Rep::stored(Kind::Double, offset))
}
