//! A small HTTP server of one file, that can be told to behave badly.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// What the server does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Right,
    /// After this many milliseconds.
    Slow(u64),
    /// This status, and no more.
    Status(u16),
    /// The whole file, as if there were no range.
    Whole,
    /// A range that begins later.
    OtherRange,
    /// The connection ends in the middle of the body.
    Cut,
    /// A length that is not that of the body.
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
}

type Choose = dyn Fn(usize, &Range<u64>) -> Act + Send + Sync;

pub(crate) struct Server {
    pub(crate) address: String,
    pub(crate) requests: Arc<AtomicUsize>,
}

/// Serves these bytes; `choose` says what becomes of each request, by its number and its range.
pub(crate) fn serve(
    bytes: Vec<u8>,
    choose: impl Fn(usize, &Range<u64>) -> Act + Send + Sync + 'static,
) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/folder/file.bin", listener.local_addr().unwrap());
    let requests = Arc::new(AtomicUsize::new(0));
    let shared = (Arc::new(bytes), Arc::new(choose) as Arc<Choose>, Arc::clone(&requests));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { continue };
            let (bytes, choose, requests) = shared.clone();
            std::thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone().unwrap());
                while let Some(request) = read(&mut lines) {
                    let number = requests.fetch_add(1, Ordering::SeqCst);
                    let length = bytes.len() as u64;
                    let range = request.range.clone().map(|range| range.start..range.end.min(length));
                    let act = choose(number, &range.clone().unwrap_or(0..length));
                    if answer(&stream, &bytes, &request, range, act).is_none() {
                        break;
                    }
                }
            });
        }
    });
    Server { address, requests }
}

struct Request {
    is_head: bool,
    range: Option<Range<u64>>,
    if_match: Option<String>,
}

fn read(lines: &mut impl BufRead) -> Option<Request> {
    let mut request = Request { is_head: false, range: None, if_match: None };
    let mut line = String::new();
    lines.read_line(&mut line).ok().filter(|count| *count > 0)?;
    request.is_head = line.starts_with("HEAD");
    loop {
        line.clear();
        lines.read_line(&mut line).ok().filter(|count| *count > 0)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { return Some(request) };
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
    let status = |status: u16| format!("HTTP/1.1 {status} x\r\nContent-Length: 0\r\n\r\n");
    if let Act::Status(code) = act {
        return stream.write_all(status(code).as_bytes()).ok();
    }
    if request.if_match.as_ref().is_some_and(|wanted| wanted != tag) {
        return stream.write_all(status(412).as_bytes()).ok();
    }
    let total = bytes.len() as u64;
    let mut range = range;
    if let Some(range) = range.as_mut().filter(|range| act == Act::OtherRange && range.end - range.start > 1)
    {
        range.start += 1;
    }
    if range.as_ref().is_some_and(|range| range.start >= total) {
        return stream.write_all(status(416).as_bytes()).ok();
    }
    let (head, mut body) = match range.filter(|_| act != Act::Whole) {
        Some(range) => {
            let said = if act == Act::OtherTotal { total + 1 } else { total };
            let head = format!(
                "HTTP/1.1 206 x\r\nContent-Range: bytes {}-{}/{said}\r\n",
                range.start,
                range.end - 1
            );
            (head, bytes[range.start as usize..range.end as usize].to_vec())
        }
        None => ("HTTP/1.1 200 x\r\n".to_owned(), bytes.to_vec()),
    };
    if act == Act::OtherFile {
        body.iter_mut().for_each(|byte| *byte ^= 0xff);
    }
    let length = if act == Act::LongLength { body.len() + 7 } else { body.len() };
    let mut head =
        head + &format!("Content-Length: {length}\r\nLast-Modified: Sat, 21 Nov 2026 10:00:00 GMT\r\n");
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
        let part = if act == Act::Cut { body.len() / 2 } else { body.len() };
        stream.write_all(&body[..part]).ok()?;
        return None;
    }
    stream.write_all(&body).ok()
}
