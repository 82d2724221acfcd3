//! The bytes that an error names hold the value that it calls found, in every damaged file; and no message is Rust's own
//! way to print values.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use meshmap::{Cause, Error, ErrorKind, Fault, FaultKind, Format, Options, Rule, Source};
use meshmap_testing::calls;
use meshmap_testing::{data, test_files};
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

/// Errors whose value no bytes hold as it is: format, structure, and why.
const HELD_BY_NO_BYTES: [(&str, &str, &str); 5] = [
    (
        "openctm",
        "index out of range",
        "MG1 and MG2 store differences of indices, in planes of bytes",
    ),
    (
        "openctm",
        "numbers that are not finite",
        "MG1 and MG2 store planes of bytes, MG2 multiples of a precision",
    ),
    (
        "slmesh",
        "index out of range",
        "a finding about a block names its stored bytes, which are compressed",
    ),
    (
        "tmf",
        "index out of range",
        "indices are stored as bits, in layout B above a smallest one",
    ),
    (
        "tmf",
        "index",
        "indices are stored as bits, in layout B above a smallest one",
    ),
];

/// The errors of all calls, each message once.
fn errors(source: &Source) -> BTreeMap<String, Error> {
    let all = calls::errors(source, &Options::default());
    all.into_iter()
        .map(|error| (error.message(), error))
        .collect()
}

/// The damaged files of a format below a folder: their names and bytes.
fn damaged(root: &Path, format: &str) -> impl Iterator<Item = (String, Vec<u8>)> {
    let named = |file: PathBuf| {
        (
            file.file_name().unwrap().to_string_lossy().into_owned(),
            std::fs::read(file).unwrap(),
        )
    };
    data::files(&root.join(format).join("bad"))
        .into_iter()
        .map(named)
}

/// The found value of an error, if it is a value.
#[derive(Debug, PartialEq)]
enum Value {
    Integer(i128),
    Real(f64),
    Text(Vec<u8>),
}

/// The value that a text about what was found begins with.
fn value(found: &str) -> Option<Value> {
    // Strict reading makes errors of findings, which say both.
    let found = found
        .rsplit_once(", found ")
        .map_or(found, |(_, found)| found);
    // "x is inf": a component and its value.
    let found = found
        .split_once(" is ")
        .filter(|(name, _)| name.len() == 1)
        .map_or(found, |(_, value)| value);
    let found = found.strip_prefix("tag ").unwrap_or(found);
    if let Some(text) = found.strip_prefix('"') {
        return unescaped(text).map(Value::Text);
    }
    let word = found.split_whitespace().next()?.trim_end_matches(',');
    if let Some(digits) = word.strip_prefix("0x") {
        return i128::from_str_radix(digits, 16).ok().map(Value::Integer);
    }
    if let Ok(number) = word.replace(',', "").parse() {
        return Some(Value::Integer(number));
    }
    let is_number = word.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    (is_number || matches!(word, "inf" | "NaN")).then(|| word.parse().map(Value::Real).unwrap())
}

/// The bytes of a text between quotes.
fn unescaped(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut chars) = (Vec::new(), text.chars());
    loop {
        match chars.next()? {
            '"' => return Some(bytes),
            '\\' => match chars.next()? {
                'x' => {
                    let digits: String = chars.by_ref().take(2).collect();
                    bytes.push(u8::from_str_radix(&digits, 16).ok()?);
                }
                '0' => bytes.push(0),
                'n' => bytes.push(b'\n'),
                'r' => bytes.push(b'\r'),
                't' => bytes.push(b'\t'),
                other => bytes.extend(other.to_string().bytes()),
            },
            other => bytes.extend(other.to_string().bytes()),
        }
    }
}

/// The first `most` decoded bytes of the stream in these bytes, or the bytes if they are not a stream.
fn decoded(stored: &[u8], most: usize) -> Vec<u8> {
    let deflated = match stored {
        [0x1f, 0x8b, ..] => &stored[10..],
        [method, flags, ..]
            if method & 15 == 8 && (u16::from(*method) << 8 | u16::from(*flags)) % 31 == 0 =>
        {
            &stored[2..]
        }
        _ => return stored.to_vec(),
    };
    let mut out = vec![0; most];
    let (_, _, length) = decompress(
        &mut DecompressorOxide::new(),
        deflated,
        &mut out,
        0,
        TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF,
    );
    out.truncate(length);
    out
}

