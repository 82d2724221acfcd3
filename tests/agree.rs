//! A file is the same however its bytes come in: mapped, opened, in memory, by ranges, in fragments.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use meshmap::tmf::CustomValues;
use meshmap::{Error, Fragments, MeshEntry, MeshFile, Options, Result, Source, iqm, openctm, slmesh, tmf};
use meshmap_testing::{Recorder, data};

/// Everything that a model says, as text.
fn describe(model: &iqm::Model) -> Result<String> {
    let mut text = String::new();
    let file = MeshFile::Iqm(model.clone());
    writeln!(
        text,
        "{:?}\n{:?}\n{:?}",
        model.header(),
        file.items().collect::<Vec<_>>(),
        model.text().unwrap()
    )
    .unwrap();
    writeln!(text, "{:?} {:?}", model.findings(), model.validate()?).unwrap();
    model.meshes().for_each(|mesh| writeln!(text, "{mesh:?}").unwrap());
    for (index, array) in model.vertex_arrays().enumerate() {
        writeln!(text, "{array:?} {:?}", model.vertex_array(index)?.as_bytes()).unwrap();
    }
    writeln!(text, "{:?} {:?}", model.raw_triangles()?, model.adjacency()?).unwrap();
    model.joints().for_each(|joint| writeln!(text, "{joint:?}").unwrap());
    model.anims().for_each(|anim| writeln!(text, "{anim:?}").unwrap());
    writeln!(text, "{:?} {:?}", model.frames().read()?, model.bounds()?).unwrap();
    writeln!(text, "{:?}", model.comment()?).unwrap();
    for extension in model.extensions() {
        writeln!(text, "{extension:?} {:?}", model.extension(extension.name.as_bytes())?).unwrap();
    }
    for MeshEntry { address, .. } in file.meshes().unwrap() {
        let mesh = file.mesh(&address)?;
        writeln!(text, "{:?} {:?} {:?}", mesh.bounds()?, mesh.indices().to_vec(), mesh.attributes()).unwrap();
    }
    Ok(text)
}

fn read(source: Source) -> Result<String> {
    describe(&iqm::Model::from_source(source, &Options::default())?)
}

/// Fragments supplied as `supply` sees fit for each range that is asked for.
fn read_fragments(
    len: Option<u64>,
    supply: impl Fn(&Fragments, std::ops::Range<u64>),
) -> Result<(String, usize)> {
    let fragments = Fragments::new(len);
    let mut trips = 0;
    loop {
        match fragments.step(|source| read(source.clone()))? {
            Ok(text) => return Ok((text, trips)),
            Err(ranges) => ranges.into_iter().for_each(|range| supply(&fragments, range)),
        }
        trips += 1;
        assert!(trips < 100_000, "fragments never suffice");
    }
}

fn part(bytes: &[u8], range: std::ops::Range<u64>) -> Vec<u8> {
    let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
    bytes[at(range.start)..at(range.end)].to_vec()
}

/// The files of a folder; for Miri, which takes minutes for large ones, only some of the smallest.
fn some_of(folder: &str, for_miri: usize) -> Vec<PathBuf> {
    let mut files = data::folder(folder);
    if cfg!(miri) {
        files.sort_by_key(|path| fs::metadata(path).unwrap().len());
        files.truncate(for_miri);
    }
    files
}

/// The files that are read in every way; for Miri, a few small ones.
fn files() -> Vec<PathBuf> {
    let mut files = data::folder("iqm/valid");
    if cfg!(miri) {
        let small = ["frames_odd.iqm", "va_shared_bytes.iqm"];
        files.retain(|path| small.iter().any(|name| path.ends_with(name)));
        assert_eq!(files.len(), small.len());
    }
    files
}

