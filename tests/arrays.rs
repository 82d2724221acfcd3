//! The table of arrays, the counts and the bounding boxes of every format.
//!
//! The tests iterate over [`Format::ALL`], and fail for a format without files, rules, arrays or texts. The tests `corpus_*`
//! do the same for the files in the folder that `MESHMAP_CORPUS` names:
//! `cargo test --test arrays -- --ignored corpus_`.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use meshmap::{
    Address, ArrayData, ArrayEntry, Bounds, Cause, ErrorKind, Format, IndexFormat, Limit, Limits,
    MeshFile, Options, Result, Scratch, Semantic, Source, VertexFormat, VertexLayout,
};
use meshmap_testing::{Recorder, data, exercise, open};

/// The valid files of a format in the repository.
fn valid(format: Format) -> Vec<PathBuf> {
    data::folder(&format!("{format}/valid"))
}

/// The damaged files of a format in the repository.
fn damaged(format: Format) -> Vec<PathBuf> {
    data::folder(&format!("{format}/bad"))
}

/// Files of the larger corpus.
fn corpus(format: Format, folders: &[&str]) -> Vec<PathBuf> {
    let corpus = data::corpus();
    folders
        .iter()
        .flat_map(|folder| data::files(&corpus.join(format.name()).join(folder)))
        .collect()
}

fn memory(path: &Path) -> Bytes {
    fs::read(path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        .into()
}

fn open(bytes: &Bytes) -> MeshFile {
    open::file(bytes.clone())
}

fn list(file: &MeshFile) -> Vec<ArrayEntry> {
    file.arrays()
        .map(|entry| entry.unwrap_or_else(|error| panic!("{error}")))
        .collect()
}

/// The values of an array. IQM frames may be larger than one call may hold; then they are joined from pieces.
fn values(entry: &ArrayEntry) -> (Vec<u64>, Vec<u8>) {
    let mut joined = Vec::new();
    let shape = entry
        .read_pieces(|piece| joined.extend_from_slice(piece))
        .unwrap();
    match entry.read() {
        Ok(data) => {
            assert_eq!(data.shape(), shape, "{entry:?}");
            assert!(data.as_bytes() == joined, "{entry:?}");
            assert_data(entry, &data);
        }
        Err(error) => {
            assert_eq!(
                (error.kind(), entry.address.to_string().as_str()),
                (ErrorKind::LimitExceeded, "frames")
            );
        }
    }
    (shape, joined)
}

/// Shape, type and bytes of values agree with each other and with the entry.
fn assert_data(entry: &ArrayEntry, data: &ArrayData) {
    let numbers: u64 = data.shape().iter().product();
    assert_eq!(
        data.as_bytes().len() as u64,
        numbers * data.scalar().size() as u64,
        "{entry:?}"
    );
    assert_eq!(
        (data.scalar(), data.shape()[0]),
        (entry.scalar, data.len()),
        "{entry:?}"
    );
    assert_eq!(data.is_empty(), data.as_bytes().is_empty());
    assert!(
        entry
            .shape
            .as_deref()
            .is_none_or(|shape| shape == data.shape()),
        "{entry:?}"
    );
    assert!(
        entry
            .byte_len()
            .is_none_or(|length| length == data.as_bytes().len() as u64),
        "{entry:?}"
    );
    let first = data.head(1);
    assert_eq!(first.len(), data.len().min(1));
    assert_eq!(first.shape()[1..], data.shape()[1..]);
    assert_eq!(first.as_bytes(), &data.as_bytes()[..first.as_bytes().len()]);
    assert_eq!(data.numbers().count() as u64, numbers);
    let (last, past) = (data.numbers().last(), usize::try_from(numbers).unwrap());
    assert_eq!(
        last.map(f64::to_bits),
        data.number(past.wrapping_sub(1)).map(f64::to_bits),
        "{entry:?}"
    );
    assert_eq!(data.number(past), None);
}

/// Vectors and slices get the values of the array; other lengths and types are errors.
fn assert_read_into(file: &MeshFile, address: &Address) {
    let mut scratch = Scratch::default();
    let Ok(data) = file.array(address) else {
        assert!(
            file.read_into(address, &mut Vec::<[f32; 3]>::new(), &mut scratch)
                .is_err()
        );
        return;
    };
    let Some(expected) = data.array::<[f32; 3]>() else {
        let error = file
            .read_into(address, &mut vec![[0.0_f32; 3]; 7], &mut scratch)
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch, "{address}");
        return;
    };
    let bits = |values: &[[f32; 3]]| {
        values
            .as_flattened()
            .iter()
            .map(|one| one.to_bits())
            .collect::<Vec<_>>()
    };
    let expected = bits(&expected.to_vec());
    let mut vector = vec![[7.0_f32; 3]; 5];
    file.read_into(address, &mut vector, &mut scratch).unwrap();
    assert_eq!(bits(&vector), expected, "{address}");
    let mut slice = vec![[7.0_f32; 3]; vector.len()];
    file.read_into(address, &mut slice[..], &mut scratch)
        .unwrap();
    assert_eq!(bits(&slice), expected, "{address}");
    for length in [slice.len() + 1]
        .into_iter()
        .chain(slice.len().checked_sub(1))
    {
        let mut out = vec![[7.0_f32; 3]; length];
        let error = file
            .read_into(address, &mut out[..], &mut scratch)
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfRange, "{address}");
        let cause = Cause::Length {
            expected: slice.len() as u64,
            found: length as u64,
        };
        assert_eq!(*error.cause(), cause, "{address}");
        assert!(out.iter().all(|triple| *triple == [7.0; 3]), "{address}");
    }
}

