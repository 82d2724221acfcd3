use crate::codec::Fault;
use crate::report::{Error, ErrorKind};

pub(crate) fn fault_error(fault: &Fault, what: &'static str) -> Error {
    let kind = match fault {
        Fault::Truncated => ErrorKind::Truncated,
        Fault::Cancelled => ErrorKind::Cancelled,
        _ => ErrorKind::Malformed,
    };
    Error::new(kind, what).expected("a stream without faults").found(format_args!("{fault:?}"))
}
