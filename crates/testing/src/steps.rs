use meshmap::{Fragments, Result, Source};

/// The result of a job, and the number of steps: each range of `file` that a step lacks is supplied before the next one.
///
/// # Errors
///
/// Returns the errors of the job, also for a file that is shorter than it declares.
pub fn in_steps<T>(
    fragments: &Fragments,
    file: &[u8],
    job: impl Fn(&Source) -> Result<T>,
) -> Result<(T, usize)> {
    in_pieces(fragments, file, u64::MAX, job)
}

/// Like [`in_steps`], but supplies at most `piece` bytes of each range at a time.
///
/// # Errors
///
/// Like [`in_steps`].
pub fn in_pieces<T>(
    fragments: &Fragments,
    file: &[u8],
    piece: u64,
    job: impl Fn(&Source) -> Result<T>,
) -> Result<(T, usize)> {
    const MOST: usize = 100_000;
    let len = file.len() as u64;
    for steps in 1..MOST {
        let ranges = match fragments.step(&job)? {
            Ok(done) => return Ok((done, steps)),
            Err(ranges) => ranges,
        };
        if ranges.iter().any(|range| range.end > len) {
            fragments.set_len(len)?;
        }
        for range in ranges {
            let end = range.end.min(len).min(range.start.saturating_add(piece));
            let part = file
                .get(range.start as usize..end as usize)
                .unwrap_or_default()
                .to_vec();
            fragments.supply(range.start.min(len), part)?;
        }
    }
    panic!("fragments never suffice");
}
