//! A page of a list of S3, Google Cloud or Azure, and the keys of it that cannot be requested.
//!
//! A store may have keys such as `a/../b`, which anybody who can write to it may choose. `object_store` has no paths for them, and refuses the
//! whole page with all other keys. So these objects are taken out of the page before the store reads it, and are listed separately.

use std::sync::{Arc, Mutex, PoisonError};

#[cfg(feature = "client")]
use object_store::path::Path;

/// An object whose key cannot be requested.
#[derive(Clone, Debug)]
pub(crate) struct Refused {
    pub(crate) key: String,
    pub(crate) bytes: u64,
}

/// The objects that the client took out of the page of a request. A request for a list has it among its extensions.
#[derive(Clone, Debug, Default)]
pub(crate) struct RefusedKeys {
    objects: Arc<Mutex<Vec<Refused>>>,
}

impl RefusedKeys {
    pub(crate) fn take(&self) -> Vec<Refused> {
        std::mem::take(&mut *self.objects.lock().unwrap_or_else(PoisonError::into_inner))
    }

    #[cfg(feature = "client")]
    fn replace(&self, objects: Vec<Refused>) {
        *self.objects.lock().unwrap_or_else(PoisonError::into_inner) = objects;
    }
}

/// Returns `true` if an object of this key can be requested: its path is the same key again. A slash at the end marks a folder.
#[cfg(feature = "client")]
fn is_usable(key: &str) -> bool {
    let folder = key.strip_suffix('/').unwrap_or(key);
    Path::parse(key).is_ok_and(|path| path.as_ref() == folder)
}

/// The page without the objects whose keys cannot be requested. A page that is not XML, or not a list, is returned as it is: the store has an error
/// for it.
#[cfg(feature = "client")]
pub(crate) fn without_refused(page: bytes::Bytes, refused: &RefusedKeys) -> bytes::Bytes {
    use quick_xml::events::Event;

    let mut objects = Vec::new();
    let mut usable = Vec::new();
    let mut copied = 0;
    let mut reader = quick_xml::Reader::from_reader(&page[..]);
    let mut object_start = 0;
    let mut key = String::new();
    let mut size = String::new();
    loop {
        let event_start = reader.buffer_position();
        match reader.read_event() {
            Ok(Event::Start(start)) => match start.local_name().as_ref() {
                // Azure calls an object a blob, and its key a name.
                b"Contents" | b"Blob" => {
                    object_start = event_start;
                    key.clear();
                    size.clear();
                }
                b"Key" | b"Name" if key.is_empty() => key = text_of(&mut reader, &start),
                b"Size" | b"Content-Length" if size.is_empty() => {
                    size = text_of(&mut reader, &start);
                }
                _ => {}
            },
            Ok(Event::End(end))
                if matches!(end.local_name().as_ref(), b"Contents" | b"Blob")
                    && !is_usable(&key) =>
            {
                let [start, end] = [object_start, reader.buffer_position()];
                usable.extend_from_slice(slice(&page, copied, start));
                copied = end;
                objects.push(Refused {
                    key: key.clone(),
                    bytes: size.trim().parse().unwrap_or(0),
                });
            }
            Ok(Event::Eof) | Err(_) => break,
            Ok(_) => {}
        }
    }
    if objects.is_empty() {
        refused.replace(objects);
        return page;
    }
    usable.extend_from_slice(slice(&page, copied, page.len() as u64));
    refused.replace(objects);
    usable.into()
}

#[cfg(feature = "client")]
fn slice(page: &[u8], start: u64, end: u64) -> &[u8] {
    let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    range
        .and_then(|(start, end)| page.get(start..end))
        .unwrap_or_default()
}

/// The text of an element, with its entities replaced. Empty if it cannot be read.
#[cfg(feature = "client")]
fn text_of(
    reader: &mut quick_xml::Reader<&[u8]>,
    start: &quick_xml::events::BytesStart<'_>,
) -> String {
    let Ok(text) = reader.read_text(start.name()) else {
        return String::new();
    };
    let Ok(text) = text.decode() else {
        return String::new();
    };
    quick_xml::escape::unescape(&text)
        .map(std::borrow::Cow::into_owned)
        .unwrap_or_default()
}
