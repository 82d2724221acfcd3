//! The contents of images, each of which is decoded once.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use meshmap_outputs::Stamp;

use crate::alpha::Alpha;
use crate::decode::{Head, pixels_of};
use crate::encode::png_of;
use crate::error::DecodeError;
use crate::found::Found;
use crate::kept::{Kept, Key};
use crate::pixels::Pixels;

/// The maximum number of bytes of pixels and PNGs that are kept.
const MOST_KEPT: u64 = 256 << 20;

/// The contents of the images of a run.
pub(crate) struct Contents {
    images: Mutex<HashMap<PathBuf, Arc<Image>>>,
    kept: Kept,
    /// The number of images so far.
    count: AtomicU64,
}

/// An image, as it was when it was found.
struct Image {
    number: u64,
    stamp: Stamp,
    /// Who decodes the image has the lock, so that others wait for the result.
    known: Mutex<Known>,
}

/// The known facts about an image.
#[derive(Default)]
struct Known {
    head: Option<Result<Head, DecodeError>>,
    /// The reason why the pixels cannot be decoded.
    failure: Option<DecodeError>,
    alpha: Option<Alpha>,
    pixels: Weak<Pixels>,
    png: Weak<Vec<u8>>,
}

impl Default for Contents {
    fn default() -> Self {
        Self {
            images: Mutex::default(),
            kept: Kept::new(MOST_KEPT),
            count: AtomicU64::new(0),
        }
    }
}

impl Contents {
    pub(crate) fn needed_bytes(&self, found: &Found) -> Result<u64, DecodeError> {
        let image = self.image(found);
        let mut known = image.lock();
        Ok(known.head(found)?.needed_bytes)
    }

    pub(crate) fn needed_by_png(&self, found: &Found) -> Result<u64, DecodeError> {
        let image = self.image(found);
        let mut known = image.lock();
        Ok(known.head(found)?.needed_by_png)
    }

    pub(crate) fn alpha(&self, found: &Found, most: u64) -> Result<Alpha, DecodeError> {
        let image = self.image(found);
        let mut known = image.lock();
        if !known.head(found)?.has_alpha {
            return Ok(Alpha::Opaque);
        }
        // The same error, whether somebody else was allowed to decode the image or not.
        let needed = known.head(found)?.needed_bytes;
        check(needed, most)?;
        if let Some(alpha) = known.alpha {
            return Ok(alpha);
        }
        let pixels = self.decoded(&image, &mut known, found)?;
        Ok(known.alpha.unwrap_or_else(|| Alpha::of(&pixels)))
    }

    pub(crate) fn pixels(&self, found: &Found, most: u64) -> Result<Arc<Pixels>, DecodeError> {
        let image = self.image(found);
        let mut known = image.lock();
        let needed = known.head(found)?.needed_bytes;
        check(needed, most)?;
        self.decoded(&image, &mut known, found)
    }

    pub(crate) fn png(&self, found: &Found, most: u64) -> Result<Arc<Vec<u8>>, DecodeError> {
        let image = self.image(found);
        let mut known = image.lock();
        let needed = known.head(found)?.needed_by_png;
        check(needed, most)?;
        let png = match known.png.upgrade() {
            Some(png) => png,
            None => {
                let pixels = self.decoded(&image, &mut known, found)?;
                let alpha = known.alpha.unwrap_or(Alpha::Blend);
                Arc::new(png_of(&pixels, alpha)?)
            }
        };
        known.png = Arc::downgrade(&png);
        let bytes = png.len() as u64;
        self.kept.keep(image.key(true), png.clone(), bytes);
        Ok(png)
    }

    /// The pixels of an image, for which the caller has enough memory.
    fn decoded(
        &self,
        image: &Image,
        known: &mut Known,
        found: &Found,
    ) -> Result<Arc<Pixels>, DecodeError> {
        let pixels = match known.pixels.upgrade() {
            Some(pixels) => pixels,
            None => Arc::new(known.decode(found)?),
        };
        known.pixels = Arc::downgrade(&pixels);
        let bytes = pixels.bytes.len() as u64;
        self.kept.keep(image.key(false), pixels.clone(), bytes);
        Ok(pixels)
    }

    fn image(&self, found: &Found) -> Arc<Image> {
        let mut images = self.images.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(image) = images.get(&found.path)
            && image.stamp == found.stamp
        {
            return Arc::clone(image);
        }
        let image = Arc::new(Image {
            number: self.count.fetch_add(1, Ordering::Relaxed),
            stamp: found.stamp,
            known: Mutex::default(),
        });
        images.insert(found.path.clone(), Arc::clone(&image));
        image
    }
}

/// Returns an error if an image needs more memory than the caller allows.
fn check(needed: u64, most: u64) -> Result<(), DecodeError> {
    if needed > most {
        return Err(DecodeError::TooLarge { needed, most });
    }
    Ok(())
}

impl Image {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn key(&self, is_png: bool) -> Key {
        Key {
            image: self.number,
            is_png,
        }
    }
}

impl Known {
    fn head(&mut self, found: &Found) -> Result<Head, DecodeError> {
        if let Some(head) = &self.head {
            return head.clone();
        }
        let head = Head::read(found);
        let is_final = head.as_ref().err().is_none_or(DecodeError::is_of_image);
        if is_final {
            self.head = Some(head.clone());
        }
        head
    }

    fn decode(&mut self, found: &Found) -> Result<Pixels, DecodeError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let head = self.head(found)?;
        match pixels_of(found, &head) {
            Ok(pixels) => {
                self.alpha = Some(match head.has_alpha {
                    true => Alpha::of(&pixels),
                    false => Alpha::Opaque,
                });
                Ok(pixels)
            }
            Err(error) => {
                if error.is_of_image() {
                    self.failure = Some(error.clone());
                }
                Err(error)
            }
        }
    }
}