/// Every address is unique and accepted, and all ways to read an array give the same values.
fn assert_arrays(path: &Path) {
    println!("{}", path.display());
    let bytes = memory(path);
    let file = open(&bytes);
    let entries = list(&file);
    let mut read: HashMap<String, Vec<u8>> = HashMap::new();
    for entry in &entries {
        let address = entry.address.to_string();
        assert_eq!(address.parse::<Address>().unwrap(), entry.address);
        assert!(
            entry.range.start <= entry.range.end && entry.range.end <= bytes.len() as u64,
            "{entry:?}"
        );
        let (_, joined) = values(entry);
        assert_read_into(&file, &entry.address);
        match (file.array(&entry.address), entry.read()) {
            (Ok(one), Ok(other)) => assert!(one == other, "{entry:?}"),
            (Err(one), Err(other)) => assert_eq!(one.kind(), other.kind()),
            (one, other) => panic!("{entry:?}: {one:?} {other:?}"),
        }
        if let Some(earlier) = &entry.same_as {
            assert!(
                read[&earlier.to_string()] == joined,
                "{entry:?} is not the same as {earlier}"
            );
        }
        if entry.is_view() && entry.byte_len() != Some(0) {
            let stored = &bytes[entry.range.start as usize..entry.range.end as usize];
            let data = entry.read().unwrap();
            // CGeo sections that are not compressed are copied.
            if file.format() == Format::CGeo {
                let length = data.as_bytes().len();
                assert!(
                    length == 0 || stored.windows(length).any(|part| part == data.as_bytes()),
                    "{entry:?}"
                );
            } else {
                let (stored, values) = (stored.as_ptr_range(), data.as_bytes().as_ptr_range());
                assert!(
                    stored.start <= values.start && values.end <= stored.end,
                    "{entry:?}"
                );
            }
        }
        assert!(
            read.insert(address, joined).is_none(),
            "{entry:?} is listed twice"
        );
    }
    let mut count = 0;
    for (entry, together) in entries.iter().zip(file.arrays_together()) {
        let together = together.unwrap();
        let described = |entry: &ArrayEntry| {
            (
                entry.address.clone(),
                entry.name.clone(),
                entry.scalar,
                entry.range.clone(),
            )
        };
        assert_eq!(described(entry), described(&together));
        assert_eq!(
            (entry.codec, entry.encoding, &entry.same_as),
            (together.codec, together.encoding, &together.same_as)
        );
        assert!(
            values(&together).1 == read[&entry.address.to_string()],
            "{entry:?}"
        );
        count += 1;
    }
    assert_eq!(count, file.arrays_together().count());
    assert_eq!(count, entries.len());
    if let Some(last) = entries.last() {
        let part = file.part_of(&last.address);
        // Arrays of IQM files belong to no part: then the list of one array is compared.
        let part = part.unwrap_or_else(|| last.address.clone());
        let is_of_part = |address: &Address| address.segments().starts_with(part.segments());
        let of_part = entries
            .iter()
            .map(|entry| entry.address.clone())
            .filter(is_of_part);
        let listed = file.arrays_of(&part).map(|entry| entry.unwrap().address);
        assert_eq!(
            listed.collect::<Vec<_>>(),
            of_part.collect::<Vec<_>>(),
            "{part}"
        );
    }
    let none = Address::field("no_such_array").index(7);
    assert_eq!(file.array(&none).unwrap_err().kind(), ErrorKind::OutOfRange);
}

