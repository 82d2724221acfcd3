//! The calls that all formats have, and for each format its own.

use meshmap::{
    Address, ArrayEntry, Axis, Conventions, Format, Fragments, IndexFormat, MeshFile, Options,
    Result, Role, Semantic, Source, Strictness, VOrigin, VertexFormat, VertexLayout, Winding,
};

use super::caller::{Caller, FEW};
use super::look::Seen;
use super::{cgeo, iqm, openctm, slmesh, tmf};

/// Makes every public call on the bytes of a source.
pub fn every(source: &Source, options: &Options, caller: &mut impl Caller) {
    caller.call("Format::detect", || {
        Format::detect(source).map(Format::name)
    });
    let strict = options.with_strictness(Strictness::Strict);
    caller.call("open strictly", || {
        MeshFile::from_source(source.clone(), &strict).map(drop)
    });
    slmesh::containers(source, options, caller);
    let open = || MeshFile::from_source(source.clone(), options);
    let Some(file) = caller.call("open", open) else {
        return;
    };
    caller.held("after opening");
    for round in 0..caller.rounds() {
        caller.begin_round(round);
        on(&file, source, options, caller);
    }
    caller.held("after all calls");
}

/// Makes every public call on an open file.
pub fn on(file: &MeshFile, source: &Source, options: &Options, caller: &mut impl Caller) {
    caller.call("items", || Ok(file.items().count()));
    caller.call("findings", || Ok(file.findings().to_vec()));
    caller.call("meshes", || {
        Ok(file
            .meshes()?
            .fold(0, |sum, entry| sum + entry.name.as_bytes().len() + 1))
    });
    let drawn = || {
        file.meshes_where(Role::is_drawn_by_default)
            .map(Iterator::count)
    };
    caller.call("meshes that are drawn", drawn);
    let Ok(meshes) = file.meshes() else { return };
    let meshes: Vec<Address> = meshes.map(|entry| entry.address).collect();
    caller.call("validate", || file.validate());
    arrays(file, caller);
    self::meshes(file, &meshes, caller);
    match file {
        MeshFile::CGeo(proxy) => cgeo::calls(proxy, options, caller),
        MeshFile::Iqm(model) => iqm::calls(model, options, caller),
        MeshFile::OpenCtm(bodies) => openctm::calls(bodies, source, options, caller),
        MeshFile::SlMesh(asset) => slmesh::calls(asset, options, caller),
        MeshFile::Tmf(document) => tmf::calls(document, caller),
        _ => unreachable!("a format that this does not know"),
    }
}

/// The table of arrays and the texts.
fn arrays(file: &MeshFile, caller: &mut impl Caller) {
    let looks = caller.looks();
    caller.call("arrays", || {
        let mut seen = Seen::new(looks);
        file.arrays().for_each(|entry| seen.add(&entry));
        Ok(seen)
    });
    let most = caller.most().min(FEW);
    caller.call("arrays, read", || {
        let mut seen = Seen::new(looks);
        file.arrays()
            .take(most)
            .for_each(|entry| seen.add(&entry.and_then(|entry| entry.read())));
        Ok(seen)
    });
    caller.call("arrays, decoded together", || {
        let mut seen = Seen::new(looks);
        file.arrays_together()
            .take(most)
            .for_each(|entry| seen.add(&entry.and_then(|entry| entry.read())));
        Ok(seen)
    });
    // Reading by address, if no part of the file is damaged.
    let list = || {
        file.arrays()
            .take(most)
            .collect::<Result<Vec<ArrayEntry>>>()
    };
    let entries = caller.call("arrays, listed", list).unwrap_or_default();
    caller.each("array", &entries, |entry| file.array(&entry.address));
    // Frames in which nothing moves decode to any number of poses, which takes as long as they are many.
    let stored = entries
        .iter()
        .map(|entry| entry.range.end)
        .max()
        .unwrap_or_default();
    let most = stored.saturating_mul(64).saturating_add(1 << 20);
    let is_read = |entry: &&ArrayEntry| entry.byte_len().is_none_or(|bytes| bytes <= most);
    caller.each(
        "array.read_pieces",
        entries.iter().filter(is_read),
        |entry| {
            let mut length = 0_u64;
            let shape = entry.read_pieces(|piece| length += piece.len() as u64)?;
            Ok((length, shape))
        },
    );
    drop(entries);
    caller.call("texts", || {
        let mut seen = Seen::new(looks);
        file.texts().for_each(|text| seen.add(&text));
        Ok(seen)
    });
}

