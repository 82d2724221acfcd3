//! `meshmap view`: what its server answers to whom, and when it ends.

use std::process::Command;

use meshmap_testing::data;

use child::Run as _;

mod child;

fn meshmap() -> Command {
    child::meshmap()
}

/// Builds without the page, or without the feature, report how to get it.
#[test]
#[cfg_attr(all(feature = "view", has_page), ignore = "this build has the page")]
fn a_program_without_the_page_reports_how_to_get_it() {
    let done = meshmap()
        .args(["view", "--no-open"])
        .arg(data::root())
        .run();
    let words = String::from_utf8(done.stderr).unwrap();
    assert_eq!(
        (done.status.code(), done.stdout.len()),
        (Some(2), 0),
        "{words}"
    );
    for step in [
        "meshmap-page-VERSION.tar.gz",
        "crates/web/build --install --page",
        "--features view",
    ] {
        assert!(words.contains(step), "{words}");
    }
}

#[cfg(all(feature = "view", has_page))]
mod with_page {
    use std::fs;
    use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
    use std::net::TcpStream;
    use std::path::Path;
    use std::process::{Child, ExitStatus, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    /// A running command, which ends with the value.
    struct Server {
        child: Child,
        /// Host and port.
        host: String,
        /// The path of the page, which ends in a slash.
        page: String,
    }

    /// A response.
    #[derive(Debug)]
    struct Response {
        status: u16,
        head: String,
        body: Vec<u8>,
    }

    impl Response {
        fn header(&self, name: &str) -> Option<&str> {
            let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
            lines
                .find(|(other, _)| *other == name)
                .map(|(_, value)| value)
        }
    }

    impl Server {
        fn start(path: &Path) -> Self {
            Self::of(meshmap().args(["view", "--no-open", "-q"]).arg(path))
        }

        fn of(command: &mut Command) -> Self {
            let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
            let mut line = String::new();
            BufReader::new(child.stdout.take().unwrap())
                .read_line(&mut line)
                .unwrap();
            let address = line.trim().strip_prefix("http://").unwrap();
            let (host, page) = address.split_once('/').unwrap();
            Self {
                child,
                host: host.to_owned(),
                page: format!("/{page}"),
            }
        }

        fn connect(&self) -> TcpStream {
            let stream = TcpStream::connect(&self.host).unwrap();
            stream
                .set_read_timeout(Some(Duration::from_secs(20)))
                .unwrap();
            stream
        }

        /// Sends a request as it is, and returns the response.
        fn send(&self, request: &str) -> Response {
            let mut stream = self.connect();
            stream.write_all(request.as_bytes()).unwrap();
            let mut bytes = Vec::new();
            if stream.read_to_end(&mut bytes).is_err() && bytes.is_empty() {
                // A connection too many may be closed before it is read.
                return Response {
                    status: 503,
                    head: String::new(),
                    body: bytes,
                };
            }
            let end = bytes
                .windows(4)
                .position(|window| window == b"\r\n\r\n")
                .unwrap();
            let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
            let status = head.split(' ').nth(1).unwrap().parse().unwrap();
            Response {
                status,
                head,
                body: bytes[end + 4..].to_vec(),
            }
        }

        /// Gets a file of the page, with further headers.
        fn get(&self, path: &str, headers: &[&str]) -> Response {
            self.send(&self.request("GET", &format!("{}{path}", self.page), headers))
        }

        fn request(&self, method: &str, path: &str, headers: &[&str]) -> String {
            let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
            format!(
                "{method} {path} HTTP/1.1\r\nHost: {}\r\n{headers}\r\n",
                self.host
            )
        }

        /// Opens the page as a tab does.
        fn tab(&self) -> TcpStream {
            let mut stream = self.connect();
            stream
                .write_all(
                    self.request("GET", &format!("{}tab", self.page), &[])
                        .as_bytes(),
                )
                .unwrap();
            let mut start = [0; 12];
            stream.read_exact(&mut start).unwrap();
            assert_eq!(&start, b"HTTP/1.1 200");
            stream
        }

        fn ended_within(&mut self, time: Duration) -> Option<ExitStatus> {
            let start = Instant::now();
            loop {
                let status = self.child.try_wait().unwrap();
                if status.is_some() || start.elapsed() > time {
                    return status;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }

    impl Drop for Server {
        fn drop(&mut self) {
            drop(self.child.kill());
            drop(self.child.wait());
        }
    }

    /// A folder with two meshes, one of them below, and a text.
    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("deep")).unwrap();
        fs::copy(
            data::valid("cgeo", "anim_a.cgeo"),
            folder.path().join("wave.cgeo"),
        )
        .unwrap();
        fs::copy(
            data::valid("tmf", "v011_multi_names.tmf"),
            folder.path().join("deep/\u{e9}\".tmf"),
        )
        .unwrap();
        fs::write(folder.path().join("secret.txt"), "not a mesh").unwrap();
        folder
    }

    #[test]
    fn the_page_and_the_meshes_are_served_and_nothing_else() {
        let folder = folder();
        let server = Server::start(folder.path());
        assert!(server.host.starts_with("127.0.0.1:"), "{}", server.host);
        let index = server.get("", &[]);
        assert_eq!(
            (index.status, index.header("Content-Encoding")),
            (200, Some("gzip"))
        );
        assert_eq!(
            index.header("Content-Type"),
            Some("text/html; charset=utf-8")
        );
        assert_eq!(
            server
                .get("meshmap/wasm/all.wasm", &[])
                .header("Content-Type"),
            Some("application/wasm")
        );
        let list: serde_json::Value =
            serde_json::from_slice(&server.get("files.json", &[]).body).unwrap();
        let expected = serde_json::json!({
            "files": [
                { "name": "deep/\u{e9}\".tmf", "url": "file/0/mesh", "images": "file/0/images.json" },
                { "name": "wave.cgeo", "url": "file/1/mesh", "images": "file/1/images.json" }
            ],
            "addresses": false
        });
        assert_eq!(list, expected);
        let policy = index.header("Content-Security-Policy").unwrap();
        assert!(policy.contains("connect-src 'self';"), "{policy}");
        assert!(policy.contains("img-src 'self' data: blob:;"), "{policy}");
        assert_eq!(
            server.get("file/1/mesh", &[]).body,
            fs::read(folder.path().join("wave.cgeo")).unwrap()
        );
        for path in [
            "file/2",
            "file/-1",
            "file/+1",
            "file/1/",
            "file/1x",
            "file/",
            "file/../files.json",
            "../secret.txt",
            "secret.txt",
            "wave.cgeo",
            "file/%31",
            "file/1/secret.txt",
            "file/1/secret.png",
            "file/1/wave.cgeo",
            "file/1/a%20b.png",
            "file/2/images.json",
            "file/1/image/0",
            "file/1/image/",
            "file/1/image/+0",
            "page/index.html",
            "//etc/passwd",
            "meshmap/",
            "index.html.gz",
        ] {
            assert_eq!(server.get(path, &[]).status, 404, "{path}");
        }
        let page = &server.page;
        assert_eq!(server.send(&server.request("POST", page, &[])).status, 405);
        let head = server.send(&server.request("HEAD", &format!("{page}file/1/mesh"), &[]));
        assert_eq!((head.status, head.body.len()), (200, 0));
        assert_eq!(head.header("Accept-Ranges"), Some("bytes"));
    }

    #[test]
    fn requests_without_the_token_or_of_other_sites_are_refused() {
        let server = Server::start(&data::valid("cgeo", "anim_a.cgeo"));
        let (host, page) = (&server.host, &server.page);
        let other = Server::start(&data::valid("cgeo", "anim_a.cgeo"));
        assert_ne!(*page, other.page);
        let token = page.trim_matches('/');
        assert!(
            token.len() == 32 && token.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{token}"
        );
        for path in [
            "/",
            "/file/0/mesh",
            "/files.json",
            "/tab",
            &other.page,
            &page[..page.len() - 1],
            &page[..20],
            "/x/file/0/mesh",
        ] {
            assert_eq!(
                server.send(&server.request("GET", path, &[])).status,
                403,
                "{path}"
            );
        }
        let longer = format!("{}0/", &page[..page.len() - 1]);
        assert_eq!(
            server.send(&server.request("GET", &longer, &[])).status,
            403
        );
        for origin in [
            "http://evil.example",
            "null",
            "https://127.0.0.1",
            &format!("http://{}", other.host),
        ] {
            assert_eq!(
                server
                    .get("file/0/mesh", &[&format!("Origin: {origin}")])
                    .status,
                403,
                "{origin}"
            );
        }
        assert_eq!(
            server
                .get("file/0/mesh", &[&format!("Origin: http://{host}")])
                .status,
            200
        );
        for line in [
            "Host: evil.example\r\n",
            "Host: 127.0.0.1\r\n",
            "",
            &format!("Host: {host}\r\nHost: evil.example\r\n"),
        ] {
            assert_eq!(
                server
                    .send(&format!("GET {page}file/0/mesh HTTP/1.1\r\n{line}\r\n"))
                    .status,
                403,
                "{line}"
            );
        }
    }

    /// Other users can read the command line of a browser, so its address leads to the page once.
    #[test]
    #[cfg(target_os = "linux")]
    fn the_browser_gets_a_file_that_only_the_user_reads() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (browser, said) = (folder.path().join("xdg-open"), folder.path().join("said"));
        fs::write(
            &browser,
            format!(
                "#!/bin/sh\necho \"$1\" > '{0}.part' && mv '{0}.part' '{0}'\n",
                said.display()
            ),
        )
        .unwrap();
        fs::set_permissions(&browser, PermissionsExt::from_mode(0o755)).unwrap();
        let path = format!(
            "{}:{}",
            folder.path().display(),
            std::env::var("PATH").unwrap()
        );
        let file = data::valid("cgeo", "anim_a.cgeo");
        let mut command = meshmap();
        command
            .args(["view", "-q"])
            .arg(file)
            .env("PATH", path)
            .env("HOME", folder.path());
        let server = Server::of(&mut command);
        let start = Instant::now();
        while !said.exists() {
            assert!(start.elapsed() < Duration::from_secs(20));
            std::thread::sleep(Duration::from_millis(20));
        }
        let launch = std::path::PathBuf::from(fs::read_to_string(&said).unwrap().trim());
        assert_eq!(launch.parent(), Some(folder.path()));
        assert_eq!(
            fs::metadata(&launch).unwrap().permissions().mode() & 0o777,
            0o600
        );
        let page = fs::read_to_string(&launch).unwrap();
        assert!(
            page.contains(&format!("url=http://{}{}\"", server.host, server.page)),
            "{page}"
        );
        assert_eq!(server.get("", &[]).status, 200);
        assert!(!launch.exists());
    }

    /// Links that lead out of a folder, and what has become another thing than a file, are not served.
    #[test]
    #[cfg(unix)]
    fn only_files_of_the_folder_are_served() {
        use std::os::unix::fs::symlink;
        let (folder, other) = (folder(), tempfile::tempdir().unwrap());
        let (wave, outside) = (
            folder.path().join("wave.cgeo"),
            other.path().join("outside.cgeo"),
        );
        fs::copy(&wave, &outside).unwrap();
        symlink(&outside, folder.path().join("link.cgeo")).unwrap();
        symlink(&wave, folder.path().join("same.cgeo")).unwrap();
        let server = Server::start(folder.path());
        let names = String::from_utf8(server.get("files.json", &[]).body).unwrap();
        assert!(
            names.contains("same.cgeo") && !names.contains("link.cgeo"),
            "{names}"
        );
        let index = (0..3).find(|index| {
            server.get(&format!("file/{index}/mesh"), &[]).body == fs::read(&wave).unwrap()
        });
        let mesh = format!("file/{}/mesh", index.unwrap());
        fs::remove_file(&wave).unwrap();
        symlink(&outside, &wave).unwrap();
        assert_eq!(server.get(&mesh, &[]).status, 404, "a link");
        fs::remove_file(&wave).unwrap();
        fs::create_dir(&wave).unwrap();
        assert_eq!(server.get(&mesh, &[]).status, 404, "a folder");
        fs::remove_dir(&wave).unwrap();
        assert!(
            Command::new("mkfifo")
                .arg(&wave)
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(server.get(&mesh, &[]).status, 404, "a pipe");
        fs::remove_file(&wave).unwrap();
        fs::copy(&outside, &wave).unwrap();
        assert_eq!(server.get(&mesh, &[]).status, 200);
        // A folder on the way that has become a link.
        let deep = folder.path().join("deep");
        assert_eq!(server.get("file/0/mesh", &[]).status, 200);
        fs::rename(&deep, folder.path().join("moved")).unwrap();
        symlink(folder.path().join("moved"), &deep).unwrap();
        assert_eq!(
            server.get("file/0/mesh", &[]).status,
            404,
            "a linked folder"
        );
    }

    /// The images of a file, by their names in it.
    fn images(server: &Server) -> serde_json::Value {
        serde_json::from_slice(&server.get("file/0/images.json", &[]).body).unwrap()
    }

    #[test]
    fn images_are_found_as_by_render_and_shown_as_browsers_read_them() {
        let textures = data::root().join("textures");
        let crate_png = fs::read(textures.join("crate.png")).unwrap();
        let server = Server::start(&textures.join("crate.iqm"));
        let expected = serde_json::json!({ "crate.png": "file/0/image/0" });
        assert_eq!(images(&server), expected);
        assert_eq!(server.get("file/0/image/0", &[]).body, crate_png);
        assert_eq!(server.get("file/0/image/1", &[]).status, 404);

        // Below another folder, and of a kind that browsers do not read.
        let game = tempfile::tempdir().unwrap();
        let model = game.path().join("crate.iqm");
        fs::copy(textures.join("crate.iqm"), &model).unwrap();
        let server = Server::start(&model);
        assert_eq!(images(&server), serde_json::json!({}));
        assert_eq!(server.get("file/0/image/0", &[]).status, 404);
        fs::create_dir_all(game.path().join("data/deep")).unwrap();
        fs::write(game.path().join("data/deep/crate.tga"), tga()).unwrap();
        let mut command = meshmap();
        command.args(["view", "--no-open", "--textures"]);
        command.arg(game.path().join("data")).arg(&model);
        let server = Server::of(&mut command);
        assert_eq!(images(&server), expected);
        let image = server.get("file/0/image/0", &[]).body;
        assert!(image.starts_with(b"\x89PNG"), "{image:?}");
    }

    /// A TGA of 2 x 2 pixels.
    fn tga() -> Vec<u8> {
        let mut bytes = vec![0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 2, 0, 24, 0];
        bytes.extend([255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 9, 9]);
        bytes
    }

    /// Who has no token holds no connection for longer than seconds, before an answer or after one.
    #[test]
    fn slow_clients_without_a_token_are_let_go() {
        let server = Server::start(&data::valid("cgeo", "anim_a.cgeo"));
        let hold = |words: &'static str| {
            let mut stream = server.connect();
            std::thread::spawn(move || {
                let start = Instant::now();
                let mut sent = stream.write_all(words.as_bytes());
                while sent.is_ok() && start.elapsed() < Duration::from_secs(60) {
                    std::thread::sleep(Duration::from_millis(200));
                    sent = stream.write_all(b"x");
                }
            });
        };
        for _ in 0..32 {
            hold("GET / HTTP/1.1\r\nHost: ");
            hold("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        }
        let start = Instant::now();
        while server.get("", &[]).status != 200 {
            assert!(start.elapsed() < Duration::from_secs(30));
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    #[test]
    fn standard_input_is_served_too() {
        let path = data::valid("iqm", "skin_multi_anim.iqm");
        let input = fs::File::open(&path).unwrap();
        let server = Server::of(
            meshmap()
                .args(["view", "--no-open", "-q", "-"])
                .stdin(input),
        );
        let bytes = fs::read(path).unwrap();
        let part = server.get("file/0/mesh", &["Range: bytes=5-30"]);
        assert_eq!((part.status, &part.body[..]), (206, &bytes[5..31]));
        assert_eq!(server.get("file/0/mesh", &[]).body, bytes);
    }

    #[test]
    fn ranges_are_of_one_version_of_a_file() {
        let folder = folder();
        let path = folder.path().join("wave.cgeo");
        let server = Server::start(&path);
        let bytes = fs::read(&path).unwrap();
        let part = server.get("file/0/mesh", &["Range: bytes=5-30"]);
        assert_eq!((part.status, &part.body[..]), (206, &bytes[5..31]));
        assert_eq!(
            part.header("Content-Range"),
            Some(&*format!("bytes 5-30/{}", bytes.len()))
        );
        let tag = format!("If-Range: {}", part.header("ETag").unwrap());
        assert_eq!(
            server.get("file/0/mesh", &["Range: bytes=-7", &tag]).body,
            bytes[bytes.len() - 7..]
        );
        let past = server.get("file/0/mesh", &[&format!("Range: bytes={}-", bytes.len())]);
        assert_eq!(past.status, 416);
        assert_eq!(
            past.header("Content-Range"),
            Some(&*format!("bytes */{}", bytes.len()))
        );
        fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        let changed = server.get("file/0/mesh", &["Range: bytes=5-30", &tag]);
        assert_eq!((changed.status, changed.body.len()), (200, bytes.len() - 1));
        assert_eq!(
            server.get("file/0/mesh", &["Range: bytes=5-30"]).status,
            206
        );
        fs::remove_file(&path).unwrap();
        assert_eq!(server.get("file/0/mesh", &[]).status, 404);
    }

    #[test]
    fn the_command_ends_with_the_last_tab() {
        let mut server = Server::start(&data::valid("cgeo", "anim_a.cgeo"));
        let first = server.tab();
        let second = server.tab();
        drop(first);
        assert_eq!(server.ended_within(Duration::from_secs(4)), None);
        drop(second);
        // A tab that is opened again in time.
        std::thread::sleep(Duration::from_millis(300));
        let again = server.tab();
        assert_eq!(server.ended_within(Duration::from_secs(4)), None);
        drop(again);
        let status = server.ended_within(Duration::from_secs(10)).unwrap();
        assert_eq!(status.code(), Some(0));
    }

    #[test]
    #[cfg(unix)]
    fn the_command_ends_when_it_is_interrupted_even_while_a_tab_is_open() {
        let mut server = Server::start(&data::valid("cgeo", "anim_a.cgeo"));
        let mut tab = server.tab();
        Command::new("kill")
            .args(["-INT", &server.child.id().to_string()])
            .status()
            .unwrap();
        assert_eq!(
            server.ended_within(Duration::from_secs(10)).unwrap().code(),
            Some(130)
        );
        tab.read_to_end(&mut Vec::new()).unwrap();
    }

    #[test]
    fn long_headers_and_many_connections_are_refused() {
        let server = Server::start(&data::valid("cgeo", "anim_a.cgeo"));
        let long = format!("A: {}", "b".repeat(20_000));
        assert_eq!(server.get("", &[&long]).status, 431);
        assert_eq!(server.send("nonsense\r\n\r\n").status, 400);
        // Waits for connections of the requests above to end.
        let start = Instant::now();
        let mut tabs: Vec<_> = (0..60).map(|_| server.tab()).collect();
        let mut idle = Vec::new();
        loop {
            let response = server.get("files.json", &[]);
            if response.status == 503 {
                break;
            }
            assert!(start.elapsed() < Duration::from_secs(20), "{response:?}");
            idle.push(server.connect());
        }
        // A connection that came before the last request had ended on the server may have been refused.
        idle.retain_mut(|stream: &mut TcpStream| {
            stream.set_nonblocking(true).unwrap();
            stream
                .read(&mut [0])
                .is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
        });
        assert!(idle.len() <= 4, "{}", idle.len());
        drop(idle);
        tabs.truncate(1);
        while server.get("files.json", &[]).status != 200 {
            assert!(start.elapsed() < Duration::from_secs(30));
        }
    }

    #[test]
    fn paths_that_are_no_meshes_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.txt"), "no mesh").unwrap();
        for path in [folder.path().to_owned(), folder.path().join("none.iqm")] {
            let done = meshmap().args(["view", "--no-open"]).arg(&path).run();
            assert_eq!(
                (done.status.code(), done.stdout.len()),
                (Some(1), 0),
                "{}",
                path.display()
            );
            assert!(
                String::from_utf8(done.stderr)
                    .unwrap()
                    .contains("no mesh file")
            );
        }
    }
}
