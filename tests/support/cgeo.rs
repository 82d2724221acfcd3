//! A writer of CGeo files, in every dialect that a reader may meet, from the published description.

use meshmap::Codec;
use meshmap::cgeo::{Dialect, LengthPrefix, OffsetTarget, SizeMeaning, raw};

/// A mesh with an index for each attribute.
#[derive(Clone, Default)]
pub(crate) struct Mesh {
    pub(crate) positions: Vec<[f32; 3]>,
    pub(crate) normals: Vec<[f32; 3]>,
    pub(crate) map_channels: Vec<Vec<[f32; 3]>>,
    pub(crate) triangles: Vec<[[u32; 3]; 2]>,
}

impl Mesh {
    /// A sheet of `side` by `side` points, bent by a wave that moves with `time`.
    pub(crate) fn sheet(side: u32, channels: usize, time: f32) -> Self {
        let mut mesh = Self { map_channels: vec![Vec::new(); channels], ..Self::default() };
        for y in 0..side {
            for x in 0..side {
                let [u, v] = [x, y].map(|at| at as f32 / side as f32);
                let height = (u * 9.0 + time).sin() * (v * 7.0 - time).cos() * 0.1;
                mesh.positions.push([u, v, height]);
                mesh.normals.push([-(u * 9.0 + time).cos() * 0.5, (v * 7.0 - time).sin() * 0.5, 0.7]);
                mesh.map_channels.iter_mut().for_each(|channel| channel.push([u, v, 0.0]));
            }
        }
        for y in 0..side.saturating_sub(1) {
            for x in 0..side - 1 {
                let [a, b, c, d] = [0, 1, side, side + 1].map(|step| y * side + x + step);
                mesh.triangles.extend([[[a, b, d]; 2], [[a, d, c]; 2]]);
            }
        }
        mesh
    }

    /// The content of the section of a complete mesh.
    pub(crate) fn complete(&self) -> Vec<u8> {
        let counts =
            [self.positions.len(), self.normals.len(), self.map_channels.len(), self.triangles.len()];
        let mut out = vec![1];
        counts.iter().for_each(|count| out.extend((*count as u32).to_le_bytes()));
        triples(&self.positions, &mut out);
        out.extend(raw::TAG_MESH_VERTICES_END.to_le_bytes());
        triples(&self.normals, &mut out);
        out.extend(raw::TAG_MESH_NORMALS_END.to_le_bytes());
        for channel in &self.map_channels {
            out.extend((channel.len() as u32).to_le_bytes());
            triples(channel, &mut out);
        }
        out.extend(raw::TAG_MESH_MAP_COORDS_END.to_le_bytes());
        for (number, [positions, normals]) in self.triangles.iter().enumerate() {
            let channels = std::iter::repeat_n(positions, self.map_channels.len());
            let indices = [positions, normals].into_iter().chain(channels).flatten();
            indices.for_each(|index| out.extend(index.to_le_bytes()));
            out.extend((number as u16 % 3).to_le_bytes());
            out.push(0b101);
        }
        out
    }

    /// The content of the section of a mesh that is stored as the difference from another.
    pub(crate) fn difference(&self, base: &Self) -> Vec<u8> {
        let mut out = vec![0];
        let differences = |own: &[[f32; 3]], base: &[[f32; 3]], out: &mut Vec<u8>| {
            for (own, base) in own.iter().flatten().zip(base.iter().flatten()) {
                out.extend((own - base).to_le_bytes());
            }
        };
        differences(&self.positions, &base.positions, &mut out);
        out.extend(raw::TAG_MESH_VERTICES_END.to_le_bytes());
        differences(&self.normals, &base.normals, &mut out);
        out.extend(raw::TAG_MESH_NORMALS_END.to_le_bytes());
        for (own, base) in self.map_channels.iter().zip(&base.map_channels) {
            differences(own, base, &mut out);
        }
        out.extend(raw::TAG_MESH_MAP_COORDS_END.to_le_bytes());
        out
    }

    /// The content of the section of its box.
    pub(crate) fn bounding_box(&self) -> Vec<u8> {
        let edge = |pick: fn(f32, f32) -> f32, start| {
            self.positions
                .iter()
                .fold([start; 3], |edge, point| [0, 1, 2].map(|axis| pick(edge[axis], point[axis])))
        };
        let mut out = Vec::new();
        triples(&[edge(f32::min, f32::INFINITY), edge(f32::max, f32::NEG_INFINITY)], &mut out);
        out
    }

    /// The content of the section of a cloud of every so many of its points.
    pub(crate) fn point_cloud(&self, every: usize) -> Vec<u8> {
        let points: Vec<_> = self.positions.iter().copied().step_by(every).collect();
        let mut out = (points.len() as u64).to_le_bytes().to_vec();
        triples(&points, &mut out);
        out
    }
}

fn triples(triples: &[[f32; 3]], out: &mut Vec<u8>) {
    triples.iter().flatten().for_each(|number| out.extend(number.to_le_bytes()));
}

/// A snapshot: tags and contents of its sections.
pub(crate) type Snapshot = Vec<(u32, Vec<u8>)>;

/// The three sections that the published text knows.
pub(crate) fn snapshot(mesh: &Mesh, content: Vec<u8>) -> Snapshot {
    vec![
        (raw::TAG_BOUNDING_BOX, mesh.bounding_box()),
        (raw::TAG_POINTCLOUD, mesh.point_cloud(7)),
        (raw::TAG_MESH_DATA, content),
    ]
}

