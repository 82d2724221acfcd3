//! Writes IQM files of version 2, of any size, for measurements.

/// What a file is made of, in the order in which it is written.
#[derive(Default)]
pub(crate) struct Writer {
    text: Vec<u8>,
    meshes: Vec<u8>,
    /// Type, format, components and data of each.
    vertex_arrays: Vec<(u32, u32, u32, Vec<u8>)>,
    triangles: Vec<u8>,
    adjacency: Vec<u8>,
    joints: Vec<u8>,
    poses: Vec<u8>,
    anims: Vec<u8>,
    frames: Vec<u8>,
    num_vertexes: u32,
    num_frames: u32,
    num_framechannels: u32,
}

/// A type of vertex array and the format that the specification recommends for it.
const POSITION: (u32, u32, u32) = (0, FLOAT, 3);
const TEXCOORD: (u32, u32, u32) = (1, FLOAT, 2);
const NORMAL: (u32, u32, u32) = (2, FLOAT, 3);
const TANGENT: (u32, u32, u32) = (3, FLOAT, 4);
const BLENDINDEXES: (u32, u32, u32) = (4, UBYTE, 4);
const BLENDWEIGHTS: (u32, u32, u32) = (5, UBYTE, 4);
/// In place of an adjacent triangle.
const NONE: u32 = u32::MAX;

const UBYTE: u32 = 1;
const FLOAT: u32 = 7;

impl Writer {
    /// Wavy sheets of `columns` x `rows` vertices each, at least two each way, as meshes with position, texcoord,
    /// normal, tangent and adjacency.
    pub(crate) fn sheets(sheets: u32, columns: u32, rows: u32) -> Self {
        let mut this = Self { text: vec![0], num_vertexes: sheets * columns * rows, ..Self::default() };
        let material = this.name("paper");
        let [mut positions, mut texcoords, mut normals, mut tangents] = [const { Vec::new() }; 4];
        for sheet in 0..sheets {
            let name = this.name(&format!("sheet{sheet}"));
            let (vertices, triangles) = (columns * rows, (columns - 1) * (rows - 1) * 2);
            let runs = [sheet * vertices, vertices, sheet * triangles, triangles];
            append(&mut this.meshes, [name, material]);
            append(&mut this.meshes, runs);
            this.triangles(columns, rows, sheet * vertices, sheet * triangles);
            for (y, x) in (0..rows).flat_map(|y| (0..columns).map(move |x| (y as f32, x as f32))) {
                let slope = x.cos();
                let length = (slope * slope + 1.0).sqrt();
                append_f32(&mut positions, &[x, y, sheet as f32 + x.sin()]);
                append_f32(&mut texcoords, &[x / columns as f32, y / rows as f32]);
                append_f32(&mut normals, &[-slope / length, 0.0, 1.0 / length]);
                append_f32(&mut tangents, &[1.0 / length, 0.0, slope / length, 1.0]);
            }
        }
        this.array(POSITION, positions);
        this.array(TEXCOORD, texcoords);
        this.array(NORMAL, normals);
        this.array(TANGENT, tangents);
        this
    }

    /// The triangles of a sheet, and their neighbours.
    fn triangles(&mut self, columns: u32, rows: u32, first_vertex: u32, first_triangle: u32) {
        let (quads_x, quads_y) = (columns - 1, rows - 1);
        for (y, x) in (0..quads_y).flat_map(|y| (0..quads_x).map(move |x| (y, x))) {
            let vertex = first_vertex + y * columns + x;
            let (right, up, across) = (vertex + 1, vertex + columns, vertex + columns + 1);
            // Clockwise, seen from above: the triangle at the left and the upper edge, and the other one.
            append(&mut self.triangles, [vertex, up, across, vertex, across, right]);
            let quad = |x: u32, y: u32| first_triangle + (y * quads_x + x) * 2;
            let (upper, lower) = (quad(x, y), quad(x, y) + 1);
            let left = if x > 0 { quad(x - 1, y) + 1 } else { NONE };
            let above = if y + 1 < quads_y { quad(x, y + 1) + 1 } else { NONE };
            let right = if x + 1 < quads_x { quad(x + 1, y) } else { NONE };
            let below = if y > 0 { quad(x, y - 1) } else { NONE };
            append(&mut self.adjacency, [left, above, lower, upper, right, below]);
        }
    }

