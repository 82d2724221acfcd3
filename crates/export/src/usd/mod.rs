//! USD: crate files of version 0.8.0, written in one pass.
//!
//! Values go out as they are made; what is kept until the end is where they are. The numbers of vertices are the file's.

mod cgeo;
mod compress;
mod crate_file;
mod materials;
mod mesh;
mod meshes;
mod names;
mod prim;
mod samples;
mod subsets;
mod tables;
mod values;

use std::path::Path;

use meshmap::{Axis, MeshFile};

use self::crate_file::CrateFile;
use self::materials::Materials;
use self::names::Names;
use self::prim::{Prim, Property, Value};
use crate::assume;
use crate::convert::Convert;
use crate::error::Result;
use crate::outcome::Outcome;
use crate::output::Output;

/// The prim that has all others.
const ROOT: &str = "meshmap_root";

/// The prim below it that has the materials.
const MATERIALS: &str = "materials";

pub(crate) fn write(file: &MeshFile, convert: &Convert, path: &Path, outcome: &mut Outcome) -> Result<()> {
    let mut output = Output::create(path)?;
    let mut out = CrateFile::begin(output.file())?;
    let (mut materials, mut names) = (Materials::default(), Names::with(&[MATERIALS]));
    let up = assume::up(file.format(), convert.up, |note| outcome.note(note));
    let mut root = match up {
        // Stages have Y up, or Z.
        Axis::X => {
            let turned = Property::attribute("xformOp:rotateZ", "float").field("default", Value::Float(90.0));
            let order = Value::Tokens(vec!["xformOp:rotateZ".into()]);
            let order = Property::uniform("xformOpOrder", "token[]", order);
            Prim::new("Xform", ROOT).with(turned).with(order)
        }
        _ => Prim::new("Xform", ROOT),
    };
    root.fields.push(("kind", Value::Token("component".into())));
    let mut fields = vec![
        ("defaultPrim", Value::Token(ROOT.into())),
        ("metersPerUnit", Value::Double(assume::metres(file, convert, outcome))),
        ("upAxis", Value::Token(if up == Axis::Z { "Z" } else { "Y" }.into())),
    ];
    match file {
        MeshFile::CGeo(proxy) if convert.meshes.is_empty() => {
            let written = cgeo::write(proxy, convert, &mut out, (&mut materials, &mut names), outcome)?;
            fields.extend(written.times);
            root.children.push(written.prim);
        }
        _ => {
            root.children = meshes::write(file, convert, &mut out, (&mut materials, &mut names), outcome)?;
        }
    }
    root.children.extend(materials.scope());
    let stage = Prim { name: String::new(), fields, properties: Vec::new(), children: vec![root] };
    out.finish(&stage)?;
    output.finish(outcome)
}
