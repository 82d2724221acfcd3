//! Reads glTF: meshes with their morph targets, and the keys of animations.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::rc::Rc;

use meshmap::{Charge, Meter};
use serde_json::Value;

use crate::mesh::{Materials, Mesh, Stream, Weights, points};
use crate::tally::Tally;

type Result<T> = std::result::Result<T, String>;

pub(crate) struct Gltf<'a> {
    json: Value,
    buffers: Vec<Buffer>,
    /// The memory of the JSON, and of the numbers of one mesh.
    charge: Charge<'a>,
    /// The first node that shows each mesh.
    node_of_mesh: HashMap<usize, usize>,
    /// The attributes of the previous primitive, by accessor: primitives of many materials share their vertices.
    before: Attributes,
}

/// The file of a buffer, and where in it the buffer begins.
type Buffer = (File, u64);

/// The attributes of a primitive, by accessor.
#[derive(Default)]
struct Attributes {
    triples: HashMap<usize, Rc<Vec<[f32; 3]>>>,
    pairs: HashMap<usize, Rc<Vec<[f32; 2]>>>,
}

/// Keys of a node: what they move, their times, and their values one after another.
pub(crate) struct Channel {
    pub(crate) node: Option<usize>,
    pub(crate) path: String,
    pub(crate) times: Vec<f64>,
    pub(crate) values: Vec<f64>,
}

/// The most sets of colours that are looked for.
const COLOR_SETS: u32 = 16;

/// The accessor of a set of colours: those outside of 0..1 have a name of the application.
fn color(attributes: &Value, set: u32) -> Option<usize> {
    index(&attributes[format!("COLOR_{set}")])
        .or_else(|| index(&attributes[format!("_COLOR_{set}")]))
}

/// Numbers of an accessor, one component after another.
struct Numbers {
    values: Vec<f64>,
    components: usize,
}

/// The animations of a file that have not been compared yet.
pub(crate) struct Animations {
    names: Vec<String>,
    next: usize,
}

impl Animations {
    /// The index of the next animation, if it has this name.
    pub(crate) fn take(&mut self, name: &str) -> Option<usize> {
        let index = self.next;
        if self.names.get(index)? != name {
            return None;
        }
        self.next += 1;
        Some(index)
    }

    /// The name of the next animation.
    pub(crate) fn rest(&self) -> Option<&str> {
        self.names.get(self.next).map(String::as_str)
    }
}

/// Opens a file, whose JSON and largest mesh are charged. `None` if it cannot be read, which counts as a difference.
pub(crate) fn open<'a>(
    path: &Path,
    meter: &'a Meter<'_>,
    tally: &mut Tally,
) -> meshmap::Result<Option<Gltf<'a>>> {
    /// The memory of values for each byte of their text.
    const OF_JSON_BYTE: u64 = 24;
    /// The numbers, as they are converted.
    const OF_NUMBER_BYTE: u64 = 4;
    let length = json_length(path).unwrap_or_default();
    let mut charge = meter.take(length, "JSON of the written file")?;
    let Some((text, buffer)) = tally.read(read_json(path)) else {
        return Ok(None);
    };
    // Binary files have spaces at the end.
    let text = text.trim_ascii_end();
    let values = (text.len() as u64).saturating_mul(OF_JSON_BYTE);
    charge.grow(values, "JSON of the written file")?;
    let Some(mut gltf) = tally.read(Gltf::new(text, buffer, path, charge)) else {
        return Ok(None);
    };
    let numbers = gltf.largest_mesh().saturating_mul(OF_NUMBER_BYTE);
    gltf.charge.grow(numbers, "numbers of the written file")?;
    Ok(Some(gltf))
}

/// The number of bytes of JSON in a file.
fn json_length(path: &Path) -> std::io::Result<u64> {
    let mut file = File::open(path)?;
    let mut head = [0; 16];
    if file.read_exact(&mut head).is_ok() && head.starts_with(b"glTF") {
        return Ok(head
            .last_chunk()
            .map_or(0, |length| u32::from_le_bytes(*length).into()));
    }
    Ok(file.metadata()?.len())
}

