//! Instructions that not every processor of its kind has.

/// What this processor has.
#[derive(Clone, Copy)]
pub(super) struct Processor {
    /// Shifts that take their count from any register (BMI2), and what came with them.
    #[cfg(target_arch = "x86_64")]
    shifts: Option<fearless_simd::Avx2>,
}

impl Processor {
    pub(super) fn new() -> Self {
        Self {
            #[cfg(target_arch = "x86_64")]
            shifts: fearless_simd::Level::new().as_avx2(),
        }
    }

    /// Runs what is made of this processor's instructions, as far as it is inlined.
    #[inline(always)]
    pub(super) fn run<R>(self, work: impl FnOnce() -> R) -> R {
        #[cfg(target_arch = "x86_64")]
        if let Some(shifts) = self.shifts {
            return fearless_simd::Simd::vectorize(shifts, work);
        }
        work()
    }
}
