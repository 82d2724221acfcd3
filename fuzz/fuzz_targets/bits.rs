//! Numbers of any width, unpacked alone, in turn and in bulk, are what a bit at a time makes of the bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshmap::tmf::BitArray;

fuzz_target!(|data: &[u8]| {
    let Some((&[width, first, count], bytes)) = data.split_first_chunk() else { return };
    let (width, first, count) = (u32::from(width) % 66, usize::from(first), usize::from(count) * 3);
    let len = (bytes.len() * 8).checked_div(width as usize).unwrap_or(1000);
    let Ok(array) = BitArray::new(bytes.to_vec(), width, len) else { return assert_eq!(width, 65) };
    assert_eq!(array.len(), len);
    assert_eq!(BitArray::new(bytes.to_vec(), width, len + 1).is_ok(), width == 0);

    let naive: Vec<u64> =
        (0..len).map(|index| one_bit_at_a_time(bytes, index * width as usize, width)).collect();
    assert!(array.iter().eq(naive.iter().copied()));
    for index in [first, len.wrapping_sub(1), len] {
        assert_eq!(array.get(index), naive.get(index).copied());
    }
    let mut out = vec![0xdead_beef; count];
    let unpacked = array.unpack_into(first, &mut out);
    assert_eq!(unpacked.is_ok(), first + count <= len && width <= 32);
    if unpacked.is_ok() {
        assert!(out.iter().map(|number| u64::from(*number)).eq(naive[first..][..count].iter().copied()));
    }
});

fn one_bit_at_a_time(bytes: &[u8], bit: usize, width: u32) -> u64 {
    let bits = (bit..bit + width as usize).map(|bit| bytes[bit / 8] >> (7 - bit % 8) & 1);
    bits.fold(0, |value, bit| value << 1 | u64::from(bit))
}
