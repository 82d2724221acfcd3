//! What `meshmap info` says about an OpenCTM file.

use meshmap::openctm::{Bodies, Mesh, Method};
use meshmap::{Address, Item, Options, Result, Segment};

use crate::page::{Block, MOST_ROWS, Page, WORTH_READING, labelled, pad};
use crate::show;

/// Format, version and method: `OpenCTM 5, MG2 (lossy)`.
pub(crate) fn variant(bodies: &Bodies) -> String {
    let method = bodies.iter().next().map(Mesh::method);
    let lossy = if method == Some(Method::Mg2) { " (lossy)" } else { "" };
    method.map_or_else(|| "OpenCTM".to_owned(), |method| format!("OpenCTM 5, {method}{lossy}"))
}

/// The bodies of a file, in a few words.
pub(crate) fn summary(bodies: &Bodies) -> String {
    let (vertices, triangles) = totals(bodies);
    let parts = [format!("{} v", show::count(vertices)), format!("{} t", show::count(triangles))];
    let bodies = (bodies.len() > 1).then(|| show::plural_of(bodies.len(), "body", "bodies"));
    parts.into_iter().chain(bodies).collect::<Vec<_>>().join("   ")
}

fn totals(bodies: &Bodies) -> (usize, usize) {
    let counts = bodies.iter().map(|mesh| (mesh.vertex_count(), mesh.triangle_count()));
    counts.fold((0, 0), |sum, mesh| (sum.0 + mesh.0, sum.1 + mesh.1))
}

pub(crate) fn page(bodies: &Bodies, full: bool) -> Page {
    let Some(first) = bodies.get(0) else { return Page::default() };
    let (vertices, triangles) = totals(bodies);
    let line = [
        format!("{} vertices", show::count(vertices as u64)),
        format!("{} triangles", show::count(triangles as u64)),
        show::plural_of(bodies.len(), "body", "bodies"),
    ];
    let mut lines = labelled("mesh", &line);
    let mut findings = Vec::new();
    match bounding_box(bodies, full) {
        Ok(line) => lines.push(line),
        // One array that cannot be read leaves the rest of the page as it is.
        Err(error) => findings.push(format!("! {}", error.message())),
    }
    lines.extend(precision(first));
    lines.push(format!("{:<11} not stored", "unit, axes"));
    let mut blocks = vec![Block::lines(lines)];
    if bodies.len() > 1 {
        blocks.push(list(bodies));
    } else {
        blocks.push(arrays(first));
    }
    blocks.push(Block::lines(decoded(bodies)));
    let comment = first.comment();
    let subtitle = match comment.is_empty() {
        true => String::new(),
        false => format!("\"{}\"", show::name(comment.to_string_lossy().trim_end())),
    };
    Page { subtitle, blocks, findings, ..Page::default() }
}

/// The box of all bodies: of MG2 that of the grid, of the others that of the points.
fn bounding_box(bodies: &Bodies, full: bool) -> Result<String> {
    let point = |[x, y, z]: [f32; 3]| format!("{x:.3} {y:.3} {z:.3}");
    /// What a few bytes announce may take long to decode.
    const WORTH_DECODING: u64 = 64 * WORTH_READING;
    let without_grid = || bodies.iter().filter(|mesh| mesh.mg2_header().is_none());
    let sizes = without_grid().map(positions_sizes);
    let (stored, decoded) = sizes.fold((0, 0), |sum, mesh| (sum.0 + mesh.0, sum.1 + mesh.1));
    if (stored > WORTH_READING || decoded > WORTH_DECODING) && !full {
        return Ok(format!("{:<11} not computed (--full)", "box"));
    }
    let (mut min, mut max) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    for mesh in bodies.iter() {
        let corners = match mesh.mg2_header() {
            Some(header) => {
                let corners = [header.lower_bound, header.higher_bound];
                Some(corners.map(|corner| corner.map(|component| component.get())))
            }
            // A mesh of its own, so that what is decoded is given back.
            None => corners_of(&Mesh::at(mesh.source(), mesh.range().start, &Options::default())?)?,
        };
        if let Some([low, high]) = corners {
            for axis in 0..3 {
                (min[axis], max[axis]) = (min[axis].min(low[axis]), max[axis].max(high[axis]));
            }
        }
    }
    if min[0] > max[0] {
        return Ok(format!("{:<11} of no point that is finite", "box"));
    }
    let grid = bodies.get(0).filter(|_| bodies.len() == 1).and_then(Mesh::mg2_header);
    let grid = grid.map(|grid| grid.div).map(|[x, y, z]| format!("   (grid {x} x {y} x {z})"));
    Ok(format!("{:<11} {}  ..  {}{}", "box", point(min), point(max), grid.unwrap_or_default()))
}

/// The box around the points that are finite.
fn corners_of(mesh: &Mesh) -> Result<Option<[[f32; 3]; 2]>> {
    let (mut min, mut max) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    for point in mesh.positions()?.iter() {
        for axis in (0..3).filter(|axis| point[*axis].is_finite()) {
            (min[axis], max[axis]) = (min[axis].min(point[axis]), max[axis].max(point[axis]));
        }
    }
    Ok((0..3).all(|axis| min[axis] <= max[axis]).then_some([min, max]))
}

/// The stored and the decoded size.
fn positions_sizes(mesh: &Mesh) -> (u64, u64) {
    let positions = mesh.blocks().into_iter().filter(|block| block.what == "VERT");
    positions.fold((0, 0), |sum, block| {
        (sum.0 + block.range.end - block.range.start, sum.1 + block.decoded_len.unwrap_or(0))
    })
}

