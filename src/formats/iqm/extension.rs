//! The extension list, and the extensions of the FTE engine, the only ones that are known from files.

use std::ops::Range;

use bytes::Bytes;

use super::layout::{ExtensionNode, Layout, TextBudget};
use super::rules::FILE;
use super::{Model, raw};
use crate::bytes::{Array, Text};
use crate::num::{Span, as_u64, size_u64, span};
use crate::report::Result;

/// A node of the extension list: named data.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Extension {
    /// The name, such as `FTE_MESH`.
    pub name: Text,
    /// The node itself, from the beginning of the file.
    pub node: Range<u64>,
    /// The data, from the beginning of the file.
    pub range: Range<u64>,
}

/// An element of `FTE_EVENT`: something that happens at a time in an animation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FteEvent {
    /// The animation, by its index; not checked.
    pub anim: u32,
    /// Seconds from the start of the animation; infinite where the compiler did not know the framerate.
    pub timestamp: f32,
    /// What happens, in the game's own numbers.
    pub evcode: u32,
    /// What the event is given along.
    pub evdata: Text,
}

/// `FTE_SKINS`: materials that meshes can be switched between.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FteSkins {
    /// For each mesh, how many of the mesh skins are its own.
    pub numskins: Array<u32>,
    /// The materials.
    pub frames: Vec<FteSkinFrame>,
    /// The skins of all meshes: those of mesh 0, then those of mesh 1, and so on.
    pub skins: Vec<FteMeshSkin>,
}

/// A material of `FTE_SKINS`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FteSkinFrame {
    /// The name of a material or texture.
    pub material: Text,
    /// The text of a shader; may be empty.
    pub shadertext: Text,
}

/// A skin of `FTE_SKINS`: a run of its materials, shown one after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct FteMeshSkin {
    /// The first material; not checked.
    pub firstframe: u32,
    /// The number of materials.
    pub countframes: u32,
    /// Seconds that each is shown.
    pub interval: f32,
}

impl Model {
    /// The extensions, in the order of the list.
    pub fn extensions(&self) -> impl ExactSizeIterator<Item = Extension> + '_ {
        self.layout().extensions.iter().map(|node| Extension {
            name: self.layout().text_at(node.name),
            node: node.node.clone(),
            range: node.data.clone(),
        })
    }

    /// The data of the first extension with this name, in any case of letters, in place; `Ok(None)` where there is
    /// none.
    ///
    /// # Errors
    ///
    /// Those of reading.
    pub fn extension(&self, name: impl AsRef<[u8]>) -> Result<Option<Bytes>> {
        let node = self.extension_node(name.as_ref());
        node.map(|node| self.layout().source.get(node.data.clone(), "iqmextension")).transpose()
    }

    fn extension_node(&self, name: &[u8]) -> Option<&ExtensionNode> {
        let named =
            |node: &&ExtensionNode| self.layout().text_at(node.name).as_bytes().eq_ignore_ascii_case(name);
        self.layout().extensions.iter().find(named)
    }

    /// `FTE_MESH`, in place: an element for each mesh. `Ok(None)` where the file does not have it, or, as in the
    /// engine, where it does not have an element for each mesh.
    ///
    /// # Errors
    ///
    /// Those of reading.
    pub fn fte_meshes(&self) -> Result<Option<Array<raw::FteMesh>>> {
        let meshes = self.extension("FTE_MESH")?.map(Array::<raw::FteMesh>::new);
        let size = size_u64::<raw::FteMesh>();
        let expected = self.layout().meshes.len_u64().saturating_mul(size);
        let whole = self.extension_node(b"FTE_MESH").is_some_and(|node| length(&node.data) == expected);
        Ok(meshes.filter(|_| whole))
    }

    /// `FTE_EVENT`; empty where the file does not have it.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) where the data of an event lies outside the text,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) where events share long text many times, and the errors of reading.
    pub fn fte_events(&self) -> Result<Vec<FteEvent>> {
        let Some(data) = self.extension("FTE_EVENT")? else { return Ok(Vec::new()) };
        let budget = TextBudget::of(self.layout());
        let event = |event: raw::FteEvent| {
            let evdata = text(self.layout(), &budget, event.evdata.get(), "FTE_EVENT.evdata")?;
            let (anim, timestamp, evcode) = (event.anim.get(), event.timestamp.get(), event.evcode.get());
            Ok(FteEvent { anim, timestamp, evcode, evdata })
        };
        Array::<raw::FteEvent>::new(data).iter().map(event).collect()
    }

    /// `FTE_SKINS`; `Ok(None)` where the file does not have it.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) where its parts are longer than its data, or a name lies outside the text,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) where names share long text many times, and the errors of reading.
    pub fn fte_skins(&self) -> Result<Option<FteSkins>> {
        let Some(node) = self.extension_node(b"FTE_SKINS") else { return Ok(None) };
        let source = &self.layout().source;
        let end = node.data.end;
        let head_end = node.data.start.saturating_add(size_u64::<raw::FteSkins>());
        let within = |part: Range<u64>| {
            let error = FILE.malformed("FTE_SKINS").at(part.clone());
            let expected = format!("an end at {end:#x}, that of the extension, or before");
            if part.end <= end {
                Ok(part)
            } else {
                Err(error.expected(expected).found(format_args!("{:#x}", part.end)))
            }
        };
        within(node.data.start..head_end)?;
        let head: raw::FteSkins = source.read_struct(node.data.start, "FTE_SKINS")?;
        let run =
            |start: u64, count: u64, size: usize| within(span(start, count.saturating_mul(as_u64(size))));
        let numskins = run(head_end, self.layout().meshes.len_u64(), size_of::<u32>())?;
        let frames = run(numskins.end, head.numskinframes.get().into(), size_of::<raw::FteSkinFrame>())?;
        let skins = run(frames.end, head.nummeshskins.get().into(), size_of::<raw::FteMeshSkin>())?;

        let budget = TextBudget::of(self.layout());
        let frame = |frame: raw::FteSkinFrame| {
            Ok(FteSkinFrame {
                material: text(self.layout(), &budget, frame.material.get(), "FTE_SKINS.material")?,
                shadertext: text(self.layout(), &budget, frame.shadertext.get(), "FTE_SKINS.shadertext")?,
            })
        };
        let skin = |skin: raw::FteMeshSkin| FteMeshSkin {
            firstframe: skin.firstframe.get(),
            countframes: skin.countframes.get(),
            interval: skin.interval.get(),
        };
        Ok(Some(FteSkins {
            numskins: Array::new(source.get(numskins, "FTE_SKINS")?),
            frames: Array::new(source.get(frames, "FTE_SKINS")?).iter().map(frame).collect::<Result<_>>()?,
            skins: Array::new(source.get(skins, "FTE_SKINS")?).iter().map(skin).collect(),
        }))
    }
}

/// A text that an extension names, which opening has not checked.
fn text(layout: &Layout, budget: &TextBudget, offset: u32, what: &'static str) -> Result<Text> {
    if u64::from(offset) < length(&layout.sections.text) {
        budget.spend(&layout.text, offset, what)?;
        return Ok(layout.text_at(offset));
    }
    let error = FILE.malformed(what);
    let expected = format!("an offset below {:#x} (num_text)", length(&layout.sections.text));
    Err(error.expected(expected).found(format_args!("{offset:#x}")))
}

fn length(range: &Range<u64>) -> u64 {
    range.length()
}
