//! `meshmap dump`: the values of one array, or the bytes of a part without arrays.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use meshmap::{Address, ArrayData, Encoding, ErrorKind, Item, MeshFile, Scalar, Segment};
use meshmap_catalog::SHARES;
use meshmap_catalog::inspect::{self, ByAddress};

use super::{Outcome, bad, bytes, outputs, print_stderr, usage};
use crate::inputs::{Durable, Input, Memory, Problem, Reading, output_parser};
use crate::screen::Screen;
use crate::text;

/// The output format of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Form {
    /// Columns, each row with its index.
    Table,
    /// Comma-separated, with a line of column names.
    Csv,
    /// The array file of NumPy, version 1.0.
    Npy,
}

/// The arguments of `meshmap dump`.
#[derive(clap::Args)]
pub(crate) struct DumpArgs {
    /// The file, or `-` for standard input.
    path: PathBuf,
    /// Address of the array, such as snapshots[3].positions, or of an element, such as snapshots[3].positions[7]. With the
    /// address of a part, such as snapshots[3], list its arrays, or show its bytes if it has none, such as header. Without an
    /// address, list all arrays.
    address: Option<String>,
    /// List the address, shape and type of every array, and the parts that cannot be used.
    #[arg(long, conflicts_with = "address")]
    list: bool,
    /// The format of the values.
    #[arg(long = "as", value_enum, value_name = "FORM", default_value = "table")]
    form: Form,
    /// Print only the first N elements.
    #[arg(long, value_name = "N")]
    head: Option<usize>,
    /// Print the minimum, the maximum, the mean, the number of NaN values, and a histogram.
    #[arg(long, conflicts_with = "form")]
    stats: bool,
    /// Write to this file instead of standard output.
    #[arg(short, long, value_name = "FILE", value_parser = output_parser())]
    output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) durable: Durable,
    /// Map the file instead of reading it; it must not change meanwhile.
    #[arg(long)]
    pub(crate) mmap: bool,
    #[command(flatten)]
    pub(crate) memory: Memory,
}

pub(crate) fn run(args: &DumpArgs, screen: Screen, out: &mut impl Write) -> io::Result<Outcome> {
    let input = Input::named(&args.path);
    let file = match open(&input, args) {
        Ok(file) => file,
        Err(problem) => {
            return bad(format_args!("{}: {problem}", input.shown()));
        }
    };
    let Some(address) = &args.address else {
        return list(&file, None, out).map(|listed| listed.outcome);
    };
    let parsed = address.parse::<Address>().ok();
    let values = match parsed.as_ref().and_then(|address| find(&file, address)) {
        Some(Ok((values, None))) => values,
        Some(Ok((values, Some(index)))) => return element(&values, index, args, out),
        Some(Err(error)) => {
            return bad(format_args!("{}: {}", input.shown(), Problem::from(error)));
        }
        None => {
            let is_list = args.form == Form::Table && !args.stats && args.output.is_none();
            if let Some(part) = parsed.as_ref().filter(|_| is_list) {
                let listed = list(&file, Some(part), out)?;
                if listed.lines > 0 {
                    return Ok(listed.outcome);
                }
                if let [Segment::Field(field), Segment::Index(index)] = part.segments()
                    && field == "vertices"
                    && vertex(&file, *index, out)?
                {
                    return Ok(Outcome::Good);
                }
                if let Some(around) = bytes::part_around(&file, part.segments()) {
                    if around.address != *part {
                        let shown = text::path(Path::new(address));
                        let at = &around.address;
                        print_stderr(format_args!(
                            "{}: no array {shown}; the bytes of {at} follow",
                            input.shown()
                        ));
                    }
                    return bytes_of(&file, &around, args.head, &input, out);
                }
            }
            let some: Vec<String> = file
                .arrays()
                .take(6)
                .filter_map(|array| Some(array.ok()?.address.to_string()))
                .collect();
            let some = if some.is_empty() {
                "it has none".to_owned()
            } else {
                format!("it has {}", some.join(", "))
            };
            let shown = text::path(Path::new(address));
            return usage(format_args!(
                "{}: no array {shown}; {some} (`meshmap dump FILE` lists all)",
                input.shown()
            ));
        }
    };
    let Some(path) = &args.output else {
        write(address, &values, args, screen, out)?;
        return Ok(Outcome::Good);
    };
    if is_same_file(path, &input.path) {
        return usage(format_args!(
            "{}: the input, which cannot be replaced",
            text::path(path)
        ));
    }
    let written = if is_device(path) {
        File::options().write(true).open(path).and_then(|device| {
            let mut device = BufWriter::new(device);
            write(address, &values, args, screen, &mut device)?;
            device.flush()
        })
    } else {
        outputs::create(path).and_then(|mut file| {
            write(address, &values, args, screen, &mut file)?;
            file.finish().map(drop)
        })
    };
    if let Err(error) = written {
        return bad(format_args!("{}: {error}", text::path(path)));
    }
    Ok(Outcome::Good)
}