/// The steps of MG2.
fn precision(mesh: &Mesh) -> Option<String> {
    let header = mesh.mg2_header()?;
    let mut steps = vec![format!("position {}", step(header.vertex_precision.get()))];
    if mesh.has_normals() {
        steps.push(format!("normal {}", step(header.normal_precision.get())));
    }
    let uvs: Vec<f32> = mesh.uv_maps().filter_map(|map| map.precision()).collect();
    let attributes: Vec<f32> = mesh.attribute_maps().filter_map(|map| map.precision()).collect();
    for (name, all) in [("uv", uvs), ("attribute", attributes)] {
        // The finest, where maps differ.
        if let Some(least) = all.iter().copied().reduce(f32::min) {
            let more = if all.iter().all(|precision| *precision == least) { "" } else { " and more" };
            steps.push(format!("{name} {}{more}", step(least)));
        }
    }
    Some(format!("{:<11} {}", "precision", steps.join("   ")))
}

/// `1/256` of powers of two, else the number.
fn step(precision: f32) -> String {
    let parts = 1.0 / f64::from(precision);
    match precision {
        1.0 => "1".to_owned(),
        _ if parts > 1.0 && parts < 1e15 && (parts as u64).is_power_of_two() && parts.fract() == 0.0 => {
            format!("1/{}", show::count(parts as u64))
        }
        _ => precision.to_string(),
    }
}

/// The arrays of the only body.
fn arrays(mesh: &Mesh) -> Block {
    let mut rows = vec![["array", "stored", "decoded", "ratio", "offset", ""].map(str::to_owned).to_vec()];
    let items: Vec<Item> = mesh.items().skip(1).collect();
    rows.extend(items.iter().take(MOST_ROWS).map(|item| row(mesh, item)));
    // Grid indices are a part of the positions.
    let table = show::table(&rows, &[true, false, false, false, true, true]);
    Block { table: pad(table, items.len()), rows: "arrays", ..Block::default() }
}

fn row(mesh: &Mesh, item: &Item) -> Vec<String> {
    let (name, note) = name(mesh, &item.address);
    let decoded = item.decoded.unwrap_or(item.stored);
    let ratio = match mesh.method() {
        Method::Raw => "in place".to_owned(),
        _ => format!("{:.1}", decoded as f64 / item.stored.max(1) as f64),
    };
    vec![name, show::size(item.stored), show::size(decoded), ratio, format!("{:#x}", item.range.start), note]
}

/// What an array is called, and what belongs to it.
fn name(mesh: &Mesh, address: &Address) -> (String, String) {
    let quoted = |text: meshmap::Text| match text.is_empty() {
        true => String::new(),
        false => format!(" \"{}\"", show::name(&text.to_string_lossy())),
    };
    let place = |index: &u64| usize::try_from(*index).unwrap_or(usize::MAX);
    match address.segments() {
        [_, _, Segment::Field(field), Segment::Index(index), ..] if field == "uv_maps" => {
            let map = mesh.uv_map(place(index));
            let (name, file) = map.map(|map| (map.name(), map.file())).unwrap_or_default();
            let texture = if file.is_empty() { String::new() } else { format!("texture{}", quoted(file)) };
            (format!("uv[{index}]{}", quoted(name)), texture)
        }
        [_, _, Segment::Field(field), Segment::Index(index), ..] if field == "attribute_maps" => {
            let name = mesh.attribute_map(place(index)).map(|map| map.name()).unwrap_or_default();
            (format!("attribute[{index}]{}", quoted(name)), String::new())
        }
        [_, _, Segment::Field(field), ..] if field == "grid_indices" => {
            ("  grid indices".to_owned(), String::new())
        }
        [_, _, Segment::Field(field), ..] => (field.to_string(), String::new()),
        _ => (address.to_string(), String::new()),
    }
}

/// The bodies of a file that has several.
fn list(bodies: &Bodies) -> Block {
    let header = ["#", "method", "vertices", "triangles", "stored", "offset", "comment"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    rows.extend(bodies.iter().enumerate().take(MOST_ROWS).map(|(index, mesh)| {
        let range = mesh.range();
        vec![
            index.to_string(),
            mesh.method().to_string(),
            show::count(mesh.vertex_count() as u64),
            show::count(mesh.triangle_count() as u64),
            show::size(range.end - range.start),
            format!("{:#x}", range.start),
            show::name(&mesh.comment().to_string_lossy()),
        ]
    }));
    let table = show::table(&rows, &[false, true, false, false, false, true, true]);
    Block { table: pad(table, bodies.len()), rows: "bodies", ..Block::default() }
}

fn decoded(bodies: &Bodies) -> Vec<String> {
    if bodies.iter().all(|mesh| mesh.method() == Method::Raw) {
        return labelled("decoded", &["nothing to decode: every array in place".to_owned()]);
    }
    let whole = |mesh: &Mesh| mesh.items().next().and_then(|body| body.decoded).unwrap_or(0);
    let size = show::size(bodies.iter().map(whole).sum());
    let needs = |mesh: &Mesh| mesh.method() == Method::Mg2 && mesh.has_normals();
    let normals = if bodies.iter().any(needs) { " (normals need positions and indices)" } else { "" };
    labelled("decoded", &[format!("{size}; each array alone, or all at once{normals}")])
}
