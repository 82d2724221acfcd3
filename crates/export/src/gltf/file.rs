//! A glTF file while it is written: the JSON in memory, the numbers on their way out.

use std::collections::HashMap;
use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;

use meshmap::Array;
use meshmap_job::{Budget, Error, Result, Scope};
use meshmap_outputs::{Output, Place};

use super::document::{
    Accessor, Buffer, BufferView, Document, Index, Sparse, SparseIndices, SparseValues,
};
use crate::files::buffer_name;
use crate::outcome::Outcome;
use crate::plan::Plan;

/// The name of the target in errors.
pub(super) const TARGET: &str = "glTF";

pub(super) const UNSIGNED_BYTE: u32 = 5121;
pub(super) const UNSIGNED_SHORT: u32 = 5123;
pub(super) const UNSIGNED_INT: u32 = 5125;
pub(super) const FLOAT: u32 = 5126;

/// The use of a buffer view.
#[derive(Clone, Copy)]
pub(super) enum Use {
    Vertices,
    /// Vertices with this stride in bytes.
    Spaced(u32),
    Indices,
    /// Sparse values, keys, matrices.
    Other,
}

/// Length of the file's header, and of a chunk's header.
const HEADER: u64 = 12;
const CHUNK: u64 = 8;

/// The most bytes of a file of numbers: programs in browsers cannot read longer ones.
const MOST_PART: u64 = (1 << 31) - 1;

/// Memory that a part of the document takes, and its JSON.
pub(super) const OF_ACCESSOR: u64 = 512;
pub(super) const OF_VIEW: u64 = 192;
pub(super) const OF_NODE: u64 = 640;
pub(super) const OF_MESH: u64 = 1536;
pub(super) const OF_TARGET: u64 = 384;
pub(super) const OF_CHANNEL: u64 = 256;
pub(super) const OF_LIST_ITEM: u64 = 24;

/// Memory that a name takes for each of its bytes: in the document, in a table, and escaped in JSON.
const OF_NAME_BYTE: u64 = 8;

pub(super) struct Gltf {
    container: Container,
    pub(super) budget: Budget,
    pub(super) document: Document,
    /// The materials of the document, by name and whether they have a texture.
    pub(super) materials: HashMap<(String, bool), Index>,
    /// The textures of images, by their paths.
    pub(super) textures: HashMap<PathBuf, Index>,
    /// The joint that nothing moves, if vertices follow it.
    pub(super) rest: Option<Index>,
    /// Sparse indices and values before they are written.
    work: (Vec<u32>, Vec<[[u8; 4]; 3]>),
}

enum Container {
    /// One file: the numbers, before which the JSON is put at the end.
    Binary { output: Output },
    /// The JSON is a separate file; the numbers are in these files next to it.
    Parts {
        place: Place,
        most: u64,
        files: Vec<Output>,
    },
}

impl Gltf {
    /// Begins a GLB.
    pub(super) fn binary(place: &Place, budget: &Budget) -> Result<Self> {
        let output = budget.output(place)?;
        Ok(Self::new(Container::Binary { output }, budget))
    }

    /// Begins a file of JSON, with the numbers in files next to it.
    pub(super) fn parts(place: &Place, budget: &Budget) -> Self {
        Self::new(
            Container::Parts {
                place: place.clone(),
                most: MOST_PART,
                files: Vec::new(),
            },
            budget,
        )
    }

    fn new(container: Container, budget: &Budget) -> Self {
        Self {
            container,
            budget: budget.clone(),
            document: Document::default(),
            materials: HashMap::new(),
            textures: HashMap::new(),
            rest: None,
            work: <_>::default(),
        }
    }

    /// Charges parts of the document, each of this size.
    pub(super) fn charge(&self, count: usize, size: u64) -> Result<()> {
        self.budget
            .keep((count as u64).saturating_mul(size), "JSON document")
    }