/// The JSON of a file, and of a binary one the buffer behind it.
fn read_json(path: &Path) -> Result<(Vec<u8>, Option<Buffer>)> {
    let told = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut file = File::open(path).map_err(told)?;
    let mut head = [0; 20];
    if file.read_exact(&mut head).is_err() || !head.starts_with(b"glTF") {
        return Ok((std::fs::read(path).map_err(told)?, None));
    }
    let word = |at: usize| {
        let bytes = head.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        u64::from(bytes.map_or(0, u32::from_le_bytes))
    };
    let length = file.metadata().map_err(told)?.len();
    if word(8) != length || word(12) > length {
        return Err(format!(
            "the header says {} bytes, where the file has {length}",
            word(8)
        ));
    }
    let mut text = Vec::new();
    Read::by_ref(&mut file)
        .take(word(12))
        .read_to_end(&mut text)
        .map_err(told)?;
    Ok((text, Some((file, 20 + word(12) + 8))))
}

impl<'a> Gltf<'a> {
    /// A file of this JSON. Without an embedded buffer, its buffers are files next to it.
    fn new(text: &[u8], buffer: Option<Buffer>, path: &Path, charge: Charge<'a>) -> Result<Self> {
        let json: Value = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let open = |uri| {
            let path = path.with_file_name(unescaped(uri));
            File::open(&path)
                .map(|file| (file, 0))
                .map_err(|error| format!("{}: {error}", path.display()))
        };
        let buffers = match buffer {
            Some(buffer) => vec![buffer],
            None => {
                let uris = list(&json, "buffers")
                    .iter()
                    .map(|of| of["uri"].as_str().unwrap_or_default());
                uris.map(open).collect::<Result<_>>()?
            }
        };
        let mut node_of_mesh = HashMap::new();
        for (node, of) in list(&json, "nodes").iter().enumerate() {
            if let Some(mesh) = index(&of["mesh"]) {
                node_of_mesh.entry(mesh).or_insert(node);
            }
        }
        Ok(Self {
            json,
            buffers,
            charge,
            node_of_mesh,
            before: Attributes::default(),
        })
    }

    pub(crate) fn mesh_count(&self) -> usize {
        list(&self.json, "meshes").len()
    }

    pub(crate) fn primitive_count(&self, mesh: usize) -> usize {
        list(self.json_of_mesh(mesh), "primitives").len()
    }

    pub(crate) fn target_count(&self, mesh: usize) -> usize {
        list(self.primitive(mesh, 0), "targets").len()
    }

    /// The maximum size of the numbers of one mesh, which are read together: all primitives, and one morph target.
    fn largest_mesh(&self) -> u64 {
        let bytes = |accessor: usize| {
            let of = list(&self.json, "accessors").get(accessor);
            let components = of.and_then(|of| components(of).ok()).unwrap_or_default() as u64;
            let count = of.and_then(|of| of["count"].as_u64()).unwrap_or_default();
            count.saturating_mul(components * 4)
        };
        let most = |mesh: &Value| {
            let primitives = list(mesh, "primitives");
            let attributes = primitives
                .iter()
                .filter_map(|of| of["attributes"].as_object());
            let read = attributes
                .flat_map(|of| of.values())
                .chain(primitives.iter().map(|of| &of["indices"]));
            // Primitives share them.
            let read: BTreeSet<usize> = read.filter_map(index).collect();
            let targets = primitives.iter().flat_map(|of| list(of, "targets"));
            let target = targets
                .filter_map(|of| index(&of["POSITION"]))
                .map(bytes)
                .max();
            read.into_iter()
                .map(bytes)
                .fold(target.unwrap_or_default(), u64::saturating_add)
        };
        list(&self.json, "meshes")
            .iter()
            .map(most)
            .max()
            .unwrap_or_default()
    }

    /// The name of the material of a primitive.
    pub(crate) fn material(&self, mesh: usize, primitive: usize) -> Option<&str> {
        let material = index(&self.primitive(mesh, primitive)["material"])?;
        list(&self.json, "materials").get(material)?["name"].as_str()
    }

    /// Returns `true` if the positions of a mesh are integers.
    pub(crate) fn has_integers(&self, mesh: usize) -> bool {
        let accessor = index(&self.primitive(mesh, 0)["attributes"]["POSITION"]);
        let accessor = accessor.and_then(|accessor| list(&self.json, "accessors").get(accessor));
        accessor.is_some_and(|accessor| accessor["componentType"] != 5126)
    }