/// An animation: the first sheet complete, the others as differences from it.
pub(crate) fn animation(side: u32, snapshots: usize) -> (Vec<Mesh>, Vec<Snapshot>) {
    let meshes: Vec<_> = (0..snapshots).map(|index| Mesh::sheet(side, 1, index as f32 * 0.3)).collect();
    let sections = meshes.iter().enumerate().map(|(index, mesh)| {
        let content = if index == 0 { mesh.complete() } else { mesh.difference(&meshes[0]) };
        snapshot(mesh, content)
    });
    let sections = sections.collect();
    (meshes, sections)
}

/// The header of a file, up to the entries of the offset table.
pub(crate) fn header(snapshots: usize, dialect: Dialect) -> Vec<u8> {
    let compressed = if dialect.codec == Codec::Stored { "False" } else { "True" };
    let text = format!(
        "Corona Renderer CGeo file.\nThis file is BINARY.\nVersion: 7\nOriginal material name: [none]\n\
         Original object name: Sheet\nAnimation snapshot count: {snapshots}\n\
         Time per animation snapshot [microseconds]: 40000\nAnimation time start: 0\nScale: 1\n\
         Compressed: {compressed}\n"
    );
    let mut out = vec![raw::MAGIC];
    out.extend((text.len() as u32).to_le_bytes());
    out.extend(text.as_bytes());
    out.extend(0_u32.to_le_bytes());
    out.extend(raw::TAG_ANIM_TABLE_START.to_le_bytes());
    out
}

/// A file of these snapshots.
pub(crate) fn file(snapshots: &[Snapshot], dialect: Dialect) -> Vec<u8> {
    let mut out = header(snapshots.len(), dialect);
    let table = out.len();
    out.resize(table + snapshots.len() * 8, 0);
    out.extend(raw::TAG_ANIM_TABLE_END.to_le_bytes());
    for (index, sections) in snapshots.iter().enumerate() {
        let start = out.len() as u64;
        let offset = if dialect.offset == OffsetTarget::StartTag { start } else { start + 4 };
        out[table + index * 8..][..8].copy_from_slice(&offset.to_le_bytes());
        out.extend(snapshot_bytes(sections, dialect));
    }
    out
}

/// A snapshot with its tags.
pub(crate) fn snapshot_bytes(sections: &Snapshot, dialect: Dialect) -> Vec<u8> {
    let mut out = raw::TAG_ANIMATION_SNAPSHOT_START.to_le_bytes().to_vec();
    for (tag, content) in sections {
        let stored = compress(content, dialect);
        let size = match dialect.size {
            SizeMeaning::StoredWithHeader => stored.len() + 12,
            SizeMeaning::Inflated => content.len(),
            _ => stored.len(),
        };
        out.extend(tag.to_le_bytes());
        out.extend((size as u64).to_le_bytes());
        out.extend(stored);
    }
    out.extend(raw::TAG_ANIMATION_SNAPSHOT_END.to_le_bytes());
    out
}

/// A content as a section of this dialect stores it.
pub(crate) fn compress(content: &[u8], dialect: Dialect) -> Vec<u8> {
    let length = content.len();
    let mut out = match dialect.prefix {
        LengthPrefix::U32Le => (length as u32).to_le_bytes().to_vec(),
        LengthPrefix::U32Be => (length as u32).to_be_bytes().to_vec(),
        LengthPrefix::U64Le => (length as u64).to_le_bytes().to_vec(),
        _ => Vec::new(),
    };
    match dialect.codec {
        Codec::Zlib => out.extend(miniz_oxide::deflate::compress_to_vec_zlib(content, 6)),
        Codec::Deflate => out.extend(miniz_oxide::deflate::compress_to_vec(content, 6)),
        Codec::Gzip => {
            out.extend([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
            out.extend(miniz_oxide::deflate::compress_to_vec(content, 6));
            out.extend(crc32fast::hash(content).to_le_bytes());
            out.extend((length as u32).to_le_bytes());
        }
        _ => out.extend(content),
    }
    out
}

/// Every dialect.
pub(crate) fn dialects() -> Vec<Dialect> {
    let codecs = [
        (Codec::Stored, LengthPrefix::None),
        (Codec::Zlib, LengthPrefix::None),
        (Codec::Gzip, LengthPrefix::None),
        (Codec::Deflate, LengthPrefix::None),
        (Codec::Zlib, LengthPrefix::U32Le),
        (Codec::Zlib, LengthPrefix::U32Be),
        (Codec::Zlib, LengthPrefix::U64Le),
    ];
    let mut all = Vec::new();
    for (codec, prefix) in codecs {
        for size in [SizeMeaning::Stored, SizeMeaning::StoredWithHeader, SizeMeaning::Inflated] {
            // Without compression the inflated size is the stored one; with a prefix nobody would store it twice.
            let twice =
                size == SizeMeaning::Inflated && (codec == Codec::Stored || prefix != LengthPrefix::None);
            for offset in [OffsetTarget::FirstSection, OffsetTarget::StartTag] {
                if !twice {
                    let dialect = Dialect::default().with_codec(codec).with_prefix(prefix);
                    all.push(dialect.with_size(size).with_offset(offset));
                }
            }
        }
    }
    all
}
