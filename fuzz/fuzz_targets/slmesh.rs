//! Whatever the bytes, everything that a user can call on a mesh asset keeps its promises: the bytes as a file, and as
//! the content of a block.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshmap_testing::exercise;

fuzz_target!(|data: &[u8]| {
    exercise::slmesh::bytes(data);
    exercise::calls(data);
    // No mutation of a compressed block is still one; what is in it is mutated like this.
    let Some((choice, content)) = data.split_first() else {
        return;
    };
    let names = ["high_lod", "skin", "physics_convex", "physics_mesh"];
    let name = names[usize::from(*choice) % names.len()];
    let block = miniz_oxide::deflate::compress_to_vec_zlib(content, 0);
    let mut file = b"{\0\0\0\x01".to_vec();
    let mut key = |key: &str, value: &[u8]| {
        file.push(b'k');
        file.extend((key.len() as u32).to_be_bytes());
        file.extend(key.as_bytes());
        file.extend(value);
    };
    key(name, b"{\0\0\0\x02");
    key("offset", b"i\0\0\0\0");
    key(
        "size",
        &[&b"i"[..], &(block.len() as u32).to_be_bytes()].concat(),
    );
    file.extend(b"}}");
    file.extend(block);
    assert!(exercise::slmesh::bytes(&file), "the header is good");
    exercise::calls(&file);
});