#[test]
fn every_format_has_files_rules_arrays_and_texts() {
    for format in Format::ALL {
        assert!(
            !format.rules().is_empty() && !damaged(format).is_empty(),
            "{format}"
        );
        let files: Vec<MeshFile> = valid(format)
            .iter()
            .map(|path| MeshFile::open(path).unwrap())
            .collect();
        assert!(files.iter().all(|file| file.format() == format));
        assert!(
            files.iter().any(|file| file.arrays().next().is_some()),
            "{format} lists no array"
        );
        let texts = files
            .iter()
            .flat_map(MeshFile::texts)
            .map(|text| text.unwrap());
        assert!(
            texts.filter(|(_, text)| !text.is_empty()).count() > 0,
            "{format} lists no text"
        );
    }
}

#[test]
fn arrays_read_alike_in_every_way() {
    Format::ALL
        .into_iter()
        .flat_map(valid)
        .for_each(|path| assert_arrays(&path));
}

#[test]
#[ignore = "corpus"]
fn corpus_arrays_read_alike_in_every_way() {
    for format in Format::ALL {
        corpus(format, &["valid", "large"])
            .iter()
            .for_each(|path| assert_arrays(path));
    }
}

/// Texts have addresses that are unique and parse.
#[test]
fn texts_have_addresses() {
    for path in Format::ALL.into_iter().flat_map(valid) {
        let file = MeshFile::open(&path).unwrap();
        let mut seen = HashSet::new();
        for text in file.texts() {
            let (address, _) = text.unwrap();
            assert_eq!(address.to_string().parse::<Address>().unwrap(), address);
            assert!(
                seen.insert(address.to_string()),
                "{}: {address} is listed twice",
                path.display()
            );
        }
    }
}

/// In OpenCTM files, addresses may leave out the first body.
#[test]
fn openctm_accepts_addresses_without_the_first_body() {
    for path in valid(Format::OpenCtm) {
        let file = MeshFile::open(&path).unwrap();
        let mut shortened = 0;
        for entry in list(&file) {
            let address = entry.address.to_string();
            if let Some(short) = address.strip_prefix("bodies[0].") {
                assert_eq!(
                    file.array(&short.parse().unwrap()).unwrap(),
                    entry.read().unwrap(),
                    "{short}"
                );
                shortened += 1;
            }
        }
        assert!(shortened > 0, "{}", path.display());
    }
}

