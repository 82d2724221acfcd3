//! Code for instructions that only some processors have.

/// The instructions that this processor has.
#[derive(Clone, Copy)]
pub(crate) struct Processor {
    #[cfg(target_arch = "x86_64")]
    avx2: Option<fearless_simd::x86::Avx2>,
}

impl Processor {
    pub(crate) fn new() -> Self {
        Self {
            #[cfg(target_arch = "x86_64")]
            avx2: fearless_simd::Level::new().as_avx2(),
        }
    }

    /// AVX2, if the processor has it.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn avx2(self) -> Option<fearless_simd::x86::Avx2> {
        self.avx2
    }

    /// Runs `work`, compiled for AVX2 if the processor has it.
    ///
    /// `work` and what it calls must be `#[inline(always)]`: other functions are compiled for every processor.
    ///
    /// The results are equal, bit for bit: the compiler evaluates eight numbers at once where it evaluates four otherwise, but
    /// neither reorders operations on floats nor fuses a multiplication with an addition.
    #[inline(always)]
    pub(crate) fn run<R>(self, work: impl FnOnce() -> R) -> R {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = self.avx2 {
            return fearless_simd::Simd::vectorize(avx2, work);
        }
        work()
    }
}
