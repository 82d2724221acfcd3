use std::ops::ControlFlow;

use meshmap::cgeo::{MeshBuffer, Parts, Proxy, Snapshot, Timing, Triangles, VertexWriter, Wrap};
use meshmap::{Options, Result, Scratch, Semantic, VertexFormat, VertexLayout};

use super::caller::{Caller, few};
use super::look::{Look, Seen};

pub(super) fn calls(proxy: &Proxy, options: &Options, caller: &mut impl Caller) {
    let looks = caller.looks();
    caller.call("header", || {
        let _ = (proxy.version(), proxy.object_name());
        let _ = (
            proxy.scale(),
            proxy.flags(),
            proxy.timing(),
            proxy.dialect(),
        );
        let bytes: usize = proxy
            .properties()
            .iter()
            .map(|(key, value)| key.as_bytes().len() + value.as_bytes().len())
            .sum();
        Ok((bytes, proxy.properties().text()))
    });
    caller.call("unit_length", || Ok(format!("{:?}", proxy.unit_length())));
    caller.call("timing.keys", || {
        let Some(timing) = proxy.timing() else {
            return Ok(0);
        };
        let keys = timing.keys(
            0.0,
            timing.time_of(proxy.snapshot_count().min(1000)),
            Wrap::Loop,
        )?;
        Ok(keys.len())
    });
    caller.call("timing.keys_into", || {
        let (Some(timing), mut keys) = (proxy.timing(), Vec::new()) else {
            return Ok(0);
        };
        timing.keys_into(
            0.0,
            timing.time_of(proxy.snapshot_count().min(1000)),
            Wrap::Loop,
            &mut keys,
        )?;
        Ok(keys.len())
    });
    let all = 0..proxy.snapshot_count();
    snapshots(proxy, options, caller);
    caller.call("base", || proxy.base());
    // Any file can be played, whether its header has times or not.
    let timing = proxy
        .timing()
        .unwrap_or_else(|| Timing::new(0.0, 0.04, proxy.snapshot_count()));
    let (mut out, mut scratch) = (Vec::new(), Scratch::default());
    caller.each("velocities", all.clone(), |i| {
        proxy.velocities(&timing, i, &mut out, &mut scratch)?;
        Ok(out.len())
    });
    drop((out, scratch));
    let (mut out, mut scratch) = (Vec::new(), Scratch::default());
    caller.call("positions_at", || {
        proxy.positions_at(&timing, &[0.01, 0.05], Wrap::Loop, &mut out, &mut scratch)?;
        proxy.normals_at(&timing, &[0.01, 0.05], Wrap::Loop, &mut out, &mut scratch)?;
        Ok(out.len())
    });
    drop((out, scratch));
    caller.each("VertexWriter", all.clone(), |i| {
        let layout = VertexLayout::new()
            .with(Semantic::Position, VertexFormat::FLOAT32X3)
            .with_default(Semantic::Normal, VertexFormat::SNORM8X4, [0.0; 4]);
        let (mut writer, snapshot) = (VertexWriter::new(layout)?, proxy.snapshot(i)?);
        let vertices = writer.remap(&snapshot)?.vertex_count();
        // Its memory is the caller's: none of a mesh with vertices fits here.
        Ok((vertices, writer.write(&snapshot, &mut [&mut []]).map(drop)))
    });
    let capacity = options.limits.max_total_bytes / 8;
    caller.call("play", || {
        let mut seen = Seen::new(looks);
        proxy
            .play(all.clone())
            .capacity(capacity)
            .for_each(|_, mesh| {
                match mesh {
                    Ok(mesh) => seen.add(&mesh.positions.len()),
                    Err(error) => seen.add(&error),
                }
                ControlFlow::Continue(())
            });
        Ok(seen)
    });
    caller.call("play backwards, positions", || {
        let mut seen = Seen::new(looks);
        for (_, mesh) in proxy
            .play(all.clone())
            .capacity(capacity)
            .parts(Parts::POSITIONS)
            .backwards()
        {
            match mesh {
                Ok(mesh) => seen.add(&mesh.positions.len()),
                Err(error) => seen.add(&error),
            }
        }
        Ok(seen)
    });
    #[cfg(not(any(miri, target_endian = "big", target_family = "wasm")))]
    cache(proxy, capacity, caller);
    caller.call("validate_reporting", || proxy.validate_reporting(|_| {}));
}