    /// Charges a part of the document that has a name.
    pub(super) fn charge_named(&self, size: u64, name: &str) -> Result<()> {
        self.charge(
            1,
            size.saturating_add((name.len() as u64).saturating_mul(OF_NAME_BYTE)),
        )
    }

    /// Writes numbers as a view of a buffer.
    pub(super) fn view(&mut self, bytes: &[u8], of: Use) -> Result<Index> {
        self.charge(1, OF_VIEW)?;
        let padding = bytes.len().next_multiple_of(4) - bytes.len();
        let length = (bytes.len() + padding) as u64;
        self.make_room(length)?;
        let out = match &mut self.container {
            Container::Binary { output } => Some(output),
            Container::Parts { files, .. } => files.last_mut(),
        };
        if let Some(out) = out {
            out.write_all(bytes)?;
            out.write_all(&[0; 4][..padding])?;
        }
        let buffer = self.document.buffers.len().saturating_sub(1);
        let mut byte_offset = 0;
        if let Some(buffer) = self.document.buffers.last_mut() {
            byte_offset = buffer.byte_length;
            buffer.byte_length += length;
        }
        let target = match of {
            Use::Vertices | Use::Spaced(_) => Some(34_962),
            Use::Indices => Some(34_963),
            Use::Other => None,
        };
        let byte_stride = if let Use::Spaced(stride) = of {
            Some(stride)
        } else {
            None
        };
        let byte_length = bytes.len() as u64;
        self.document.buffer_views.push(BufferView {
            buffer,
            byte_offset,
            byte_length,
            byte_stride,
            target,
        });
        Ok(self.document.buffer_views.len() - 1)
    }

    /// Begins a buffer if there is none, or if the last one is full.
    fn make_room(&mut self, length: u64) -> Result<()> {
        let written = self
            .document
            .buffers
            .last()
            .map(|buffer| buffer.byte_length);
        match &mut self.container {
            Container::Binary { .. } => {
                check_size(HEADER + CHUNK + CHUNK + written.unwrap_or_default() + length)?;
                if written.is_none() {
                    self.document.buffers.push(Buffer::default());
                }
            }
            Container::Parts { place, most, files } => {
                if written.is_none_or(|written| written > 0 && written + length > *most) {
                    let name = buffer_name(place.below(), files.len()).ok_or_else(not_unicode)?;
                    files.push(self.budget.output(&place.beside(&name)?)?);
                    self.document.buffers.push(Buffer {
                        byte_length: 0,
                        uri: Some(escaped(&name)),
                    });
                }
            }
        }
        Ok(())
    }

    pub(super) fn accessor(&mut self, accessor: Accessor) -> Result<Index> {
        self.charge(1, OF_ACCESSOR)?;
        self.document.accessors.push(accessor);
        Ok(self.document.accessors.len() - 1)
    }

    /// Charges a copy of elements in the byte order of the file, until it is written.
    fn scope_of<T>(&self, elements: usize) -> Result<Scope> {
        let scope = self.budget.scope();
        self.budget
            .charge_for::<T>(elements, "elements of an accessor")?;
        Ok(scope)
    }

    /// Floats; with their least and greatest where `has_bounds`.
    pub(super) fn floats<const N: usize>(
        &mut self,
        elements: &[[f32; N]],
        of: Use,
        has_bounds: bool,
    ) -> Result<Index> {
        let (min, max) = if has_bounds {
            bounds(elements)
        } else {
            <_>::default()
        };
        self.numbers(
            elements,
            of,
            Accessor {
                min,
                max,
                ..Accessor::default()
            },
        )
    }

    /// Integers of vertices; as shares of their greatest number where `normalized`.
    pub(super) fn integers<T: Number, const N: usize>(
        &mut self,
        elements: &[[T; N]],
        normalized: bool,
    ) -> Result<Index> {
        self.numbers(
            elements,
            Use::Vertices,
            Accessor {
                normalized,
                ..Accessor::default()
            },
        )
    }

