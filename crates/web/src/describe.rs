//! Descriptions of files, meshes and findings, as JSON.

use meshmap::{
    Axis, Bounds, Dequant, Finding, Format, MeshEntry, MeshView, Role, VOrigin, VertexFormat,
    Winding, texture_paths,
};

use crate::json::{List, Object};

/// Axes, winding and texture origin, where the format has them.
pub(crate) fn conventions(format: Format) -> String {
    let conventions = format.conventions();
    let up = conventions.up.map(Axis::name);
    let front_face = conventions.front_face.map(|winding| match winding {
        Winding::Clockwise => "clockwise",
        _ => "counter_clockwise",
    });
    let v_origin = conventions.v_origin.map(|origin| match origin {
        VOrigin::Top => "top",
        _ => "bottom",
    });
    let object = Object::new()
        .text_or_null("up", up)
        .text("usualUp", format.usual_up().name());
    let object = object.text_or_null("frontFace", front_face);
    object.text_or_null("vOrigin", v_origin).end()
}

pub(crate) fn findings(findings: &[Finding]) -> String {
    let mut list = List::new();
    for finding in findings {
        let address = finding.address.as_ref().map(ToString::to_string);
        let object = Object::new()
            .text("rule", finding.rule.id)
            .text("severity", finding.severity().name())
            .text_or_null("address", address.as_deref())
            .range("byteRange", finding.byte_range.clone())
            .with("count", &finding.count)
            .text("detail", &finding.detail)
            .text("message", &finding.to_string());
        list.push(&object.end());
    }
    list.end()
}

/// A mesh in a list, before it is read.
pub(crate) fn entry(entry: MeshEntry) -> String {
    Object::new()
        .text("address", &entry.address.to_string())
        .text("name", &entry.name.to_string_lossy())
        .with("role", &role(entry.role))
        .end()
}

/// The purpose of a mesh.
pub(crate) fn role(role: Role) -> String {
    let kind = |kind| Object::new().text("kind", kind);
    match role {
        Role::Lod(level) => kind("lod").with("level", &level),
        Role::Physics => kind("physics"),
        Role::Snapshot { index, seconds } => kind("snapshot")
            .with("index", &index)
            .float("seconds", seconds),
        _ => kind("geometry"),
    }
    .end()
}

/// The relative path of an image of this name, if browsers show such images.
pub(crate) fn texture(name: &str) -> Option<String> {
    let is_shown = |path: &String| {
        let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
        ["png", "jpg", "jpeg", "webp", "bmp"]
            .iter()
            .any(|shown| shown.eq_ignore_ascii_case(ending))
    };
    // The name of the file, or the image that it begins with. The other paths are guesses, which would be requests in vain.
    let stored = last_part(name.trim());
    let path = texture_paths(name)
        .into_iter()
        .find(|path| stored.starts_with(last_part(path)))?;
    is_shown(&path).then_some(path)
}

fn last_part(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// A mesh, but for its arrays.
pub(crate) fn mesh(view: &MeshView) -> Object {
    Object::new()
        .text("address", &view.address().to_string())
        .text("name", view.name())
        .text_or_null("material", view.material())
        .text_or_null("texture", view.texture().and_then(texture).as_deref())
        .with("role", &role(view.role()))
        .with("vertexCount", &view.vertex_count())
        .with("triangleCount", &view.triangle_count())
        .with("findings", &findings(view.findings()))
}

/// The corners of a box, or null.
pub(crate) fn bounds(bounds: Option<Bounds>) -> String {
    match bounds {
        Some(Bounds { min, max, .. }) => {
            Object::new().floats("min", &min).floats("max", &max).end()
        }
        None => "null".to_owned(),
    }
}

/// An array of elements.
pub(crate) fn attribute(semantic: &str, format: VertexFormat, dequant: Option<Dequant>) -> String {
    let formula = match dequant {
        Some(dequant) => Object::new()
            .floats("scale", &dequant.scale)
            .floats("offset", &dequant.offset)
            .end(),
        None => "null".to_owned(),
    };
    Object::new()
        .text("semantic", semantic)
        .text("type", &format.scalar.to_string())
        .with("itemSize", &format.components)
        .with("normalized", &format.normalized)
        .with("dequant", &formula)
        .end()
}
