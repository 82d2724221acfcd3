//! A small HTTP server of one file, that can be made to behave badly.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The treatment of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Right,
    /// After this many milliseconds.
    Slow(u64),
    /// This status, and no more.
    Status(u16),
    /// 403 with a body that repeats the request, as S3 does.
    Echo,
    /// The whole file, as if there were no range.
    Whole,
    /// A range that begins later.
    OtherRange,
    /// The connection ends in the middle of the body.
    Cut,
    /// A length that differs from the body's.
    LongLength,
    /// A range that says another length of the file.
    OtherTotal,
    /// Content-Encoding: gzip.
    Compressed,
    /// Another tag.
    OtherTag,
    /// Another tag and other bytes, as of a file that was written again.
    OtherFile,
    /// No tag.
    NoTag,
    /// A tag that versions with the same meaning share.
    Weak,
    /// No answer.
    Hang,
    /// The head of a response, and then nothing.
    HangBody,
    /// A byte of the body every 50 milliseconds.
    Drip,
    /// A body without an end.
    Endless,
    /// A head without an end.
    EndlessHead,
    /// Bytes that are not HTTP.
    Garbage,
    /// The connection ends without an answer.
    Close,
    /// A body, and its length, that is shorter than the range.
    ShortBody,
    /// A body, and its length, that is longer than the range.
    LongBody,
    /// 206 without Content-Range.
    NoContentRange,
    /// Content-Range that is not a range.
    BadContentRange,
    /// A range of a file of nearly 2^64 bytes.
    HugeTotal,
    /// A redirection to itself.
    RedirectLoop,
    /// A redirection to the server at another port.
    RedirectAway(u16),
    /// Another file, of the same length and tag.
    OtherBytes,
    /// This status, and a body without a length that ends after [`LONG`] bytes.
    LongError(u16),
    /// This status, a body that is declared to have 2^40 bytes, and only ten of them.
    StalledError(u16),
    /// This status, and a body that is not UTF-8.
    BinaryError(u16),
}

/// More than anyone should read of an error.
pub(crate) const LONG: usize = 256 << 20;

type Choose = dyn Fn(usize, &Range<u64>) -> Act + Send + Sync;

pub(crate) struct Server {
    pub(crate) address: String,
    pub(crate) requests: Arc<AtomicUsize>,
    /// Connections that were accepted.
    pub(crate) connections: Arc<AtomicUsize>,
    /// The lines of all requests.
    pub(crate) lines: Arc<Mutex<Vec<String>>>,
    /// Bytes of bodies and heads without an end.
    pub(crate) sent: Arc<AtomicUsize>,
}

/// Serves these bytes; `choose` says what becomes of each request, by its number and its range.
pub(crate) fn serve(
    bytes: Vec<u8>,
    choose: impl Fn(usize, &Range<u64>) -> Act + Send + Sync + 'static,
) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/folder/file.bin", listener.local_addr().unwrap());
    let [requests, sent, connections] = [(); 3].map(|()| Arc::new(AtomicUsize::new(0)));
    let accepted = Arc::clone(&connections);
    let lines = Arc::new(Mutex::new(Vec::new()));
    let counts = (Arc::clone(&requests), Arc::clone(&sent), Arc::clone(&lines));
    let shared = (Arc::new(bytes), Arc::new(choose) as Arc<Choose>, counts);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { continue };
            accepted.fetch_add(1, Ordering::SeqCst);
            let (bytes, choose, (requests, sent, log)) = shared.clone();
            // Head and body are written one after the other, which must not wait for an acknowledgement.
            stream.set_nodelay(true).unwrap();
            std::thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone().unwrap());
                while let Some(request) = read(&mut lines) {
                    log.lock().unwrap().extend(request.lines.iter().cloned());
                    let number = requests.fetch_add(1, Ordering::SeqCst);
                    let length = bytes.len() as u64;
                    let range = request
                        .range
                        .clone()
                        .map(|range| range.start..range.end.min(length));
                    let act = choose(number, &range.clone().unwrap_or(0..length));
                    let answered = match lie(&stream, &bytes, range.clone(), act, &sent) {
                        None => answer(&stream, &bytes, &request, range, act),
                        Some(lied) => lied,
                    };
                    if answered.is_none() {
                        break;
                    }
                }
            });
        }
    });
    Server {
        address,
        requests,
        connections,
        lines,
        sent,
    }
}

