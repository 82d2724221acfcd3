//! `meshmap diff`: whether two files, or the files of two directories, hold the same.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use meshmap::{Array, ArrayData, MeshFile, Scalar, Semantic};
use meshmap_render::Render;
use serde_json::{Value, json};

use super::groups::{self, Groups, Loaded};
use super::{Outcome, Reporting, print_stderr, usage};
use crate::inputs::{self, Choice, Durable, Input, Problem, Reading, TWO_FILES, output_parser};
use crate::screen::{Screen, Style};
use crate::text;
use meshmap_catalog::inspect::{cut, path_bytes};
use meshmap_catalog::json;
use meshmap_catalog::topology::{self, Match};

/// The arguments of `meshmap diff`.
#[derive(clap::Args)]
pub(crate) struct DiffArgs {
    /// A file of any of the formats, or a directory.
    #[arg(required_unless_present = "schema")]
    a: Option<PathBuf>,
    /// The other file.
    #[arg(required_unless_present = "schema")]
    b: Option<PathBuf>,
    /// Treat numbers as equal that differ by this or less.
    #[arg(long, default_value_t = 0.0, value_parser = parse_tolerance, allow_negative_numbers = true)]
    tolerance: f64,
    /// Write a PNG of the first mesh, coloured by the distances between vertices. Both must have the same triangles.
    #[arg(long, value_name = "FILE", value_parser = output_parser())]
    picture: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) durable: Durable,
    /// Print a JSON object for each pair of files, one per line, and the verdict on standard error.
    #[arg(long)]
    json: bool,
    /// Print the schema of the JSON objects.
    #[arg(long, exclusive = true)]
    pub(crate) schema: bool,
}

fn parse_tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number >= 0.0 && number.is_finite() => Ok(number),
        _ => Err("expected a number that is not negative".to_owned()),
    }
}

