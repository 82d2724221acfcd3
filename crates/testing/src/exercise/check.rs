//! Properties of the values that a reader returns, for any bytes.

use meshmap::{
    Address, Array, Attribute, Element, Error, ErrorKind, Finding, IndexFormat, Limits, MeshView,
    Options, Scalar, Semantic, Text, VertexFormat,
};

/// Parts of a kind that are looked at.
pub(crate) const MOST: usize = 64;

/// Bytes of vertex arrays that are converted.
pub(crate) const MOST_BYTES: usize = 16 << 10;

/// Memory that a file may claim.
pub fn options() -> Options {
    Options::default().with_limits(Limits::default().with_max_block_bytes(1 << 20))
}

/// Every way to look at an array shows the same elements.
pub(crate) fn assert_array<T: Element>(array: &meshmap::Array<T>) {
    let len = array.len();
    assert_eq!(array.iter().len(), len);
    assert_eq!(array.to_vec().len(), len);
    assert!(array.as_native().is_none_or(|native| native.len() == len));
    assert_eq!(array.get(len.wrapping_sub(1)).is_some(), len > 0);
    assert!(array.get(len).is_none() && array.slice(0..len + 1).is_none());
    let half = array.slice(len / 2..len).unwrap();
    assert_eq!(
        half.as_bytes(),
        &array.as_bytes()[array.as_bytes().len() - half.as_bytes().len()..]
    );
    assert_eq!(half.clone().into_bytes().len(), half.as_bytes().len());
}

/// The bits of the numbers. The bits of a NaN depend on how it was computed: every NaN becomes the same here.
pub(crate) fn bits(numbers: &[f32]) -> Vec<u32> {
    let bits = |number: &f32| if number.is_nan() { f32::NAN } else { *number }.to_bits();
    numbers.iter().map(bits).collect()
}

pub(crate) fn assert_attribute(attribute: &Attribute) {
    let len = attribute.len();
    assert_line(&format!("{attribute:?}"));
    assert_eq!(attribute.to_f32::<3>().len(), len);
    assert_eq!(attribute.to_f32::<4>().len(), len);
    assert_eq!(attribute.slice(0..len).as_ref(), Some(attribute));
    assert!(attribute.slice(0..len + 1).is_none());
    if let Some(bounds) = attribute.bounds() {
        assert!(
            (0..3).all(|axis| bounds.min[axis] <= bounds.max[axis]),
            "{bounds:?}"
        );
    }
    let own = attribute.format();
    let mut as_floats = own;
    as_floats.scalar = Scalar::F32;
    as_floats.normalized = false;
    let mut wider = own;
    wider.components = wider.components.saturating_add(1);
    let targets = [
        own,
        as_floats,
        wider,
        VertexFormat::FLOAT32X3,
        VertexFormat::UINT16X4,
        VertexFormat::SINT32X4,
        VertexFormat::UNORM8X4,
    ];
    for target in targets {
        assert_written(attribute, target, target.size());
    }
    for target in [own, VertexFormat::FLOAT32X4] {
        assert_written(attribute, target, target.size().saturating_add(3));
    }
    let narrow = attribute.write_chunks(own, own.size() - 1, |_, _| -> () {
        panic!("nothing fits this stride")
    });
    assert_eq!(
        narrow.map_err(seen).unwrap_err().kind(),
        ErrorKind::OutOfRange
    );
}

/// Whole elements, ascending, each once, and all of them.
fn assert_written(attribute: &Attribute, target: VertexFormat, stride: usize) {
    let size = target.size();
    let (mut next, mut written) = (0, 0);
    let result = attribute.write_chunks(target, stride, |offset, bytes| {
        assert!(offset >= next && offset % stride == 0 && bytes.len() % size == 0);
        assert!(stride == size || bytes.len() <= size);
        next = offset + bytes.len();
        written += bytes.len() / size;
    });
    match result.map_err(seen) {
        Ok(()) => assert_eq!(written, attribute.len()),
        Err(error) => {
            assert!(target != attribute.format());
            assert!(
                matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::OutOfRange),
                "{error}"
            );
        }
    }
}