/// Lists and reads whatever the bytes are: each part is a value or an error with a message.
fn read_damaged(bytes: Bytes) {
    let options = Options::default().with_limits(Limits::default().with_max_block_bytes(1 << 20));
    let source = Source::from_bytes(bytes);
    let Ok(file) = MeshFile::from_source(source, &options).map_err(exercise::seen) else {
        return;
    };
    let mut seen = HashSet::new();
    for entry in file.arrays().take(300) {
        let Ok(entry) = entry.map_err(exercise::seen) else {
            continue;
        };
        assert!(
            seen.insert(entry.address.to_string()),
            "{entry:?} is listed twice"
        );
        let one = entry.read().map_err(exercise::seen);
        if let Ok(data) = &one {
            assert_data(&entry, data);
        }
        match (one, file.array(&entry.address).map_err(exercise::seen)) {
            (Ok(one), Ok(other)) => assert!(one == other, "{entry:?}"),
            (one, other) => assert_eq!(one.is_err(), other.is_err(), "{entry:?}"),
        }
    }
    for entry in file.arrays_together().take(300).flatten() {
        let _ = entry.read().map_err(exercise::seen);
    }
    file.texts()
        .take(300)
        .for_each(|text| drop(text.map_err(exercise::seen)));
    for entry in file
        .meshes()
        .map_err(exercise::seen)
        .into_iter()
        .flatten()
        .take(300)
    {
        let counts = file.counts(&entry.address).map_err(exercise::seen);
        assert!(
            entry
                .counts
                .is_none_or(|listed| counts.is_ok_and(|read| read == listed)),
            "{entry:?}"
        );
        let _ = file.bounds(&entry.address).map_err(exercise::seen);
    }
}

#[test]
fn damaged_files_give_errors_and_no_panic() {
    for path in Format::ALL.into_iter().flat_map(damaged) {
        println!("{}", path.display());
        read_damaged(memory(&path));
    }
}

#[test]
fn truncated_and_changed_files_give_errors_and_no_panic() {
    for format in Format::ALL {
        let files = valid(format)
            .into_iter()
            .map(|path| memory(&path))
            .filter(|bytes| bytes.len() < 64 << 10);
        for bytes in files.take(8) {
            for part in 1..16 {
                read_damaged(bytes.slice(..bytes.len() * part / 16));
            }
            for number in 0..64_usize {
                let mut changed = bytes.to_vec();
                let at = number.wrapping_mul(0x9e37_79b1) % changed.len();
                changed[at] ^= 1 << (number % 8);
                read_damaged(changed.into());
            }
        }
    }
}

#[test]
#[ignore = "corpus"]
fn corpus_damaged_files_give_errors_and_no_panic() {
    for format in Format::ALL {
        corpus(format, &["bad"])
            .iter()
            .for_each(|path| read_damaged(memory(path)));
    }
}

/// Every finding in a file is about a rule that its format lists.
#[test]
fn findings_are_about_listed_rules() {
    for format in Format::ALL {
        let rules = format.rules();
        assert_eq!(
            rules
                .iter()
                .map(|rule| rule.id)
                .collect::<HashSet<_>>()
                .len(),
            rules.len(),
            "{format}"
        );
        assert!(
            rules.iter().all(|rule| rule.cause.ends_with('.')),
            "{format}"
        );
        let mut broken = HashSet::new();
        for path in valid(format).into_iter().chain(damaged(format)) {
            let Ok(file) = MeshFile::open(&path) else {
                continue;
            };
            for finding in file.validate().unwrap_or_default() {
                assert!(
                    rules.contains(&finding.rule),
                    "{}: {:?}",
                    path.display(),
                    finding.rule
                );
                broken.insert(finding.rule.id);
            }
        }
        assert!(!broken.is_empty(), "no file breaks a rule of {format}");
    }
}

