//! Weights of vertices in glTF.

/// Weights as shares of 255, if these are the same numbers.
pub(super) fn bytes_of(weights: &[[f32; 4]]) -> Option<Vec<[u8; 4]>> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 0 to 255"
    )]
    let byte = |weight: f32| (weight * 255.0).round() as u8;
    let of_vertex = |weights: &[f32; 4]| {
        let bytes = weights.map(byte);
        let sum: u16 = bytes.into_iter().map(u16::from).sum();
        let is_same = bytes.map(|byte| f32::from(byte) / 255.0) == *weights;
        Some(bytes).filter(|_| is_same && sum == 255)
    };
    weights.iter().map(of_vertex).collect()
}
