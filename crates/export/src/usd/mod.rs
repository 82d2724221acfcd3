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

use meshmap::{Axis, Format, MeshFile};

use self::crate_file::CrateFile;
use self::materials::Materials;
use self::names::Names;
use self::prim::{Prim, Property, Value};
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
    let up = up(file.format(), convert, outcome);
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
        ("metersPerUnit", Value::Double(metres(file, convert, outcome))),
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

/// The axis that points up, which is assumed where the format does not say it.
fn up(format: Format, convert: &Convert, outcome: &mut Outcome) -> Axis {
    convert.up.or(format.conventions().up).unwrap_or_else(|| {
        let (up, from) = match format {
            // 3ds Max, from which most of these files come, has Z up.
            Format::CGeo => (Axis::Z, "Z"),
            _ => (Axis::Y, "Y"),
        };
        outcome.note(format!("{format} does not say which axis points up: taken for {from}"));
        up
    })
}

/// What a length of 1 is, in metres.
fn metres(file: &MeshFile, convert: &Convert, outcome: &mut Outcome) -> f64 {
    let stored = file.as_cgeo().and_then(|proxy| proxy.unit_length()).map(|unit| unit.millimeters);
    convert.metres(stored).unwrap_or_else(|| {
        if file.as_cgeo().is_some() {
            outcome.note("the file does not say what a length of 1 is: taken for a metre");
        }
        1.0
    })
}
