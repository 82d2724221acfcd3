//! Reads a file in a store, or lists the files below an address that ends with a slash, within limits of time and memory:
//! `within ADDRESS TIMEOUT DEADLINE BYTES`, in seconds and bytes.
//!
//! Prints the number of findings, or of files.

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use meshmap::MeshFile;
use meshmap_object_store::{Blocking, Settings};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, timeout, deadline, bytes] = arguments.as_slice() else {
        eprintln!("usage: within ADDRESS TIMEOUT DEADLINE BYTES");
        return ExitCode::from(2);
    };
    match run(address, timeout, deadline, bytes) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            let mut cause = error.source();
            while let Some(inner) = cause {
                eprintln!("because: {inner}");
                cause = inner.source();
            }
            ExitCode::FAILURE
        }
    }
}

fn run(
    address: &str,
    timeout: &str,
    deadline: &str,
    bytes: &str,
) -> Result<String, Box<dyn Error>> {
    let mut settings = Settings::default();
    settings.retries = 1;
    settings.timeout = Duration::from_secs_f64(timeout.parse()?);
    settings.deadline = Duration::from_secs_f64(deadline.parse()?);
    let limits = settings.options.limits;
    settings.options.limits = limits
        .with_max_total_bytes(bytes.parse()?)
        .with_free_ratio(0);
    if address.ends_with('/') {
        return list(address, &settings);
    }
    let options = settings.options;
    let source = Blocking::at_with(address, settings)?.source();
    let file = MeshFile::from_source(source, &options)?;
    // Reads everything.
    let findings = file.validate()?;
    Ok(format!("{} findings", findings.len()))
}

/// Counts the files of a list, of which only one page is held.
fn list(address: &str, settings: &Settings) -> Result<String, Box<dyn Error>> {
    let mut list = Blocking::list(address, "", settings)?;
    let mut files = 0;
    let mut others = 0;
    loop {
        let page = list.next_page()?;
        if page.is_empty() {
            return Ok(format!(
                "{files} files, {others} entries that are repeated or not sorted"
            ));
        }
        for file in page {
            if file.in_order {
                files += 1;
            } else {
                others += 1;
            }
        }
    }
}
