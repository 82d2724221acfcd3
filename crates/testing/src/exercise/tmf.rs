//! Calls everything that a user can call on a TMF file, and asserts what the documentation promises of any bytes.

use std::fmt::Debug;

use meshmap::tmf::{CustomValues, Document, Mesh, Packed, PackedElement};
use meshmap::{
    Address, ErrorKind, Format, MeshView, Options, Result, Rule, Severity, Source, Strictness,
};

use super::check::{assert_finding, assert_mesh, options, seen};

/// A rule of the format.
fn rule(id: &str) -> Rule {
    Rule::by_id(Format::Tmf, id).unwrap()
}

/// Parts of a kind that are looked at.
const MOST: usize = 16;

/// Opens the bytes tolerantly and strictly, and calls everything on what opens.
///
/// Returns whether the bytes are a file that opens.
pub fn bytes(bytes: &[u8]) -> bool {
    let options = options().with_limits(options().limits.with_max_total_bytes(2 << 20));
    let open =
        |options: &Options| Document::from_source(Source::from_bytes(bytes.to_vec()), options);
    let strict = check(open(&options.with_strictness(Strictness::Strict)));
    let Some(document) = check(open(&options)) else {
        assert!(
            strict.is_none(),
            "strict reading is never the more tolerant"
        );
        return false;
    };
    let findings = document.validate().expect("bytes in memory can be read");
    findings.iter().for_each(assert_finding);
    assert_eq!(
        strict.is_none(),
        findings
            .iter()
            .any(|finding| finding.severity() >= Severity::Forbidden),
        "strict reading"
    );
    for mesh in document.meshes().take(MOST) {
        self::mesh(&mesh);
        // Indices that are wrong are all that can be wrong with a mesh that was opened.
        match mesh.view().map_err(seen) {
            Ok(view) => self::view(&view),
            Err(error) if error.kind() == ErrorKind::LimitExceeded => {}
            Err(error) => {
                let wrong = [rule("index_out_of_range"), rule("index_too_large")];
                assert!(
                    findings.iter().any(|finding| wrong.contains(&finding.rule)),
                    "{error}"
                );
            }
        }
    }
    let none = Address::field("meshes").index(document.meshes().len() as u64);
    assert_eq!(
        document.mesh_view(&none).unwrap_err().kind(),
        ErrorKind::OutOfRange
    );
    true
}

fn check<T>(result: Result<T>) -> Option<T> {
    result.map_err(seen).ok()
}

fn mesh(mesh: &Mesh) {
    assert!(
        mesh.segments()
            .all(|segment| segment.data.end == segment.range.end)
    );
    assert!(check(mesh.load()).is_some());
    packed(mesh.positions());
    packed(mesh.normals());
    packed(mesh.texcoords(0));
    packed(mesh.tangents());
    packed(mesh.position_indices());
    packed(mesh.normal_indices());
    packed(mesh.texcoord_indices());
    packed(mesh.tangent_indices());
    for custom in mesh
        .custom()
        .expect("names were read when opening")
        .into_iter()
        .take(MOST)
    {
        match custom.values {
            CustomValues::Index(values) | CustomValues::Integer(values) => packed(Some(values)),
            CustomValues::Float(values) => packed(Some(values)),
            CustomValues::ColorRgba(values) => packed(Some(values)),
            other => panic!("custom data that this program does not know: {other:?}"),
        }
    }
}

/// Single elements and ranges equal the elements of the whole array in every printed digit, which is every bit
/// except in NaN.
fn packed<T: PackedElement + Debug>(array: Option<Packed<T>>) {
    let Some(array) = array else { return };
    assert!(array.shares(&array.clone()) && array.get(array.len()).unwrap().is_none());
    let Some(whole) = check(array.read()) else {
        return;
    };
    let len = whole.len();
    assert_eq!(len, array.len());
    for index in (0..len).take(MOST).chain(len.saturating_sub(MOST)..len) {
        let alone = array.get(index).unwrap();
        assert_eq!(format!("{alone:?}"), format!("{:?}", whole.get(index)));
    }
    let part = len / 3..len - len / 5;
    let mut out = vec![T::default(); part.len()];
    array.read_range_into(part.clone(), &mut out).unwrap();
    assert_eq!(
        format!("{out:?}"),
        format!("{:?}", whole.slice(part).unwrap().to_vec())
    );
    let iterated: Vec<T> = array.iter().take(3000).collect::<Result<_>>().unwrap();
    assert_eq!(
        format!("{iterated:?}"),
        format!("{:?}", whole.slice(0..len.min(3000)).unwrap().to_vec())
    );
    let mut longer = vec![T::default(); len + 1];
    let too_many = [
        array.read_range_into(0..len + 1, &mut longer),
        array.read_into(&mut longer),
    ];
    assert!(
        too_many
            .into_iter()
            .all(|result| result.unwrap_err().kind() == ErrorKind::OutOfRange)
    );
}

fn view(view: &MeshView) {
    // An integer of more bits than an attribute has is found only when it is decoded.
    let decodes = |info: &meshmap::AttributeInfo| check(view.attribute(&info.semantic)).is_some();
    if view.attributes().iter().all(decodes) {
        assert_mesh(view);
    }
}