#[test]
fn every_way_in_gives_the_same() {
    for path in files() {
        let bytes = fs::read(&path).unwrap();
        let len = bytes.len() as u64;
        let expected = read(Source::from_bytes(bytes.clone())).unwrap();

        assert_eq!(read(Source::open(&path).unwrap()).unwrap(), expected);
        #[cfg(feature = "mmap")]
        {
            #[allow(unsafe_code, reason = "the files of the repository do not change while tests run")]
            // SAFETY: as above.
            let mapped = unsafe { Source::map(&path) }.unwrap();
            assert_eq!(read(mapped).unwrap(), expected);
        }
        assert_eq!(read(Source::ranged(Recorder::new(bytes.clone()))).unwrap(), expected);

        let whole = |fragments: &Fragments, _| fragments.supply(0, bytes.clone()).unwrap();
        assert_eq!(read_fragments(Some(len), whole).unwrap().0, expected);
        let asked = |fragments: &Fragments, range: std::ops::Range<u64>| {
            fragments.supply(range.start, part(&bytes, range)).unwrap();
        };
        let (text, trips) = read_fragments(Some(len), asked).unwrap();
        assert_eq!(text, expected);
        assert!(trips <= 30, "{}: {trips} trips", path.display());
    }
}

/// One byte a step, of what is asked for first: the job begins again each time.
#[test]
fn fragments_of_one_byte_give_the_same() {
    // Hundreds of steps for each take Miri long; there, more at once.
    let most = if cfg!(miri) { 37 } else { 1 };
    let names = ["frames_odd", "no_names", "anim_constant", "ours_no_vertexes_a"];
    for name in &names[..if cfg!(miri) { 1 } else { 4 }] {
        let bytes = fs::read(data::valid("iqm", &format!("{name}.iqm"))).unwrap();
        let expected = read(Source::from_bytes(bytes.clone())).unwrap();
        let one = |fragments: &Fragments, range: std::ops::Range<u64>| {
            let end = range.end.min(range.start + most);
            fragments.supply(range.start, part(&bytes, range.start..end)).unwrap();
        };
        assert_eq!(read_fragments(Some(bytes.len() as u64), one).unwrap().0, expected, "{name}");
    }
}

/// A source that does not know its length cannot see bytes behind `filesize`; everything else is the same.
#[test]
fn sources_of_unknown_length_give_the_same() {
    for path in files() {
        if path.ends_with("ours_trailing_a.iqm") {
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let expected = read(Source::from_bytes(bytes.clone())).unwrap();
        assert_eq!(read(Source::ranged(Recorder::of_unknown_length(bytes.clone()))).unwrap(), expected);
        let asked = |fragments: &Fragments, range: std::ops::Range<u64>| {
            if range.end > bytes.len() as u64 {
                fragments.set_len(bytes.len() as u64).unwrap();
            }
            fragments.supply(range.start, part(&bytes, range)).unwrap();
        };
        assert_eq!(read_fragments(None, asked).unwrap().0, expected);
    }
}

#[test]
fn errors_of_a_reader_come_through() {
    struct Broken;
    impl meshmap::ReadRange for Broken {
        fn len(&self) -> std::io::Result<Option<u64>> {
            Ok(Some(1 << 40))
        }
        fn read(&self, _: std::ops::Range<u64>) -> std::io::Result<bytes::Bytes> {
            Err(std::io::Error::new(std::io::ErrorKind::ConnectionReset, "gone"))
        }
    }
    let error: Error = iqm::Model::from_source(Source::ranged(Broken), &Options::default()).unwrap_err();
    assert_eq!(error.kind(), meshmap::ErrorKind::Io(std::io::ErrorKind::ConnectionReset));
    assert_eq!(error.to_string(), "iqm: cannot read iqmheader (0x0..0x10000)");
    assert_eq!(format!("{error:#}"), "iqm: cannot read iqmheader (0x0..0x10000): gone");
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "gone");
}