/// Writes the bytes of a part.
fn bytes_of(
    file: &MeshFile,
    part: &Item,
    head: Option<usize>,
    input: &Input,
    out: &mut impl Write,
) -> io::Result<Outcome> {
    for line in bytes::lines(file, part, head) {
        match line {
            Ok(line) => writeln!(out, "{line}")?,
            Err(error) => {
                return bad(format_args!("{}: {}", input.shown(), Problem::from(error)));
            }
        }
    }
    Ok(Outcome::Good)
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    let [a, b] = [a, b].map(fs::canonicalize);
    a.is_ok_and(|a| b.is_ok_and(|b| a == b))
}

/// Returns `true` for a path such as `/dev/stdout`, which is written and not replaced.
fn is_device(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

fn open(input: &Input, args: &DumpArgs) -> Result<MeshFile, Problem> {
    let how = Reading {
        mmap: args.mmap,
        ..args.memory.reading(SHARES)
    };
    input
        .read(&how)?
        .ok_or_else(|| Problem::other("unknown_format", "no mesh".to_owned()))
}

/// The array at an address; or the array that contains the element at the address, and the index of the element. `None` if the
/// file has neither.
fn find(file: &MeshFile, address: &Address) -> Option<meshmap::Result<(ArrayData, Option<u64>)>> {
    let array = |address| match file.array(address) {
        Err(error) if error.kind() == ErrorKind::OutOfRange => None,
        array => Some(array),
    };
    if let Some(array) = array(address) {
        return Some(array.map(|values| (values, None)));
    }
    let (Segment::Index(index), _) = address.segments().split_last()? else {
        return None;
    };
    let whole = address
        .to_string()
        .strip_suffix(&format!("[{index}]"))?
        .parse()
        .ok()?;
    let array = array(&whole)?;
    let has_element = array.as_ref().map_or(true, |values| *index < values.len());
    has_element.then(|| array.map(|values| (values, Some(*index))))
}

/// Writes one element of an array.
fn element(
    values: &ArrayData,
    index: u64,
    args: &DumpArgs,
    out: &mut impl Write,
) -> io::Result<Outcome> {
    if args.stats || args.form == Form::Npy || args.output.is_some() {
        return usage("--stats, --as npy and -o are for whole arrays");
    }
    let rows_of_each = (values.components() / columns(values)).max(1) as u64;
    let first = index * rows_of_each;
    let separator = if args.form == Form::Csv { "," } else { "  " };
    if args.form == Form::Csv {
        writeln!(out, "{}", csv_header(values))?;
    }
    for (row, numbers) in (first..first + rows_of_each).zip(rows_from(values, first)) {
        writeln!(
            out,
            "{}{separator}{}",
            row_index(values, row),
            numbers.join(separator)
        )?;
    }
    Ok(Outcome::Good)
}

/// Writes the values of one IQM vertex, a line per array. Returns `false` if the file has no such vertex.
fn vertex(file: &MeshFile, index: u64, out: &mut impl Write) -> io::Result<bool> {
    let mut found = false;
    let arrays = (0..).map_while(|array| {
        find(
            file,
            &Address::field("vertex_arrays").index(array).index(index),
        )
    });
    for (array, values) in arrays.enumerate() {
        if let Ok((values, Some(index))) = values
            && let Some(numbers) = rows_from(&values, index).next()
        {
            found = true;
            writeln!(
                out,
                "vertex_arrays[{array}][{index}]  {}",
                numbers.join("  ")
            )?;
        }
    }
    Ok(found)
}

/// The result of listing the arrays of a file.
struct Listed {
    outcome: Outcome,
    lines: u64,
}

/// The addresses of the arrays of a part, with their shapes and types. Without a part, all arrays of the file, which is also
/// checked: then the parts that cannot be used follow. A large file should not be decoded to list the arrays of one part.
fn list(file: &MeshFile, part: Option<&Address>, out: &mut impl Write) -> io::Result<Listed> {
    let damage = if part.is_none() {
        inspect::check(file).damage
    } else {
        Vec::new()
    };
    let known = ByAddress::new(&damage);
    let mut good = damage.is_empty();
    let mut lines = damage.len() as u64;
    let arrays: Box<dyn Iterator<Item = _>> = match part {
        Some(part) => Box::new(file.arrays_of(part)),
        None => Box::new(file.arrays_together()),
    };
    for array in arrays {
        let (address, shape) = match array {
            Ok(array) => {
                let shape = match (array.encoding, &array.shape) {
                    // Any numbers are frames, and those in which nothing moves take up no bytes, however many they are.
                    (Encoding::Channels, Some(shape)) => Ok(shape.clone()),
                    _ => array.read_pieces(|_| ()),
                };
                (
                    Some(array.address.clone()),
                    shape.map(|shape| (shape, array.scalar)),
                )
            }
            Err(error) => (error.address().cloned(), Err(error)),
        };
        let address = address
            .map(|address| format!("{address}  "))
            .unwrap_or_default();
        lines += 1;
        match shape {
            Ok((shape, scalar)) => writeln!(out, "{address}{} {scalar}", shown_shape(&shape))?,
            Err(error)
                if error
                    .address()
                    .is_some_and(|at| known.at(&at.to_string()).is_some()) => {}
            Err(error) => {
                good = false;
                writeln!(out, "x {address}{}", Problem::from(error))?;
            }
        }
    }
    for part in &damage {
        writeln!(
            out,
            "x {}  {}",
            part.address,
            text::line(&part.problem.to_string())
        )?;
    }
    Ok(Listed {
        outcome: Outcome::good_if(good),
        lines,
    })
}

pub(super) fn shown_shape(shape: &[u64]) -> String {
    shape
        .iter()
        .map(u64::to_string)
        .collect::<Vec<_>>()
        .join(" x ")
}

fn write(
    address: &str,
    values: &ArrayData,
    args: &DumpArgs,
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<()> {
    let values = &values.head(args.head.map_or(u64::MAX, |head| head as u64));
    if args.stats {
        return stats(address, values, screen, out);
    }
    match args.form {
        Form::Table => table(values, out),
        Form::Csv => csv(values, out),
        Form::Npy => npy(values, out),
    }
}

/// The numbers in a row: the last number of the shape.
fn columns(values: &ArrayData) -> usize {
    let last = values.shape().iter().skip(1).last().copied().unwrap_or(1);
    usize::try_from(last).unwrap_or(usize::MAX).max(1)
}

/// The index of a row: one number for each axis but the last, as in `7` and `7,3`.
fn row_index(values: &ArrayData, row: u64) -> String {
    match values.shape() {
        [_, rows, _] => format!("{},{}", row / (*rows).max(1), row % (*rows).max(1)),
        _ => row.to_string(),
    }
}

/// A number as short as it can be and still be the same: with an exponent if it would have many zeros.
fn shown(number: f64, scalar: Scalar) -> String {
    let has_exponent = number.is_finite() && number != 0.0 && !(1e-4..1e16).contains(&number.abs());
    match scalar {
        Scalar::F32 if has_exponent => format!("{:e}", number as f32),
        Scalar::F32 => (number as f32).to_string(),
        Scalar::F64 if has_exponent => format!("{number:e}"),
        _ => number.to_string(),
    }
}

fn rows(values: &ArrayData) -> impl Iterator<Item = Vec<String>> + '_ {
    rows_from(values, 0)
}

/// The rows from an index on. The numbers before are not formatted.
fn rows_from(values: &ArrayData, first: u64) -> impl Iterator<Item = Vec<String>> + '_ {
    let columns = columns(values);
    let skipped = usize::try_from(first)
        .unwrap_or(usize::MAX)
        .saturating_mul(columns);
    let mut numbers = values.numbers().skip(skipped);
    std::iter::from_fn(move || {
        let row: Vec<String> = numbers
            .by_ref()
            .take(columns)
            .map(|number| shown(number, values.scalar()))
            .collect();
        (!row.is_empty()).then_some(row)
    })
}

