//! `meshmap dump`: the values of one array.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use meshmap::{MeshFile, Scalar};

use super::{Outcome, tell};
use crate::arrays::{self, Values};
use crate::inputs::{Input, Problem, Reading};
use crate::screen::Screen;
use crate::text;

/// How values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Form {
    /// Columns, each row with its index.
    Table,
    /// Comma-separated, with a line of column names.
    Csv,
    /// The array file of NumPy, version 1.0.
    Npy,
}

pub(crate) struct Wish {
    pub(crate) form: Form,
    pub(crate) head: Option<usize>,
    pub(crate) stats: bool,
    pub(crate) output: Option<PathBuf>,
    pub(crate) mmap: bool,
}

pub(crate) fn run(
    path: &Path,
    address: Option<&str>,
    wish: &Wish,
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<Outcome> {
    let input = Input::named(path);
    let file = match open(&input, wish.mmap) {
        Ok(file) => file,
        Err(problem) => {
            tell(format_args!("{}: {problem}", input.shown()));
            return Ok(Outcome::Bad);
        }
    };
    let Some(address) = address else { return list(&file, out) };
    let values = match arrays::find(&file, address) {
        Ok(Some(values)) => values,
        Ok(None) => {
            let some: Vec<String> = arrays::addresses(&file).take(6).collect();
            let some = if some.is_empty() {
                "it has none".to_owned()
            } else {
                format!("it has {}", some.join(", "))
            };
            let shown = text::line(address);
            tell(format_args!("{}: no array {shown}; {some} (`meshmap dump FILE` lists all)", input.shown()));
            return Ok(Outcome::Usage);
        }
        Err(error) => {
            tell(format_args!("{}: {}", input.shown(), Problem::from(error)));
            return Ok(Outcome::Bad);
        }
    };
    match &wish.output {
        None => write(address, &values, wish, screen, out)?,
        Some(path) => {
            let written = File::create(path).and_then(|file| {
                let mut file = BufWriter::new(file);
                write(address, &values, wish, screen, &mut file)?;
                file.flush()
            });
            if let Err(error) = written {
                tell(format_args!("{}: {error}", text::path(path)));
                return Ok(Outcome::Bad);
            }
        }
    }
    Ok(Outcome::Good)
}

fn open(input: &Input, mmap: bool) -> Result<MeshFile, Problem> {
    let how = Reading { mmap, ..Reading::default() };
    let file = input.open(&input.source(mmap)?, &how)?;
    file.ok_or_else(|| Problem::other("unknown_format", "no mesh".to_owned()))
}

/// The addresses of all arrays, with their types.
fn list(file: &MeshFile, out: &mut impl Write) -> io::Result<Outcome> {
    let mut good = true;
    for group in arrays::groups(file) {
        for (address, values) in arrays::load(file, &group, None) {
            match values {
                Ok(values) => {
                    writeln!(out, "{address}  {} x {} {}", values.count, values.components, values.scalar)?;
                }
                Err(error) => {
                    good = false;
                    writeln!(out, "x {address}  {}", Problem::from(error))?;
                }
            }
        }
    }
    Ok(Outcome::good_if(good))
}

fn write(
    address: &str,
    values: &Values,
    wish: &Wish,
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<()> {
    let values = &head(values, wish.head);
    if wish.stats {
        return stats(address, values, screen, out);
    }
    match wish.form {
        Form::Table => table(values, out),
        Form::Csv => csv(values, out),
        Form::Npy => npy(values, out),
    }
}

/// The first elements.
fn head(values: &Values, most: Option<usize>) -> Values {
    let element = values.scalar.size().saturating_mul(values.components);
    let end = most.map_or(usize::MAX, |most| most.saturating_mul(element)).min(values.bytes.len());
    let count = if element == 0 { 0 } else { end as u64 / element as u64 };
    Values { count, bytes: values.bytes.slice(..end), ..values.clone() }
}

/// A number as short as it can be and still be the same.
fn shown(number: f64, scalar: Scalar) -> String {
    match scalar {
        Scalar::F32 => (number as f32).to_string(),
        _ => number.to_string(),
    }
}

fn rows(values: &Values) -> impl Iterator<Item = Vec<String>> + '_ {
    let mut numbers = values.numbers();
    let components = values.components.max(1);
    std::iter::from_fn(move || {
        let row: Vec<String> =
            numbers.by_ref().take(components).map(|number| shown(number, values.scalar)).collect();
        (!row.is_empty()).then_some(row)
    })
}

fn table(values: &Values, out: &mut impl Write) -> io::Result<()> {
    // Columns as wide as their widest number, which a first pass finds.
    let mut widths = vec![0; values.components.max(1)];
    for row in rows(values) {
        for (width, cell) in widths.iter_mut().zip(&row) {
            *width = (*width).max(cell.len());
        }
    }
    let places = values.count.saturating_sub(1).to_string().len();
    for (index, row) in rows(values).enumerate() {
        write!(out, "{index:>places$}")?;
        for (width, cell) in widths.iter().zip(&row) {
            write!(out, "  {cell:>width$}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn csv(values: &Values, out: &mut impl Write) -> io::Result<()> {
    let names: Vec<String> = (0..values.components).map(|component| format!("c{component}")).collect();
    writeln!(out, "index,{}", names.join(","))?;
    for (index, row) in rows(values).enumerate() {
        writeln!(out, "{index},{}", row.join(","))?;
    }
    Ok(())
}

/// NumPy's file: a header of text, padded so that the data begin at a multiple of 64, and the data as they are.
fn npy(values: &Values, out: &mut impl Write) -> io::Result<()> {
    let kind = match values.scalar {
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
    let shape = match values.components {
        1 => format!("({},)", values.count),
        components => format!("({}, {components})", values.count),
    };
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    out.write_all(b"\x93NUMPY\x01\x00")?;
    out.write_all(&u16::try_from(header.len()).unwrap_or(u16::MAX).to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    out.write_all(&values.bytes)
}

/// Least, greatest and mean of each component, what is not finite, and how often which values occur.
fn stats(address: &str, values: &Values, screen: Screen, out: &mut impl Write) -> io::Result<()> {
    const BINS: usize = 10;
    let (address, kind) = (text::line(address), values.scalar);
    writeln!(out, "{address}   {} x {} {kind}", text::count(values.count), values.components)?;
    writeln!(out)?;
    let components = values.components.max(1);
    let mut all = (f64::INFINITY, f64::NEG_INFINITY);
    for component in 0..components {
        let (mut least, mut most, mut sum, mut finite, mut nan, mut infinite) =
            (f64::INFINITY, f64::NEG_INFINITY, 0.0, 0_u64, 0_u64, 0_u64);
        for number in values.numbers().skip(component).step_by(components) {
            if number.is_nan() {
                nan += 1;
            } else if number.is_infinite() {
                infinite += 1;
            } else {
                (least, most) = (least.min(number), most.max(number));
                sum += number;
                finite += 1;
            }
        }
        all = (all.0.min(least), all.1.max(most));
        let wrong =
            if nan + infinite > 0 { format!("   {nan} NaN   {infinite} infinite") } else { String::new() };
        if finite == 0 {
            writeln!(out, "  [{component}]   no finite number{wrong}")?;
        } else {
            let (least, most) = (shown(least, kind), shown(most, kind));
            writeln!(
                out,
                "  [{component}]   min {least}   max {most}   mean {:.6}{wrong}",
                sum / finite as f64
            )?;
        }
    }
    let (least, most) = all;
    if least > most {
        return Ok(());
    }
    let mut bins = [0_u64; BINS];
    let scale = if most > least { BINS as f64 / (most - least) } else { 0.0 };
    for number in values.numbers().filter(|number| number.is_finite()) {
        let bin = (((number - least) * scale) as usize).min(BINS - 1);
        bins[bin] += 1;
    }
    writeln!(out)?;
    let tallest = bins.iter().max().copied().unwrap_or(0).max(1);
    let edges: Vec<String> =
        (0..BINS).map(|bin| format!("{:.4}", least + (most - least) * bin as f64 / BINS as f64)).collect();
    let width = edges.iter().map(String::len).max().unwrap_or(0);
    let counts: Vec<String> = bins.iter().map(|count| text::count(*count)).collect();
    let places = counts.iter().map(String::len).max().unwrap_or(0);
    let room = screen.width.saturating_sub(2 + width + 3 + places + 3).clamp(8, 60) as u64;
    for ((edge, count), shown) in edges.iter().zip(bins).zip(&counts) {
        let length = (u128::from(count) * u128::from(room)).div_ceil(u128::from(tallest)) as usize;
        let line = format!("  {edge:>width$}   {shown:>places$}   {}", "#".repeat(length));
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