/// Everything that a TMF document says, as text.
fn describe_document(source: &Source) -> Result<String> {
    let document = tmf::Document::from_source(source.clone(), &Options::default())?;
    let mut text = String::new();
    writeln!(
        text,
        "{:?} {:?} {:?}",
        document.header(),
        document.findings(),
        MeshFile::Tmf(document.clone()).items().collect::<Vec<_>>()
    )
    .unwrap();
    for mesh in document.meshes() {
        let mesh = mesh.load()?;
        writeln!(text, "{} {:?}", mesh.name(), mesh.indices()?).unwrap();
        if let Some(vertices) = mesh.positions() {
            writeln!(text, "{:?} {:?}", vertices.read()?, vertices.get(vertices.len() / 2)?).unwrap();
        }
        if let Some(normals) = mesh.normals() {
            writeln!(text, "{:?}", normals.read()?).unwrap();
        }
        if let Some(uvs) = mesh.texcoords(0) {
            writeln!(text, "{:?}", uvs.read()?).unwrap();
        }
        if let Some(tangents) = mesh.tangents() {
            writeln!(text, "{:?}", tangents.read()?).unwrap();
        }
        for custom in mesh.custom()? {
            match custom.values {
                CustomValues::Index(values) | CustomValues::Integer(values) => {
                    writeln!(text, "{} {:?}", custom.name, values.read()?).unwrap();
                }
                CustomValues::Float(values) => writeln!(text, "{:?}", values.read()?).unwrap(),
                CustomValues::ColorRgba(values) => writeln!(text, "{:?}", values.read()?).unwrap(),
                other => panic!("{other:?}"),
            }
        }
    }
    let file = MeshFile::Tmf(document);
    for MeshEntry { address, .. } in file.meshes().unwrap() {
        match file.mesh(&address) {
            Ok(mesh) => writeln!(text, "{:?} {:?}", mesh.bounds()?, mesh.indices().to_vec()).unwrap(),
            Err(error) if matches!(error.kind(), meshmap::ErrorKind::NeedBytes(_)) => return Err(error),
            Err(error) => writeln!(text, "{error}").unwrap(),
        }
    }
    writeln!(text, "{:?}", file.validate()?).unwrap();
    Ok(text)
}

/// Everything that the bodies of an OpenCTM file say, as text.
fn describe_bodies(source: &Source) -> Result<String> {
    let bodies = openctm::Bodies::from_source(source.clone(), &Options::default())?;
    let mut text = String::new();
    writeln!(text, "{:?}", bodies.findings()).unwrap();
    for mesh in bodies.meshes() {
        writeln!(text, "{:?} {:?} {:?}", mesh.header(), mesh.comment(), mesh.items().collect::<Vec<_>>())
            .unwrap();
        writeln!(text, "{:?} {:?} {:?}", mesh.normals()?, mesh.positions()?, mesh.raw_triangles()?).unwrap();
        for map in mesh.uv_maps() {
            writeln!(text, "{} {} {:?}", map.name(), map.file(), map.read()?).unwrap();
        }
        for map in mesh.attribute_maps() {
            writeln!(text, "{} {:?}", map.name(), map.read()?).unwrap();
        }
        writeln!(text, "{:?}", mesh.view()?).unwrap();
    }
    writeln!(text, "{:?}", bodies.validate()?).unwrap();
    Ok(text)
}

/// Whatever a description is of, in fragments that are supplied as `supply` sees fit.
fn fragments_described(
    describe: impl Fn(&Source) -> Result<String>,
    bytes: &[u8],
    supply: impl Fn(&Fragments, std::ops::Range<u64>),
) -> String {
    let fragments = Fragments::new(Some(bytes.len() as u64));
    for _ in 0..100_000 {
        match fragments.step(&describe).unwrap() {
            Ok(text) => return text,
            Err(ranges) => ranges.into_iter().for_each(|range| supply(&fragments, range)),
        }
    }
    panic!("fragments never suffice");
}

/// A file of a format that is described by `describe`, in every way that there is. Where the length is not known, what
/// lies behind the end of the format's last part is not seen.
fn every_way_in_gives(describe: impl Fn(&Source) -> Result<String>, path: &PathBuf) {
    let bytes = fs::read(path).unwrap();
    let expected = describe(&Source::from_bytes(bytes.clone())).unwrap();
    assert_eq!(describe(&Source::open(path).unwrap()).unwrap(), expected);
    #[cfg(feature = "mmap")]
    {
        #[allow(unsafe_code, reason = "the files of the repository do not change while tests run")]
        // SAFETY: as above.
        let mapped = unsafe { Source::map(path) }.unwrap();
        assert_eq!(describe(&mapped).unwrap(), expected);
    }
    assert_eq!(describe(&Source::ranged(Recorder::new(bytes.clone()))).unwrap(), expected);
    let asked = |fragments: &Fragments, range: std::ops::Range<u64>| {
        fragments.supply(range.start, part(&bytes, range)).unwrap();
    };
    assert_eq!(fragments_described(&describe, &bytes, asked), expected);
    if bytes.len() < 400 {
        let one = |fragments: &Fragments, range: std::ops::Range<u64>| {
            fragments.supply(range.start, part(&bytes, range.start..range.start + 1)).unwrap();
        };
        assert_eq!(fragments_described(&describe, &bytes, one), expected);
    }
    if !expected.contains("trailing bytes") {
        let blind = Source::ranged(Recorder::of_unknown_length(bytes.clone()));
        assert_eq!(describe(&blind).unwrap(), expected);
    }
}