/// Counts and boxes of all meshes, compared with the views.
///
/// * Listed counts equal `MeshFile::counts`. Triangles are the view's.
/// * OpenCTM and Second Life mesh: the vertices and the box are the view's.
/// * IQM: the same, except that a mesh whose indices leave its range of vertices has a view of more vertices.
/// * CGeo and TMF: views are remapped, and leave out positions that no triangle uses. The box is the bounding box of all stored
///   positions, and contains the view's. They are equal if the view has every stored position.
fn assert_counts_and_bounds(path: &Path) {
    let file = MeshFile::open(path).unwrap();
    let format = file.format();
    let findings = file.validate().unwrap();
    let shares_vertices = findings
        .iter()
        .any(|finding| finding.rule.id == "shared_vertices");
    for entry in file.meshes().unwrap() {
        let address = &entry.address;
        let counts = file.counts(address).unwrap();
        assert!(
            entry.counts.is_none_or(|listed| listed == counts),
            "{}: {address}",
            path.display()
        );
        let Ok(view) = file.mesh(address) else {
            continue;
        };
        let bounds = file.bounds(address).unwrap();
        let text = format!("{}: {address}: {counts:?}, {bounds:?}", path.display());
        assert_eq!(counts.triangles, view.triangle_count() as u64, "{text}");
        let vertices = view.vertex_count() as u64;
        let leaves_range = || {
            view.findings()
                .iter()
                .any(|finding| finding.rule.id == "index_outside_mesh")
        };
        match format {
            Format::OpenCtm | Format::SlMesh => assert_eq!(counts.vertices, vertices, "{text}"),
            // The counts are the declared ones, because triangles are not read for them.
            Format::Iqm if leaves_range() || shares_vertices => continue,
            Format::Iqm => assert_eq!(counts.vertices, vertices, "{text}"),
            _ => {
                let positions = stored_positions(&file, address);
                assert_eq!(
                    positions.as_ref().map_or(0, Vec::len) as u64,
                    counts.vertices,
                    "{text}"
                );
                assert_eq!(bounds, positions.and_then(Bounds::around), "{text}");
                let shown = view.bounds().unwrap();
                let all = bounds.unwrap_or_default().union(shown.unwrap_or_default());
                assert_eq!(
                    bounds.unwrap_or_default(),
                    all,
                    "{text}: the box of the view is not inside"
                );
                continue;
            }
        }
        assert_eq!(
            counts.has_positions,
            view.has(&Semantic::Position),
            "{text}"
        );
        assert_eq!(bounds, view.bounds().unwrap(), "{text}");
    }
    let none = Address::field("no_such_mesh").index(7);
    assert_eq!(
        file.counts(&none).unwrap_err().kind(),
        ErrorKind::OutOfRange
    );
    assert_eq!(
        file.bounds(&none).unwrap_err().kind(),
        ErrorKind::OutOfRange
    );
}

/// The positions of a CGeo snapshot or a TMF mesh, from the table of arrays.
fn stored_positions(file: &MeshFile, mesh: &Address) -> Option<Vec<[f32; 3]>> {
    let address = |name: &str| format!("{mesh}.{name}").parse().unwrap();
    let data = file
        .array(&address("positions"))
        .or_else(|_| file.array(&address("vertices")))
        .ok()?;
    Some(
        data.array::<[f32; 3]>()
            .expect("three floats per position")
            .to_vec(),
    )
}

#[test]
fn counts_and_bounds_are_those_of_the_meshes() {
    Format::ALL
        .into_iter()
        .flat_map(valid)
        .for_each(|path| assert_counts_and_bounds(&path));
}

#[test]
#[ignore = "corpus"]
fn corpus_counts_and_bounds_are_those_of_the_meshes() {
    for format in Format::ALL {
        corpus(format, &["valid", "large"])
            .iter()
            .for_each(|path| assert_counts_and_bounds(path));
    }
}

/// Only the faces of Second Life meshes take a read to list; counts that are listed take none.
#[test]
fn listing_meshes_reads_nothing() {
    for path in Format::ALL.into_iter().flat_map(valid) {
        let reader = Recorder::new(memory(&path).to_vec());
        let file = open::file(reader.clone());
        let opened = reader.reads().len();
        let entries: Vec<_> = file.meshes().unwrap().collect();
        if file.format() != Format::SlMesh {
            assert_eq!(reader.reads().len(), opened, "{}", path.display());
        }
        let listed = reader.reads().len();
        for entry in entries.iter().filter(|entry| entry.counts.is_some()) {
            assert_eq!(file.counts(&entry.address).ok(), entry.counts);
        }
        assert_eq!(reader.reads().len(), listed, "{}", path.display());
    }
}

