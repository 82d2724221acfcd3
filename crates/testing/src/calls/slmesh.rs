use meshmap::slmesh::llsd::Reader;
use meshmap::slmesh::{Asset, CacheEntry, Face, Lod, Mesh, MeshBuffer, UploadCache, WeightScale};
use meshmap::{Address, Options, Result, Scratch, Source};

use super::caller::{Caller, few};
use super::look::Look;

/// The files that assets may be in.
pub(super) fn containers(source: &Source, options: &Options, caller: &mut impl Caller) {
    let open = || CacheEntry::from_source(source, options);
    if let Some(entry) = caller.call("CacheEntry::from_source", open) {
        caller.call("CacheEntry.has", || Ok(entry.has("high_lod")));
    }
    let open = || UploadCache::from_source(source, options);
    if let Some(cache) = caller.call("UploadCache::from_source", open) {
        let ranges = cache.ranges.iter().cloned();
        caller.each("UploadCache, assets", ranges, |range| {
            Asset::at(source, range, options)
        });
    }
}

pub(super) fn calls(asset: &Asset, options: &Options, caller: &mut impl Caller) {
    caller.call("asset, shown", || {
        Ok(format!("{} {asset:?}", asset.is_not_found()))
    });
    caller.call("header", || {
        let _ = (
            asset.version(),
            asset.creator(),
            asset.date(),
            asset.submodel_id(),
        );
        let mut values = 0;
        for (_, value) in asset.header() {
            values += usize::from(Reader::new(&value, &options.limits).skip_value().is_ok());
        }
        Ok((values, asset.header_range()))
    });
    caller.call("header, read by events", || {
        let Some(range) = Some(asset.header_range()) else {
            return Ok(0);
        };
        let bytes = asset.source().read(range)?;
        let mut reader = Reader::new(&bytes, &options.limits);
        let mut events = 0;
        while let Ok(Some(_)) = reader.next_event() {
            events += 1;
        }
        Ok(events)
    });
    caller.call("entries", || {
        Ok(asset
            .entries()
            .filter(|entry| {
                let _ = (entry.hash(), entry.mesh_triangles());
                entry.range().is_ok()
            })
            .count())
    });
    let names: Vec<String> = asset
        .entries()
        .filter_map(|entry| entry.name().to_str().map(str::to_owned))
        .collect();
    caller.each("entry", few(names.len()), |index| {
        Ok(asset.entry(&names[index]).is_some())
    });
    caller.each("raw_block", few(names.len()), |index| {
        asset.raw_block(&names[index])
    });
    caller.call("blocks", || asset.blocks());
    caller.call("meshmap::decode_all", || {
        Ok(meshmap::decode_all(
            asset.source(),
            &asset.blocks()?,
            options,
        ))
    });
    caller.call("decode_all", || asset.decode_all());
    let (mut buffer, mut scratch) = (MeshBuffer::default(), Scratch::default());
    caller.each("lod_into", Lod::ALL, |lod| {
        asset.lod_into(lod, &mut buffer, &mut scratch)
    });
    drop((buffer, scratch));
    caller.each("lod_range", Lod::ALL, |lod| asset.lod_range(lod));
    caller.each("triangle_estimate", Lod::ALL, |lod| {
        Ok(asset.triangle_estimate(lod))
    });
    caller.each("best_lod", Lod::ALL, |lod| Ok(asset.best_lod(lod)));
    for lod in Lod::ALL {
        if let Some(Some(mesh)) = caller.call(&format!("lod {lod}"), || asset.lod(lod)) {
            faces(&mesh, caller);
        }
    }
    if let Some(Some(mesh)) = caller.call("physics_mesh", || asset.physics_mesh()) {
        faces(&mesh, caller);
    }
    caller.call("skin", || asset.skin());
    if let Some(Some(convex)) = caller.call("physics_convex", || asset.physics_convex()) {
        caller.call("physics_convex.hulls", || {
            Ok(convex.hull_sizes().map(|sizes| sizes.sum::<usize>()))
        });
        caller.call("physics_convex.hull_points", || convex.hull_points());
        caller.call("physics_convex.bounding_verts", || convex.bounding_verts());
        let block = Address::field("physics_convex");
        let hulls = caller.call("physics_convex.hulls_at", || convex.hulls_at(&block));
        let hulls = hulls.into_iter().flatten();
        caller.each("hull.view", hulls, |hull| {
            let has_triangle = hull.raw_points().len() > 2;
            let triangles = if has_triangle {
                vec![[0, 1, 2]]
            } else {
                Vec::new()
            };
            hull.view(triangles)
        });
    }
}

fn faces(mesh: &Mesh, caller: &mut impl Caller) {
    fn each<T: Look>(
        mesh: &Mesh,
        caller: &mut impl Caller,
        name: &str,
        job: impl FnMut(Face) -> Result<T>,
    ) {
        caller.each(name, mesh.faces(), job);
    }
    caller.call("mesh.face", || {
        Ok((0..mesh.faces().len())
            .filter_map(|index| mesh.face(index).ok())
            .count())
    });
    each(mesh, caller, "face.raw_field", |face| {
        Ok(face.raw_field("NoSuchField"))
    });
    each(mesh, caller, "face, shown", |face| {
        let domains = (
            face.position_domain(),
            face.texcoord_domain(),
            face.normalized_scale(),
        );
        Ok(format!("{domains:?} {face:?}"))
    });
    each(mesh, caller, "face.triangles", |face| face.triangles());
    each(mesh, caller, "face.positions", |face| face.positions());
    each(mesh, caller, "face.normals", |face| face.normals());
    each(mesh, caller, "face.tex_coords", |face| face.texcoords(0));
    each(mesh, caller, "face.checked_indices", |face| face.indices());
    each(mesh, caller, "face.view", |face| face.view());
    each(mesh, caller, "face.weights", |face| {
        Ok(face.weights().map_or(0, |weights| {
            weights.iter().map(|one| one.len()).sum::<usize>()
        }))
    });
    each(mesh, caller, "face.weights.arrays", |face| {
        Ok(face
            .weights()
            .map(|weights| weights.arrays(WeightScale::Stored))
            .transpose()?
            .map(|arrays| arrays.joints))
    });
}