    /// Positions as normalized integers, eight bytes apart.
    pub(super) fn quantized_positions(&mut self, elements: &Array<[u16; 3]>) -> Result<Index> {
        let _scope = self.scope_of::<[u16; 4]>(elements.len())?;
        let mut min = [u16::MAX; 3];
        let mut max = [0; 3];
        let mut spaced = Vec::with_capacity(elements.len());
        for element @ [x, y, z] in elements.iter() {
            for (component, number) in element.into_iter().enumerate() {
                min[component] = min[component].min(number);
                max[component] = max[component].max(number);
            }
            spaced.push([x, y, z, 0]);
        }
        let [min, max] = [min, max].map(|numbers| numbers.map(f32::from).to_vec());
        // That positions may be integers.
        self.document
            .extensions_used
            .insert("KHR_mesh_quantization");
        self.document
            .extensions_required
            .insert("KHR_mesh_quantization");
        let form = Accessor {
            normalized: true,
            kind: kind(3),
            min,
            max,
            ..Accessor::default()
        };
        self.numbers(&spaced, Use::Spaced(8), form)
    }

    /// Writes indices, in 16 bits if no index can be 65,535, which restarts primitives.
    pub(super) fn indices(&mut self, indices: &[u32], vertices: usize) -> Result<Index> {
        let scope = self.scope_of::<u32>(indices.len())?;
        let (bytes, component_type) = index_bytes(indices, vertices);
        let buffer_view = Some(self.view(&bytes, Use::Indices)?);
        drop(scope);
        let count = indices.len();
        self.accessor(Accessor {
            buffer_view,
            component_type,
            count,
            kind: kind(1),
            ..Accessor::default()
        })
    }

    /// Writes numbers, and an accessor of this form, which may lack the kind of the elements.
    fn numbers<T: Number, const N: usize>(
        &mut self,
        elements: &[[T; N]],
        of: Use,
        form: Accessor,
    ) -> Result<Index> {
        let scope = self.scope_of::<[T; N]>(elements.len())?;
        let mut bytes = vec![0; size_of_val(elements)];
        for (place, number) in bytes
            .chunks_exact_mut(size_of::<T>())
            .zip(elements.as_flattened())
        {
            number.put(place);
        }
        let buffer_view = Some(self.view(&bytes, of)?);
        drop(scope);
        let kind = if form.kind.is_empty() {
            kind(N)
        } else {
            form.kind
        };
        self.accessor(Accessor {
            buffer_view,
            component_type: T::TYPE,
            count: elements.len(),
            kind,
            ..form
        })
    }

    /// Triples of which only those are written that are not 0, unless all take less room.
    pub(super) fn sparse(
        &mut self,
        elements: impl ExactSizeIterator<Item = [f32; 3]> + Clone,
        is_dense: bool,
    ) -> Result<Index> {
        let all = elements.len();
        let _scope = self.scope_of::<[f32; 6]>(all)?;
        let (mut listed, mut values) = std::mem::take(&mut self.work);
        listed.resize(listed.len().max(all), 0);
        values.resize(values.len().max(all), [[0; 4]; 3]);
        let mut count = 0;
        // Each takes the next place, which the one after it takes again where it was 0: faster than a branch.
        for (index, element) in (0_u32..).zip(elements.clone()) {
            if let (Some(place), Some(value)) = (listed.get_mut(count), values.get_mut(count)) {
                (*place, *value) = (index, element.map(f32::to_le_bytes));
            }
            let [x, y, z] = element.map(f32::to_bits);
            count += usize::from((x | y | z) << 1 != 0);
        }
        if count == 0 && all > 0 {
            // Readers want a place for the values.
            (listed[0], values[0], count) = (0, [[0; 4]; 3], 1);
        }
        let (indices, component_type) = index_bytes(listed.get(..count).unwrap_or_default(), all);
        let accessor = if is_dense || count * 12 + indices.len() >= all * 12 {
            self.floats(&elements.collect::<Vec<_>>(), Use::Vertices, true)?
        } else {
            let sparse_indices = SparseIndices {
                buffer_view: self.view(&indices, Use::Other)?,
                component_type,
            };
            let values = values.get(..count).unwrap_or_default();
            // Elements that are not listed are 0.
            let [min, max] = extent(values);
            let sparse_values = SparseValues {
                buffer_view: self.view(values.as_flattened().as_flattened(), Use::Other)?,
            };
            self.accessor(Accessor {
                component_type: FLOAT,
                count: all,
                kind: "VEC3",
                min: min.to_vec(),
                max: max.to_vec(),
                sparse: Some(Sparse {
                    count,
                    indices: sparse_indices,
                    values: sparse_values,
                }),
                ..Accessor::default()
            })?
        };
        self.work = (listed, values);
        Ok(accessor)
    }