/// The part of `bytes` in a range, and whether that goes on beyond them.
fn part<'a>(bytes: &'a [u8], range: &Range<u64>) -> (&'a [u8], bool) {
    let at = |offset: u64| {
        usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .min(bytes.len())
    };
    (
        &bytes[at(range.start)..at(range.end)],
        range.end > bytes.len() as u64,
    )
}

/// `true` if a number is in the bits of bytes, from the lowest on, with less than a byte before and behind it.
fn bits_are(bytes: &[u8], number: i128) -> bool {
    let all = bytes
        .iter()
        .rev()
        .take(15)
        .fold(0_i128, |number, byte| number << 8 | i128::from(*byte));
    let len = bytes.len().min(15) as u32 * 8;
    (0..8).any(|before| {
        (len.saturating_sub(15)..=len - before)
            .any(|width| all >> before & ((1 << width) - 1) == number)
    })
}

/// `true` if bytes are a value, stored in the way of a format.
fn holds(bytes: &[u8], value: &Value, format: &str) -> bool {
    let little = || {
        bytes
            .iter()
            .rev()
            .fold(0_i128, |number, byte| number << 8 | i128::from(*byte))
    };
    let big = |bytes: &[u8]| {
        bytes
            .iter()
            .fold(0_i128, |number, byte| number << 8 | i128::from(*byte))
    };
    // LLSD has a tag before its numbers.
    let llsd = || match bytes {
        [b'i' | b'[' | b'{' | b'b' | b's' | b'k', number @ ..] if number.len() == 4 => Some(number),
        number if number.len() == 4 => Some(number),
        _ => None,
    };
    match value {
        Value::Text(text) => bytes
            .windows(text.len().max(1))
            .any(|window| window == text),
        Value::Integer(number) => {
            let signed = |found: i128, bits: usize| {
                found == *number || found >= 1 << (bits - 1) && found - (1 << bits) == *number
            };
            let as_real = |real: f64| real == *number as f64;
            let is_big = format == "slmesh" && llsd().is_some_and(|bytes| signed(big(bytes), 32));
            let is_bits = format == "tmf" && !bytes.is_empty() && bits_are(bytes, *number);
            let is_float =
                bytes.len() == 4 && as_real(f32::from_le_bytes(bytes.try_into().unwrap()).into());
            is_big
                || is_bits
                || is_float
                || matches!(bytes.len(), 1 | 2 | 4 | 8) && signed(little(), bytes.len() * 8)
        }
        Value::Real(number) => {
            let is = |found: f64| found == *number || found.is_nan() && number.is_nan();
            match bytes.len() {
                4 => {
                    let found = f32::from_le_bytes(bytes.try_into().unwrap());
                    is(found.into()) || found.to_string() == number.to_string()
                }
                8 => is(f64::from_le_bytes(bytes.try_into().unwrap())),
                _ => false,
            }
        }
    }
}

/// The value in the file that an error names.
fn found(error: &Error) -> Option<Value> {
    match error.cause() {
        Cause::Limit {
            count: Some(count), ..
        } => Some(Value::Integer((*count).into())),
        Cause::TooLarge { count, .. } => error
            .decoded_range()
            .map(|_| Value::Integer((*count).into())),
        Cause::Stream(Fault {
            kind: FaultKind::Checksum { stored, .. },
            ..
        }) => Some(Value::Integer((*stored).into())),
        Cause::Stream(_) => None,
        Cause::Signature { start, .. } if start.is_empty() => None,
        cause => value(&cause.found()),
    }
}

