//! Addresses in place of paths. They may contain a password or a signature, which nothing shows.

use std::process::Output;

use child::Run as _;

mod child;
#[cfg(feature = "stores")]
#[path = "../../object-store/tests/server/mod.rs"]
#[allow(dead_code, reason = "the server also behaves badly")]
mod server;

/// The user and the password are also sent in base64.
const SECRETS: [&str; 5] = ["us3r", "pa55", "dXMzcjpwYTU1", "s1gn", "fr4g"];

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
    for address in [
        "https://host/a.iqm",
        "HTTPS://host/a.iqm",
        "s3://bucket/a.iqm",
    ] {
        let address = secret(address);
        for words in [
            &["info", &address][..],
            &["verify", "--json", &address],
            &["catalog", &address],
        ] {
            let done = child::meshmap().args(words).run();
            let shown = all(&done);
            assert!(
                shown.contains("--features stores") && shown.contains("a.iqm"),
                "{shown}"
            );
            assert_shows_no_secret(words, &shown);
        }
    }
}

#[cfg(feature = "stores")]
mod with_stores {
    use std::collections::BTreeSet;
    use std::fs;
    use std::net::TcpListener;
    use std::path::Path;

    use meshmap::cgeo::Dialect;
    use meshmap_testing::data;
    use meshmap_testing::fixtures::{cgeo, openctm, slmesh, tmf};
    use serde_json::Value;

    use super::*;
    use server::{Act, Server, serve};