/// A view of a valid file of each format that has positions and triangles.
fn views() -> Vec<meshmap::MeshView> {
    let first = |format: Format| {
        let views = valid(format).into_iter().flat_map(|path| {
            let file = MeshFile::open(&path).unwrap();
            let entries: Vec<_> = file.meshes().unwrap().collect();
            entries
                .into_iter()
                .filter_map(move |entry| file.mesh(&entry.address).ok())
        });
        let mut drawn = views.filter(|view| view.vertex_count() > 2 && view.triangle_count() > 0);
        drawn
            .find(|view| view.has(&Semantic::Position))
            .unwrap_or_else(|| panic!("{format} has no mesh"))
    };
    Format::ALL.into_iter().map(first).collect()
}

fn layout() -> VertexLayout {
    VertexLayout::new()
        .with_default(Semantic::Position, VertexFormat::FLOAT32X3, [0.; 4])
        .with_default(Semantic::Normal, VertexFormat::SNORM8X4, [0.; 4])
        .with_default(Semantic::TexCoord(0), VertexFormat::FLOAT16X2, [0.; 4])
}

/// The bytes that callbacks get, each at its offset.
#[derive(Default)]
struct Written(Vec<u8>);

impl Written {
    fn add(&mut self, offset: usize, bytes: &[u8]) {
        self.0.resize(self.0.len().max(offset + bytes.len()), 0);
        self.0[offset..offset + bytes.len()].copy_from_slice(bytes);
    }
}

#[test]
fn slices_get_the_bytes_of_callbacks() {
    for view in views() {
        let layout = layout();
        let mut written = Written::default();
        view.write_interleaved(&layout, |offset, bytes| written.add(offset, bytes))
            .unwrap();
        let mut out = vec![0; view.vertex_count() * layout.stride()];
        assert_eq!(written.0.len(), out.len());
        view.interleave_into(&layout, &mut out).unwrap();
        assert!(out == written.0);
        let short = out.len() - 1;
        assert_eq!(
            view.interleave_into(&layout, &mut out[..short])
                .unwrap_err()
                .kind(),
            ErrorKind::OutOfRange
        );

        let positions = view.attribute(&Semantic::Position).unwrap().unwrap();
        for (target, stride) in [(VertexFormat::FLOAT32X3, 12), (VertexFormat::FLOAT32X4, 20)] {
            let mut written = Written::default();
            positions
                .write_chunks(target, stride, |offset, bytes| written.add(offset, bytes))
                .unwrap();
            let mut out = vec![0; written.0.len()];
            positions.write_into(target, stride, &mut out).unwrap();
            assert!(out == written.0);
            let error = positions
                .write_into(target, stride, &mut out[1..])
                .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OutOfRange);
        }

        let indices = view.indices();
        let mut written = Written::default();
        let format = indices
            .write_narrowest(|offset, bytes| written.add(offset, bytes))
            .unwrap();
        assert_eq!(format, indices.narrowest());
        for format in [format, IndexFormat::Uint32] {
            let mut written = Written::default();
            indices
                .write_chunks(format, |offset, bytes| written.add(offset, bytes))
                .unwrap();
            let mut out = vec![0; indices.byte_len(format)];
            indices.write_into(format, &mut out).unwrap();
            // Buffers end at a multiple of 4 bytes.
            let (own, padding) = out.split_at_mut(written.0.len());
            assert!(own == written.0 && padding.iter().all(|byte| *byte == 0) && padding.len() < 4);
            let error = indices.write_into(format, &mut own[1..]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OutOfRange);
        }
    }
}

