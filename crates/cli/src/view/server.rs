//! A server for the page of one user. Only this machine can reach it, and requests need the token of the address.
//!
//! Each connection has a thread, and carries one request. The number of connections is limited.

use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use meshmap::Source;
use meshmap_export::find_texture;
use meshmap_outputs::open_regular;
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use super::page;
use super::request::{Part, Request};

/// The name of each file in its address. Images that it names have the same address except for the name.
const MESH: &str = "mesh";
/// Connections that are answered at the same time.
const MOST_CONNECTIONS: usize = 64;
/// The timeout of one read, after which a tab checks that the server still runs, and of one write.
const SILENCE: Duration = Duration::from_secs(1);
const STALLED: Duration = Duration::from_secs(30);
/// The time between the last tab and the end of the server: reloading closes a tab and opens it again.
const GRACE: Duration = Duration::from_secs(2);
/// The rest of a request that is read and ignored, and how long.
const MOST_REST: usize = 64 << 10;
const REST: Duration = Duration::from_secs(2);
/// Files are read and sent in pieces of this size.
const PIECE: u64 = 256 << 10;

/// A file that the page may read.
pub(crate) struct Served {
    /// The name that the page shows.
    pub(crate) name: String,
    pub(crate) content: Content,
}

/// The bytes of a file.
#[derive(Clone)]
pub(crate) enum Content {
    /// A file, which is opened for each request; its path has no links.
    File(PathBuf),
    /// Standard input, a pipe, or a file in a store.
    Source(Source),
}

/// The reason why the server ended.
#[derive(Debug, PartialEq)]
pub(crate) enum End {
    LastTabClosed,
    Interrupted,
}

/// A server that listens, and whose address is known.
pub(crate) struct Server {
    listener: TcpListener,
    site: Arc<Site>,
}

impl Server {
    /// Listens at a free port of the loopback interface.
    pub(crate) fn bind(files: Vec<Served>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let site = Site {
            host: listener.local_addr()?,
            token: token()?,
            launch: Mutex::default(),
            files,
            tabs: Mutex::default(),
            connections: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
        };
        Ok(Self {
            listener,
            site: Arc::new(site),
        })
    }

    /// The address of the page.
    pub(crate) fn address(&self) -> String {
        format!("http://{}/{}/", self.site.host, self.site.token)
    }

    /// Keeps a file until the page is asked for, or until the server ends.
    pub(crate) fn keep(&self, launch: NamedTempFile) {
        *self
            .site
            .launch
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(launch);
    }

    /// Answers requests until the last tab is closed, or until the flag is set.
    pub(crate) fn run(self, interrupted: &AtomicBool) -> End {
        let Self { listener, site } = self;
        let accepting = Arc::clone(&site);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if accepting.is_over.load(Ordering::SeqCst) {
                    return;
                }
                // An error is about one connection, or about too many open files.
                match stream {
                    Ok(stream) => accepting.accept(stream),
                    Err(_) => std::thread::sleep(Duration::from_millis(50)),
                }
            }
        });
        let end = loop {
            if interrupted.load(Ordering::SeqCst) {
                break End::Interrupted;
            }
            if site
                .tabs
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .are_closed()
            {
                break End::LastTabClosed;
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        site.is_over.store(true, Ordering::SeqCst);
        // The thread waits for a connection.
        drop(TcpStream::connect(site.host));
        drop(thread.join());
        end
    }
}

/// The tabs that show the page.
#[derive(Default)]
struct Tabs {
    open: usize,
    /// The time at which the last one was closed.
    closed: Option<Instant>,
}

impl Tabs {
    fn are_closed(&self) -> bool {
        self.open == 0 && self.closed.is_some_and(|time| time.elapsed() > GRACE)
    }
}

/// All that is served.
struct Site {
    host: SocketAddr,
    token: String,
    /// The file that leads the browser to the page, until the page is there.
    launch: Mutex<Option<NamedTempFile>>,
    files: Vec<Served>,
    tabs: Mutex<Tabs>,
    connections: AtomicUsize,
    is_over: AtomicBool,
}