    /// Writes the JSON, and puts the files into their places.
    pub(super) fn finish(self, plan: &Plan<'_>, outcome: &mut Outcome) -> Result<()> {
        let mut json = serde_json::to_vec(&self.document)?;
        let mut output = match self.container {
            Container::Binary { output } => output,
            Container::Parts {
                place, mut files, ..
            } => {
                let mut output = self.budget.output(&place)?;
                output.write_all(&json)?;
                files.push(output);
                return plan.images.finish(files, plan.job, outcome);
            }
        };
        json.resize(json.len().next_multiple_of(4), b' ');
        let text = json.len() as u64;
        let numbers = self
            .document
            .buffers
            .first()
            .map(|buffer| buffer.byte_length);
        // A file without numbers has no chunk of them.
        let total = HEADER + CHUNK + text + numbers.map_or(0, |numbers| CHUNK + numbers);
        check_size(total)?;
        let number = |length: u64| u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
        let head = [*b"glTF", number(2), number(total), number(text), *b"JSON"];
        let out = &mut output;
        if let Some(numbers) = numbers {
            out.move_end(0, total - numbers, numbers)?;
        }
        out.seek(SeekFrom::Start(0))?;
        out.write_all(head.as_flattened())?;
        out.write_all(&json)?;
        if let Some(numbers) = numbers {
            out.write_all([number(numbers), *b"BIN\0"].as_flattened())?;
        }
        plan.images.finish(vec![output], plan.job, outcome)
    }
}

/// Fails for a GLB of more bytes than its header can count.
fn check_size(bytes: u64) -> Result<()> {
    if bytes <= u64::from(u32::MAX) {
        return Ok(());
    }
    let what = "more than 4 GiB, which is the most of one file: write a .gltf, whose numbers are in several";
    Err(Error::NotHeld {
        target: TARGET,
        what: what.to_owned(),
    })
}

/// The error of a name that cannot be written in JSON.
fn not_unicode() -> Error {
    let what =
        "the file's name is not UTF-8, so that it cannot name the files beside it".to_owned();
    Error::NotHeld {
        target: "gltf",
        what,
    }
}