fn table(values: &ArrayData, out: &mut impl Write) -> io::Result<()> {
    // Columns as wide as their widest number, which a first pass finds.
    let mut widths = vec![0; columns(values)];
    for row in rows(values) {
        for (width, cell) in widths.iter_mut().zip(&row) {
            *width = (*width).max(cell.len());
        }
    }
    let count = rows(values).count() as u64;
    let places = row_index(values, count.saturating_sub(1)).len();
    for (index, row) in (0..).zip(rows(values)) {
        write!(out, "{:>places$}", row_index(values, index))?;
        for (width, cell) in widths.iter().zip(&row) {
            write!(out, "  {cell:>width$}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn csv_header(values: &ArrayData) -> String {
    let names: Vec<String> = (0..columns(values))
        .map(|column| format!("c{column}"))
        .collect();
    let index = if values.shape().len() == 3 {
        "index0,index1"
    } else {
        "index"
    };
    format!("{index},{}", names.join(","))
}

fn csv(values: &ArrayData, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}", csv_header(values))?;
    for (index, row) in (0..).zip(rows(values)) {
        writeln!(out, "{},{}", row_index(values, index), row.join(","))?;
    }
    Ok(())
}

/// NumPy's file: a header of text, padded so that the data begin at a multiple of 64, and the data as they are.
fn npy(values: &ArrayData, out: &mut impl Write) -> io::Result<()> {
    let kind = match values.scalar() {
        Scalar::I8 => "|i1",
        Scalar::U8 => "|u1",
        Scalar::I16 => "<i2",
        Scalar::U16 => "<u2",
        Scalar::I32 => "<i4",
        Scalar::U32 => "<u4",
        Scalar::F16 => "<f2",
        Scalar::F64 => "<f8",
        _ => "<f4",
    };
    let shape = match values.shape() {
        [count] => format!("({count},)"),
        shape => format!(
            "({})",
            shape
                .iter()
                .map(u64::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        ),
    };
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    out.write_all(b"\x93NUMPY\x01\x00")?;
    out.write_all(
        &u16::try_from(header.len())
            .unwrap_or(u16::MAX)
            .to_le_bytes(),
    )?;
    out.write_all(header.as_bytes())?;
    out.write_all(values.as_bytes())
}

/// Statistics of one component.
#[derive(Clone)]
struct ColumnStats {
    least: f64,
    most: f64,
    sum: f64,
    finite: u64,
    nan: u64,
    infinite: u64,
}

impl ColumnStats {
    /// The number of columns of which one pass over the rows makes the statistics: a row can have millions of columns.
    const TOGETHER: usize = 1024;

    /// The statistics of each of these columns.
    fn of(values: &ArrayData, wanted: Range<usize>) -> Vec<Self> {
        let none = Self {
            least: f64::INFINITY,
            most: f64::NEG_INFINITY,
            sum: 0.0,
            finite: 0,
            nan: 0,
            infinite: 0,
        };
        let mut all = vec![none; wanted.len()];
        let width = columns(values);
        let mut begin = wanted.start;
        while values.number(begin).is_some() {
            for (index, column) in (begin..).zip(&mut all) {
                if let Some(number) = values.number(index) {
                    column.add(number);
                }
            }
            begin = begin.saturating_add(width);
        }
        all
    }

    fn add(&mut self, number: f64) {
        if number.is_nan() {
            self.nan += 1;
        } else if number.is_infinite() {
            self.infinite += 1;
        } else {
            self.least = self.least.min(number);
            self.most = self.most.max(number);
            self.sum += number;
            self.finite += 1;
        }
    }

    fn words(&self, kind: Scalar) -> String {
        let mut words = if self.finite == 0 {
            "no finite number".to_owned()
        } else {
            let least = shown(self.least, kind);
            let most = shown(self.most, kind);
            let mean = self.sum / self.finite as f64;
            format!("min {least}   max {most}   mean {mean:.6}")
        };
        if self.nan + self.infinite > 0 {
            words += &format!("   {} NaN   {} infinite", self.nan, self.infinite);
        }
        words
    }
}

/// Least, greatest and mean of each component, what is not finite, and how often which values occur.
fn stats(
    address: &str,
    values: &ArrayData,
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<()> {
    const BINS: usize = 10;
    let address = text::line(address);
    let kind = values.scalar();
    let shape: Vec<String> = values
        .shape()
        .iter()
        .map(|number| text::count(*number))
        .collect();
    writeln!(out, "{address}   {} {kind}", shape.join(" x "))?;
    writeln!(out)?;
    let mut all = (f64::INFINITY, f64::NEG_INFINITY);
    let count = columns(values);
    for first in (0..count).step_by(ColumnStats::TOGETHER) {
        let columns = first..count.min(first + ColumnStats::TOGETHER);
        for (component, column) in columns.clone().zip(ColumnStats::of(values, columns)) {
            all = (all.0.min(column.least), all.1.max(column.most));
            writeln!(out, "  [{component}]   {}", column.words(kind))?;
        }
    }
    let (least, most) = all;
    if least > most {
        return Ok(());
    }
    let mut bins = [0_u64; BINS];
    let scale = if most > least {
        BINS as f64 / (most - least)
    } else {
        0.0
    };
    for number in values.numbers().filter(|number| number.is_finite()) {
        let bin = (((number - least) * scale) as usize).min(BINS - 1);
        bins[bin] += 1;
    }
    writeln!(out)?;
    let tallest = bins.iter().max().copied().unwrap_or(0).max(1);
    let edges: Vec<String> = (0..BINS)
        .map(|bin| format!("{:.4}", least + (most - least) * bin as f64 / BINS as f64))
        .collect();
    let width = edges.iter().map(String::len).max().unwrap_or(0);
    let counts: Vec<String> = bins.iter().map(|count| text::count(*count)).collect();
    let places = counts.iter().map(String::len).max().unwrap_or(0);
    let room = screen
        .width
        .saturating_sub(2 + width + 3 + places + 3)
        .clamp(8, 60) as u64;
    for ((edge, count), shown) in edges.iter().zip(bins).zip(&counts) {
        let length = (u128::from(count) * u128::from(room)).div_ceil(u128::from(tallest)) as usize;
        let line = format!(
            "  {edge:>width$}   {shown:>places$}   {}",
            "#".repeat(length)
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
