//! The rules that files are checked against, by their identifiers.

use meshmap::{Format, Rule};

fn cgeo() -> Vec<Rule> {
    use meshmap::cgeo::rules::*;
    vec![
        SNAPSHOT_COUNT,
        PROPERTY,
        VERSION,
        COMPRESSED,
        HEADER_COUNTS,
        HEADER_BOX,
        SCALE,
        BOUNDING_BOX,
        REPEATED_SECTION,
        TRIANGLE_TAIL,
        INDEX_OUT_OF_RANGE,
        COUNTED_FROM_ONE,
        NOT_FINITE,
        SNAPSHOT,
        TRAILING_BYTES,
    ]
}

fn iqm() -> Vec<Rule> {
    use meshmap::iqm::rules::*;
    vec![
        UNALIGNED,
        TRAILING_BYTES,
        LONGER_COMMENT,
        TEXT_WITHOUT_EMPTY_STRING,
        TEXT_NOT_UTF8,
        TEXT_UNTERMINATED,
        ODD_ROOT,
        INDEX_OUTSIDE_MESH,
        POSES_NOT_JOINTS,
        UNUSUAL_FORMAT,
        ARRAY_ORDER,
        REPEATED_ARRAY,
        RESERVED_TYPE,
        NOT_FINITE,
        NOT_UNIT,
        WEIGHT_SUM,
        BLEND_INDEX,
        FRAMERATE,
        MASK_BITS,
        ADJACENCY,
        EMPTY_WITH_OFFSET,
        OVERLAP,
        EMPTY_MESH,
        EXTENSION_COUNT,
        INVERTED_BOUNDS,
        INDEX_OUT_OF_RANGE,
        SHARED_TOO_OFTEN,
    ]
}

fn openctm() -> Vec<Rule> {
    use meshmap::openctm::rules::*;
    vec![
        UNKNOWN_FLAGS,
        TEXT_NOT_UTF8,
        REPEATED_NAME,
        GRID_TOO_FINE,
        NAN_PRECISION,
        OUTSIDE_GRID,
        STREAM_TAIL,
        POINT_CLOUD,
        TRAILING_BYTES,
        DAMAGED_BODY,
        INDEX_OUT_OF_RANGE,
        NOT_FINITE,
    ]
}

fn slmesh() -> Vec<Rule> {
    use meshmap::slmesh::rules::*;
    vec![
        HIGH_LOD_MISSING,
        LOD_GAP,
        CONVEX_MISSING,
        VERSION,
        NOT_FOUND,
        FACE_COUNT,
        LOD_TRIANGLES,
        INDEX_OUT_OF_RANGE,
        ODD_INDICES,
        DEGENERATE,
        UNREFERENCED,
        NO_GEOMETRY,
        DOMAIN_MISSING,
        DOMAIN_OUTSIDE,
        DOMAIN_INVERTED,
        TEX_COORD_DOMAIN_MISSING,
        WEIGHTS_MISSING,
        WEIGHTS_WITHOUT_SKIN,
        WEIGHTLESS,
        JOINT_OUT_OF_RANGE,
        MATRIX_COUNT,
        ALT_MATRIX_COUNT,
        PELVIS_OFFSET,
        NOT_FINITE,
        BOUNDING_VERTS_MISSING,
        HULL_POINTS,
        HULLS_AND_MESH,
        HASH,
        SHARED_TOO_OFTEN,
        BLOCK,
    ]
}

fn tmf() -> Vec<Rule> {
    use meshmap::tmf::rules::*;
    vec![
        STORED_BOX,
        WIDE_COORDINATES,
        NO_BITS,
        SEGMENT_TAIL,
        TRAILING_BYTES,
        UNKNOWN_SEGMENT,
        TYPE_OF_OTHER_LAYOUT,
        OMITTED_IN_LAYOUT_B,
        SHARED_MASK,
        NAME_NOT_UTF8,
        NOT_FINITE,
        INDEX_OUT_OF_RANGE,
        INDEX_TOO_LARGE,
        ODD_INDICES,
        UNASSIGNED,
    ]
}

/// The rules of a format.
fn of(format: Format) -> Vec<Rule> {
    match format {
        Format::CGeo => cgeo(),
        Format::Iqm => iqm(),
        Format::OpenCtm => openctm(),
        Format::SlMesh => slmesh(),
        Format::Tmf => tmf(),
        _ => Vec::new(),
    }
}

/// A rule that is allowed to be broken: by its identifier, for all formats or for one (`slmesh.degenerate`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Allowed {
    format: Option<Format>,
    id: String,
}

impl Allowed {
    /// For clap.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (format, id) = match text.split_once('.') {
            Some((format, id)) => (Some(format.parse::<Format>().map_err(|error| error.to_string())?), id),
            None => (None, text),
        };
        let formats = format.map_or_else(|| Format::ALL.to_vec(), |format| vec![format]);
        if formats.iter().flat_map(|format| of(*format)).any(|rule| rule.id == id) {
            return Ok(Self { format, id: id.to_owned() });
        }
        Err("no such rule; `meshmap verify --rules` lists them".to_owned())
    }

    pub(crate) fn is(&self, format: Format, rule: Rule) -> bool {
        self.id == rule.id && self.format.is_none_or(|own| own == format)
    }
}

/// All rules, a line each: format, identifier, severity and name.
pub(crate) fn list() -> Vec<[String; 4]> {
    let row = |format: Format, rule: Rule| {
        [format.name().to_owned(), rule.id.to_owned(), rule.severity.name().to_owned(), rule.name.to_owned()]
    };
    Format::ALL
        .into_iter()
        .flat_map(|format| of(format).into_iter().map(move |rule| row(format, rule)))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn identifiers_are_unique_within_a_format_and_plain() {
        for format in Format::ALL {
            let rules = of(format);
            let ids: HashSet<&str> = rules.iter().map(|rule| rule.id).collect();
            assert_eq!(ids.len(), rules.len(), "{format}");
            assert!(
                ids.iter()
                    .all(|id| id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')),
                "{ids:?}"
            );
        }
    }

    #[test]
    fn rules_are_allowed_for_all_formats_or_for_one() {
        let rule = meshmap::tmf::rules::NOT_FINITE;
        assert!(Allowed::parse("not_finite").unwrap().is(Format::Tmf, rule));
        assert!(Allowed::parse("tmf.not_finite").unwrap().is(Format::Tmf, rule));
        assert!(!Allowed::parse("iqm.not_finite").unwrap().is(Format::Tmf, rule));
        assert!(Allowed::parse("not_finit").is_err() && Allowed::parse("tmf.degenerate").is_err());
    }
}