struct Request {
    is_head: bool,
    range: Option<Range<u64>>,
    if_match: Option<String>,
    lines: Vec<String>,
}

fn read(lines: &mut impl BufRead) -> Option<Request> {
    let mut request = Request {
        is_head: false,
        range: None,
        if_match: None,
        lines: Vec::new(),
    };
    let mut line = String::new();
    lines.read_line(&mut line).ok().filter(|count| *count > 0)?;
    request.is_head = line.starts_with("HEAD");
    request.lines.push(line.trim_end().to_owned());
    loop {
        line.clear();
        lines.read_line(&mut line).ok().filter(|count| *count > 0)?;
        request.lines.push(line.trim_end().to_owned());
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            return Some(request);
        };
        match name.to_ascii_lowercase().as_str() {
            "range" => {
                let (start, last) = value.strip_prefix("bytes=")?.split_once('-')?;
                request.range = Some(start.parse().ok()?..last.parse::<u64>().ok()? + 1);
            }
            "if-match" => request.if_match = Some(value.to_owned()),
            _ => {}
        }
    }
}

/// An answer that is none of a server of files: `Some(None)` ends the connection. `None` if the act is another one.
fn lie(
    mut stream: &TcpStream,
    bytes: &[u8],
    range: Option<Range<u64>>,
    act: Act,
    sent: &AtomicUsize,
) -> Option<Option<()>> {
    let total = bytes.len() as u64;
    let range = range
        .filter(|range| range.start < total)
        .unwrap_or(0..total);
    let body = &bytes[range.start as usize..range.end as usize];
    let mut put = |part: &[u8]| {
        sent.fetch_add(part.len(), Ordering::Relaxed);
        stream.write_all(part).ok()
    };
    let head = |length: u64, content_range: &str| {
        format!(
            "HTTP/1.1 206 x\r\n{content_range}Content-Length: {length}\r\nETag: {TAG}\r\n\
             Last-Modified: Sat, 21 Nov 2026 10:00:00 GMT\r\n\r\n"
        )
    };
    let last = range.end.saturating_sub(1);
    let right = format!("Content-Range: bytes {}-{last}/{total}\r\n", range.start);
    let length = body.len() as u64;
    Some(match act {
        Act::Hang => {
            std::thread::sleep(Duration::from_secs(60));
            None
        }
        Act::HangBody => {
            put(head(length, &right).as_bytes());
            std::thread::sleep(Duration::from_secs(60));
            None
        }
        Act::Drip => {
            let mut is_on = put(head(length, &right).as_bytes());
            for byte in body {
                is_on?;
                std::thread::sleep(Duration::from_millis(50));
                is_on = put(&[*byte]);
            }
            is_on
        }
        Act::Endless => {
            let mut is_on = put(head(u64::MAX / 2, &right).as_bytes());
            while is_on.is_some() {
                is_on = put(&[7; 16 << 10]);
            }
            None
        }
        Act::EndlessHead => {
            let mut is_on = put(b"HTTP/1.1 206 x\r\n");
            while is_on.is_some() {
                is_on = put(format!("X-Line: {}\r\n", "x".repeat(1000)).as_bytes());
            }
            None
        }
        Act::Garbage => {
            put(&[0x7f; 4096]);
            None
        }
        Act::Close => None,
        Act::ShortBody => {
            let part = &body[..body.len() / 2];
            put(head(part.len() as u64, &right).as_bytes()).and_then(|()| put(part))
        }
        Act::LongBody => put(head(length + 1000, &right).as_bytes())
            .and_then(|()| put(body))
            .and_then(|()| put(&[7; 1000])),
        Act::NoContentRange => put(head(length, "").as_bytes()).and_then(|()| put(body)),
        Act::BadContentRange => {
            put(head(length, "Content-Range: bytes 9-3/-1\r\n").as_bytes()).and_then(|()| put(body))
        }
        Act::HugeTotal => {
            let huge = format!("Content-Range: bytes {}-{last}/{}\r\n", range.start, u64::MAX - 1);
            put(head(length, &huge).as_bytes()).and_then(|()| put(body))
        }
        Act::RedirectLoop => {
            put(b"HTTP/1.1 302 x\r\nLocation: /folder/file.bin\r\nContent-Length: 0\r\n\r\n")
        }
        Act::RedirectAway(port) => put(format!(
            "HTTP/1.1 302 x\r\nLocation: http://127.0.0.1:{port}/folder/file.bin\r\nContent-Length: 0\r\n\r\n"
        )
        .as_bytes()),
        Act::LongError(status) => {
            let mut is_on =
                put(format!("HTTP/1.1 {status} x\r\nTransfer-Encoding: chunked\r\n\r\n").as_bytes());
            let piece = [&b"10000\r\n"[..], &[b'x'; 0x10000], b"\r\n"].concat();
            for _ in 0..LONG / 0x10000 {
                is_on?;
                is_on = put(&piece);
            }
            put(b"0\r\n\r\n")
        }
        Act::StalledError(status) => {
            put(format!("HTTP/1.1 {status} x\r\nContent-Length: 1099511627776\r\n\r\n0123456789").as_bytes());
            std::thread::sleep(Duration::from_secs(60));
            None
        }
        Act::BinaryError(status) => {
            put(format!("HTTP/1.1 {status} x\r\nContent-Length: 4\r\n\r\n").as_bytes())
                .and_then(|()| put(&[0xff, 0xfe, 0x80, 0xc0]))
        }
        Act::OtherBytes => {
            let page: Vec<u8> = b"<html>sign in</html>".iter().copied().cycle().take(body.len()).collect();
            put(head(page.len() as u64, &right).as_bytes()).and_then(|()| put(&page))
        }
        _ => return None,
    })
}