pub(crate) fn run(
    args: &DiffArgs,
    choice: &Choice,
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<Outcome> {
    // Without --schema, clap has required them.
    let [a, b] = [&args.a, &args.b].map(|path| path.as_deref().unwrap_or(Path::new("")));
    if a.is_dir() != b.is_dir() {
        return usage("diff: expected two files or two directories");
    }
    if a.is_dir() {
        if args.picture.is_some() {
            return usage("diff: --picture is for two files");
        }
        return directories(a, b, args, choice, screen, out);
    }
    let how = Reading {
        format: None,
        ..choice.reading(TWO_FILES, false)
    };
    let reporting = Reporting {
        quiet: choice.quiet,
        json: args.json,
    };
    let a = &Input::named(a);
    let b = &Input::named(b);
    let differs = match choice.memory.job(|| files(a, b, args.tolerance, &how)) {
        Ok(report) => report.write("", (&a.path, &b.path), reporting, screen, out)?,
        Err(problem) => {
            if args.json {
                let facts = json!({ "state": "failed", "error": problem });
                object((&a.path, &b.path), facts, out)?;
            } else {
                print_stderr(problem);
            }
            return Ok(Outcome::Bad);
        }
    };
    if let Some(path) = &args.picture {
        match picture(a, b, path, &how) {
            Ok(_) if args.json || choice.quiet => {}
            Ok(line) => writeln!(out, "{line}")?,
            Err(problem) => {
                print_stderr(format_args!("--picture: {problem}"));
                reporting.conclude(&verdict(differs, screen), true, out)?;
                return Ok(Outcome::Bad);
            }
        }
    }
    reporting.conclude(&verdict(differs, screen), true, out)?;
    Ok(Outcome::good_if(!differs))
}

/// Writes the JSON object of a pair of files on a line.
fn object((a, b): (&Path, &Path), facts: Value, out: &mut impl Write) -> io::Result<()> {
    let object = json!({
        "meshmap": 1,
        "a": a.to_string_lossy(),
        "a_bytes": path_bytes(a),
        "b": b.to_string_lossy(),
        "b_bytes": path_bytes(b),
    });
    json::write_line(out, &cut(json::with(object, facts)))
}

/// Writes a picture of how far vertices are apart; returns a line about it.
fn picture(a: &Input, b: &Input, path: &Path, how: &Reading) -> Result<String, String> {
    let (Some(a), Some(b)) = (open(a, how)?, open(b, how)?) else {
        return Err("no mesh".to_owned());
    };
    let rendered = Render::default().write_difference(&a, &b, path);
    let rendered = rendered.map_err(|error| super::outputs::problem_of(error).to_string())?;
    let largest = shown(rendered.largest_distance.unwrap_or(0.0), Scalar::F64);
    Ok(format!(
        "{}: no vertex is farther than {largest} from the other's",
        text::path(path)
    ))
}

fn verdict(differs: bool, screen: Screen) -> String {
    if differs {
        screen.paint(Style::Bad, "DIFFERENT")
    } else {
        screen.paint(Style::Good, "EQUAL")
    }
}

/// The files of two directories, by their paths below these.
fn directories(
    a: &Path,
    b: &Path,
    args: &DiffArgs,
    choice: &Choice,
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<Outcome> {
    let reporting = Reporting {
        quiet: choice.quiet,
        json: args.json,
    };
    let how = choice.reading(TWO_FILES, false);
    let below = |root: &Path| -> BTreeMap<PathBuf, Input> {
        let found = inputs::find(&[root.to_owned()], choice);
        let known = found
            .files
            .into_iter()
            .filter_map(|input| Some((input.path.strip_prefix(root).ok()?.to_owned(), input)));
        known.collect()
    };
    let left = below(a);
    let right = below(b);
    let mut equal = 0_u64;
    let mut different = 0_u64;
    let mut alone = 0_u64;
    let paths: std::collections::BTreeSet<&PathBuf> = left.keys().chain(right.keys()).collect();
    for path in paths {
        let name = text::path(path);
        match (left.get(path), right.get(path)) {
            (Some(a), Some(b)) => match choice.memory.job(|| files(a, b, args.tolerance, &how)) {
                Ok(report) if report.is_of_no_mesh => {}
                Ok(report) => {
                    let lead = format!("{name}: ");
                    let differs =
                        report.write(&lead, (&a.path, &b.path), reporting, screen, out)?;
                    *(if differs { &mut different } else { &mut equal }) += 1;
                }
                Err(problem) if args.json => {
                    different += 1;
                    let facts = json!({ "state": "failed", "error": problem });
                    object((&a.path, &b.path), facts, out)?;
                }
                Err(problem) => {
                    different += 1;
                    out.flush()?;
                    print_stderr(screen.problem(&problem));
                }
            },
            (one, other) => {
                let input = one.or(other);
                let is_mesh =
                    input.is_some_and(|input| input.read(&how).map_or(true, |file| file.is_some()));
                if is_mesh {
                    alone += 1;
                    let side = if one.is_some() { a } else { b };
                    if args.json {
                        let state = if one.is_some() {
                            "only_in_a"
                        } else {
                            "only_in_b"
                        };
                        let a = a.join(path);
                        let b = b.join(path);
                        object((&a, &b), json!({ "state": state }), out)?;
                    } else {
                        writeln!(out, "{name}: only in {}", text::path(side))?;
                    }
                }
            }
        }
    }
    let differs = different + alone > 0 || equal == 0;
    let counts = format!(
        "{} equal, {} different, {} on one side only",
        text::count(equal),
        text::count(different),
        text::count(alone)
    );
    reporting.conclude(
        &format!("{}: {counts}", verdict(differs, screen)),
        true,
        out,
    )?;
    Ok(Outcome::good_if(!differs))
}

/// The result of comparing two files.
#[derive(Default)]
struct Report {
    lines: Vec<String>,
    differs: bool,
    equal: u64,
    numbers: u64,
    /// Neither file is a mesh.
    is_of_no_mesh: bool,
}

impl Report {
    /// Writes what was found, and returns `true` if the files differ.
    fn write(
        &self,
        lead: &str,
        paths: (&Path, &Path),
        reporting: Reporting,
        screen: Screen,
        out: &mut impl Write,
    ) -> io::Result<bool> {
        if reporting.json {
            let facts = json!({
                "state": if self.differs { "different" } else { "equal" },
                "error": null,
                "equal_arrays": self.equal,
                "numbers": self.numbers,
                "lines": self.lines,
            });
            object(paths, facts, out)?;
            return Ok(self.differs);
        }
        let is_told = lead.is_empty() && !reporting.quiet;
        if self.differs || is_told {
            let wrapped = |line: &String| text::wrap(&format!("{lead}{line}"), screen.width, 4);
            for line in text::listed(&self.lines, "line", wrapped) {
                writeln!(out, "{line}")?;
            }
        }
        if is_told {
            let numbers = text::plural(self.numbers, "number");
            writeln!(
                out,
                "{} equal, {numbers} compared",
                text::plural(self.equal, "array")
            )?;
        }
        Ok(self.differs)
    }

    fn different(&mut self, line: String) {
        self.differs = true;
        self.lines.push(line);
    }
}

fn open(input: &Input, how: &Reading) -> Result<Option<MeshFile>, String> {
    input
        .read(how)
        .map_err(|problem| format!("{}: {problem}", input.shown()))
}

fn files(a: &Input, b: &Input, tolerance: f64, how: &Reading) -> Result<Report, String> {
    let a = open(a, how)?;
    let b = open(b, how)?;
    let mut report = Report::default();
    match (a, b) {
        (Some(a), Some(b)) if a.format() == b.format() => {
            same_format(&a, &b, tolerance, &mut report)?
        }
        (Some(a), Some(b)) => {
            let a = views(&a)?;
            let b = views(&b)?;
            report.lines.push(
                "files of two formats: their meshes are compared as a renderer sees them"
                    .to_owned(),
            );
            compare(a, b, tolerance, &mut report);
        }
        (None, None) => report.is_of_no_mesh = true,
        _ => report.different("one is a mesh, the other is not".to_owned()),
    }
    Ok(report)
}

fn same_format(
    a: &MeshFile,
    b: &MeshFile,
    tolerance: f64,
    report: &mut Report,
) -> Result<(), String> {
    let mut left = Groups::new(a);
    let mut right = Groups::new(b);
    while let Some(group) = left.next()? {
        let other = right.take(&group.address)?;
        compare(group.arrays, other, tolerance, report);
    }
    while let Some(group) = right.next()? {
        compare(Vec::new(), group.arrays, tolerance, report);
    }
    Ok(())
}

/// Meshes of any format: positions, normals, texture coordinates and indices.
fn views(file: &MeshFile) -> Result<Vec<Loaded>, String> {
    /// A position, a normal or a texture coordinate; and an index, in the list and in a triangle.
    const OF_ELEMENT: u64 = 12;
    const OF_INDEX: u64 = 8;
    let problem = |error: meshmap::Error| Problem::from(error).to_string();
    let meter = inputs::meter_of(file);
    let mut loaded = Vec::new();
    let drawn = file
        .meshes_where(meshmap::Role::is_drawn_by_default)
        .map_err(problem)?;
    for (index, entry) in drawn.enumerate() {
        let name = |array: &str| format!("mesh[{index}].{array}");
        let view = match file.mesh(&entry.address) {
            Ok(view) => view,
            Err(error) => {
                groups::charge(&meter, &name(""), 0)?;
                loaded.push((name(""), Err(error)));
                continue;
            }
        };
        for semantic in [Semantic::Position, Semantic::Normal, Semantic::TexCoord(0)] {
            if !view.has(&semantic) {
                continue;
            }
            let array = match semantic {
                Semantic::Position => "positions",
                Semantic::Normal => "normals",
                _ => "tex_coords",
            };
            groups::charge(
                &meter,
                &name(array),
                view.vertex_count() as u64 * OF_ELEMENT,
            )?;
            let values = view.attribute(&semantic).map(|attribute| match attribute {
                None => ArrayData::new(Array::from_vec(Vec::<[f32; 3]>::new())),
                Some(attribute) if matches!(semantic, Semantic::TexCoord(_)) => {
                    ArrayData::new(Array::from_vec(attribute.to_f32::<2>()))
                }
                Some(attribute) => ArrayData::new(Array::from_vec(attribute.to_f32::<3>())),
            });
            loaded.push((name(array), values));
        }
        groups::charge(
            &meter,
            &name("indices"),
            view.indices().len() as u64 * OF_INDEX,
        )?;
        let indices: Vec<u32> = view.indices().iter().collect();
        loaded.push((
            name("indices"),
            Ok(ArrayData::new(Array::from_vec(
                indices.as_chunks::<3>().0.to_vec(),
            ))),
        ));
    }
    Ok(loaded)
}

/// Compares the arrays of a group, by their addresses.
fn compare(a: Vec<Loaded>, b: Vec<Loaded>, tolerance: f64, report: &mut Report) {
    let mut right: BTreeMap<String, meshmap::Result<ArrayData>> = b.into_iter().collect();
    let mut pairs: Vec<(String, ArrayData, ArrayData)> = Vec::new();
    for (address, left) in a {
        match (left, right.remove(&address)) {
            (Ok(left), Some(Ok(right))) => pairs.push((address, left, right)),
            (Ok(_), None) => report.different(format!("{address}: only in the first")),
            (Err(error), _) => report.different(format!(
                "{address}: cannot be read in the first: {}",
                Problem::from(error)
            )),
            (Ok(_), Some(Err(error))) => {
                report.different(format!(
                    "{address}: cannot be read in the second: {}",
                    Problem::from(error)
                ));
            }
        }
    }
    for address in right.into_keys() {
        report.different(format!("{address}: only in the second"));
    }
    report.numbers += pairs
        .iter()
        .map(|(_, left, _)| number_count(left))
        .sum::<u64>();
    // A difference only in order is reported as such.
    if let Some(other_order) = topology::of_pairs(&pairs, tolerance) {
        return told_by_topology(&pairs, other_order, tolerance, report);
    }
    for (address, left, right) in &pairs {
        array(address, left, right, tolerance, report);
    }
}

/// Arrays of a mesh whose triangles or vertices stand in another order.
fn told_by_topology(
    pairs: &[(String, ArrayData, ArrayData)],
    found: Match,
    tolerance: f64,
    report: &mut Report,
) {
    match found {
        Match::TrianglesReordered { indices } => {
            report
                .lines
                .push(format!("{indices}: the same triangles in another order"));
            for (address, left, right) in pairs.iter().filter(|(address, ..)| *address != indices) {
                array(address, left, right, tolerance, report);
            }
            report.equal += 1;
        }
        Match::VerticesReordered {
            positions,
            indices,
            largest,
        } => {
            report.lines.push(format!(
                "{indices}: the same triangles; the vertices stand in another order, none more than {largest} from its place"
            ));
            report.equal += 2;
            for (address, ..) in pairs
                .iter()
                .filter(|(address, ..)| *address != positions && *address != indices)
            {
                report.lines.push(format!(
                    "{address}: not compared, as the vertices stand in another order"
                ));
            }
        }
    }
}

/// Two arrays, number by number.
fn array(address: &str, left: &ArrayData, right: &ArrayData, tolerance: f64, report: &mut Report) {
    if left.shape() != right.shape() {
        let shape = |values: &ArrayData| super::dump::shown_shape(values.shape());
        return report.different(format!(
            "{address}: {} in the first, {} in the second",
            shape(left),
            shape(right)
        ));
    }
    if left.scalar() != right.scalar() {
        report.lines.push(format!(
            "{address}: {} in the first, {} in the second",
            left.scalar(),
            right.scalar()
        ));
    }
    if left.scalar() == right.scalar() && left.as_bytes() == right.as_bytes() {
        report.equal += 1;
        return;
    }
    let mut first = None;
    let mut largest = None::<(usize, f64)>;
    let mut count = 0_u64;
    for (place, (a, b)) in left.numbers().zip(right.numbers()).enumerate() {
        let distance = distance(a, b);
        if distance <= tolerance {
            continue;
        }
        count += 1;
        first = first.or(Some(place));
        if largest.is_none_or(|(_, most)| distance > most) {
            largest = Some((place, distance));
        }
    }
    let (Some(first), Some((largest, distance))) = (first, largest) else {
        report.equal += 1;
        return;
    };
    let what = if is_indices(address) {
        "topology differs: "
    } else {
        ""
    };
    let numbers = text::plural(count, "number");
    let at = |place: usize| {
        let a = left.number(place).unwrap_or(f64::NAN);
        let b = right.number(place).unwrap_or(f64::NAN);
        let kind = left.scalar();
        format!(
            "{} is {} and {}",
            element(address, left, place),
            shown(a, kind),
            shown(b, kind)
        )
    };
    let ulps = ulps(left, largest, right)
        .map(|ulps| format!(", {}", text::plural(ulps, "ulp")))
        .unwrap_or_default();
    let largest_words = if largest == first {
        String::new()
    } else {
        format!("; largest: {}", at(largest))
    };
    let line = format!(
        "{address}: {what}{numbers} of {} {}; first: {}{largest_words}; largest difference {}{ulps}",
        text::count(number_count(left)),
        if count == 1 { "differs" } else { "differ" },
        at(first),
        shown(distance, Scalar::F64),
    );
    report.different(line);
}

/// The number of numbers in an array.
fn number_count(values: &ArrayData) -> u64 {
    values.shape().iter().product()
}

fn is_indices(address: &str) -> bool {
    address.ends_with("indices") && !address.ends_with("joint_indices")
        || address.contains("triangles")
}

/// The distance between two numbers; a NaN is equal to a NaN.
fn distance(a: f64, b: f64) -> f64 {
    if a == b || a.is_nan() && b.is_nan() {
        0.0
    } else if (a - b).is_nan() {
        f64::INFINITY
    } else {
        (a - b).abs()
    }
}

fn shown(number: f64, scalar: Scalar) -> String {
    if scalar == Scalar::F32 {
        (number as f32).to_string()
    } else {
        number.to_string()
    }
}

/// Representable numbers from one to the other, of two arrays of f32.
fn ulps(left: &ArrayData, place: usize, right: &ArrayData) -> Option<u64> {
    if left.scalar() != Scalar::F32 || right.scalar() != Scalar::F32 {
        return None;
    }
    // Negative numbers run the other way, and both zeros are one.
    let order = |number: f64| {
        let bits = (number as f32).to_bits();
        let size = i64::from(bits & 0x7fff_ffff);
        if bits >> 31 == 1 { -size } else { size }
    };
    let a = left.number(place)?;
    let b = right.number(place)?;
    (a.is_finite() && b.is_finite()).then(|| order(a).abs_diff(order(b)))
}

/// `positions[3].x`.
fn element(address: &str, values: &ArrayData, place: usize) -> String {
    let components = values.components().max(1);
    let index = place / components;
    let component = place % components;
    let axis = match (components, values.scalar().is_float()) {
        (1, _) => String::new(),
        (2..=4, true) => format!(".{}", ["x", "y", "z", "w"][component]),
        _ => format!("[{component}]"),
    };
    format!("{address}[{index}]{axis}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(numbers: &[f32]) -> ArrayData {
        ArrayData::new(Array::from_vec(numbers.as_chunks::<3>().0.to_vec()))
    }

    #[test]
    fn the_first_and_the_largest_difference_have_addresses_and_units() {
        let mut report = Report::default();
        let a = floats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let b = floats(&[
            1.0,
            f32::from_bits(2.0_f32.to_bits() + 1),
            3.0,
            4.0,
            5.5,
            6.0,
        ]);
        array("positions", &a, &b, 0.0, &mut report);
        let line = &report.lines[0];
        for part in [
            "2 numbers of 6 differ",
            "first: positions[0].y",
            "largest: positions[1].y is 5 and 5.5",
            "difference 0.5",
        ] {
            assert!(line.contains(part), "{part}: {line}");
        }
        let mut report = Report::default();
        let b = floats(&[
            1.0,
            f32::from_bits(2.0_f32.to_bits() + 3),
            3.0,
            4.0,
            5.0,
            6.0,
        ]);
        array("positions", &a, &b, 0.0, &mut report);
        assert!(report.lines[0].ends_with(", 3 ulps"), "{:?}", report.lines);
        let mut report = Report::default();
        array("positions", &a, &b, 1e-3, &mut report);
        assert!(!report.differs);
    }

    #[test]
    fn nan_equals_nan_and_differs_from_numbers() {
        assert_eq!(distance(f64::NAN, f64::NAN), 0.0);
        assert_eq!(distance(f64::NAN, 1.0), f64::INFINITY);
        assert_eq!(distance(f64::INFINITY, f64::INFINITY), 0.0);
    }
}