/// The meshes as renderers see them.
fn meshes(file: &MeshFile, meshes: &[Address], caller: &mut impl Caller) {
    let looks = caller.looks();
    // Attributes of all meshes may be the same ones.
    let most = if meshes.len() > FEW { 16 } else { usize::MAX };
    caller.each("mesh", meshes, |address| file.mesh(address));
    caller.each("counts", meshes, |address| {
        file.counts(address).map(|counts| counts.triangles)
    });
    caller.each("bounds", meshes, |address| file.bounds(address));
    caller.each("mesh.bounds", meshes, |address| {
        file.mesh(address)?.bounds()
    });
    caller.each("mesh.attribute", meshes, |address| {
        let view = file.mesh(address)?;
        let mut seen = Seen::new(looks);
        for info in view.attributes().iter().take(most) {
            seen.add(&view.attribute(&info.semantic));
        }
        Ok(seen)
    });
    caller.each("mesh.attribute, written", meshes, |address| {
        let view = file.mesh(address)?;
        let mut written = 0;
        for info in view.attributes().iter().take(most.min(FEW)) {
            if let Some(attribute) = view.attribute(&info.semantic)? {
                let stride = attribute.format().size().saturating_add(4);
                attribute.write_chunks(attribute.format(), stride, |_, bytes| {
                    written += bytes.len()
                })?;
                written += usize::from(attribute.bounds().is_some());
            }
        }
        Ok(written)
    });
    let layout = VertexLayout::new()
        .with_default(Semantic::Position, VertexFormat::FLOAT32X3, [0.; 4])
        .with_default(Semantic::Normal, VertexFormat::SNORM8X4, [0.; 4])
        .with_default(Semantic::TexCoord(0), VertexFormat::FLOAT16X2, [0.; 4]);
    caller.each("mesh.write_interleaved", meshes, |address| {
        let mut written = 0;
        file.mesh(address)?
            .write_interleaved(&layout, |_, bytes| written += bytes.len())?;
        Ok(written)
    });
    caller.each("mesh.by_material", meshes, |address| {
        let view = file.mesh(address)?.by_material()?;
        Ok(view
            .groups()
            .fold(0, |sum, group| sum + group.triangles.len()))
    });
    // All attributes of a mesh, which may be the same ones in many meshes.
    let y_up = Conventions::Y_UP_CCW.with_v_origin(VOrigin::Bottom);
    let x_up = y_up
        .with_up(Axis::X)
        .with_front_face(Winding::Clockwise)
        .with_v_origin(VOrigin::Top);
    caller.each(
        "mesh.load, group, turned",
        meshes.get(..FEW).unwrap_or(meshes),
        |address| {
            let mut view = file.mesh(address)?.load()?.turned(y_up, x_up)?;
            if let Some(group) = view.groups().last() {
                view = view.group(group.index)?;
            }
            let mut seen = Seen::new(looks);
            for info in view.attributes().iter().take(most) {
                seen.add(&view.attribute(&info.semantic));
            }
            Ok(seen)
        },
    );
    caller.each("mesh.indices", meshes, |address| {
        let view = file.mesh(address)?;
        let mut sum = view
            .indices()
            .iter()
            .fold(0_u64, |sum, index| sum.wrapping_mul(31) + u64::from(index));
        view.indices()
            .write_chunks(IndexFormat::Uint32, |_, bytes| sum += bytes.len() as u64)?;
        view.indices()
            .write_narrowest(|_, bytes| sum += bytes.len() as u64)?;
        Ok(sum + view.indices().triangles().len() as u64)
    });
    let past = Address::field("no_such_part").index(u64::MAX);
    caller.call("mesh that is not there", || Ok(file.mesh(&past).is_err()));
}

/// Opens and validates in steps, with the requested bytes supplied in pieces of `piece` bytes.
pub fn in_steps(body: &bytes::Bytes, piece: usize, options: &Options, caller: &mut impl Caller) {
    let len = body.len() as u64;
    let open = |source: &Source| MeshFile::from_source(source.clone(), options);
    caller.call("Fragments: opening in steps", || {
        let fragments = Fragments::new(Some(len));
        let file = step(&fragments, body, piece, open)?;
        Ok(file.items().count())
    });
    caller.call("Fragments: validating in steps", || {
        let fragments = Fragments::new(Some(len));
        let file = step(&fragments, body, piece, open)?;
        step(&fragments, body, piece, |_| file.validate())
    });
    for (name, backwards) in [
        ("Fragments: all pieces in order", false),
        ("Fragments: all pieces backwards", true),
    ] {
        caller.call(name, || {
            let fragments = Fragments::new(None);
            let mut pieces: Vec<_> = (0..body.len()).step_by(piece.max(1)).collect();
            if backwards {
                pieces.reverse();
            }
            for start in pieces {
                let end = body.len().min(start + piece);
                fragments.supply(start as u64, body.slice(start..end))?;
            }
            fragments.set_len(len)?;
            let file = open(&fragments.source())?;
            Ok(file.items().count())
        });
    }
}

fn step<T>(
    fragments: &Fragments,
    body: &bytes::Bytes,
    piece: usize,
    job: impl Fn(&Source) -> Result<T>,
) -> Result<T> {
    loop {
        match fragments.step(&job)? {
            Ok(done) => return Ok(done),
            Err(ranges) => {
                for range in ranges {
                    let at = |offset: u64| {
                        usize::try_from(offset)
                            .unwrap_or(usize::MAX)
                            .min(body.len())
                    };
                    for start in (at(range.start)..at(range.end)).step_by(piece.max(1)) {
                        let end = at(range.end).min(start + piece);
                        fragments.supply(start as u64, body.slice(start..end))?;
                    }
                }
            }
        }
    }
}
