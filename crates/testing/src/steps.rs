use meshmap::{Fragments, Result, Source};

/// The result of a job, and the number of steps: each range of `file` that a step lacks is supplied before the next one.
pub fn in_steps<T>(
    fragments: &Fragments,
    file: &[u8],
    job: impl Fn(&Source) -> Result<T>,
) -> Result<(T, usize)> {
    for steps in 1.. {
        match fragments.step(&job)? {
            Ok(done) => return Ok((done, steps)),
            Err(ranges) => {
                for range in ranges {
                    let part = file[range.start as usize..range.end as usize].to_vec();
                    fragments.supply(range.start, part)?;
                }
            }
        }
    }
    unreachable!()
}
