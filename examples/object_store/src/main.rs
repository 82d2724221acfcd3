//! Lists the meshes of a file in an object store, and decodes one of them: only the bytes that takes are fetched.
//!
//!     cargo run [ADDRESS_OF_A_MESH [FOLDER NAME]]
//!
//! The store is a folder of local files. One of S3, Google Cloud, Azure or plain HTTP is another value of the same trait
//! (`object_store::parse_url`, and the feature of its name); nothing else changes.

use std::error::Error;
use std::ops::Range;

use meshmap::{Address, Bytes, Fragments, MeshFile, MeshView};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};

type Result<T, E = Box<dyn Error>> = std::result::Result<T, E>;

/// What was read, of how much.
struct Loaded {
    mesh: MeshView,
    fetched: u64,
    length: u64,
}

async fn load(store: &dyn ObjectStore, path: &Path, address: &Address) -> Result<Loaded> {
    let length = store.head(path).await?.size;
    let mut fetched = 0;
    // The store joins ranges that are close, and fetches them together.
    let fetch =
        async |ranges: Vec<Range<u64>>| -> Result<Vec<Bytes>> { Ok(store.get_ranges(path, &ranges).await?) };
    let mut counting = |ranges: Vec<Range<u64>>| {
        fetched += ranges.iter().map(|range| range.end - range.start).sum::<u64>();
        fetch(ranges)
    };
    let fragments = Fragments::new(Some(length));
    let file = fragments.drive(|source| MeshFile::from_source(source.clone()), &mut counting).await?;
    let mesh = fragments.drive(|_| file.mesh(address), &mut counting).await?;
    Ok(Loaded { mesh, fetched, length })
}

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/slmesh/valid");
const NAME: &str = "nodemv_02_static_4lod.slmesh";
const MESH: &str = "lowest_lod.faces[0]";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |index: usize, otherwise| arguments.get(index).map_or(otherwise, String::as_str);
    let store = LocalFileSystem::new_with_prefix(argument(1, FOLDER))?;
    let path = Path::parse(argument(2, NAME))?;
    let address: Address = argument(0, MESH).parse()?;
    let Loaded { mesh, fetched, length } = load(&store, &path, &address).await?;
    println!("{address}: {} vertices, {} triangles", mesh.vertex_count(), mesh.triangle_count());
    println!("{fetched} of {length} bytes fetched");
    Ok(())
}

#[tokio::test]
async fn one_level_of_detail_does_not_fetch_the_others() {
    let store = LocalFileSystem::new_with_prefix(FOLDER).unwrap();
    let loaded = load(&store, &Path::from(NAME), &MESH.parse().unwrap()).await.unwrap();
    let whole = MeshFile::open(format!("{FOLDER}/{NAME}")).unwrap().mesh(&MESH.parse().unwrap()).unwrap();
    assert_eq!(loaded.mesh.vertex_count(), whole.vertex_count());
    assert_eq!(loaded.mesh.indices().to_vec(), whole.indices().to_vec());
    assert!(loaded.fetched < loaded.length, "{} of {}", loaded.fetched, loaded.length);
}