/// `true` if an error's bytes hold its value; `None` without a value or without bytes.
fn is_told_where_it_is(error: &Error, file: &[u8], format: &str) -> Option<bool> {
    let is_of_caller = [ErrorKind::OutOfRange, ErrorKind::Mismatch].contains(&error.kind());
    // Strict reading reports errors inside of findings; they are also seen separately.
    let names = [
        (Format::CGeo, "snapshot"),
        (Format::OpenCtm, "damaged_body"),
        (Format::SlMesh, "block"),
    ]
    .map(|(format, id)| Rule::by_id(format, id).unwrap().name);
    let is_told_twice = error.kind() == ErrorKind::Malformed
        && names.contains(&error.what())
        && error.cause().expected().is_empty();
    if is_of_caller || is_told_twice {
        return None;
    }
    let (range, found, inside) = (error.byte_range()?, found(error)?, error.decoded_range());
    let content = match &inside {
        Some(inside) => decoded(
            part(file, &range).0,
            usize::try_from(inside.end).unwrap_or(0).min(1 << 24) + 64,
        ),
        None => file.to_vec(),
    };
    let (bytes, goes_on) = part(&content, inside.as_ref().unwrap_or(&range));
    // A truncated part has as many bytes as were found.
    if goes_on {
        return Some(found == Value::Integer(bytes.len() as i128));
    }
    if error.what().starts_with("MIN_TMF_MAJOR") {
        let [major, minor] =
            [&bytes[..2], &bytes[2..]].map(|half| u16::from_le_bytes(half.try_into().unwrap()));
        return Some(error.cause().found() == format!("{major}.{minor}"));
    }
    let Value::Integer(number) = &found else {
        return Some(holds(bytes, &found, format));
    };
    if matches!(error.cause(), Cause::Stream(_)) {
        let checksum = u32::try_from(*number).unwrap();
        let is =
            |window: &[u8]| window == checksum.to_be_bytes() || window == checksum.to_le_bytes();
        return Some(bytes.windows(4).any(is));
    }
    Some(holds(bytes, &found, format))
}

test_files!(bytes_that_an_error_names_hold_the_value_that_it_found);

fn bytes_that_an_error_names_hold_the_value_that_it_found(root: &Path) {
    let (mut told, mut missed, mut excepted) = (0, Vec::new(), 0);
    for format in Format::ALL.map(Format::name) {
        for (name, bytes) in damaged(root, format) {
            for (message, error) in errors(&Source::from_bytes(bytes.clone())) {
                if error.format().is_some_and(|own| own.name() != format) {
                    continue;
                }
                let is_excepted = HELD_BY_NO_BYTES
                    .iter()
                    .any(|(of, what, _)| *of == format && error.what().starts_with(what));
                match is_told_where_it_is(&error, &bytes, format) {
                    None => {}
                    Some(true) => told += 1,
                    Some(false) if is_excepted => excepted += 1,
                    Some(false) => missed.push(format!("{format}/{name}: {message}")),
                }
            }
        }
    }
    println!(
        "{told} errors hold what they found, {excepted} are excepted, {} do not",
        missed.len()
    );
    assert!(missed.is_empty(), "{}\n{}", missed.len(), missed.join("\n"));
    assert!(told > 100 && excepted * 20 <= told, "{told} {excepted}");
}

test_files!(no_message_prints_values_as_rust_does);

fn no_message_prints_values_as_rust_does(root: &Path) {
    for format in Format::ALL.map(Format::name) {
        let valid = data::files(&root.join(format).join("valid"))
            .into_iter()
            .map(|file| std::fs::read(file).unwrap());
        for bytes in damaged(root, format).map(|(_, bytes)| bytes).chain(valid) {
            let source = Source::from_bytes(bytes);
            let errors = errors(&source);
            let findings = meshmap::MeshFile::from_source(source, &Options::default())
                .and_then(|file| file.validate());
            let details = findings
                .unwrap_or_default()
                .into_iter()
                .map(|finding| finding.to_string());
            for message in errors.into_keys().chain(details) {
                for sign in ["Some(", "None", "Ok(", "Err(", " { ", "\\u{"] {
                    assert!(!message.contains(sign), "{message}");
                }
            }
        }
    }
}

#[test]
fn values_are_read_from_what_errors_say() {
    let cases = [
        ("0x10, inside the header", Value::Integer(16)),
        ("2,147,483,648, which needs 24 GiB", Value::Integer(1 << 31)),
        ("7 bytes", Value::Integer(7)),
        ("-0.5", Value::Real(-0.5)),
        ("expected less than 4, found 9", Value::Integer(9)),
        ("x is -inf", Value::Real(f64::NEG_INFINITY)),
        ("\"MG3\\x00\"", Value::Text(b"MG3\0".to_vec())),
    ];
    for (found, wanted) in cases {
        assert_eq!(value(found), Some(wanted), "{found}");
    }
    for found in [
        "none",
        "a cycle",
        "its end at byte 0 of 12 of its content",
        "more",
    ] {
        assert_eq!(value(found), None, "{found}");
    }
}