    /// The treatment of requests.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Case {
        Good,
        /// A server without ranges.
        Whole,
        /// The file is cut off, and lacks its last third.
        Damaged,
        NotFound,
        /// The body of the error repeats the request.
        Echo,
        /// Nothing listens there.
        Refused,
    }

    impl Case {
        fn is_good(self) -> bool {
            matches!(self, Self::Good | Self::Whole)
        }
    }

    /// Command lines of every command that takes files. `ADDRESS` is an address, `LOCAL` the same file on the disk, and `OUT` a folder.
    const COMMANDS: &[&str] = &[
        "info ADDRESS",
        "info --full ADDRESS",
        "info --report ADDRESS",
        "info --report --hex ADDRESS",
        "info --snapshots ADDRESS",
        "info ADDRESS LOCAL",
        "info --files-from OUT/list",
        "verify ADDRESS",
        "verify -j 2 ADDRESS LOCAL",
        "dump ADDRESS",
        "dump ADDRESS vertex_arrays[0] --head 1",
        "dump ADDRESS vertex_arrays[0] --as npy -o OUT/a.npy",
        "dump ADDRESS meshes[0]",
        "dump ADDRESS no_such_array",
        "diff ADDRESS LOCAL",
        "diff LOCAL ADDRESS --picture OUT/difference.png",
        "convert ADDRESS -o OUT/a.glb",
        "convert ADDRESS -o OUT/a.gltf --copy-textures",
        "convert ADDRESS -o OUT/a.usdc",
        "convert ADDRESS -o OUT/a.obj",
        "convert ADDRESS -o OUT/a.ply",
        "convert ADDRESS -o OUT/a.stl",
        "convert --dry-run ADDRESS -o OUT/a.glb",
        "convert --with ADDRESS -o OUT/a.glb LOCAL",
        "convert --to obj -o OUT/many ADDRESS LOCAL",
        "convert --to obj -o OUT/many ADDRESS LOCAL",
        "convert LOCAL --to glb -o OUT/many --with ADDRESS",
        "convert --to stl -o - ADDRESS",
        "render -o OUT/a.png ADDRESS",
        "render -o OUT/many ADDRESS LOCAL",
        "render --sheet -o OUT/sheet.png ADDRESS LOCAL",
        "catalog ADDRESS",
        "catalog --full --hash -o OUT/a.csv ADDRESS",
        "catalog -o OUT/a.jsonl ADDRESS LOCAL",
        "digest ADDRESS",
        "view --no-open ADDRESS",
    ];

    /// Command lines that are wrong, and name the address where no address is expected.
    const WRONG: &[&str] = &[
        "ADDRESS",
        "info --ADDRESS LOCAL",
        "info --max-memory ADDRESS LOCAL",
        "info --format ADDRESS LOCAL",
        "info --files-from ADDRESS",
        "dump LOCAL ADDRESS",
        "dump LOCAL vertex_arrays[0] ADDRESS",
        "dump LOCAL vertex_arrays[0] -o ADDRESS",
        "diff LOCAL LOCAL --picture ADDRESS",
        "convert LOCAL -o ADDRESS",
        "convert LOCAL --to ADDRESS -o OUT/a.glb",
        "convert LOCAL --mesh ADDRESS -o OUT/a.glb",
        "convert LOCAL --textures ADDRESS -o OUT/a.glb",
        "convert LOCAL LOCAL --to obj -o ADDRESS",
        "render LOCAL -o ADDRESS",
        "render LOCAL --textures ADDRESS -o OUT/a.png",
        "catalog LOCAL -o ADDRESS",
        "completions ADDRESS",
    ];

    fn mesh() -> std::path::PathBuf {
        data::valid("iqm", "skin_multi_anim.iqm")
    }

    /// A server of the file that behaves so.
    fn served(case: Case) -> Server {
        let mut bytes = fs::read(mesh()).unwrap();
        if case == Case::Damaged {
            bytes.truncate(bytes.len() * 2 / 3);
        }
        let act = match case {
            Case::Whole => Act::Whole,
            Case::NotFound => Act::Status(404),
            Case::Echo => Act::Echo,
            Case::Good | Case::Damaged | Case::Refused => Act::Right,
        };
        let mut server = serve(bytes, move |_, _| act);
        if case == Case::Refused {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            server.address = format!("http://{}/folder/file.bin", listener.local_addr().unwrap());
        }
        server
    }

    fn words(line: &str, address: &str, out: &Path) -> Vec<String> {
        let (local, out) = (mesh(), out.to_str().unwrap());
        let words = line.split(' ').map(|word| {
            word.replace("ADDRESS", address)
                .replace("LOCAL", local.to_str().unwrap())
                .replace("OUT", out)
        });
        words.collect()
    }

    /// Checks all files below a folder, and their names.
    fn assert_files_show_no_secret(folder: &Path, files: &mut usize) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            assert_shows_no_secret(&["a name"], path.file_name().unwrap().to_str().unwrap());
            if path.is_dir() {
                assert_files_show_no_secret(&path, files);
            } else if !path.ends_with("list") {
                *files += 1;
                let bytes = fs::read(&path).unwrap();
                assert_shows_no_secret(&[path.to_str().unwrap()], &String::from_utf8_lossy(&bytes));
            }
        }
    }

    #[test]
    fn every_command_is_among_those_that_are_tried() {
        let tried: BTreeSet<&str> = COMMANDS
            .iter()
            .filter_map(|line| line.split(' ').next())
            .collect();
        let command = meshmap_cli::command();
        let all: BTreeSet<&str> = command
            .get_subcommands()
            .map(clap::Command::get_name)
            .collect();
        let without_files = BTreeSet::from(["completions", "man"]);
        assert_eq!(
            all.difference(&without_files)
                .copied()
                .collect::<BTreeSet<_>>(),
            tried
        );
    }

    #[test]
    fn secrets_of_addresses_are_sent_and_not_shown() {
        let command = meshmap_cli::command();
        let conflicts = ["--report", "--snapshots", "--dry-run", "-o -", "OUT/a.csv"];
        let has_json = |line: &&&str| {
            let name = line.split(' ').next().unwrap();
            let found = command.find_subcommand(name).unwrap();
            found
                .get_arguments()
                .any(|argument| argument.get_long() == Some("json"))
                && !conflicts.iter().any(|conflict| line.contains(conflict))
        };
        let with_json = COMMANDS
            .iter()
            .filter(has_json)
            .map(|line| format!("{line} --json"));
        let lines: Vec<String> = COMMANDS
            .iter()
            .map(|line| (*line).to_owned())
            .chain(with_json)
            .collect();
        for case in [
            Case::Good,
            Case::Whole,
            Case::Damaged,
            Case::NotFound,
            Case::Echo,
            Case::Refused,
        ] {
            let folder = tempfile::tempdir().unwrap();
            let out = folder.path();
            let server = served(case);
            let address = secret(&server.address);
            fs::write(out.join("list"), &address).unwrap();
            // The server of `view` ends with its page.
            let lines = lines.iter().filter(|line| {
                !case.is_good() && case != Case::Damaged || !line.starts_with("view")
            });
            let started = lines.map(|line| {
                let words = words(line, &address, out);
                let started = child::Started::new(child::meshmap().args(&words));
                // Refused connections are tried for a while.
                if case == Case::Refused {
                    (line, Ok(started))
                } else {
                    (line, Err(started.end()))
                }
            });
            let started: Vec<_> = started.collect();
            for (line, done) in started {
                let done = done.map_or_else(|done| done, child::Started::end);
                let shown = all(&done);
                assert_shows_no_secret(&[line, &format!("{case:?}")], &shown);
                let code = done.status.code();
                let is_wrong = ["--snapshots", "no_such_array"]
                    .iter()
                    .any(|word| line.contains(word));
                match case {
                    _ if line.starts_with("view") => {}
                    Case::Good | Case::Whole if is_wrong => {
                        assert_eq!(code, Some(2), "{line}: {shown}")
                    }
                    Case::Good | Case::Whole => {
                        assert_eq!(code, Some(0), "{case:?} {line}: {shown}")
                    }
                    Case::Damaged => {}
                    _ if line.contains("--dry-run") => assert_eq!(code, Some(0), "{line}: {shown}"),
                    Case::NotFound | Case::Echo | Case::Refused => {
                        assert_eq!(code, Some(1), "{line}: {shown}");
                        // A report has no names.
                        let is_elsewhere = line.starts_with("catalog") && line.contains("-o")
                            || line.contains("--report");
                        assert!(
                            is_elsewhere || shown.contains("file.bin"),
                            "{line}: {shown}"
                        );
                    }
                }
            }
            let mut files = 0;
            assert_files_show_no_secret(out, &mut files);
            assert!(
                files > if case.is_good() { 12 } else { 1 },
                "{case:?}: {files} files"
            );
            let lines = server.lines.lock().unwrap().join("\n");
            assert!(
                case == Case::Refused || lines.contains("?versionId=7&X-Amz-Signature=s1gn.x"),
                "{lines}"
            );
        }
    }

    #[test]
    fn secrets_are_not_shown_where_no_address_is_expected() {
        let folder = tempfile::tempdir().unwrap();
        let address = secret("https://127.0.0.1:1/folder/file.bin");
        for line in WRONG {
            let done = child::meshmap()
                .args(words(line, &address, folder.path()))
                .run();
            assert_shows_no_secret(&[line], &all(&done));
            assert!(
                !done.status.success() || line.contains("--textures"),
                "{line}: {}",
                all(&done)
            );
        }
        let mut files = 0;
        assert_files_show_no_secret(folder.path(), &mut files);
    }

    #[test]
    fn a_file_on_a_server_without_ranges_is_read_whole_and_this_is_said_once() {
        let (right, whole) = (served(Case::Good), served(Case::Whole));
        let folder = tempfile::tempdir().unwrap();
        let lines = COMMANDS.iter().filter(|line| {
            !["view", "--files-from", "--picture"]
                .iter()
                .any(|word| line.contains(word))
                && !line.contains("--dry-run")
        });
        for line in lines {
            let run = |address: &str| {
                child::meshmap()
                    .args(words(line, address, folder.path()))
                    .run()
            };
            let (a, b) = (run(&right.address), run(&whole.address));
            assert_eq!(a.status.code(), b.status.code(), "{line}: {}", all(&b));
            let said = String::from_utf8_lossy(&b.stderr)
                .matches("the server sends no ranges")
                .count();
            assert_eq!(said, 1, "{line}: {}", all(&b));
            assert!(!all(&a).contains("no ranges"), "{line}: {}", all(&a));
        }
        // The values do not differ.
        let digest = |address: &str| child::meshmap_with(&["digest", address]).stdout;
        assert_eq!(digest(&whole.address), digest(&right.address));
        let refused = child::meshmap_with(&["info", "--max-memory", "4KiB", &whole.address]);
        let shown = all(&refused);
        assert_eq!(refused.status.code(), Some(1), "{shown}");
        assert!(
            shown.contains("no ranges") && shown.contains("--max-memory"),
            "{shown}"
        );
    }

    #[test]
    fn info_of_an_address_has_the_facts_of_the_file() {
        let large = cgeo::file(&cgeo::animation(90, 40).1, Dialect::default());
        assert!(large.len() > 1 << 20, "{}", large.len());
        let mut cut_off = large.clone();
        cut_off.truncate(large.len() - 1000);
        let files = [
            large,
            cut_off,
            cgeo::file(&cgeo::animation(4, 50).1, Dialect::default()),
            fs::read(mesh()).unwrap(),
            openctm::Body::sheet(openctm::MG2, 40).to_bytes(),
            slmesh::large(40),
            tmf::grid(40),
        ];
        for (index, bytes) in files.into_iter().enumerate() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("file.bin");
            fs::write(&path, &bytes).unwrap();
            let server = serve(bytes, |_, _| Act::Right);
            for options in [
                &[][..],
                &["--full"],
                &["--json"],
                &["--json", "--full"],
                &["--snapshots"],
                &["--boxes"],
            ] {
                let run = |file: &str| {
                    let done = child::meshmap().arg("info").args(options).arg(file).run();
                    let shown = all(&done).replace(file, "FILE");
                    // The last line of a page is about the reads, and images are looked for next to files on the disk only.
                    let lines = shown.lines().filter(|line| {
                        !line.contains("; values not checked")
                            && !line.contains(" read")
                            && !line.starts_with("  1 image ")
                    });
                    (done.status.code(), lines.collect::<Vec<_>>().join("\n"))
                };
                let (local, remote) = (run(path.to_str().unwrap()), run(&server.address));
                assert_eq!(local, remote, "file {index}, {options:?}");
            }
            if index == 0 {
                let json = child::meshmap_with(&["info", "--json", &server.address]).stdout;
                let object: Value = serde_json::from_slice(&json).unwrap();
                assert_eq!(
                    object["cgeo"]["not_read"],
                    serde_json::json!(["snapshots[16..39]"])
                );
                assert_eq!(object["cgeo"]["topology"], "unknown");
                let page = all(&child::meshmap_with(&["info", &server.address]));
                assert!(page.contains("snapshots[16..39]"), "{page}");
                let page = all(&child::meshmap_with(&[
                    "info",
                    "--snapshots",
                    &server.address,
                ]));
                assert!(
                    page.contains("complete") && page.matches("difference").count() == 39,
                    "{page}"
                );
            }
        }
    }
}
