//! Lists of findings: the rules of its format that a file breaks.

use std::ffi::{CString, c_char};
use std::sync::Arc;

use meshmap::{Finding, Severity};

use crate::fail::{guard, mm_status};
use crate::file::{File, mm_file};
use crate::handle::{self, Kind};
use crate::list::no_such;
use crate::memory::{First, c_string, put, put_sized};

/// The findings of a file.
pub struct mm_finding_list {
    _opaque: [u8; 0],
}

/// The severity of a finding, least serious first.
pub type mm_severity = u32;
/// Legal and harmless.
pub const MM_SEVERITY_NOTE: mm_severity = 1;
/// Legal, or what ordinary writers do.
pub const MM_SEVERITY_SUSPICIOUS: mm_severity = 2;
/// Against the specification, and read all the same.
pub const MM_SEVERITY_FORBIDDEN: mm_severity = 3;
/// The data cannot be used.
pub const MM_SEVERITY_UNUSABLE: mm_severity = 4;

/// A rule that a file breaks, and the location.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_finding {
    /// sizeof(mm_finding), set by the caller.
    pub size: usize,
    /// The rule's identifier, which never changes, such as "index_range".
    pub rule: *const c_char,
    /// All of it as one line.
    pub text: *const c_char,
    /// The part of the file; empty if the finding is not about a part.
    pub address: *const c_char,
    /// The severity.
    pub severity: mm_severity,
    /// `true` if byte_begin and byte_end are valid.
    pub has_byte_range: bool,
    /// The number of places at which the rule is broken; the other fields describe the first one.
    pub count: u64,
    /// The bytes, from the start of the file.
    pub byte_begin: u64,
    /// Their end.
    pub byte_end: u64,
}

// SAFETY: `repr(C)`, begins with its size, and is never read.
unsafe impl First for mm_finding {}

pub(crate) struct Findings(Vec<(Finding, [CString; 3])>);

impl Kind for Findings {
    type Opaque = mm_finding_list;
    const NAME: &'static str = "mm_finding_list";
}

/// A list of findings.
pub(crate) fn findings(findings: &[Finding]) -> Arc<Findings> {
    let texts = |finding: &Finding| {
        let address = finding
            .address
            .as_ref()
            .map(|address| c_string(&address.to_string()));
        [
            c_string(finding.rule.id),
            c_string(&finding.to_string()),
            address.unwrap_or_default(),
        ]
    };
    Arc::new(Findings(
        findings
            .iter()
            .map(|finding| (finding.clone(), texts(finding)))
            .collect(),
    ))
}

pub(crate) fn severity_number(severity: Severity) -> mm_severity {
    match severity {
        Severity::Note => MM_SEVERITY_NOTE,
        Severity::Suspicious => MM_SEVERITY_SUSPICIOUS,
        Severity::Forbidden => MM_SEVERITY_FORBIDDEN,
        _ => MM_SEVERITY_UNUSABLE,
    }
}

/// The rules that a file breaks, as far as opening detects them. Reads nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_findings(
    file: *const mm_file,
    out: *mut *mut mm_finding_list,
) -> mm_status {
    // SAFETY: the caller's, as the header says.
    unsafe {
        handle::make(out, || {
            Ok(findings(handle::get::<File>(file)?.file.findings()))
        })
    }
}

/// Checks every value of a file, and lists all rules that it breaks. Wrong values are findings of MM_SEVERITY_UNUSABLE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_validate(
    file: *const mm_file,
    out: *mut *mut mm_finding_list,
) -> mm_status {
    // SAFETY: the caller's, as the header says.
    unsafe {
        handle::make(out, || {
            Ok(findings(&handle::get::<File>(file)?.file.validate()?))
        })
    }
}

/// The number of findings in a list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_finding_list_count(
    list: *const mm_finding_list,
    out: *mut usize,
) -> mm_status {
    guard(|| {
        let list = handle::get::<Findings>(list)?;
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, list.0.len()) }
    })
}

/// A finding of a list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_finding_list_get(
    list: *const mm_finding_list,
    index: usize,
    out: *mut mm_finding,
) -> mm_status {
    guard(|| {
        let list = handle::get::<Findings>(list)?;
        let (finding, [rule, text, address]) = list
            .0
            .get(index)
            .ok_or_else(|| no_such("finding", index, list.0.len()))?;
        let bytes = finding.byte_range.clone().unwrap_or_default();
        let entry = mm_finding {
            size: 0,
            rule: rule.as_ptr(),
            text: text.as_ptr(),
            address: address.as_ptr(),
            severity: severity_number(finding.severity()),
            has_byte_range: finding.byte_range.is_some(),
            count: finding.count,
            byte_begin: bytes.start,
            byte_end: bytes.end,
        };
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, entry) }
    })
}

/// Frees a list and its texts.
#[unsafe(no_mangle)]
pub extern "C" fn mm_finding_list_free(list: *mut mm_finding_list) -> mm_status {
    guard(|| handle::close::<Findings>(list))
}
