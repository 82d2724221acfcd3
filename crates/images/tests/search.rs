//! Searches in folders.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use meshmap::texture_paths;
use meshmap_images::{Extent, Found, Kind, Library, NotFound, Places, Searched, Unusable};
use tempfile::TempDir;

/// The head of a TGA of one pixel.
const TGA: [u8; 21] = [
    0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 24, 0, 1, 2, 3,
];

/// A folder of files, all of which begin as a TGA.
struct Folder(TempDir);

impl Folder {
    fn new(files: &[&str]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for file in files {
            folder.add(file);
        }
        folder
    }

    fn add(&self, file: &str) {
        let path = self.at(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, TGA).unwrap();
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    fn root(&self) -> PathBuf {
        fs::canonicalize(self.0.path()).unwrap()
    }

    /// The path of what a name means below this folder.
    fn below(&self, name: &str) -> String {
        self.text(&self.find_below(name).unwrap())
    }

    fn find_below(&self, name: &str) -> Result<Found, NotFound> {
        find(name, None, &[self.root()])
    }

    fn beside(&self, name: &str) -> String {
        self.text(&find(name, Some(&self.root()), &[]).unwrap())
    }

    fn text(&self, found: &Found) -> String {
        let path = found.path.strip_prefix(self.root()).unwrap();
        path.to_str().unwrap().replace('\\', "/")
    }
}

fn find(name: &str, beside: Option<&Path>, below: &[PathBuf]) -> Result<Found, NotFound> {
    Library::default().find(&texture_paths(name), &Places { beside, below })
}

#[test]
fn images_are_found_by_the_path_that_the_file_names_then_by_fewer_parts() {
    let game = Folder::new(&[
        "textures/models/far.png",
        "old/textures/models/far.png",
        "a/models/near.png",
        "a/other/near.png",
        "other.png",
        "x/y/z/deep.tga",
        "textures/same.png",
        "same.png",
    ]);
    assert_eq!(
        game.below("textures/models/far.tga"),
        "textures/models/far.png"
    );
    assert_eq!(game.below("models/far.png"), "textures/models/far.png");
    assert_eq!(game.below(r"maps\models\near.png"), "a/models/near.png");
    assert_eq!(game.below("far.png"), "textures/models/far.png");
    assert_eq!(game.below("/usr/share/deep.png"), "x/y/z/deep.tga");
    assert_eq!(game.below("deep"), "x/y/z/deep.tga");
    // All parts are better than the last one in no folder.
    assert_eq!(game.below("textures/same.png"), "textures/same.png");
    assert_eq!(game.below("nowhere/same.png"), "same.png");
}

#[test]
fn the_named_path_anywhere_comes_before_the_base_name_beside() {
    let file = Folder::new(&["far.png", "models/own.png"]);
    let game = Folder::new(&["q/models/far.png", "far.png", "own.png"]);
    let look = |name| find(name, Some(&file.root()), &[game.root()]).unwrap();
    assert_eq!(game.text(&look("models/far.png")), "q/models/far.png");
    assert_eq!(file.text(&look("models/own.png")), "models/own.png");
    assert_eq!(file.text(&look("far.png")), "far.png");
    assert_eq!(game.text(&look("nowhere/own.png")), "own.png");
}

#[test]
fn endings_count_before_case_and_case_before_depth() {
    let game = Folder::new(&["one/Skin.png", "skin.tga", "two/deep/hat.tga", "Hat.tga"]);
    assert_eq!(game.below("skin.png"), "skin.tga");
    assert_eq!(game.below("x/skin.tga"), "skin.tga");
    fs::remove_file(game.at("skin.tga")).unwrap();
    assert_eq!(game.below("skin.png"), "one/Skin.png");
    fs::rename(game.at("Hat.tga"), game.at("one/Hat.tga")).unwrap();
    assert_eq!(game.below("hat.png"), "two/deep/hat.tga");
}

// Elsewhere, these are fewer files, and a path has the case in which it was asked for.
#[cfg(not(any(windows, target_os = "macos")))]
#[test]
fn any_case_is_found_on_the_path_that_the_file_names() {
    let file = Folder::new(&[
        "Art/Upper.PNG",
        "art/upper.tga",
        "LONE.JPG",
        "skin.tga",
        "Skin.PNG",
    ]);
    // The ending counts first, so that systems that do not distinguish case find the same.
    assert_eq!(file.beside("art/upper.png"), "Art/Upper.PNG");
    assert_eq!(file.beside("lone.png"), "LONE.JPG");
    assert_eq!(file.beside("skin.png"), "Skin.PNG");
    assert_eq!(file.beside("ART/LONE.jpg"), "LONE.JPG");
    // Beside a file, images are not searched in other folders.
    let error = find("upper.png", Some(&file.root()), &[]).unwrap_err();
    let searched = Searched {
        beside: Some(file.root()),
        below: Vec::new(),
    };
    assert_eq!(error, NotFound::Nothing(searched));
    assert_eq!(error.to_string(), "not found beside the file");
}

#[test]
fn a_name_with_an_image_inside_means_the_image() {
    let file = Folder::new(&["crate.png", "art/b.tga"]);
    assert_eq!(file.beside("crate.pngMaterial.001"), "crate.png");
    assert_eq!(file.below("art/b.tga_skin"), "art/b.tga");
}

#[test]
fn equal_images_are_counted_and_named() {
    let files = [
        "e/a.png",
        "c/a.png",
        "b/x/a.png",
        "d/a.png",
        "d/x/a.png",
        "b/A.png",
    ];
    let game = Folder::new(&files);
    let found = game.find_below("a.png").unwrap();
    assert_eq!(game.text(&found), "c/a.png");
    assert_eq!(found.other_count, 4);
    let others = ["d/a.png", "e/a.png", "b/x/a.png"];
    assert_eq!(found.others, others.map(|other| game.at(other)));
    let found = game.find_below("x/a.png").unwrap();
    assert_eq!(
        (game.text(&found).as_str(), found.other_count),
        ("b/x/a.png", 1)
    );
    // The folders of a run have an order.
    let second = Folder::new(&["a.png"]);
    let found = find("q/r/a.png", None, &[game.at("d"), second.root()]).unwrap();
    assert_eq!(
        (game.text(&found).as_str(), found.other_count),
        ("d/a.png", 0)
    );
    assert_eq!(
        (found.kind, found.stamp.bytes),
        (Kind::Tga, TGA.len() as u64)
    );
}

#[test]
fn a_search_that_finds_nothing_says_where() {
    let game = Folder::new(&["a.png"]);
    let missing = game.at("missing");
    let below = [game.root(), missing.clone()];
    let Err(NotFound::Nothing(searched)) = find("b.png", Some(&missing), &below) else {
        panic!("found")
    };
    let extents: Vec<Extent> = searched.below.iter().map(|folder| folder.extent).collect();
    assert_eq!(extents, [Extent::Whole, Extent::Nothing]);
    let text = NotFound::Nothing(searched).to_string();
    let expected = format!(
        "not found beside the file, nor below {}, nor below {} (which cannot be read)",
        game.root().display(),
        missing.display()
    );
    assert_eq!(text, expected);
    assert_eq!(find("b.png", None, &[]), Err(NotFound::NoFolder));
    assert_eq!(find("..", None, &below), Err(NotFound::NoName));
}

#[test]
fn what_cannot_be_used_is_skipped_and_reported() {
    let game = Folder::new(&["deep/both.png"]);
    fs::write(game.at("text.png"), "text").unwrap();
    fs::write(game.at("both.png"), "text").unwrap();
    fs::create_dir(game.at("folder.png")).unwrap();
    let large = fs::File::create(game.at("large.png")).unwrap();
    large.set_len((256 << 20) + 1).unwrap();
    let problem = |name: &str| match game.find_below(name) {
        Err(NotFound::Unusable { path, problem }) => {
            assert_eq!(path, game.at(name));
            problem
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(problem("text.png"), Unusable::UnknownKind);
    assert_eq!(problem("folder.png"), Unusable::NotAFile);
    assert_eq!(problem("large.png"), Unusable::TooLarge);
    assert_eq!(game.below("both.png"), "deep/both.png");
}

#[cfg(unix)]
#[test]
fn no_link_leads_out_of_a_folder() {
    use std::os::unix::fs::symlink;

    let outside = Folder::new(&["secret.png", "deep/hidden.png"]);
    let game = Folder::new(&["inside/own.png"]);
    symlink(outside.at("secret.png"), game.at("secret.png")).unwrap();
    symlink(outside.root(), game.at("out")).unwrap();
    symlink(game.root(), game.at("inside/loop")).unwrap();
    symlink(game.at("inside"), game.at("alias")).unwrap();
    let problem = |name: &str| match game.find_below(name) {
        Err(NotFound::Unusable { problem, .. }) => problem,
        other => panic!("{other:?}"),
    };
    assert_eq!(problem("secret.png"), Unusable::Link);
    assert_eq!(problem("out/secret.png"), Unusable::Outside);
    assert_eq!(problem("out/deep/hidden.png"), Unusable::Outside);
    // The index has none of them.
    assert!(matches!(
        game.find_below("hidden.png"),
        Err(NotFound::Nothing(_))
    ));
    // Links that stay inside are resolved, as before.
    assert_eq!(game.below("alias/own.png"), "inside/own.png");
    assert_eq!(game.below("inside/loop/inside/own.png"), "inside/own.png");
    let found = game.find_below("own.png").unwrap();
    assert_eq!(found.other_count, 0);
    // The folder itself may be a link.
    let linked = outside.at("link");
    symlink(game.root(), &linked).unwrap();
    let found = find("own.png", None, &[linked]).unwrap();
    assert_eq!(found.path, game.at("inside/own.png"));
    // Nothing is waited for.
    let made = std::process::Command::new("mkfifo")
        .arg(game.at("pipe.png"))
        .status()
        .unwrap();
    assert!(made.success());
    assert_eq!(problem("pipe.png"), Unusable::NotAFile);
}

#[test]
fn many_files_are_listed_once() {
    const COUNT: usize = 10_000;
    let game = Folder::new(&[]);
    for index in 0..COUNT {
        fs::create_dir_all(game.at(&format!("{}", index % 100))).unwrap();
        fs::write(game.at(&format!("{}/{index}.tga", index % 100)), TGA).unwrap();
    }
    let library = Library::default();
    let below = [game.root()];
    let beside = game.at("7");
    let places = Places {
        beside: Some(&beside),
        below: &below,
    };
    let start = Instant::now();
    for index in 0..COUNT {
        let found = library.find(&texture_paths(&format!("x/{index}.png")), &places);
        let found = found.unwrap();
        assert!(found.path.ends_with(format!("{index}.tga")));
        assert_eq!(found.other_count, 0);
    }
    let time = start.elapsed();
    println!("{COUNT} names: {time:?}");
    // A folder that is listed for each name would take minutes.
    assert!(time < Duration::from_secs(30), "{time:?}");

    // Threads that ask at once share one index.
    let library = Library::default();
    std::thread::scope(|scope| {
        for start in 0..8 {
            let library = library.clone();
            scope.spawn(move || {
                for index in (start..COUNT).step_by(1000) {
                    let names = texture_paths(&format!("{index}.png"));
                    assert!(library.find(&names, &places).is_ok());
                }
            });
        }
    });
    assert_eq!(format!("{library:?}"), "Library");
}

#[test]
fn folders_of_copies_are_not_searched() {
    let folder = Folder::new(&["out/a.glb.textures/crate.tga", "textures/deep/crate.tga"]);
    let found = folder.find_below("crate.tga").unwrap();
    assert_eq!(folder.text(&found), "textures/deep/crate.tga");
    assert_eq!(found.other_count, 0);
    // A folder that the file names is searched.
    assert_eq!(
        folder.below("a.glb.textures/crate.tga"),
        "textures/deep/crate.tga"
    );
    assert_eq!(
        folder.below("out/a.glb.textures/crate.tga"),
        "out/a.glb.textures/crate.tga"
    );
}