    /// A primitive, its integers as they are stored where the positions are integers.
    pub(crate) fn mesh(&mut self, mesh: usize, primitive: usize) -> Result<Mesh> {
        let of = self.primitive(mesh, primitive);
        let attribute = |name: &str| index(&of["attributes"][name]);
        let positions = attribute("POSITION");
        let normals = attribute("NORMAL");
        let colors: Vec<(u32, usize)> = (0..COLOR_SETS)
            .filter_map(|set| Some((set, color(&of["attributes"], set)?)))
            .collect();
        let influences = attribute("JOINTS_0").zip(attribute("WEIGHTS_0"));
        let coords: Vec<usize> = (0..)
            .map_while(|set| attribute(&format!("TEXCOORD_{set}")))
            .collect();
        let indices = index(&of["indices"]);
        let is_points = of["mode"] == 0 && indices.is_none();
        let is_normalized = !self.has_integers(mesh);
        let positions = positions.ok_or("a primitive without positions")?;
        let before = std::mem::take(&mut self.before);
        let mut triples = |accessor: usize, is_normalized| {
            let elements = match before.triples.get(&accessor) {
                Some(elements) => Rc::clone(elements),
                None => Rc::new(self.elements(accessor, is_normalized)?),
            };
            self.before.triples.insert(accessor, Rc::clone(&elements));
            Ok::<_, String>(elements)
        };
        let mut shape = Mesh {
            positions: triples(positions, is_normalized)?,
            ..Mesh::default()
        };
        if let Some(normals) = normals {
            shape.normals = Some(Stream {
                values: triples(normals, true)?,
                corners: None,
            });
        }
        for accessor in coords {
            let elements = match before.pairs.get(&accessor) {
                Some(elements) => Rc::clone(elements),
                None => Rc::new(self.elements(accessor, true)?),
            };
            self.before.pairs.insert(accessor, Rc::clone(&elements));
            shape.coords.push(Stream {
                values: elements,
                corners: None,
            });
        }
        for (set, accessor) in colors {
            shape.colors.insert(set, Rc::new(self.colors(accessor)?));
        }
        if let Some((joints, weights)) = influences {
            let joints = self.elements(joints, false)?;
            let weights = self.elements(weights, true)?;
            let [joints, weights] = [joints, weights].map(Rc::new);
            shape.weights = Some(Weights {
                joints,
                weights,
                rest: None,
            });
        }
        shape.materials = Materials::one(self.material(mesh, primitive));
        if is_points {
            shape.corners = points(shape.positions.len());
            return Ok(shape);
        }
        let indices = self.numbers(indices.ok_or("a primitive without indices")?, false)?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "saturates, and is looked up"
        )]
        let corners = indices
            .values
            .as_chunks::<3>()
            .0
            .iter()
            .map(|corners| corners.map(|corner| corner as u32));
        shape.corners = corners.collect();
        Ok(shape)
    }

    /// Colours, whose fourth component is 1 if it is not stored.
    fn colors(&mut self, accessor: usize) -> Result<Vec<[f32; 4]>> {
        let Numbers { values, components } = self.numbers(accessor, true)?;
        let color = |stored: &[f64]| {
            let mut color = [1.0; 4];
            #[expect(clippy::cast_possible_truncation, reason = "floats")]
            color
                .iter_mut()
                .zip(stored)
                .for_each(|(place, number)| *place = *number as f32);
            color
        };
        Ok(values.chunks(components.max(1)).map(color).collect())
    }

    /// The material IDs of the vertices of a primitive, if it has them.
    pub(crate) fn ids(&mut self, mesh: usize, primitive: usize) -> Result<Option<Vec<u32>>> {
        let Some(accessor) = index(&self.primitive(mesh, primitive)["attributes"]["_MATERIAL_ID"])
        else {
            return Ok(None);
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "saturates, and is compared"
        )]
        let id = |id: f64| {
            if id.fract() == 0.0 {
                id as u32
            } else {
                u32::MAX
            }
        };
        Ok(Some(
            self.numbers(accessor, false)?
                .values
                .into_iter()
                .map(id)
                .collect(),
        ))
    }

    pub(crate) fn nodes(&self) -> &[Value] {
        list(&self.json, "nodes")
    }

    /// The nodes of the scene.
    pub(crate) fn scene(&self) -> &[Value] {
        list(&self.json["scenes"][0], "nodes")
    }

    /// The first node that shows a mesh.
    pub(crate) fn node_of(&self, mesh: usize) -> Option<usize> {
        self.node_of_mesh.get(&mesh).copied()
    }

    /// The joints of a skin, as numbers of nodes.
    pub(crate) fn joints(&self, skin: usize) -> Vec<usize> {
        list(&self.json["skins"][skin], "joints")
            .iter()
            .filter_map(index)
            .collect()
    }

    /// The inverse bind matrices of a skin, column by column.
    pub(crate) fn inverse_bind(&mut self, skin: usize) -> Result<Vec<[f64; 16]>> {
        let accessor = index(&self.json["skins"][skin]["inverseBindMatrices"]);
        let numbers = self.numbers(
            accessor.ok_or("a skin without inverse bind matrices")?,
            false,
        )?;
        Ok(numbers.values.as_chunks::<16>().0.to_vec())
    }

    /// The animations, none of which has been compared.
    pub(crate) fn animations(&self) -> Animations {
        let name = |animation: &Value| animation["name"].as_str().unwrap_or_default().to_owned();
        Animations {
            names: list(&self.json, "animations").iter().map(name).collect(),
            next: 0,
        }
    }

    /// The node and path of each channel of an animation.
    pub(crate) fn moved(&self, animation: usize) -> BTreeSet<(Option<usize>, String)> {
        let target = |channel: &Value| {
            let path = channel["target"]["path"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            (index(&channel["target"]["node"]), path)
        };
        list(&self.json["animations"][animation], "channels")
            .iter()
            .map(target)
            .collect()
    }

    /// The channels of an animation.
    pub(crate) fn channels(&mut self, animation: usize) -> Result<Vec<Channel>> {
        let mut channels = Vec::new();
        for channel in list(&self.json["animations"][animation], "channels").to_vec() {
            let sampler = index(&channel["sampler"]).ok_or("a channel without a sampler")?;
            let sampler = self.json["animations"][animation]["samplers"][sampler].clone();
            let mut numbers = |name: &str| -> Result<Vec<f64>> {
                Ok(self
                    .numbers(
                        index(&sampler[name]).ok_or("a sampler without numbers")?,
                        true,
                    )?
                    .values)
            };
            channels.push(Channel {
                node: index(&channel["target"]["node"]),
                path: channel["target"]["path"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
                times: numbers("input")?,
                values: numbers("output")?,
            });
        }
        Ok(channels)
    }

    /// The accessor of what a morph target adds to the positions of a primitive.
    pub(crate) fn target(&self, mesh: usize, primitive: usize, target: usize) -> Result<usize> {
        let target = list(self.primitive(mesh, primitive), "targets").get(target);
        let accessor = target.and_then(|target| index(&target["POSITION"]));
        accessor.ok_or_else(|| "a morph target without positions".to_owned())
    }

    /// The triples of an accessor.
    pub(crate) fn triples(&mut self, accessor: usize) -> Result<Vec<[f32; 3]>> {
        self.elements(accessor, true)
    }

    fn json_of_mesh(&self, mesh: usize) -> &Value {
        &self.json["meshes"][mesh]
    }

    fn primitive(&self, mesh: usize, primitive: usize) -> &Value {
        &self.json_of_mesh(mesh)["primitives"][primitive]
    }

    fn elements<const N: usize>(
        &mut self,
        accessor: usize,
        is_normalized: bool,
    ) -> Result<Vec<[f32; N]>> {
        let Numbers { values, components } = self.numbers(accessor, is_normalized)?;
        if components != N {
            return Err(format!(
                "accessors[{accessor}] has {components} components, where {N} are meant"
            ));
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "floats, and integers that floats hold"
        )]
        Ok(values
            .as_chunks::<N>()
            .0
            .iter()
            .map(|element| element.map(|number| number as f32))
            .collect())
    }

    fn numbers(&mut self, accessor: usize, is_normalized: bool) -> Result<Numbers> {
        let of = list(&self.json, "accessors")
            .get(accessor)
            .cloned()
            .ok_or("no such accessor")?;
        let components =
            components(&of).map_err(|why| format!("accessors[{accessor}] is {why}"))?;
        let count = index(&of["count"]).ok_or("an accessor without a count")?;
        let kind = of["componentType"].as_u64().unwrap_or_default();
        let is_normalized = is_normalized && of["normalized"] == true;
        let offset = of["byteOffset"].as_u64().unwrap_or_default();
        let mut values = match index(&of["bufferView"]) {
            Some(view) => self.read(view, offset, kind, (count, components), is_normalized)?,
            None => vec![
                0.0;
                count
                    .checked_mul(components)
                    .ok_or("a count that is too large")?
            ],
        };
        let sparse = &of["sparse"];
        if let Some(count) = index(&sparse["count"]) {
            let part = |of: &Value| {
                (
                    index(&of["bufferView"]),
                    of["byteOffset"].as_u64().unwrap_or_default(),
                )
            };
            let (Some(view), offset) = part(&sparse["indices"]) else {
                return Err("sparse without indices".into());
            };
            let indices = self.read(
                view,
                offset,
                sparse["indices"]["componentType"]
                    .as_u64()
                    .unwrap_or_default(),
                (count, 1),
                false,
            )?;
            let (Some(view), offset) = part(&sparse["values"]) else {
                return Err("sparse without values".into());
            };
            let replaced = self.read(view, offset, kind, (count, components), is_normalized)?;
            for (index, element) in indices.iter().zip(replaced.chunks_exact(components)) {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "saturates, and is looked up"
                )]
                let start = (*index as usize).saturating_mul(components);
                let place = values.get_mut(start..start.saturating_add(components));
                place
                    .ok_or("a sparse index beyond the end")?
                    .copy_from_slice(element);
            }
        }
        Ok(Numbers { values, components })
    }

    /// Elements of a buffer view.
    fn read(
        &mut self,
        view: usize,
        offset: u64,
        kind: u64,
        (count, components): (usize, usize),
        is_normalized: bool,
    ) -> Result<Vec<f64>> {
        let of = list(&self.json, "bufferViews")
            .get(view)
            .ok_or("no such buffer view")?;
        let size = match kind {
            5121 => 1,
            5123 => 2,
            5125 | 5126 => 4,
            _ => return Err(format!("numbers of the kind {kind}")),
        };
        let element = size * components;
        let stride = index(&of["byteStride"]).unwrap_or(element);
        let start = of["byteOffset"].as_u64().unwrap_or_default() + offset;
        let length = index(&of["byteLength"]).unwrap_or_default();
        let needed = count.checked_sub(1).map_or(Some(0), |last| {
            last.checked_mul(stride)?.checked_add(element)
        });
        if needed.is_none_or(|needed| needed as u64 + offset > length as u64) {
            return Err(format!(
                "bufferViews[{view}] has {length} bytes, too few for {count} elements"
            ));
        }
        let (file, base) = self
            .buffers
            .get_mut(index(&of["buffer"]).unwrap_or_default())
            .ok_or("no such buffer")?;
        let mut bytes = vec![0; needed.unwrap_or_default()];
        let read = file
            .seek(SeekFrom::Start(*base + start))
            .and_then(|_| file.read_exact(&mut bytes));
        read.map_err(|error| format!("bufferViews[{view}]: {error}"))?;
        let number = |bytes: &[u8]| -> f64 {
            match (kind, bytes) {
                (5121, [a]) if is_normalized => f64::from(f32::from(*a) / 255.0),
                (5121, [a]) => f64::from(*a),
                (5123, [a, b]) if is_normalized => {
                    f64::from(f32::from(u16::from_le_bytes([*a, *b])) / 65_535.0)
                }
                (5123, [a, b]) => f64::from(u16::from_le_bytes([*a, *b])),
                (5125, [a, b, c, d]) => f64::from(u32::from_le_bytes([*a, *b, *c, *d])),
                (_, [a, b, c, d]) => f64::from(f32::from_le_bytes([*a, *b, *c, *d])),
                _ => f64::NAN,
            }
        };
        let elements = bytes.chunks(stride.max(1)).take(count);
        Ok(elements
            .flat_map(|bytes| bytes.chunks_exact(size).take(components).map(number))
            .collect())
    }
}

/// The number of components of each element of an accessor.
fn components(accessor: &Value) -> Result<usize> {
    match accessor["type"].as_str() {
        Some("SCALAR") => Ok(1),
        Some("VEC2") => Ok(2),
        Some("VEC3") => Ok(3),
        Some("VEC4") => Ok(4),
        Some("MAT4") => Ok(16),
        other => Err(format!("of the type {other:?}")),
    }
}

pub(crate) fn list<'a>(of: &'a Value, name: &str) -> &'a [Value] {
    of[name].as_array().map_or(&[], Vec::as_slice)
}

pub(crate) fn index(of: &Value) -> Option<usize> {
    usize::try_from(of.as_u64()?).ok()
}

/// A name without the escapes of a URI.
fn unescaped(uri: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = uri.as_bytes();
    while let Some((first, others)) = rest.split_first() {
        let escaped = others
            .get(..2)
            .filter(|_| *first == b'%')
            .and_then(|two| std::str::from_utf8(two).ok());
        match escaped.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &others[2..];
            }
            None => {
                bytes.push(*first);
                rest = others;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