const TAG: &str = "\"one\"";

fn answer(
    mut stream: &TcpStream,
    bytes: &[u8],
    request: &Request,
    range: Option<Range<u64>>,
    act: Act,
) -> Option<()> {
    if let Act::Slow(milliseconds) = act {
        std::thread::sleep(Duration::from_millis(milliseconds));
    }
    let is_other = matches!(act, Act::OtherTag | Act::OtherFile);
    let tag = if is_other { "\"two\"" } else { TAG };
    let weak = format!("W/{tag}");
    let tag = if act == Act::Weak { &weak } else { tag };
    let status = |status: u16| format!("HTTP/1.1 {status} x\r\nContent-Length: 0\r\n\r\n");
    if let Act::Status(code) = act {
        return stream.write_all(status(code).as_bytes()).ok();
    }
    if act == Act::Echo {
        let body = request.lines.join("\n");
        let head = format!("HTTP/1.1 403 x\r\nContent-Length: {}\r\n\r\n", body.len());
        return stream.write_all((head + &body).as_bytes()).ok();
    }
    if request
        .if_match
        .as_ref()
        .is_some_and(|wanted| wanted != tag)
    {
        return stream.write_all(status(412).as_bytes()).ok();
    }
    let total = bytes.len() as u64;
    let mut range = range;
    if let Some(range) = range
        .as_mut()
        .filter(|range| act == Act::OtherRange && range.end - range.start > 1)
    {
        range.start += 1;
    }
    if range.as_ref().is_some_and(|range| range.start >= total) {
        return stream.write_all(status(416).as_bytes()).ok();
    }
    let (head, mut body) = match range.filter(|_| act != Act::Whole) {
        Some(range) => {
            let said = if act == Act::OtherTotal {
                total + 1
            } else {
                total
            };
            let head = format!(
                "HTTP/1.1 206 x\r\nContent-Range: bytes {}-{}/{said}\r\n",
                range.start,
                range.end - 1
            );
            (
                head,
                bytes[range.start as usize..range.end as usize].to_vec(),
            )
        }
        None => ("HTTP/1.1 200 x\r\n".to_owned(), bytes.to_vec()),
    };
    if act == Act::OtherFile {
        body.iter_mut().for_each(|byte| *byte ^= 0xff);
    }
    let length = if act == Act::LongLength {
        body.len() + 7
    } else {
        body.len()
    };
    let mut head = head
        + &format!("Content-Length: {length}\r\nLast-Modified: Sat, 21 Nov 2026 10:00:00 GMT\r\n");
    if act != Act::NoTag {
        head += &format!("ETag: {tag}\r\n");
    }
    if act == Act::Compressed {
        head += "Content-Encoding: gzip\r\n";
    }
    stream.write_all((head + "\r\n").as_bytes()).ok()?;
    if request.is_head {
        return Some(());
    }
    if matches!(act, Act::Cut | Act::LongLength) {
        let part = if act == Act::Cut {
            body.len() / 2
        } else {
            body.len()
        };
        stream.write_all(&body[..part]).ok()?;
        return None;
    }
    stream.write_all(&body).ok()
}