#[test]
fn every_way_into_a_document_gives_the_same() {
    for path in some_of("tmf/valid", 4) {
        every_way_in_gives(describe_document, &path);
    }
}

#[test]
fn every_way_into_bodies_gives_the_same() {
    some_of("openctm/valid", 1).iter().for_each(|path| every_way_in_gives(describe_bodies, path));
}

/// Everything that a mesh asset says, as text.
fn describe_asset(source: &Source) -> Result<String> {
    let asset = slmesh::Asset::from_source(source.clone(), &Options::default())?;
    let mut text = String::new();
    writeln!(
        text,
        "{:?} {:?} {:?}",
        asset,
        asset.findings(),
        MeshFile::SlMesh(asset.clone()).items().collect::<Vec<_>>()
    )
    .unwrap();
    writeln!(text, "{:?} {:?} {:?}", asset.validate()?, asset.blocks()?, asset.header().collect::<Vec<_>>())
        .unwrap();
    let decoded = asset.decode_all()?;
    writeln!(text, "{:?} {:?} {:?}", decoded.physics_mesh, decoded.physics_convex, decoded.skin).unwrap();
    for lod in slmesh::Lod::ALL {
        let Some(mesh) = asset.lod(lod)? else { continue };
        writeln!(text, "{mesh:?} {:?} {:?}", asset.best_lod(lod), asset.triangle_estimate(lod)).unwrap();
        for face in mesh.faces() {
            writeln!(text, "{:?} {:?}", face.positions()?, face.normals()?).unwrap();
            writeln!(text, "{:?} {:?}", face.texcoords(0)?, face.indices()).unwrap();
            writeln!(text, "{:?}", face.weights()).unwrap();
        }
    }
    let file = MeshFile::SlMesh(asset);
    for MeshEntry { address, .. } in file.meshes().unwrap() {
        let mesh = file.mesh(&address)?;
        writeln!(text, "{address} {:?} {:?}", mesh.bounds()?, mesh.attributes()).unwrap();
    }
    Ok(text)
}

#[test]
fn every_way_into_an_asset_gives_the_same() {
    for path in some_of("slmesh/valid", 2) {
        // Miri takes long; there, one file.
        if !cfg!(miri) || path.ends_with("odd_a00_baseline.slmesh") {
            every_way_in_gives(describe_asset, &path);
        }
    }
}

/// A block behind the end of an asset is as damaged if the end is found only by reading the block.
#[test]
fn meshes_of_cut_assets_are_listed_without_a_length() {
    let bytes = meshmap_testing::fixtures::slmesh::large(64);
    let listed = |source: Source| {
        let file = MeshFile::from_source(source, &Options::default()).unwrap();
        file.meshes().map(|meshes| meshes.map(|entry| entry.address.to_string()).collect::<Vec<_>>())
    };
    let asset =
        meshmap::slmesh::Asset::from_source(Source::from_bytes(bytes.clone()), &Options::default()).unwrap();
    let ends: Vec<u64> = asset.blocks().unwrap().into_iter().map(|block| block.range.end).collect();
    assert!(ends.iter().filter(|end| **end > 4096).count() > 3, "{ends:?}");
    for end in ends {
        for cut in [end as usize - 1, end as usize] {
            let cut = bytes[..cut].to_vec();
            let expected = listed(Source::from_bytes(cut.clone())).unwrap();
            assert_eq!(listed(Source::ranged(Recorder::of_unknown_length(cut))).unwrap(), expected, "{end}");
        }
    }
}