impl Site {
    /// Answers a connection in a thread.
    fn accept(self: &Arc<Self>, stream: TcpStream) {
        let site = Arc::clone(self);
        let is_full = site.connections.fetch_add(1, Ordering::SeqCst) >= MOST_CONNECTIONS;
        let work = move || {
            let mut stream = stream;
            let set = stream
                .set_read_timeout(Some(SILENCE))
                .and_then(|()| stream.set_write_timeout(Some(STALLED)));
            if set.is_ok() {
                // The client may go at any time.
                drop(if is_full {
                    status(&mut stream, 503)
                } else {
                    site.answer(&mut stream).and_then(|()| finish(&mut stream))
                });
            }
            site.connections.fetch_sub(1, Ordering::SeqCst);
        };
        if is_full {
            work();
        } else if std::thread::Builder::new().spawn(work).is_err() {
            self.connections.fetch_sub(1, Ordering::SeqCst);
        }
    }

    fn answer(&self, stream: &mut TcpStream) -> io::Result<()> {
        let request = match Request::read(stream) {
            Ok(request) => request,
            Err(Some(code)) => return status(stream, code),
            Err(None) => return Ok(()),
        };
        let Some((token, path)) = self.allowed(&request) else {
            return status(stream, 403);
        };
        if !is_same(token, &self.token) {
            return status(stream, 403);
        }
        drop(
            self.launch
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
        if !["GET", "HEAD"].contains(&request.method.as_str()) {
            return status(stream, 405);
        }
        if let Some((content, kind)) = page::file(path) {
            let head = format!("Content-Encoding: gzip\r\nContent-Type: {kind}\r\n");
            return respond(stream, &request, &head, content);
        }
        match path {
            "files.json" => {
                let head = "Content-Type: application/json\r\n";
                respond(stream, &request, head, self.list().to_string().as_bytes())
            }
            "tab" => self.tab(stream),
            _ => match self.content(path) {
                Some(content) => send(stream, &request, &content),
                None => status(stream, 404),
            },
        }
    }

    /// The names and addresses of the files, for the page.
    fn list(&self) -> Value {
        let files = self.files.iter().enumerate();
        files
            .map(
                |(index, file)| json!({ "name": file.name, "url": format!("file/{index}/{MESH}") }),
            )
            .collect()
    }

    /// A file, as `file/7/mesh`, or an image that it names, as `file/7/crate.png`.
    fn content(&self, path: &str) -> Option<Cow<'_, Content>> {
        let (index, name) = path.strip_prefix("file/")?.split_once('/')?;
        let index = Some(index).filter(|index| index.bytes().all(|byte| byte.is_ascii_digit()))?;
        let file = self.files.get(index.parse::<usize>().ok()?)?;
        if name == MESH {
            return Some(Cow::Borrowed(&file.content));
        }
        let Content::File(mesh) = &file.content else {
            return None;
        };
        let folder = mesh.parent()?.to_owned();
        Some(Cow::Owned(Content::File(find_texture(
            &unescaped(name)?,
            &[folder],
        )?)))
    }