/// The calls on each snapshot.
fn snapshots(proxy: &Proxy, options: &Options, caller: &mut impl Caller) {
    fn each<T: Look>(
        proxy: &Proxy,
        caller: &mut impl Caller,
        name: &str,
        mut job: impl FnMut(Snapshot) -> Result<T>,
    ) {
        caller.each(name, 0..proxy.snapshot_count(), |index| {
            job(proxy.snapshot(index)?)
        });
    }
    each(proxy, caller, "snapshot", |snapshot| {
        Ok((snapshot.range(), snapshot.time()))
    });
    each(proxy, caller, "snapshot.sections", |snapshot| {
        snapshot.sections()
    });
    each(proxy, caller, "snapshot.section_headers", |snapshot| {
        snapshot.section_headers(usize::MAX)
    });
    each(proxy, caller, "snapshot.bounding_box", |snapshot| {
        snapshot.bounding_box(&mut Scratch::default())
    });
    each(proxy, caller, "snapshot.point_cloud", |snapshot| {
        snapshot.point_cloud()
    });
    each(proxy, caller, "snapshot.counts", |snapshot| {
        snapshot.counts(&mut Scratch::default())
    });
    each(proxy, caller, "snapshot.is_complete", |snapshot| {
        snapshot.is_complete(&mut Scratch::default())
    });
    // The number in it is new for every handle.
    each(proxy, caller, "snapshot.topology", |snapshot| {
        snapshot.topology(&mut Scratch::default()).map(drop)
    });
    each(proxy, caller, "snapshot.samples", |snapshot| {
        snapshot.samples(&mut Scratch::default())
    });
    each(proxy, caller, "snapshot.sample", |snapshot| {
        snapshot
            .sample(snapshot.samples(&mut Scratch::default())?)
            .positions()
    });
    each(proxy, caller, "snapshot.blocks", |snapshot| {
        snapshot.blocks()
    });
    each(
        proxy,
        caller,
        "snapshot.sections, the first read",
        |snapshot| {
            let first = snapshot
                .sections()?
                .first()
                .map_or(0..0, |section| section.content.clone());
            proxy.source().read(first)
        },
    );
    each(proxy, caller, "snapshot.positions", |snapshot| {
        snapshot.positions()
    });
    each(proxy, caller, "snapshot.normals", |snapshot| {
        snapshot.normals()
    });
    each(proxy, caller, "snapshot.triangles", |snapshot| {
        snapshot.triangles()
    });
    each(proxy, caller, "snapshot.mesh", |snapshot| {
        snapshot.mesh(Parts::ALL)
    });
    each(proxy, caller, "snapshot.view", |snapshot| snapshot.view());
    each(proxy, caller, "snapshot.mesh.vertex_remap", |snapshot| {
        snapshot.mesh(Parts::ALL)?.vertex_remap()
    });
    each(
        proxy,
        caller,
        "snapshot.mesh.vertex_remap_by_material",
        |snapshot| snapshot.mesh(Parts::ALL)?.vertex_remap_by_material(),
    );
    let (mut mesh, mut scratch) = (MeshBuffer::default(), Scratch::default());
    each(proxy, caller, "snapshot.mesh_into", |snapshot| {
        snapshot.mesh_into(Parts::ALL, &mut mesh, &mut scratch)?;
        Ok((mesh.positions.len(), mesh.texcoords.len()))
    });
    for parts in [
        Parts::POSITIONS,
        Parts::NORMALS | Parts::TEXCOORDS,
        Parts::POSITIONS | Parts::TRIANGLES,
    ] {
        each(proxy, caller, "snapshot.mesh_into, parts", |snapshot| {
            snapshot.mesh_into(parts, &mut mesh, &mut scratch)?;
            Ok((mesh.positions.len(), mesh.triangles.len()))
        });
    }
    drop((mesh, scratch));
    let (mut triangles, mut scratch) = (Triangles::default(), Scratch::default());
    each(proxy, caller, "snapshot.triangles_into", |snapshot| {
        snapshot.triangles_into(&mut triangles, &mut scratch)?;
        Ok(triangles.len())
    });
    drop((triangles, scratch));
    let (mut cloud, mut scratch) = (Vec::new(), Scratch::default());
    each(proxy, caller, "snapshot.point_cloud_into", |snapshot| {
        snapshot.point_cloud_into(&mut cloud, &mut scratch)?;
        snapshot.positions_into(&mut cloud, &mut scratch)?;
        snapshot.positions_into(&mut cloud, &mut scratch)?;
        snapshot.position_differences_into(&mut cloud, &mut scratch)?;
        snapshot.normals_into(&mut cloud, &mut scratch)?;
        snapshot.normals_into(&mut cloud, &mut scratch)?;
        snapshot.bounding_box(&mut scratch)?;
        snapshot.counts(&mut scratch)?;
        Ok(cloud.len())
    });
    drop((cloud, scratch));
    let Some(first) = caller.call("snapshot 0", || proxy.snapshot(0).map(First)) else {
        return;
    };
    let channels = caller
        .call("snapshot 0.counts", || {
            first.0.counts(&mut Scratch::default())
        })
        .map_or(0, |counts| counts.texcoord_sets);
    let channels = usize::try_from(channels).unwrap_or(0);
    caller.each("snapshot 0.map_channel", few(channels), |channel| {
        first.0.texcoords(channel)
    });
    if let Some(triangles) = caller.call("snapshot 0.triangles", || first.0.triangles()) {
        caller.each("triangles.map_channel", few(channels), |channel| {
            Ok(triangles
                .texcoords(channel)
                .map_or(0, |indices| indices.len()))
        });
        caller.call("triangles.material_ids", || {
            Ok(triangles.material_ids().map_or(0, |ids| ids.len()))
        });
        caller.call("triangles.positions", || {
            Ok(triangles
                .positions()
                .iter()
                .filter(|one| one[0] > 0)
                .count())
        });
    }
    caller.call("decode_all", || {
        let (mut blocks, mut errors) = (Vec::new(), Vec::new());
        for index in few(proxy.snapshot_count()) {
            match proxy.snapshot(index).and_then(|snapshot| snapshot.blocks()) {
                Ok(found) => blocks.extend(found),
                Err(error) => errors.push(error),
            }
        }
        Ok((
            errors,
            meshmap::decode_all(proxy.source(), &blocks, options),
        ))
    });
}