/// Checks the properties that a renderer relies on. Returns the number of inspected bytes.
pub(crate) fn assert_mesh(view: &MeshView) -> usize {
    view.findings().iter().for_each(assert_finding);
    let vertices = view.vertex_count();
    let _ = view.name();
    let indices = view.indices();
    assert!(
        indices.iter().all(|index| (index as usize) < vertices),
        "an index of {vertices} or more"
    );
    let count = indices.len();
    assert!(indices.triangles().len() * 3 == count && indices.is_empty() == (count == 0));
    assert_eq!(indices.to_vec().len(), indices.len());
    let stored = indices
        .stored()
        .map(Array::len)
        .or(indices.stored_u16().map(Array::len));
    assert_eq!(stored, Some(indices.len()));
    let mut looked_at = indices.len() * 4;
    for format in [IndexFormat::Uint16, IndexFormat::Uint32] {
        let mut next = 0;
        let written = indices.write_chunks(format, |offset, bytes| {
            assert_eq!(offset, next);
            next += bytes.len();
        });
        match (format, written.map_err(seen)) {
            (IndexFormat::Uint32, written) => assert!(written.is_ok() && next == indices.len() * 4),
            (_, Ok(())) => assert_eq!(next, indices.len() * 2),
            (_, Err(error)) => assert!(error.kind() == ErrorKind::OutOfRange && vertices > 1 << 16),
        }
    }
    for info in view.attributes().iter().take(MOST) {
        let attribute = view
            .attribute(&info.semantic)
            .unwrap()
            .expect("the attribute is listed");
        assert_eq!(attribute.len(), vertices, "{info:?}");
        assert_line(&info.format.to_string());
        looked_at += attribute.as_bytes().len();
        if looked_at > MOST_BYTES {
            break;
        }
        assert_attribute(&attribute);
    }
    assert!(
        view.attribute(&Semantic::TexCoord(u32::MAX))
            .unwrap()
            .is_none()
    );
    let positions = view.attribute(&Semantic::Position).unwrap();
    assert_eq!(
        view.bounds().unwrap(),
        positions.and_then(|positions| positions.bounds())
    );
    looked_at
}

/// The error, whose message is one line.
pub fn seen(error: Error) -> Error {
    assert_line(&format!("{error:#}"));
    let is_of_a_file = error.byte_range().is_some() && error.kind() != ErrorKind::UnknownFormat;
    assert!(
        error.format().is_some() || !is_of_a_file,
        "an error that does not name the format: {error}"
    );
    error.address().into_iter().for_each(assert_address);
    assert!(
        error
            .byte_range()
            .is_none_or(|range| range.start <= range.end),
        "{error}"
    );
    error
}

/// A finding that can be shown in one line.
pub(crate) fn assert_finding(finding: &Finding) {
    assert_line(finding.rule.name);
    assert_line(&finding.detail);
    finding.address.iter().for_each(assert_address);
    assert!(
        finding
            .byte_range
            .as_ref()
            .is_none_or(|range| range.start <= range.end),
        "{finding:?}"
    );
}

pub(crate) fn assert_address(address: &Address) {
    let text = address.to_string();
    assert_line(&text);
    assert_eq!(text.parse::<Address>().unwrap(), *address);
}

pub(crate) fn assert_text(text: &Text) {
    assert!(
        text.to_str()
            .is_none_or(|text_| text_ == text.to_string_lossy())
    );
    assert_eq!(text.is_empty(), text.as_bytes().is_empty());
    let _ = format!("{text} {text:?}");
}

pub(crate) fn assert_line(text: &str) {
    assert!(!text.chars().any(char::is_control), "{text:?}");
}