/// An error of a write callback ends the call at once, and is its error.
#[test]
fn errors_of_write_callbacks_end_the_call() {
    let full = || io::Error::new(io::ErrorKind::StorageFull, "no space");
    let assert_failed = |result: Result<()>, calls: usize| {
        let error = result.unwrap_err();
        assert_eq!(
            (error.kind(), calls),
            (ErrorKind::Io(io::ErrorKind::StorageFull), 1)
        );
        let source =
            std::error::Error::source(&error).and_then(|source| source.downcast_ref::<io::Error>());
        assert_eq!(
            source.map(io::Error::kind),
            Some(io::ErrorKind::StorageFull),
            "{error}"
        );
    };
    for view in views() {
        let mut calls = 0;
        let mut fail = |_: usize, _: &[u8]| {
            calls += 1;
            Err::<(), _>(full())
        };
        let result = view.write_interleaved(&layout(), &mut fail);
        assert_failed(result, calls);
        let positions = view.attribute(&Semantic::Position).unwrap().unwrap();
        for (target, stride) in [
            (positions.format(), positions.format().size()),
            (VertexFormat::FLOAT32X3, 40),
        ] {
            let mut calls = 0;
            let result = positions.write_chunks(target, stride, |_, _| {
                calls += 1;
                Err(full())
            });
            assert_failed(result, calls);
        }
        let mut calls = 0;
        let result = view.indices().write_chunks(IndexFormat::Uint32, |_, _| {
            calls += 1;
            Err(full())
        });
        assert_failed(result, calls);
        let mut calls = 0;
        let result = view.indices().write_narrowest(|_, _| {
            calls += 1;
            Err(full())
        });
        assert_failed(result.map(drop), calls);
    }
}

#[test]
fn sources_from_open_files_read_and_report_changes() {
    let path = data::valid("iqm", "skin_multi_anim.iqm");
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.iqm");
    fs::copy(&path, &copy).unwrap();
    let source = Source::from_file(fs::File::open(&copy).unwrap()).unwrap();
    let by_path = Source::open(&copy).unwrap();
    assert_eq!(source.identity(), by_path.identity());
    assert!(source.identity().is_some() && !source.is_stale().unwrap());
    let file = MeshFile::from_source(source.clone(), &Options::default()).unwrap();
    assert_eq!(
        list(&file).len(),
        list(&MeshFile::open(&path).unwrap()).len()
    );

    let named = source.clone().with_path(&copy).unwrap();
    assert!(!named.is_stale().unwrap());
    let shown = Source::from_bytes(memory(&copy)).with_path(&copy).unwrap();
    assert_eq!(shown.identity(), by_path.identity());
    for source in [&named, &shown] {
        let error = source.read(0..u64::MAX).unwrap_err();
        assert!(error.to_string().contains("copy.iqm"), "{error}");
    }

    fs::OpenOptions::new()
        .append(true)
        .open(&copy)
        .unwrap()
        .write_all(b" ")
        .unwrap();
    assert!(named.is_stale().unwrap() && shown.is_stale().unwrap() && by_path.is_stale().unwrap());
    assert!(
        !source.is_stale().unwrap(),
        "a source without a path has nothing to compare with"
    );
    fs::remove_file(&copy).unwrap();
    assert!(named.is_stale().unwrap());
    let error = Source::from_bytes(Vec::new())
        .with_path(folder.path().join("absent"))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io(io::ErrorKind::NotFound));
    // Windows opens no directories.
    assert!(
        fs::File::open(folder.path()).is_err()
            || Source::from_file(fs::File::open(folder.path()).unwrap()).is_err()
    );
}

/// 16 KB, in which every entry of the table names the same mesh, which is decoded for each.
#[test]
fn lists_of_arrays_end_with_the_work_of_a_job() {
    let path = data::root()
        .with_file_name("attack")
        .join("c_channels_tri.cgeo");
    let bytes = memory(&path);
    for reader in [
        Recorder::new(bytes.to_vec()),
        Recorder::of_unknown_length(bytes.to_vec()),
    ] {
        let file = MeshFile::from_source(Source::ranged(reader), &Options::default()).unwrap();
        let mut list = file.arrays();
        let error = list
            .by_ref()
            .find_map(Result::err)
            .expect("a list that ends");
        assert!(
            matches!(
                error.cause(),
                Cause::Limit {
                    limit: Limit::Work,
                    ..
                }
            ),
            "{error}"
        );
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
        assert!(list.next().is_none());
    }
}