struct First(Snapshot);

impl Look for First {
    fn look(&self, at: &mut super::look::Looked) {
        self.0.range().look(at);
    }
}

#[cfg(not(any(miri, target_endian = "big", target_family = "wasm")))]
fn cache(proxy: &Proxy, capacity: u64, caller: &mut impl Caller) {
    let looks = caller.looks();
    let all = 0..proxy.snapshot_count().min(caller.most());
    caller.call("SnapshotCache::get", || {
        let cache = meshmap::cgeo::SnapshotCache::new(capacity);
        let mut seen = Seen::new(looks);
        for index in all.clone() {
            seen.add(&cache.get(proxy, index, Parts::ALL));
        }
        for index in all.clone() {
            let _ = cache.try_get(proxy, index, Parts::ALL);
        }
        cache.remove(proxy);
        Ok(seen)
    });
    caller.call("SnapshotCache::get, parts", || {
        let cache = meshmap::cgeo::SnapshotCache::new(capacity);
        let mut seen = Seen::new(looks);
        for parts in [
            Parts::POSITIONS,
            Parts::POSITIONS | Parts::NORMALS,
            Parts::ALL,
        ] {
            for index in all.clone() {
                seen.add(&cache.get(proxy, index, parts));
            }
        }
        Ok(seen)
    });
    caller.call("SnapshotCache::positions_at", || {
        let (cache, mut out) = (meshmap::cgeo::SnapshotCache::new(capacity), Vec::new());
        let timing = Timing::new(0.0, 0.04, proxy.snapshot_count());
        cache.positions_at(
            proxy,
            &timing,
            &[0.01, 0.05, 0.07],
            Wrap::PingPong,
            &mut out,
        )?;
        cache.velocities(proxy, &timing, 0, &mut out)?;
        Ok(out.len())
    });
    caller.call("SnapshotCache::prefetch", || {
        let cache = meshmap::cgeo::SnapshotCache::new(capacity);
        cache.prefetch(proxy, all.clone(), Parts::ALL);
        // So that nothing is left to be done after this call.
        let mut seen = Seen::new(looks);
        for index in all.clone() {
            seen.add(&cache.get(proxy, index, Parts::ALL));
        }
        Ok(seen)
    });
}