/// A name as a URI: what has a meaning there is escaped.
pub(super) fn escaped(name: &str) -> String {
    let mut uri = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(char::from(byte))
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// The least and the greatest of each component, and of 0.
fn extent(elements: &[[[u8; 4]; 3]]) -> [[f32; 3]; 2] {
    let less = |a: f32, b: f32| if b < a { b } else { a };
    let more = |a: f32, b: f32| if b > a { b } else { a };
    // Four elements at once, the last of which may be 0, are what processors take at once.
    let mut min = [0.0; 12];
    let mut max = [0.0; 12];
    let mut widen = |four: &[[u8; 4]; 12]| {
        for ((number, min), max) in four.iter().zip(&mut min).zip(&mut max) {
            let number = f32::from_le_bytes(*number);
            (*min, *max) = (less(*min, number), more(*max, number));
        }
    };
    let (fours, rest) = elements.as_flattened().as_chunks::<12>();
    fours.iter().for_each(&mut widen);
    let mut last = [[0; 4]; 12];
    last.iter_mut()
        .zip(rest)
        .for_each(|(place, number)| *place = *number);
    widen(&last);
    let of = |numbers: [f32; 12], choose: fn(f32, f32) -> f32| -> [f32; 3] {
        std::array::from_fn(|component| {
            numbers
                .iter()
                .skip(component)
                .step_by(3)
                .copied()
                .fold(0.0, choose)
        })
    };
    [of(min, less), of(max, more)]
}

/// A type of numbers in accessors.
pub(super) trait Number: Copy {
    const TYPE: u32;

    /// Writes the number into a place of its size.
    fn put(self, place: &mut [u8]);
}

impl Number for u8 {
    const TYPE: u32 = UNSIGNED_BYTE;

    fn put(self, place: &mut [u8]) {
        place.copy_from_slice(&[self]);
    }
}

impl Number for u16 {
    const TYPE: u32 = UNSIGNED_SHORT;

    fn put(self, place: &mut [u8]) {
        place.copy_from_slice(&self.to_le_bytes());
    }
}

impl Number for f32 {
    const TYPE: u32 = FLOAT;

    fn put(self, place: &mut [u8]) {
        place.copy_from_slice(&self.to_le_bytes());
    }
}

/// Up to as many vertices, indices have 16 bits: 65,535 restarts primitives.
const MOST_NARROW: usize = 65_535;

fn index_bytes(indices: &[u32], vertices: usize) -> (Vec<u8>, u32) {
    if vertices <= MOST_NARROW {
        let narrow = indices
            .iter()
            .map(|index| u16::try_from(*index).unwrap_or(u16::MAX).to_le_bytes());
        (narrow.collect::<Vec<_>>().into_flattened(), UNSIGNED_SHORT)
    } else {
        let wide = indices.iter().map(|index| index.to_le_bytes());
        (wide.collect::<Vec<_>>().into_flattened(), UNSIGNED_INT)
    }
}

fn kind(components: usize) -> &'static str {
    match components {
        1 => "SCALAR",
        2 => "VEC2",
        3 => "VEC3",
        4 => "VEC4",
        _ => "MAT4",
    }
}

fn bounds<const N: usize>(elements: &[[f32; N]]) -> (Vec<f32>, Vec<f32>) {
    let mut min = [f32::INFINITY; N];
    let mut max = [f32::NEG_INFINITY; N];
    for element in elements {
        for component in 0..N {
            min[component] = min[component].min(element[component]);
            max[component] = max[component].max(element[component]);
        }
    }
    (min.to_vec(), max.to_vec())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_full_buffer_is_followed_by_one_with_the_name_of_the_gltf() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::at(folder.path().join("two words.gltf")).unwrap();
        let mut gltf = Gltf::parts(&place, &Budget::unlimited());
        if let Container::Parts { most, .. } = &mut gltf.container {
            *most = 100;
        }
        for _ in 0..3 {
            gltf.view(&[7; 70], Use::Other).unwrap();
        }
        let files = match gltf.container {
            Container::Parts { files, .. } => files,
            Container::Binary { .. } => Vec::new(),
        };
        assert_eq!(files.len(), 3);
        let uris: Vec<_> = gltf
            .document
            .buffers
            .iter()
            .map(|buffer| buffer.uri.as_deref().unwrap())
            .collect();
        assert_eq!(
            uris,
            [
                "two%20words.bin",
                "two%20words.gltf.1.bin",
                "two%20words.gltf.2.bin"
            ]
        );
        let written = Output::finish_together(files).unwrap();
        let names = [
            "two words.bin",
            "two words.gltf.1.bin",
            "two words.gltf.2.bin",
        ];
        assert!(
            written
                .iter()
                .map(|file| file.path.clone())
                .eq(names.map(|name| folder.path().join(name)))
        );
        // These are the names that the output claims.
        let names = crate::Convert::new(crate::Target::Gltf).names(Path::new("two words.gltf"));
        assert_eq!(
            names.numbered.unwrap().name(2).unwrap(),
            "two words.gltf.2.bin"
        );
    }
}
