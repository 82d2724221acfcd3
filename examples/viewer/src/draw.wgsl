struct Camera {
    to_clip: mat4x4f,
    eye: vec3f,
    centre: vec3f,
    scale: f32,
}

@group(0) @binding(0) var<uniform> camera: Camera;

struct Corner {
    @builtin(position) clip: vec4f,
    @location(0) place: vec3f,
    @location(1) normal: vec3f,
    @location(2) @interpolate(flat) material: u32,
}

// A draw of material 7 is a draw of instance 7: its number comes without a buffer.
@vertex
fn vertex(
    @location(0) position: vec3f,
    @location(1) normal: vec4f,
    @builtin(instance_index) material: u32,
) -> Corner {
    // In this order, models that are small and far from the origin keep their precision.
    let place = (position - camera.centre) * camera.scale;
    return Corner(camera.to_clip * vec4f(place, 1.0), place, normal.xyz, material);
}

// Neighbouring numbers are far apart on the wheel of hues.
fn colour(material: u32) -> vec3f {
    let hue = f32(material % 1024u) * 0.618034 + 0.55;
    return 0.5 + 0.4 * cos(6.2832 * (hue + vec3f(0.0, 0.33, 0.67)));
}

// Lit by a lamp at the eye, on both sides: files differ in which side is the front.
@fragment
fn fragment(corner: Corner) -> @location(0) vec4f {
    var normal = cross(dpdx(corner.place), dpdy(corner.place)); // that of the triangle
    if dot(corner.normal, corner.normal) > 0.01 { // the default of the layout is 0: the mesh has none
        normal = corner.normal;
    }
    let facing = abs(dot(normalize(normal), normalize(camera.eye - corner.place)));
    return vec4f(colour(corner.material) * (0.15 + 0.85 * facing), 1.0);
}