    /// The token and the path after it, unless the request comes from another site.
    ///
    /// The header `Host` has another name if a site of the web has a name that leads here, and `Origin` has the name of another site
    /// if that sends requests to this one.
    fn allowed<'a>(&self, request: &'a Request) -> Option<(&'a str, &'a str)> {
        let host = self.host.to_string();
        let origin = format!("http://{host}");
        let mut hosts = request.values("host");
        let is_other = hosts.next() != Some(host.as_str()) || hosts.next().is_some();
        if is_other || request.values("origin").any(|other| other != origin) {
            return None;
        }
        request
            .path
            .split(['?', '#'])
            .next()?
            .strip_prefix('/')?
            .split_once('/')
    }

    /// Holds a stream of events open as long as a tab does.
    fn tab(&self, stream: &mut TcpStream) -> io::Result<()> {
        let tabs = || self.tabs.lock().unwrap_or_else(PoisonError::into_inner);
        tabs().open += 1;
        let held = self.hold(stream);
        let mut tabs = tabs();
        tabs.open -= 1;
        tabs.closed = Some(Instant::now());
        held
    }

    fn hold(&self, stream: &mut TcpStream) -> io::Result<()> {
        write!(
            stream,
            "{}Content-Type: text/event-stream\r\n\r\n",
            head(200)
        )?;
        while !self.is_over.load(Ordering::SeqCst) {
            // A comment, which fails if the other side has gone without a word.
            stream.write_all(b":\n\n")?;
            match stream.read(&mut [0; 64]) {
                Ok(0) => return Ok(()),
                Err(error)
                    if !matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock
                            | io::ErrorKind::TimedOut
                            | io::ErrorKind::Interrupted
                    ) =>
                {
                    return Err(error);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// A part of an address without the escapes of bytes.
fn unescaped(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (hex, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(hex, 16).ok()?);
        bytes.extend(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

/// 128 random bits of the system.
fn token() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(meshmap_catalog::text::hex(&bytes))
}

/// Compares all bytes, so that the time does not depend on how many are right.
fn is_same(a: &str, b: &str) -> bool {
    a.len() == b.len()
        && a.bytes()
            .zip(b.bytes())
            .fold(0, |differing, (a, b)| differing | (a ^ b))
            == 0
}

/// Sends a file or a part of it. If the file has become shorter, the response ends early, which the client sees by its length.
fn send(stream: &mut TcpStream, request: &Request, content: &Content) -> io::Result<()> {
    let Ok((source, length)) = content.open() else {
        return status(stream, 404);
    };
    // Differs if the file has changed. Another source is one version of a file, or an error.
    let modified = source.identity().and_then(|identity| identity.modified);
    let modified = modified.map(|time| {
        time.duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default()
    });
    let tag = match modified {
        Some(time) => format!("\"{length:x}-{:x}\"", time.as_nanos()),
        None => format!("\"{length:x}\""),
    };
    let (start, range) = match request.part(length, &tag) {
        Part::OutOfRange => {
            return write!(
                stream,
                "{}Content-Range: bytes */{length}\r\nContent-Length: 0\r\n\r\n",
                head(416)
            );
        }
        Part::Whole => (head(200), 0..length),
        Part::Range(range) => {
            let line = format!(
                "Content-Range: bytes {}-{}/{length}\r\n",
                range.start,
                range.end - 1
            );
            (head(206) + &line, range)
        }
    };
    write!(
        stream,
        "{start}Accept-Ranges: bytes\r\nETag: {tag}\r\nContent-Type: application/octet-stream\r\nContent-Length: {}\r\n\r\n",
        range.end - range.start
    )?;
    let mut rest = if request.method == "HEAD" {
        0..0
    } else {
        range
    };
    while !rest.is_empty() {
        let end = rest.start.saturating_add(PIECE).min(rest.end);
        stream.write_all(&source.read(rest.start..end).map_err(io::Error::other)?)?;
        rest.start = end;
    }
    Ok(())
}

impl Content {
    /// The bytes of the file at the time of a request, and their number.
    fn open(&self) -> io::Result<(Source, u64)> {
        let source = match self {
            Self::File(path) => {
                let file = open_regular(path)?;
                Source::from_file(file).map_err(io::Error::other)?
            }
            Self::Source(source) => source.clone(),
        };
        let length = source
            .len()
            .map_err(io::Error::other)?
            .ok_or(io::ErrorKind::NotSeekable)?;
        Ok((source, length))
    }
}

/// Ends a connection. The rest of the request is read first, because a connection that is closed before loses the response.
fn finish(stream: &mut TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    let (start, mut rest) = (Instant::now(), 0);
    while rest < MOST_REST && start.elapsed() < REST {
        match stream.read(&mut [0; 4096])? {
            0 => break,
            count => rest += count,
        }
    }
    Ok(())
}

/// A response without a body.
fn status(stream: &mut TcpStream, code: u16) -> io::Result<()> {
    write!(stream, "{}Content-Length: 0\r\n\r\n", head(code))
}

/// A response with a body.
fn respond(
    stream: &mut TcpStream,
    request: &Request,
    headers: &str,
    body: &[u8],
) -> io::Result<()> {
    write!(
        stream,
        "{}{headers}Content-Length: {}\r\n\r\n",
        head(200),
        body.len()
    )?;
    if request.method == "HEAD" {
        Ok(())
    } else {
        stream.write_all(body)
    }
}

/// The first line of a response, and the headers of all.
fn head(code: u16) -> String {
    let words = match code {
        200 => "OK",
        206 => "Partial Content",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        416 => "Range Not Satisfiable",
        431 => "Request Header Fields Too Large",
        _ => "Service Unavailable",
    };
    format!(
        "HTTP/1.1 {code} {words}\r\nConnection: close\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
         Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\nX-Frame-Options: DENY\r\n"
    )
}
