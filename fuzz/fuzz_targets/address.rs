//! An address that can be read prints as one that reads the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshmap::{Address, ErrorKind};

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    match text.parse::<Address>() {
        Ok(address) => {
            assert!(!address.segments().is_empty());
            assert_survives(&address);
        }
        Err(error) => {
            assert_eq!(
                meshmap::Error::from(error.clone()).kind(),
                ErrorKind::OutOfRange
            );
            assert_one_line(&error.to_string());
        }
    }
    let index = data.iter().fold(0, |index: u64, byte| {
        index.wrapping_mul(251).wrapping_add((*byte).into())
    });
    assert_survives(
        &Address::field("meshes")
            .index(index)
            .name(&*text)
            .name("")
            .then("faces")
            .index(0),
    );
});

fn assert_survives(address: &Address) {
    let printed = address.to_string();
    assert_one_line(&printed);
    assert_eq!(
        printed.parse::<Address>().as_ref().ok(),
        Some(address),
        "{printed}"
    );
}

fn assert_one_line(text: &str) {
    assert!(!text.chars().any(char::is_control), "{text:?}");
}
