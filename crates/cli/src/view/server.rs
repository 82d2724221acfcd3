//! A server for the page of one user. Only this machine can reach it, and requests need the token of the address.
//!
//! Each connection has a thread, and carries one request. The number of connections is limited.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use tempfile::NamedTempFile;

use super::files::{Answer, Content, Files};
use super::page;
use super::request::{Part, Request};

/// The page and its images come from this server only. It is added to the policy that the page itself has.
const POLICY: &str = "connect-src 'self'; img-src 'self' data: blob:; frame-ancestors 'none'";
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
    pub(crate) fn bind(files: Files) -> io::Result<Self> {
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
    files: Files,
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
        let answer = match path {
            "tab" => return self.tab(stream),
            "files.json" => Some(Answer::Json(self.files.to_json())),
            _ => path
                .strip_prefix("file/")
                .and_then(|address| self.files.answer(address)),
        };
        match answer {
            Some(Answer::Content(content)) => send(stream, &request, &content),
            Some(Answer::Json(value)) => {
                let head = "Content-Type: application/json\r\n";
                respond(stream, &request, head, value.to_string().as_bytes())
            }
            None => status(stream, 404),
        }
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

/// Ends a connection. The rest of the request is read first, because a connection that is closed before loses the response.
fn finish(stream: &mut TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    let start = Instant::now();
    let mut rest = 0;
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
         Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\nX-Frame-Options: DENY\r\n\
         Content-Security-Policy: {POLICY}\r\n"
    )
}