    /// The same with a chain of joints, each vertex moved by one of them, and one animation of `frames` frames, which
    /// store the translation and the rotation of every joint.
    pub(crate) fn animated(mut self, joints: u32, frames: u32) -> Self {
        const CHANNELS: u32 = 7;
        for joint in 0..joints {
            let name = self.name(&format!("joint{joint}"));
            append(&mut self.joints, [name, joint.wrapping_sub(1)]);
            append_f32(&mut self.joints, &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0, 1.0, 1.0, 1.0]);
            append(&mut self.poses, [joint.wrapping_sub(1), (1 << CHANNELS) - 1]);
            append_f32(&mut self.poses, &[-1.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0, 1.0, 1.0, 1.0]);
            let [translate, rotate] = [2.0 / 65535.0, 1.0 / 65535.0];
            append_f32(&mut self.poses, &[translate, translate, translate, rotate, rotate, rotate, rotate]);
            append_f32(&mut self.poses, &[0.0; 3]);
        }
        let name = self.name("shiver");
        append(&mut self.anims, [name, 0, frames, 30.0_f32.to_bits(), 0]);
        // The high half of a linear congruential generator, which repeats only after the last frame.
        let mut state = 1_u32;
        for _ in 0..joints * frames * CHANNELS {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            self.frames.extend_from_slice(&state.to_le_bytes()[2..]);
        }
        self.num_frames = frames;
        self.num_framechannels = joints * CHANNELS;

        let vertices = 0..self.num_vertexes;
        let indexes =
            vertices.clone().flat_map(|vertex| [(vertex % joints.min(256)) as u8, 0, 0, 0]).collect();
        let weights = vertices.flat_map(|_| [255, 0, 0, 0]).collect();
        self.array(BLENDINDEXES, indexes);
        self.array(BLENDWEIGHTS, weights);
        self
    }

    /// The file.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        const HEADER: usize = 124;
        const VERTEX_ARRAY: usize = 20;
        let mut body = Body { file: vec![0; HEADER] };
        let ofs_text = body.section(&self.text);
        let ofs_meshes = body.section(&self.meshes);
        let ofs_vertexarrays = body.section(&vec![0; self.vertex_arrays.len() * VERTEX_ARRAY]);
        let mut arrays = Vec::new();
        for (kind, format, components, data) in &self.vertex_arrays {
            let offset = body.section(data);
            append(&mut arrays, [*kind, 0, *format, *components, offset]);
        }
        body.file[ofs_vertexarrays as usize..][..arrays.len()].copy_from_slice(&arrays);
        let ofs_triangles = body.section(&self.triangles);
        let ofs_adjacency = body.section(&self.adjacency);
        let ofs_joints = body.section(&self.joints);
        let ofs_poses = body.section(&self.poses);
        let ofs_anims = body.section(&self.anims);
        let ofs_frames = body.section(&self.frames);

        let count = |section: &[u8], element: usize| (section.len() / element) as u32;
        let mut header = b"INTERQUAKEMODEL\0".to_vec();
        append(&mut header, [2, body.file.len() as u32, 0]);
        append(&mut header, [self.text.len() as u32, ofs_text]);
        append(&mut header, [count(&self.meshes, 24), ofs_meshes]);
        append(&mut header, [self.vertex_arrays.len() as u32, self.num_vertexes, ofs_vertexarrays]);
        append(&mut header, [count(&self.triangles, 12), ofs_triangles, ofs_adjacency]);
        append(&mut header, [count(&self.joints, 48), ofs_joints, count(&self.poses, 88), ofs_poses]);
        append(&mut header, [count(&self.anims, 20), ofs_anims]);
        append(&mut header, [self.num_frames, self.num_framechannels, ofs_frames]);
        // Bounds, comment and extensions are optional.
        append(&mut header, [0; 5]);
        body.file[..HEADER].copy_from_slice(&header);
        body.file
    }

    fn array(&mut self, (kind, format, components): (u32, u32, u32), data: Vec<u8>) {
        self.vertex_arrays.push((kind, format, components, data));
    }

    /// The offset of a name in the text.
    fn name(&mut self, name: &str) -> u32 {
        let offset = self.text.len() as u32;
        self.text.extend_from_slice(name.as_bytes());
        self.text.push(0);
        offset
    }
}

struct Body {
    file: Vec<u8>,
}

impl Body {
    /// Appends a section at a multiple of four and returns its offset: 0 where it is empty.
    fn section(&mut self, bytes: &[u8]) -> u32 {
        if bytes.is_empty() {
            return 0;
        }
        let offset = self.file.len();
        self.file.extend_from_slice(bytes);
        self.file.resize(self.file.len().next_multiple_of(4), 0);
        offset as u32
    }
}

fn append<const N: usize>(out: &mut Vec<u8>, numbers: [u32; N]) {
    out.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

fn append_f32(out: &mut Vec<u8>, numbers: &[f32]) {
    out.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}
