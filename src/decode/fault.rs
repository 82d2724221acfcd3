use crate::codec::{Fault, FaultKind};
use crate::num::decimal;
use crate::report::{Error, ErrorKind};

/// Converts a fault in the stream of `what` to an error; `length` is the length of the content, if it is known.
pub(crate) fn fault_error(fault: &Fault, what: &'static str, length: Option<u64>) -> Error {
    let Fault { kind, stream, decoded, bit } = fault;
    let error = |kind| Error::new(kind, what);
    let so_far = match length {
        Some(length) => format!("byte {} of {} of its content", decimal(*decoded), decimal(length)),
        None => format!("byte {} of its content", decimal(*decoded)),
    };
    match kind {
        FaultKind::Truncated => {
            let error = error(ErrorKind::Truncated).expected(format!("the rest of the {stream} stream"));
            error.found(format_args!("its end at {so_far}"))
        }
        FaultKind::Short => {
            let error = error(ErrorKind::Malformed).decoded_at(*decoded..decoded.saturating_add(1));
            error
                .expected(format!("more content of the {stream} stream"))
                .found(format_args!("its end at {so_far}"))
        }
        FaultKind::Long => {
            let error = error(ErrorKind::Malformed).expected(format!("the end of the {stream} stream"));
            error.found(format_args!("more of it at {so_far}"))
        }
        FaultKind::Corrupt(found) => {
            let error = error(ErrorKind::Malformed).expected(format!("an intact {stream} stream"));
            match bit {
                Some((byte, bit)) => {
                    let byte = decimal(*byte);
                    error.found(format_args!("{found}, in bit {bit} of its byte {byte}, at {so_far}"))
                }
                None => error.found(format_args!("{found}, at {so_far}")),
            }
        }
        FaultKind::Checksum { stored, computed } => {
            let name = if *stream == "zlib" { "Adler-32" } else { "CRC" };
            let error = error(ErrorKind::Malformed);
            error.expected(format!("the {name} {computed:#010x}")).found(format_args!("{stored:#010x}"))
        }
        FaultKind::Cancelled => error(ErrorKind::Cancelled),
    }
}
