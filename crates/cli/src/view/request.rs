//! Requests of HTTP/1.1, as far as the page needs them: no bodies, and one request per connection.

use std::io::{self, Read};
use std::ops::Range;
use std::time::{Duration, Instant};

/// The maximum length of the first line and the headers.
const MOST_BYTES: usize = 16 << 10;
/// A request has to be complete after this time, so that who has no token holds no connection for long.
const PATIENCE: Duration = Duration::from_secs(3);

/// The first line and the headers of a request.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    headers: Vec<(String, String)>,
}

impl Request {
    /// Reads a request. The error is the status of the response; `None` if the client has gone.
    pub(super) fn read(stream: &mut impl Read) -> Result<Self, Option<u16>> {
        let start = Instant::now();
        let mut bytes = Vec::new();
        let mut piece = [0; 1024];
        loop {
            let count = match stream.read(&mut piece) {
                Ok(0) => return Err(None),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                    ) =>
                {
                    0
                }
                Err(_) => return Err(None),
            };
            // The end may begin in the piece before.
            let seen = bytes.len().saturating_sub(3);
            bytes.extend(piece.iter().take(count));
            if bytes.len() > MOST_BYTES {
                return Err(Some(431));
            }
            let new = bytes.get(seen..).unwrap_or_default();
            if let Some(end) = new.windows(4).position(|window| window == b"\r\n\r\n") {
                bytes.truncate(seen + end);
                break;
            }
            if start.elapsed() > PATIENCE {
                return Err(Some(408));
            }
        }
        String::from_utf8(bytes)
            .ok()
            .and_then(|text| Self::parse(&text))
            .ok_or(Some(400))
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let method = words.next()?;
        let path = words.next()?;
        let version = words.next()?;
        if words.next().is_some() || !version.starts_with("HTTP/1.") || !path.starts_with('/') {
            return None;
        }
        let header = |line: &str| {
            let (name, value) = line.split_once(':')?;
            let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
            is_name.then(|| (name.to_ascii_lowercase(), value.trim().to_owned()))
        };
        let headers: Vec<_> = lines.map(header).collect::<Option<_>>()?;
        Some(Self {
            method: method.to_owned(),
            path: path.to_owned(),
            headers,
        })
    }

    /// The values of a header, whose name is in lower case.
    pub(super) fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        self.headers
            .iter()
            .filter(move |(other, _)| other == name)
            .map(|(_, value)| value.as_str())
    }

    /// The part of a file of this length and version that the request asks for.
    pub(super) fn part(&self, length: u64, tag: &str) -> Part {
        if self.values("if-range").any(|wanted| wanted != tag) {
            return Part::Whole;
        }
        // Several ranges may be answered with the whole file, and so may headers that cannot be understood.
        let range = self.values("range").next().and_then(parse_range);
        match range {
            None => Part::Whole,
            Some((Some(start), end)) if start < length => {
                Part::Range(start..end.map_or(length, |last| last.saturating_add(1).min(length)))
            }
            Some((None, Some(count))) if count > 0 && length > 0 => {
                Part::Range(length.saturating_sub(count)..length)
            }
            Some(_) => Part::OutOfRange,
        }
    }
}

/// A part of a file.
#[derive(Debug, PartialEq)]
pub(super) enum Part {
    Whole,
    Range(Range<u64>),
    OutOfRange,
}

/// The first and the last byte; without a first byte, the number of bytes at the end.
fn parse_range(text: &str) -> Option<(Option<u64>, Option<u64>)> {
    let (first, last) = text.strip_prefix("bytes=")?.split_once('-')?;
    let number = |text: &str| match text {
        "" => Some(None),
        _ if text.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(Some(text.parse().unwrap_or(u64::MAX)))
        }
        _ => None,
    };
    match (number(first)?, number(last)?) {
        (None, None) => None,
        (Some(first), Some(last)) if last < first => None,
        ends => Some(ends),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Request, Option<u16>> {
        Request::read(&mut text.as_bytes())
    }

    #[test]
    fn ranges_are_those_of_the_file_or_the_whole_file() {
        let part = |lines: &str| {
            read(&format!("GET / HTTP/1.1\r\n{lines}\r\n\r\n"))
                .unwrap()
                .part(100, "\"a\"")
        };
        for (lines, expected) in [
            ("A: b", Part::Whole),
            ("Range: bytes=0-9", Part::Range(0..10)),
            ("range: bytes=90-", Part::Range(90..100)),
            ("Range: bytes=90-999", Part::Range(90..100)),
            (
                "Range: bytes=99-99999999999999999999999",
                Part::Range(99..100),
            ),
            ("Range: bytes=-7", Part::Range(93..100)),
            ("Range: bytes=-700", Part::Range(0..100)),
            ("Range: bytes=100-", Part::OutOfRange),
            ("Range: bytes=-0", Part::OutOfRange),
            ("Range: bytes=9-8", Part::Whole),
            ("Range: bytes=0-1,4-5", Part::Whole),
            ("Range: bytes=a-", Part::Whole),
            ("Range: bytes=-", Part::Whole),
            ("Range: bytes=+1-2", Part::Whole),
            ("Range: items=0-9", Part::Whole),
            ("If-Range: \"a\"\r\nRange: bytes=0-9", Part::Range(0..10)),
            ("If-Range: \"b\"\r\nRange: bytes=0-9", Part::Whole),
        ] {
            assert_eq!(part(lines), expected, "{lines}");
        }
        let empty = read("GET / HTTP/1.1\r\nRange: bytes=0-\r\n\r\n").unwrap();
        assert_eq!(empty.part(0, ""), Part::OutOfRange);
    }

    #[test]
    fn what_is_not_a_request_has_a_status() {
        let long = format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "b".repeat(MOST_BYTES));
        for (text, status) in [
            ("", None),
            ("GET / HTTP/1.1\r\n", None),
            ("GET /\r\n\r\n", Some(400)),
            ("GET / HTTP/1.1 x\r\n\r\n", Some(400)),
            ("GET / SPDY/3\r\n\r\n", Some(400)),
            ("GET http://host/ HTTP/1.1\r\n\r\n", Some(400)),
            ("GET / HTTP/1.1\r\nno colon\r\n\r\n", Some(400)),
            ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", Some(400)),
            (&long, Some(431)),
        ] {
            assert_eq!(read(text).unwrap_err(), status, "{text:.40}");
        }
    }
}
