//! Addresses in place of paths. They may contain a password or a signature, which nothing shows.

use std::process::Output;

use child::Run as _;

mod child;
#[cfg(feature = "stores")]
#[path = "../../object-store/tests/server/mod.rs"]
#[allow(dead_code, reason = "the server also behaves badly")]
mod server;

const SECRETS: [&str; 4] = ["us3r", "pa55", "s1gn", "fr4g"];

/// The address of a file with a user, a password and a signature.
fn secret(address: &str) -> String {
    address.replace("://", "://us3r:pa55@") + "?versionId=7&X-Amz-Signature=s1gn.x#fr4g"
}

fn all(done: &Output) -> String {
    String::from_utf8_lossy(&[&*done.stdout, &done.stderr].concat()).into_owned()
}

fn assert_shows_no_secret(what: &[&str], shown: &str) {
    for secret in SECRETS {
        assert!(!shown.contains(secret), "{what:?} shows {secret}: {shown}");
    }
}

#[cfg(not(feature = "stores"))]
#[test]
fn builds_without_stores_show_no_secrets() {
    for address in ["https://host/a.iqm", "HTTPS://host/a.iqm", "s3://bucket/a.iqm"] {
        let address = secret(address);
        for words in [&["info", &address][..], &["verify", "--json", &address], &["catalog", &address]] {
            let done = child::meshmap().args(words).run();
            let shown = all(&done);
            assert!(shown.contains("--features stores") && shown.contains("a.iqm"), "{shown}");
            assert_shows_no_secret(words, &shown);
        }
    }
}

#[cfg(feature = "stores")]
#[test]
fn secrets_of_addresses_are_sent_and_not_shown() {
    use std::fs;

    use meshmap_testing::data;
    use serde_json::Value;
    use server::{Act, serve};

    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let mesh = data::valid("iqm", "skin_multi_anim.iqm");
    let local = mesh.to_str().unwrap();
    for (act, status) in [(Act::Right, 0), (Act::Status(404), 1)] {
        let server = serve(fs::read(&mesh).unwrap(), move |_, _| act);
        let address = &secret(&server.address);
        let shown_address = format!("{}?versionId=7&..", server.address);
        let (glb, png, csv) = (at("out.glb"), at("out.png"), at("out.csv"));
        let list = at("list");
        fs::write(&list, address).unwrap();
        let commands: Vec<Vec<&str>> = vec![
            vec!["info", address],
            vec!["info", "--json", address],
            vec!["info", "--report", address],
            vec!["info", address, local],
            vec!["info", "--files-from", &list],
            vec!["verify", address],
            vec!["verify", "--json", address],
            vec!["verify", "-j", "2", address, local],
            vec!["dump", address],
            vec!["dump", address, "vertex_arrays[0]", "--head", "1"],
            vec!["diff", address, local],
            vec!["diff", "--json", local, address],
            vec!["convert", address, "-o", &glb],
            vec!["convert", "--check", "--json", address, "-o", &glb],
            vec!["convert", "--dry-run", address, "-o", &glb],
            vec!["convert", "--with", address, "-o", &glb, local],
            vec!["convert", "--to", "obj", "-o", out, address],
            vec!["convert", "--to", "stl", "-o", "-", address],
            vec!["render", "-o", &png, address],
            vec!["render", "--json", "-o", out, address],
            vec!["render", "--sheet", "--json", "-o", &png, address, local],
            vec!["catalog", address],
            vec!["catalog", "--json", address],
            vec!["catalog", "--full", "--hash", "-o", &csv, address],
            vec!["digest", address],
        ];
        for words in &commands {
            let done = child::meshmap().args(words).run();
            let shown = all(&done);
            let is_dry = words.contains(&"--dry-run");
            assert_eq!(done.status.code(), Some(if is_dry { 0 } else { status }), "{words:?}: {shown}");
            assert_shows_no_secret(words, &shown);
            let is_named = shown.contains("file.bin") || words.contains(&csv.as_str());
            assert!(status == 0 || is_named, "{words:?}: {shown}");
        }
        let json = child::meshmap().args(["verify", "--json", address]).run();
        let object: Value = serde_json::from_slice(&json.stdout).unwrap();
        assert_eq!(object["path"], shown_address.as_str());
        // Nor do the files that were written, or their names.
        for entry in fs::read_dir(folder.path()).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with("list") {
                continue;
            }
            let bytes = fs::read(&path).unwrap();
            assert_shows_no_secret(&[path.to_str().unwrap()], &String::from_utf8_lossy(&bytes));
            assert_shows_no_secret(&["name of a file"], path.file_name().unwrap().to_str().unwrap());
        }
        let lines = server.lines.lock().unwrap().join("\n");
        assert!(lines.contains("?versionId=7&X-Amz-Signature=s1gn.x"), "{lines}");
        assert!(status != 0 || folder.path().join("file.obj").exists());
    }
}
