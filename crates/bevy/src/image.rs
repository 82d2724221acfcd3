//! The images that materials name, in the folder of the file.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, Weak};

use bevy_asset::io::ErasedAssetReader;
use bevy_asset::{AssetPath, AssetServer, AssetServerMode};
use bevy_ecs::resource::Resource;
use meshmap::{Semantic, texture_paths};
use meshmap_scene::{Scene, Shape, is_image};

use crate::hidden::list;
use crate::settings::MeshmapSettings;

/// The asset sources of an app. Only the app keeps them: the loader, which belongs to the asset server, must not.
#[derive(Resource)]
pub(crate) struct Sources(Arc<AssetServer>);

impl Sources {
    pub(crate) fn of(server: &AssetServer) -> Self {
        Self(Arc::new(server.clone()))
    }

    pub(crate) fn weak(&self) -> Weak<AssetServer> {
        Arc::downgrade(&self.0)
    }
}

/// The images of a file.
#[derive(Default)]
pub(crate) struct Images {
    /// By the names that materials have for them.
    found: HashMap<String, AssetPath<'static>>,
    /// Names of images that are not there.
    absent: BTreeSet<String>,
    /// Paths of images that are there, of a format that Bevy is built without.
    unreadable: BTreeSet<String>,
    /// Names of images for meshes without texture coordinates.
    without_texcoords: BTreeSet<String>,
    /// `true` if there are more names than are looked for.
    are_too_many: bool,
}

impl Images {
    /// Looks for the images of all materials in the folder of a file. `server` is gone if the app has ended.
    pub(crate) async fn find(
        scene: &Scene,
        settings: &MeshmapSettings,
        file: &AssetPath<'static>,
        server: &Weak<AssetServer>,
    ) -> Self {
        /// More names cost a lot of time, and no file of an artist has them.
        const MOST: usize = 1024;
        let mut images = Self::default();
        let Some(server) = server.upgrade() else {
            return images;
        };
        if scene.are_points() || !settings.parts.texcoords {
            return images;
        }
        let mut names: Vec<&str> = Vec::new();
        let mut seen = BTreeSet::new();
        for shape in scene.shapes() {
            let Some(name) = shape.material().and_then(|material| material.image) else {
                continue;
            };
            if !has_texcoords(shape) {
                if is_image(name) {
                    images.without_texcoords.insert(name.to_owned());
                }
            } else if seen.insert(name) {
                names.push(name);
            }
        }
        images.are_too_many = names.len() > MOST;
        names.truncate(MOST);
        for name in names {
            images.look_for(name, file, &server).await;
        }
        images
    }

    async fn look_for(&mut self, name: &str, file: &AssetPath<'static>, server: &AssetServer) {
        let folder = file.path().parent().unwrap_or(Path::new(""));
        let Some(reader) = reader(server, file) else {
            return;
        };
        let mut is_there = false;
        // None of the paths leads out of the folder.
        for path in texture_paths(name) {
            let path = folder.join(path);
            if reader.read(&path).await.is_err() {
                continue;
            }
            is_there = true;
            if !is_readable(&path) {
                self.unreadable.insert(path.display().to_string());
                continue;
            }
            let path = AssetPath::from(path).with_source(file.source().clone_owned());
            self.found.insert(name.to_owned(), path);
            return;
        }
        // Many names of materials mean no image.
        if !is_there && is_image(name) {
            self.absent.insert(name.to_owned());
        }
    }

    /// The path of the image of a shape.
    pub(crate) fn of(&self, shape: &Shape) -> Option<&AssetPath<'static>> {
        let name = shape.material()?.image?;
        self.found.get(name)
    }

    /// A sentence for each reason why an image is not shown. `file`: the path of the file.
    pub(crate) fn sentences(&self, file: &AssetPath<'static>) -> Vec<String> {
        let folder = file.path().parent().unwrap_or(Path::new(""));
        let folder = match folder.as_os_str().is_empty() {
            true => "the folder of all assets".to_owned(),
            false => format!("the folder {}", folder.display()),
        };
        let mut out = Vec::new();
        let mut add = |is_there: bool, text: String| out.extend(is_there.then_some(text));
        add(
            !self.absent.is_empty(),
            format!(
                "images are not shown, because they are not in {folder}, not with another ending either: {}",
                list(&self.absent)
            ),
        );
        add(
            !self.unreadable.is_empty(),
            format!(
                "images are not shown, because Bevy is built without their format: {}",
                list(&self.unreadable)
            ),
        );
        add(
            !self.without_texcoords.is_empty(),
            format!(
                "images are not shown, because their meshes have no texture coordinates: {}",
                list(&self.without_texcoords)
            ),
        );
        add(
            self.are_too_many,
            "only the first images are looked for, because there are too many names".to_owned(),
        );
        out
    }
}

fn has_texcoords(shape: &Shape) -> bool {
    let mut attributes = shape.attributes().iter();
    attributes.any(|info| info.semantic == Semantic::TexCoord(0))
}

/// The reader of the asset source of a file.
fn reader<'a>(
    server: &'a AssetServer,
    file: &AssetPath<'static>,
) -> Option<&'a dyn ErasedAssetReader> {
    let source = server.get_source(file.source()).ok()?;
    match server.mode() {
        AssetServerMode::Unprocessed => Some(source.reader()),
        AssetServerMode::Processed => source.processed_reader().ok(),
    }
}

/// `false` for an image of a format that Bevy is built without.
#[cfg(feature = "pbr")]
fn is_readable(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| bevy_image::ImageFormat::from_extension(ending).is_some())
}

/// Only the app knows the loaders of its images.
#[cfg(not(feature = "pbr"))]
fn is_readable(_: &Path) -> bool {
    true
}
